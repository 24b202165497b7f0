"""What the tools of one turn found: typed values, taken from the tool messages' artifacts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from advisor.answer import ToolCall


@dataclass(frozen=True)
class Results:
    """The artifacts of one turn, in the order they came; `failed` maps a tool's name to its error text."""

    hits: tuple[Any, ...] = ()
    page: Any = None
    near: tuple[Any, ...] = ()
    """Rows that miss one condition, where none matched; `loosened` names the condition."""
    loosened: tuple[str, ...] = ()
    recommendation: Any = None
    earlier: tuple[tuple[int, Any], ...] = ()
    """(number of the turn, what was recommended in it), oldest first."""
    assessments: tuple[Any, ...] = ()
    diagnosis: Any = None
    links: tuple[Any, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    failed: dict[str, str] = field(default_factory=dict)
    numbered: dict[int, Any] = field(default_factory=dict)
    """The passages by the number that the model was shown."""

    @property
    def done(self) -> frozenset[str]:
        """Names of the tools that were called."""
        return frozenset(call.name for call in self.calls)


def collect(messages: Sequence[Any]) -> Results:
    """Results of the messages after the last human one."""
    from advisor.reasoning.diagnose import Diagnosis
    from advisor.reasoning.recommend import Recommendation
    from knowledge.offers import Offer, OfferPage
    from knowledge.passages import Hit

    turn = after_last_human(messages)
    args = {call["id"]: call["args"] for m in turn if m.type == "ai" for call in m.tool_calls}
    hits: dict[str, Any] = {}
    numbered: dict[int, Any] = {}
    found: dict[str, Any] = {}
    assessments: list[Any] = []
    links: list[Any] = []
    calls: list[ToolCall] = []
    failed: dict[str, str] = {}
    for message in turn:
        if message.type != "tool":
            continue
        name = message.name or ""
        ms = float((message.additional_kwargs or {}).get("ms", 0.0))
        calls.append(ToolCall(name=name, args=args.get(message.tool_call_id, {}), ms=ms))
        if message.status == "error" or message.artifact is None:
            failed[name] = str(message.content)
            continue
        if name == "search_guides":
            base = first_number(turn, message.tool_call_id)
            for n, row in enumerate(message.artifact, base):
                hit = Hit.model_validate(row)
                hits.setdefault(hit.passage_id, hit)
                numbered[n] = hit
        elif name == "filter_offers":
            found["page"] = OfferPage.model_validate(message.artifact["page"])
            found["near"] = tuple(Offer.model_validate(row) for row in message.artifact["near"])
            found["loosened"] = tuple(message.artifact["loosened"])
        elif name == "recommend":
            found["recommendation"] = Recommendation.model_validate(message.artifact)
        elif name == "size_workload":
            assessments.append(message.artifact)
        elif name == "compare_links":
            links.extend(message.artifact)
        elif name == "diagnose":
            found["diagnosis"] = Diagnosis.model_validate(message.artifact)
    return Results(
        earlier=_earlier(messages),
        hits=tuple(hits.values()),
        assessments=tuple(assessments),
        links=tuple(links),
        calls=tuple(calls),
        failed=failed,
        numbered=numbered,
        **found,
    )


BRIEFS = "earlier"
"""Under this name a question carries what was recommended before it; the next question carries it on."""
EARLIER = 6
"""Turns looked back on."""


def earlier_briefs(messages: Sequence[Any]) -> list[dict[str, Any]]:
    """What was recommended in the turns so far, oldest first, each no more than its job, needs and first pick.

    Given along with the next question, so that the tools' tables of earlier turns need not be kept.
    """
    asked = next((m for m in reversed(messages) if m.type == "human"), None)
    if asked is None:
        return []
    turn = after_last_human(messages)
    found = next(
        (m.artifact for m in reversed(turn) if m.type == "tool" and m.name == "recommend" and m.artifact), None
    )
    kept: list[dict[str, Any]] = list(asked.additional_kwargs.get(BRIEFS, []))
    if found is not None and found.get("picks"):
        number = sum(1 for m in messages if m.type == "human")
        brief = {name: found[name] for name in ("outcome", "workload", "needs")}
        kept.append({"turn": number, "recommendation": {**brief, "picks": found["picks"][:1]}})
    return kept[-EARLIER:]


def _earlier(messages: Sequence[Any]) -> tuple[tuple[int, Any], ...]:
    from advisor.reasoning.recommend import Recommendation

    asked = next((m for m in reversed(messages) if m.type == "human"), None)
    briefs = asked.additional_kwargs.get(BRIEFS, []) if asked is not None else []
    return tuple((brief["turn"], Recommendation.model_validate(brief["recommendation"])) for brief in briefs)


SEARCH_K = 5


def first_number(turn: Sequence[Any], call_id: str) -> int:
    """The number of a search's first passage: searches of one turn, in the order they were asked for, never share one."""
    base = 1
    for message in turn:
        for call in message.tool_calls if message.type == "ai" else []:
            if call["id"] == call_id:
                return base
            if call["name"] == "search_guides":
                base += int(call["args"].get("k") or SEARCH_K) + int(call["args"].get("others") or 0)
    return base


def after_last_human(messages: Sequence[Any]) -> list[Any]:
    """The messages of the current turn, without the question."""
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].type == "human":
            return list(messages[index + 1 :])
    return list(messages)
