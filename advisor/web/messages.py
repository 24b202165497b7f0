"""A conversation as the chat shows it: pure functions from turns to Gradio's message dictionaries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from advisor.answer import Step, ToolCall
from advisor.web.numbers import number
from advisor.web.render import cite_prefix
from advisor.web.safe_text import safe_markdown
from advisor.web.session import Session, Turn
from advisor.web.words import known, word

Message = dict[str, Any]


def tool_name(name: str, lang: str) -> str:
    """What a tool does, in words; the bare name for a tool that the catalogue does not know."""
    return known(f"tool.{name}", lang, name.replace("_", " "))


def steps_text(steps: Sequence[Step], lang: str) -> str:
    """One line a call: what it does, how it ended, what it found."""
    latest: dict[tuple[int, str], Step] = {}
    running: dict[str, list[int]] = {}
    count = 0
    for step in steps:
        if step.state == "running":
            running.setdefault(step.name, []).append(count)
            latest[(count, step.name)] = step
            count += 1
        else:
            waiting = running.get(step.name)
            at = waiting.pop(0) if waiting else count
            count += 0 if waiting is not None and at < count else 1
            latest[(at, step.name)] = step
    lines = []
    for (_, name), step in latest.items():
        mark = {"running": "…", "done": "✓", "failed": "✗"}[step.state]
        ms = f" ({number(step.ms)} ms)" if step.ms is not None else ""
        summary = f": {safe_markdown(step.summary)}" if step.summary else ""
        lines.append(f"- {mark} {tool_name(name, lang)}{summary}{ms}")
    return "\n".join(lines)


def calls_text(calls: Sequence[ToolCall], lang: str) -> str:
    """The calls of a finished turn, one line each."""
    return "\n".join(f"- ✓ {tool_name(call.name, lang)} ({number(call.ms)} ms)" for call in calls)


def _thought(text: str, lang: str, pending: bool) -> Message:
    title = word("steps.running" if pending else "steps.done", lang)
    return {
        "role": "assistant",
        "content": text,
        "metadata": {"title": title, "status": "pending" if pending else "done"},
    }


def turn_messages(
    turn: Turn, index: int, lang: str, steps: Sequence[Step] = (), text: str | None = None
) -> list[Message]:
    """The messages of turn number `index`. `text` (not None) is what has been streamed of a turn that still runs."""
    shown: list[Message] = [{"role": "user", "content": safe_markdown(turn.question)}]
    if text is not None:
        shown.append(_thought(steps_text(steps, lang), lang, pending=True))
        if text:
            shown.append({"role": "assistant", "content": safe_markdown(text, cite_prefix(index))})
        return shown
    if turn.answer is not None:
        if turn.answer.tool_calls:
            shown.append(_thought(calls_text(turn.answer.tool_calls, lang), lang, pending=False))
        shown.append({"role": "assistant", "content": safe_markdown(turn.answer.text, cite_prefix(index))})
        return shown
    if turn.stopped:
        body = safe_markdown(turn.partial) + "\n\n" if turn.partial else ""
        shown.append({"role": "assistant", "content": f"{body}*{word('stopped', lang)}*"})
    elif turn.error:
        shown.append({"role": "assistant", "content": f"**{word('error', lang)}** {safe_markdown(turn.error)}"})
    return shown


def conversation(session: Session, lang: str) -> list[Message]:
    """All messages of a conversation."""
    return [message for i, turn in enumerate(session.turns) for message in turn_messages(turn, i, lang)]


def turn_at(session: Session, message_index: int, lang: str) -> int:
    """The turn that the message number `message_index` of `conversation` belongs to; the last turn where it is past the end."""
    seen = 0
    for i, turn in enumerate(session.turns):
        seen += len(turn_messages(turn, i, lang))
        if message_index < seen:
            return i
    return len(session.turns) - 1
