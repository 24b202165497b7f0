"""Answers the planner has just written, for the end of the turn: the same answer is not written twice."""

from __future__ import annotations

import threading
from collections import OrderedDict

from advisor.answer import Answer
from advisor.results import Results

KEPT = 64
"""More than turns ever run at once; an answer whose turn was stopped is never taken and leaves here."""


class Written:
    """Answers, each with the results it was made from, by the id of the message that says it; each is taken once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: OrderedDict[str, tuple[Answer, Results]] = OrderedDict()

    def keep(self, message_id: str, answer: Answer, results: Results) -> None:
        """Hold an answer until it is taken; the oldest leaves where there are too many."""
        with self._lock:
            self._answers[message_id] = answer, results
            while len(self._answers) > KEPT:
                self._answers.popitem(last=False)

    def take(self, message_id: str | None) -> tuple[Answer, Results] | None:
        """The answer that this message says, or None where this process did not write it or it was taken before."""
        with self._lock:
            return self._answers.pop(message_id or "", None)


WRITTEN = Written()
