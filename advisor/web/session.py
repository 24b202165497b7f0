"""What one browser tab's conversation holds on the server while the tab is open."""

from __future__ import annotations

import json
import secrets
import zlib
from functools import cached_property
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from advisor.answer import Answer, Lang

MAX_TURNS = 200
"""Turns kept in one conversation; older ones leave the page (the export has what the page has)."""


class Turn(BaseModel):
    """One question with its answer, or with why there is none."""

    model_config = ConfigDict(extra="forbid")

    question: str
    answer: Answer | None = None
    error: str | None = None
    stopped: bool = False
    partial: str = ""
    edited: bool = False
    """True where the question is a change of assumptions made with the controls."""

    @cached_property
    def packed(self) -> bytes:
        """This turn as it is held between two events. Only for a turn that others follow: a copy would take it along."""
        return _packed(self)


class Session(BaseModel):
    """A conversation: its thread at the advisor and its turns. The thread's name is a secret nobody can guess."""

    model_config = ConfigDict(extra="forbid")

    thread: str = Field(
        default_factory=lambda: secrets.token_urlsafe(16), max_length=64, pattern=r"^[A-Za-z0-9_-]{16,64}$"
    )
    turns: list[Turn] = Field(default_factory=list, max_length=MAX_TURNS)
    shown: int = -1
    """Index of the turn that the result panel shows; -1 for the last."""

    def turn_shown(self) -> Turn | None:
        """The turn in the result panel, or None before the first."""
        if not self.turns:
            return None
        return self.turns[self.shown if -1 <= self.shown < len(self.turns) else -1]

    def with_turn(self, turn: Turn) -> Session:
        """A copy with `turn` at its end, shown."""
        return self.model_copy(update={"turns": [*self.turns, turn][-MAX_TURNS:], "shown": -1})

    def last_lang(self) -> Lang | None:
        """Language of the last answer."""
        return next((turn.answer.lang for turn in reversed(self.turns) if turn.answer), None)


def saved(session: Session) -> str:
    """The conversation as JSON for the browser's own storage; tool arguments are left out to keep it small."""
    slim = session.model_copy(update={"turns": [_slim(turn) for turn in session.turns]})
    return slim.model_dump_json(by_alias=True, exclude_defaults=True)


def saved_turn(turn: Turn) -> dict[str, Any]:
    """One turn as it stands in what `saved` gives."""
    return _slim(turn).model_dump(mode="json", by_alias=True, exclude_defaults=True)


def _slim(turn: Turn) -> Turn:
    answer = turn.answer.model_copy(update={"tool_calls": ()}) if turn.answer else None
    return turn.model_copy(update={"answer": answer})


def restored(text: str) -> Session | None:
    """A conversation from the browser's storage; None where it is not one (storage is the user's to edit)."""
    try:
        return Session.model_validate_json(text)
    except ValidationError:
        return None


class Held(NamedTuple):
    """A conversation as the server holds it between two events: each turn compressed, a twentieth of the objects' memory."""

    thread: str
    shown: int
    turns: tuple[bytes, ...]


def pack(session: Session) -> Held:
    """The conversation to be held. A turn that others follow never changes, so it is compressed once."""
    before, last = session.turns[:-1], session.turns[-1:]
    return Held(session.thread, session.shown, (*(turn.packed for turn in before), *map(_packed, last)))


def unpack(held: Held | None) -> Session:
    """The conversation that is held; a new one where nothing is."""
    if held is None:
        return Session()
    turns = [Turn.model_validate_json(zlib.decompress(kept)) for kept in held.turns]
    for turn, kept in zip(turns[:-1], held.turns, strict=False):
        vars(turn)["packed"] = kept
    return Session(thread=held.thread, shown=held.shown, turns=turns)


def _packed(turn: Turn) -> bytes:
    return zlib.compress(turn.model_dump_json(by_alias=True, exclude_defaults=True).encode(), 1)


def held_or_mine(held: Held | None, mine: str | None) -> Session:
    """The conversation that is held; where the server has none, what the browser says that its tab is at.

    `mine` is JSON with the thread's `id` and, where the browser thinks it is needed, its own copy as `session`. With the id
    alone the thread goes on without its earlier turns on the page. Whoever knows an id may go on with it: it is a secret.
    """
    if held:
        return unpack(held)
    try:
        said = json.loads(mine or "{}")
    except json.JSONDecodeError:
        return Session()
    if not isinstance(said, dict):
        return Session()
    copy = restored(str(said.get("session") or ""))
    if copy is not None:
        return copy
    try:
        return Session.model_validate({"thread": said["id"]})
    except (KeyError, ValidationError):
        return Session()
