"""What a conversation keeps: its latest state alone, and of earlier turns the words without the tools' tables."""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import RemoveMessage
from langgraph.checkpoint.base import CheckpointTuple, copy_checkpoint, get_checkpoint_metadata
from langgraph.checkpoint.sqlite import SqliteSaver

from advisor.errors import AdvisorError
from advisor.results import BRIEFS

TURNS_WITH_TOOLS = 3
"""Turns whose tool calls a language model still sees."""

REMEMBERED = 40
"""Threads whose latest state is remembered as it is."""

log = logging.getLogger("advisor.history")


class LocalSaver(SqliteSaver):
    """Conversations in one SQLite file, which can drop all but the latest state of a thread.

    The states last written here are remembered as they are: the next turn of a thread reads its own back without taking
    all messages apart and together again. What another process wrote meanwhile is noticed by its number.
    """

    def __init__(self, connection: sqlite3.Connection):
        super().__init__(connection)
        self._written: OrderedDict[tuple[str, str], CheckpointTuple] = OrderedDict()
        self._guard = threading.Lock()

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        """Save a state; see `SqliteSaver.put`."""
        saved = super().put(config, checkpoint, metadata, new_versions)
        at = saved["configurable"]
        before = config["configurable"].get("checkpoint_id")
        state = CheckpointTuple(
            saved,
            copy_checkpoint(checkpoint),
            get_checkpoint_metadata(config, metadata),
            {"configurable": {**at, "checkpoint_id": before}} if before else None,
            [],
        )
        with self._guard:
            self._written[str(at["thread_id"]), at["checkpoint_ns"]] = state
            self._written.move_to_end((str(at["thread_id"]), at["checkpoint_ns"]))
            while len(self._written) > REMEMBERED:
                self._written.popitem(last=False)
        return saved

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        """Save what a step that did not end has written; see `SqliteSaver.put_writes`."""
        self._forget(str(config["configurable"]["thread_id"]))
        super().put_writes(config, writes, task_id, task_path)

    def delete_thread(self, thread_id: str) -> None:
        """Drop a thread; see `SqliteSaver.delete_thread`."""
        self._forget(str(thread_id))
        super().delete_thread(thread_id)

    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        """A state, by default the thread's latest; see `SqliteSaver.get_tuple`."""
        at = config["configurable"]
        key = (str(at["thread_id"]), at.get("checkpoint_ns", ""))
        with self._guard:
            state = self._written.get(key)
        if state is None or at.get("checkpoint_id") or self._latest_id(*key) != state.checkpoint["id"]:
            return super().get_tuple(config)
        return state._replace(checkpoint=copy_checkpoint(state.checkpoint), metadata={**state.metadata})

    def _latest_id(self, thread: str, namespace: str) -> str | None:
        with self.cursor(transaction=False) as cursor:
            cursor.execute(
                "SELECT max(checkpoint_id) FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ?",
                (thread, namespace),
            )
            return cursor.fetchone()[0]  # type: ignore[no-any-return]

    def _forget(self, thread: str) -> None:
        with self._guard:
            for key in [key for key in self._written if key[0] == thread]:
                del self._written[key]

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


def up_to(messages: Sequence[Any], questions: Sequence[str]) -> list[Any] | None:
    """The messages up to the answer to the last of `questions`, which were asked in this order (others may lie between).

    None where the messages do not hold them all.
    """
    wanted = list(questions)
    end = 0 if not wanted else None
    for at, message in enumerate(messages):
        if message.type != "human":
            continue
        if not wanted:
            end = at
            break
        if str(message.text) == wanted[0]:
            del wanted[0]
            end = None
    if wanted:
        return None
    return list(messages[:end])
