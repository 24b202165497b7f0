"""What a conversation keeps: its latest state alone, and of earlier turns the words without the tools' tables."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import RemoveMessage
from langgraph.checkpoint.sqlite import SqliteSaver

from advisor.errors import AdvisorError
from advisor.results import BRIEFS

TURNS_WITH_TOOLS = 3
"""Turns whose tool calls a language model still sees."""

log = logging.getLogger("advisor.history")


class LocalSaver(SqliteSaver):
    """Conversations in one SQLite file, which can drop all but the latest state of a thread."""

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Drop every checkpoint of the threads but the latest of each namespace; `delete` drops that one too."""
        for thread_id in thread_ids:
            if strategy == "delete":
                self.delete_thread(thread_id)
                continue
            with self.cursor() as cursor:
                for table in ("writes", "checkpoints"):
                    cursor.execute(
                        f"DELETE FROM {table} WHERE thread_id = ? AND checkpoint_id < "
                        "(SELECT max(checkpoint_id) FROM checkpoints AS kept "
                        f"WHERE kept.thread_id = {table}.thread_id AND kept.checkpoint_ns = {table}.checkpoint_ns)",
                        (thread_id,),
                    )


def keep_latest(saver: Any, thread: str) -> None:
    """Drop the older states of a thread: the latest holds the whole conversation. A failure is logged, never raised."""
    try:
        saver.prune([thread])
    except (AdvisorError, sqlite3.Error) as error:
        log.warning("older states of a conversation stay for now: %s", error)


def lightened(messages: Sequence[Any]) -> list[Any]:
    """What to send along with the next question, so that a long conversation stays as quick as a short one.

    The tools' tables of the turns before go (the answers were made from them, the next question carries their gist); of turns
    further back than `TURNS_WITH_TOOLS` the calls and their results go whole. Questions and answers stay word for word.
    """
    out: list[Any] = []
    turns_after = 0
    for message in reversed(messages):
        if message.type == "human":
            turns_after += 1
            if BRIEFS in message.additional_kwargs:
                kept = {name: value for name, value in message.additional_kwargs.items() if name != BRIEFS}
                out.append(message.model_copy(update={"additional_kwargs": kept}))
        elif turns_after >= TURNS_WITH_TOOLS and (message.type == "tool" or getattr(message, "tool_calls", None)):
            out.append(RemoveMessage(id=message.id))
        elif message.type == "tool" and message.artifact is not None:
            out.append(message.model_copy(update={"artifact": None}))
    return out
