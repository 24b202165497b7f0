"""Streaming at a pace that a browser and a reader can follow."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

UPDATE_S = 0.2
"""Seconds between two updates of the page: at most five a second."""
FIRST_S = 0.25
"""Seconds after which a turn that is not over shows itself for the first time; most answers are there by then."""

T = TypeVar("T")


class _End:
    def __init__(self, error: BaseException | None):
        self.error = error


class Paced(Generic[T]):
    """Groups what an iterator yields into lists, at most one list each `interval_s`, as soon as there is something new.

    The first list comes after `FIRST_S`, empty where nothing is known yet; a source that ends by then gives one list. The
    iterator runs in a thread of its own, so that a slow step never holds back what is already known. `stopped` is asked between
    groups; once true, iteration ends and the source is closed at its next event. An error of the source is raised here after
    what came before it.
    """

    def __init__(self, source: Iterator[T], stopped: Callable[[], bool] = lambda: False, interval_s: float = UPDATE_S):
        self._source, self._stopped, self._interval = source, stopped, interval_s
        self._queue: queue.SimpleQueue[T | _End] = queue.SimpleQueue()
        self._abandoned = threading.Event()

    def _pump(self) -> None:
        error: BaseException | None = None
        try:
            for event in self._source:
                if self._abandoned.is_set():
                    break
                self._queue.put(event)
        except BaseException as raised:  # carried over to the reader, which raises it
            error = raised
        finally:
            if hasattr(self._source, "close"):
                self._source.close()
            self._queue.put(_End(error))

    def __iter__(self) -> Iterator[list[T]]:
        threading.Thread(target=self._pump, daemon=True, name="turn").start()
        due, first = time.monotonic() + FIRST_S, True
        try:
            while not self._stopped():
                group: list[T] = []
                end = self._take(group, max(0.0, due - time.monotonic()) if first else self._interval)
                while end is None and group and (left := due - time.monotonic()) > 0 and not self._stopped():
                    end = self._take(group, left)
                if group or (first and end is None):
                    due, first = time.monotonic() + self._interval, False
                    yield group
                if end is not None:
                    if end.error is not None:
                        raise end.error
                    return
        finally:
            self._abandoned.set()

    def _take(self, group: list[T], timeout: float) -> _End | None:
        """Move what is queued into `group`, waiting up to `timeout` for the first; the end mark where it came."""
        try:
            item = self._queue.get(timeout=timeout)
            while True:
                if isinstance(item, _End):
                    return item
                group.append(item)
                item = self._queue.get_nowait()
        except queue.Empty:
            return None
