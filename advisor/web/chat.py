"""The conversation: composer, chat, result panel and what happens on every click in them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import gradio as gr

from advisor.errors import AdvisorError
from advisor.web import assumptions, exports, messages, render
from advisor.web.feedback import MAX_COMMENT, save_feedback
from advisor.web.panel import PARTS, Panel, build_panel, panel_updates
from advisor.web.session import MAX_TURNS, Held, Session, held_or_mine, pack, restored, saved, saved_turn, unpack
from advisor.web.turns import State, Turns
from advisor.web.words import Labels, in_words, word

EXAMPLES = ("example.full_ft", "example.pretrain", "example.inference", "example.topology")
TURN = "turn"
"""Concurrency group of everything that runs a turn."""
SESSION_S = 3 * 3600
"""Seconds that the server remembers an open tab's conversation after its last use; the browser keeps its own copy."""
QUIET: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
AT_ONCE: dict[str, Any] = {**QUIET, "queue": False}
MINE = "async (...values) => [...values.slice(0, -1), await window.advisorPage.mine()]"
"""Sets the last input to what the browser says of its conversation, for a server that may have forgotten it."""


@dataclass
class Chat:
    """The chat's components that the rest of the page refers to."""

    session: gr.State
    chatbot: gr.Chatbot
    composer: gr.Textbox
    panel: Panel
    kept: gr.Textbox
    mine: gr.Textbox


def address_of(request: gr.Request | None) -> str:
    """The address a request came from, as the server saw it (a header that anyone can write is not believed)."""
    client = getattr(request, "client", None)
    return str(getattr(client, "host", None) or "local")


def example_prompts(lang: str) -> list[dict[str, str]]:
    """The example questions of the empty chat."""
    return [{"text": word(key, lang), "display_text": word(key, lang)} for key in EXAMPLES]


def _warn(text: str, lang: str) -> None:
    """Tell the visitor that something did not work."""
    gr.Warning(render.render("plain", lang, text=text), title=word("error", lang))


class ChatEvents:
    """What the chat's events do; every method is a Gradio handler."""

    def __init__(self, turns: Turns, settings: Any):
        self.turns, self.settings = turns, settings

    def ask(
        self, question: str, held: Held | None, lang: str, mine: str, request: gr.Request
    ) -> Iterator[tuple[Any, ...]]:
        """Run one turn: chat, session, composer, spoken status; at its end the panel and what the browser keeps."""
        session = held_or_mine(held, mine)
        if not question.strip():
            yield messages.conversation(session, lang), pack(session), gr.update(value=""), "", *self._no_panel()
            return
        yield from self._show(self.turns.run(question, session, lang, address_of(request)), lang)

    def _show(self, states: Iterator[State], lang: str) -> Iterator[tuple[Any, ...]]:
        before: list[messages.Message] | None = None
        first = True
        for state in states:
            session = state.session
            last = len(session.turns) - 1
            if before is None:
                kept = session.model_copy(update={"turns": session.turns[:-1]})
                before = messages.conversation(kept, lang)
            tail = messages.turn_messages(session.turns[-1], last, lang, state.steps, state.text)
            if state.text is not None:
                composer = gr.update(value="", submit_btn=False, stop_btn=True) if first else gr.skip()
                held = pack(session) if first else gr.skip()
                yield before + tail, held, composer, word("said.working", lang), *self._no_panel()
            else:
                answer = session.turns[-1].answer
                said = render.summary_line(answer, lang) if answer else ""
                clear: dict[str, Any] = {"value": ""} if first else {}
                composer = gr.update(submit_btn=True, stop_btn=False, **clear)
                yield before + tail, pack(session), composer, said, *self._panel(session, lang)
            first = False

    def _panel(self, session: Session, lang: str) -> list[Any]:
        """The panel after a turn, and the conversation for the browser to keep."""
        return [*panel_updates(session, lang, self.turns.advisor, self.settings, choose_tab=True), self.kept(session)]

    def _no_panel(self) -> list[Any]:
        """The panel and what the browser keeps stay as they are."""
        return [gr.skip()] * (PARTS + 1)

    def again(
        self, index: int, question: str | None, session: Session, lang: str, request: gr.Request
    ) -> Iterator[Any]:
        """Ask the question of the message number `index` anew, in `question`'s words where given."""
        at = messages.turn_at(session, index, lang)
        if at < 0:
            yield messages.conversation(session, lang), pack(session), gr.skip(), "", *self._no_panel()
            return
        turn = session.turns[at]
        fresh = self.turns.branch(session, at)
        if turn.edited and turn.answer is not None and question is None:
            answer = turn.answer
            states = self.turns.run(
                turn.question, fresh, lang, address_of(request), answer.workload, answer.constraints
            )
        else:
            states = self.turns.run(question or turn.question, fresh, lang, address_of(request))
        yield from self._show(states, lang)

    def retry(self, held: Held | None, lang: str, mine: str, event: gr.RetryData, request: gr.Request) -> Iterator[Any]:
        """The retry button under an answer."""
        yield from self.again(int(event.index), None, held_or_mine(held, mine), lang, request)  # type: ignore[arg-type]

    def edit(self, held: Held | None, lang: str, mine: str, event: gr.EditData, request: gr.Request) -> Iterator[Any]:
        """A question edited in place: the conversation goes on from there."""
        index = event.index[0] if isinstance(event.index, list | tuple) else event.index
        yield from self.again(int(index), str(event.value), held_or_mine(held, mine), lang, request)

    def recompute(self, request: gr.Request, *given: Any) -> Iterator[Any]:
        """A changed assumption: the job with the change is worked out again and the chat records what changed.

        `given`: the controls' values, then the session, the language and what the browser says of its conversation.
        """
        *values, held, lang, mine = given
        session = held_or_mine(held, mine)
        turn = session.turn_shown()
        answer = turn.answer if turn else None
        changes = assumptions.changed_fields(answer, values) if answer else []
        if answer is None or not changes:
            yield [gr.skip()] * 4 + self._no_panel()
            return
        try:
            workload, constraints = assumptions.edited(answer, changes)
        except AdvisorError as error:
            _warn(in_words(error, lang), lang)
            yield [gr.skip()] * 4 + self._no_panel()
            return
        line = assumptions.change_line(changes, lang)
        yield from self._show(self.turns.run(line, session, lang, address_of(request), workload, constraints), lang)

    def stop(self, held: Held | None) -> None:
        """The stop button."""
        if held:
            self.turns.stop(unpack(held))

    def kept(self, session: Session) -> str:
        """What the browser adds to its copy of the conversation after a turn: its last turn, and its place among the turns."""
        if not session.turns or len(session.turns) == MAX_TURNS:
            return self.whole(session)
        last = len(session.turns) - 1
        return json.dumps({**self._named(session), "place": last, "turn": saved_turn(session.turns[last])})

    def whole(self, session: Session) -> str:
        """The conversation as the browser keeps it, with a title for the list; nothing of an empty one."""
        return json.dumps({**self._named(session), "session": saved(session)}) if session.turns else ""

    def _named(self, session: Session) -> dict[str, str]:
        return {"id": session.thread, "title": session.turns[0].question[:80]}

    def keep(self, held: Held | None) -> str:
        """The whole conversation, for a browser whose copy lacks some of it: a new branch, or storage that was emptied."""
        return self.whole(unpack(held))

    def open(self, payload: str, held: Held | None, lang: str, mine: str) -> list[Any]:
        """Something the browser asks for: a kept conversation, a new one, or another turn in the panel."""
        session = held_or_mine(held, mine)
        try:
            wanted = json.loads(payload or "{}")
        except json.JSONDecodeError:
            wanted = {}
        action = wanted.get("do") if isinstance(wanted, dict) else None
        if action == "new":
            self.turns.stop(session)
            session = Session()
        elif action == "restore":
            self.turns.stop(session)
            found = restored(str(wanted.get("session", "")))
            if found is None:
                _warn(word("restore.failed", lang), lang)
            session = found or session
        elif action == "show" and isinstance(wanted.get("turn"), int) and 0 <= wanted["turn"] < len(session.turns):
            session = session.model_copy(update={"shown": wanted["turn"]})
        return [
            messages.conversation(session, lang),
            pack(session),
            *panel_updates(session, lang, self.turns.advisor, self.settings, choose_tab=action != "show"),
        ]

    def clear(self, held: Held | None, lang: str) -> list[Any]:
        """The chat's own clear button: a new conversation; the old one stays in the browser's list."""
        self.stop(held)
        fresh = Session()
        return [pack(fresh), *panel_updates(fresh, lang, self.turns.advisor, self.settings, choose_tab=True)]

    def vote(self, held: Held | None, lang: str, mine: str, event: gr.LikeData) -> tuple[Any, ...]:
        """A thumb under an answer: written down at once; the row for a comment appears."""
        session = held_or_mine(held, mine)
        index = event.index[0] if isinstance(event.index, list | tuple) else event.index
        at = messages.turn_at(session, int(index), lang)
        if at < 0 or event.liked == "":
            return gr.update(visible=False), -1, gr.skip()
        liked = bool(event.liked) if isinstance(event.liked, bool) else event.liked == "Like"
        try:
            save_feedback(self.settings.home, session.turns[at], liked, database_url=self._database())
        except AdvisorError as error:
            _warn(in_words(error, lang), lang)
        return gr.update(visible=True), at, gr.update(value="")

    def _database(self) -> str | None:
        url = self.settings.database_url
        return url.get_secret_value() if url else None

    def comment(self, text: str, at: int, held: Held | None, lang: str, mine: str) -> Any:
        """The comment to the last vote."""
        session = held_or_mine(held, mine)
        if text.strip() and 0 <= at < len(session.turns):
            try:
                save_feedback(self.settings.home, session.turns[at], None, text, self._database())
                gr.Info(word("feedback.thanks", lang), title=word("said.thanks", lang))
            except AdvisorError as error:
                _warn(in_words(error, lang), lang)
        return gr.update(visible=False)

    def export(self, held: Held | None, lang: str, mine: str) -> str:
        """The conversation as Markdown."""
        session = held_or_mine(held, mine)
        return exports.conversation_markdown(session, lang)


def build_chat(turns: Turns, settings: Any, labels: Labels, lang: gr.Radio) -> Chat:
    """Lay out the chat and its panel inside the open Blocks and connect their events."""
    session = gr.State(None, time_to_live=SESSION_S)
    voted = gr.State(-1, time_to_live=SESSION_S)
    bridge = gr.Textbox(visible="hidden", elem_id="bridge", container=False)
    bridge_button = gr.Button(visible="hidden", elem_id="bridge-button")
    kept = gr.Textbox(visible="hidden", elem_id="kept", container=False)
    keep_button = gr.Button(visible="hidden", elem_id="keep-button")
    mine = gr.Textbox(visible="hidden", elem_id="mine", container=False)
    exported = gr.Textbox(visible="hidden", elem_id="exported", container=False)
    said = gr.HTML(elem_id="said", elem_classes="sr")
    with gr.Row(elem_id="workspace"):
        with gr.Column(elem_id="chat-pane", scale=5, min_width=320):
            with gr.Row(elem_id="chat-tools"):
                new = labels.add(gr.Button(labels.say("new"), size="sm", elem_id="new-chat"), value="new")
                export = labels.add(gr.Button(labels.say("export"), size="sm", elem_id="export-chat"), value="export")
                share = labels.add(gr.Button(labels.say("share"), size="sm", elem_id="share-link"), value="share")
            chatbot = labels.add(
                gr.Chatbot(
                    elem_id="chat",
                    label=labels.say("chat"),
                    show_label=False,
                    height=None,
                    sanitize_html=True,
                    allow_tags=False,
                    latex_delimiters=[],
                    layout="panel",
                    autoscroll=False,
                    editable="user",
                    buttons=["copy"],
                    placeholder=labels.say("hello"),
                    examples=example_prompts("en"),  # type: ignore[arg-type]
                    feedback_options=("Like", "Dislike"),
                ),
                label="chat",
                placeholder="hello",
            )
            with gr.Row(visible=False, elem_id="feedback-row") as feedback_row:
                comment = labels.add(
                    gr.Textbox(
                        label=labels.say("feedback.comment"),
                        placeholder=labels.say("feedback.placeholder"),
                        max_length=MAX_COMMENT,
                        elem_id="feedback-comment",
                        scale=4,
                    ),
                    label="feedback.comment",
                    placeholder="feedback.placeholder",
                )
                send = labels.add(gr.Button(labels.say("feedback.send"), size="sm", scale=1), value="feedback.send")
            composer = labels.add(
                gr.Textbox(
                    elem_id="composer",
                    label=labels.say("composer.label"),
                    show_label=False,
                    placeholder=labels.say("composer.placeholder"),
                    lines=1,
                    max_lines=8,
                    max_length=settings.max_input_chars,
                    autofocus=True,
                    submit_btn=True,
                ),
                label="composer.label",
                placeholder="composer.placeholder",
            )
            labels.add(gr.Markdown(labels.say("composer.hint"), elem_id="composer-hint"), value="composer.hint")
        with gr.Column(elem_id="result-pane", scale=6, min_width=320):
            panel = build_panel(labels)

    events = ChatEvents(turns, settings)
    shown = [chatbot, session, composer, said, *panel.outputs, kept]
    running: dict[str, Any] = {**QUIET, "concurrency_limit": settings.workers, "concurrency_id": TURN, "js": MINE}
    here = [session, lang, mine]

    def then_keep(dependency: Any) -> None:
        dependency.then(None, [kept], None, js="(kept) => window.advisorPage.keep(kept)", **AT_ONCE)

    then_keep(keep_button.click(events.keep, [session], kept, **AT_ONCE))

    then_keep(composer.submit(events.ask, [composer, *here], shown, **running))
    then_keep(chatbot.retry(events.retry, here, shown, **running))
    then_keep(chatbot.edit(events.edit, here, shown, **running))
    then_keep(
        chatbot.example_select(_example, None, composer, **AT_ONCE).then(
            events.ask, [composer, *here], shown, **running
        )
    )
    for field, control in zip(assumptions.FIELDS, panel.fields, strict=True):
        triggers = [control.input] if field.kind in ("choice", "three") else [control.submit, control.blur]
        for trigger in triggers:
            then_keep(trigger(events.recompute, [*panel.fields, *here], shown, trigger_mode="always_last", **running))
    composer.stop(events.stop, [session], None, **AT_ONCE)
    bridge_button.click(
        events.open,
        [bridge, *here],
        [chatbot, session, *panel.outputs],
        js="async (_, session, lang) => [window.advisorPage.takeWish(), session, lang, await window.advisorPage.mine()]",
        **QUIET,
    )
    new.click(None, None, None, js="() => window.advisorPage.newChat()", **AT_ONCE)
    share.click(None, [lang], None, js="() => window.advisorPage.share()", **AT_ONCE)
    export.click(events.export, here, exported, js=MINE, **AT_ONCE).then(
        None, [exported], None, js="(text) => window.advisorPage.download('conversation.md', text)", **AT_ONCE
    )
    chatbot.clear(events.clear, [session, lang], [session, *panel.outputs], **QUIET).then(
        None, None, None, js="() => window.advisorPage.cleared()", **AT_ONCE
    )
    chatbot.like(events.vote, here, [feedback_row, voted, comment], js=MINE, **AT_ONCE)
    gr.on(
        [send.click, comment.submit],
        events.comment,
        [comment, voted, *here],
        feedback_row,
        js=MINE,
        **AT_ONCE,
    )
    return Chat(session, chatbot, composer, panel, kept, mine)


def _example(event: gr.SelectData) -> str:
    value = event.value
    return str(value.get("text", "") if isinstance(value, dict) else value)
