"""The vectors of an ingest: computed in a process of their own where there are many and the machine has two cores."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from types import TracebackType

import numpy as np

from knowledge.embedding_process import EmbeddingProcess
from knowledge.embeddings import Embedder
from knowledge.errors import StoreUnavailable

MANY_TEXTS = 200
"""From about this many texts on, the second process gains more than its start costs (a second of processor time)."""

_log = logging.getLogger(__name__)


class Vectors:
    """Embeds for one ingest; a context that ends what it started. `expect` tells early how much is to come."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._process: EmbeddingProcess | None = None
        self._refused = not getattr(embedder, "own_process", False) or cores() < 2

    def expect(self, texts: int) -> None:
        """Start the process where so many texts are worth it, so that it loads its model while documents are still read."""
        if self._process is None and not self._refused and texts >= MANY_TEXTS:
            try:
                self._process = EmbeddingProcess(self._embedder.name)
            except StoreUnavailable as error:
                self._give_up(error)

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Unit vectors, one row a text, for passages."""
        if self._process is not None:
            try:
                return self._process.encode(texts)
            except StoreUnavailable as error:
                self._give_up(error)
        return self._embedder.encode(texts)

    def encode_query(self, text: str) -> np.ndarray:
        """The unit vector of a question; in the process only where one runs, whose models embed both alike."""
        return self.encode([text])[0] if self._process is not None else self._embedder.encode_query(text)

    def _give_up(self, error: StoreUnavailable) -> None:
        _log.info("embedding goes on in this process: %s", error)
        self._refused = True
        self.close()

    def close(self) -> None:
        """End the process, if there is one."""
        process, self._process = self._process, None
        if process is not None:
            process.close()

    def __enter__(self) -> Vectors:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
