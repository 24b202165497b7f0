"""Values worked out once for a key, also where several threads ask for it at the same moment."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Generic, TypeVar

V = TypeVar("V")


class Remembered(Generic[V]):
    """The last `size` values; the longest unused leaves first. What could not be worked out is asked for again next time."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._known: OrderedDict[Hashable, Future[V]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, work: Callable[[], V], keep: Callable[[V], bool] = lambda value: True) -> V:
        """The value for `key`: the known one, that of whoever works it out right now, or `work()`, kept where `keep(value)`.

        Raises what `work` raises.
        """
        with self._lock:
            known = self._known.get(key)
            if known is not None:
                self._known.move_to_end(key)
            else:
                mine = self._known[key] = Future()
                while len(self._known) > self._size:
                    self._known.popitem(last=False)
        if known is not None:
            return known.result()
        try:
            value = work()
        except BaseException as error:
            self._forget(key, mine)
            mine.set_exception(error)
            raise
        if not keep(value):
            self._forget(key, mine)
        mine.set_result(value)
        return value

    def _forget(self, key: Hashable, future: Future[V]) -> None:
        with self._lock:
            if self._known.get(key) is future:
                del self._known[key]
