"""A limit on how long a server may take, and a pause after it failed, so that a slow or absent one costs a question little."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from knowledge.errors import StoreUnavailable

WAIT_S = 3.0
"""Seconds a call may take. A healthy server on the same network answers a search in well under 0.1 s."""
CONNECT_S = 15.0
"""Seconds that the first call may take, which opens the connection."""
PAUSE_S = 5.0
"""Seconds after a failure in which the server is not asked; then one call tries it again."""


class Deadline:
    """Runs calls of one server in threads of their own and gives up on them in time; safe for several threads."""

    def __init__(
        self, wait_s: float = WAIT_S, pause_s: float = PAUSE_S, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.wait_s, self.pause_s, self._clock = wait_s, pause_s, clock
        self._lock = threading.Lock()
        self._not_before = 0.0
        self._trying = False
        self._why = ""
        self._hung: list[threading.Thread] = []

    def run(self, call: Callable[[], Any], wait_s: float | None = None) -> Any:
        """What `call` returns within `wait_s` (else that of the constructor).

        Raises what it raises, and StoreUnavailable where it takes too long or is not tried now.
        """
        wait_s = self.wait_s if wait_s is None else wait_s
        with self._lock:
            self._hung = [thread for thread in self._hung if thread.is_alive()]
            down = bool(self._why)
            if down and (self._trying or self._hung or self._clock() < self._not_before):
                raise StoreUnavailable(self._why)
            self._trying = down
        outcome: list[Any] = []

        def work() -> None:
            try:
                outcome.append((True, call()))
            except Exception as error:  # handed to the caller, who knows what it may be
                outcome.append((False, error))

        thread = threading.Thread(target=work, daemon=True, name="server-call")
        thread.start()
        thread.join(wait_s)
        late = not outcome
        worked, value = outcome[0] if outcome else (False, StoreUnavailable(f"no answer within {wait_s:g} s"))
        with self._lock:
            self._trying = False
            if late:
                self._hung.append(thread)
            self._why = "" if worked else str(value)
            self._not_before = self._clock() + (0.0 if worked else self.pause_s)
        if worked:
            return value
        raise value
