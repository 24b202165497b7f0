"""Limits that keep one visitor from taking the page away from the others."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from advisor.web.words import Refused

MAX_ADDRESSES = 10_000
"""Addresses remembered at once; the oldest are forgotten first, so that memory stays bounded."""


class TooManyRequests(Refused):
    """An address asked more often than `ADVISOR_RATE_LIMIT_PER_MINUTE`."""

    code = "rate_limited"

    def __init__(self, limit: int, wait_s: float):
        super().__init__("error.rate", limit=limit, wait=f"{wait_s:.0f}")
        self.limit, self.wait_s = limit, wait_s


class RateLimit:
    """At most `per_minute` questions from one address in any 60 seconds."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic):
        self._limit, self._clock = per_minute, clock
        self._times: dict[str, deque[float]] = {}
        self._lock = threading.Lock()

    def check(self, address: str) -> None:
        """Count one question. Raises TooManyRequests where it is one too many."""
        now = self._clock()
        with self._lock:
            times = self._times.pop(address, None) or deque()
            while times and now - times[0] >= 60:
                times.popleft()
            self._times[address] = times
            while len(self._times) > MAX_ADDRESSES:
                del self._times[next(iter(self._times))]
            if len(times) >= self._limit:
                raise TooManyRequests(self._limit, max(1.0, 60 - (now - times[0])))
            times.append(now)


def check_question(question: str, limit: int) -> str:
    """The question without surrounding white space. Raises Refused where it is empty or longer than `limit`."""
    question = question.strip()
    if not question:
        raise Refused("error.empty")
    if len(question) > limit:
        raise Refused("error.long", chars=f"{len(question):,}", limit=f"{limit:,}")
    return question
