"""Cross-encoder reranking: the best candidates of the fused search read again together with the question. One setting, an extra."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from knowledge.embeddings import model_folder
from knowledge.errors import StoreUnavailable


class Reranker(Protocol):
    """Scores texts against a question; higher is better."""

    def scores(self, query: str, texts: Sequence[str]) -> np.ndarray:
        """One score a text, float32."""
        ...


class CrossEncoderReranker:
    """A sentence-transformers CrossEncoder by Hugging Face id or local folder."""

    def __init__(self, model: str) -> None:
        self._id = model
        self._model: Any = None
        self._lock = threading.Lock()

    def _load(self) -> Any:
        with self._lock:
            if self._model is None:
                try:
                    from sentence_transformers import CrossEncoder
                except ImportError as error:
                    raise StoreUnavailable(
                        f"reranker={self._id!r} needs sentence-transformers: "
                        "pip install 'interconnect-advisor[sentence-transformers]'."
                    ) from error
                try:
                    self._model = CrossEncoder(model_folder(self._id), device="cpu", num_labels=1)
                except (OSError, ValueError) as error:
                    raise StoreUnavailable(f"The reranker {self._id!r} cannot be loaded ({error}).") from error
        return self._model

    def scores(self, query: str, texts: Sequence[str]) -> np.ndarray:
        """One score a text, float32; the model's own scale."""
        if not texts:
            return np.zeros(0, dtype=np.float32)
        pairs = [(query, text) for text in texts]
        return np.asarray(self._load().predict(pairs, show_progress_bar=False), dtype=np.float32)


def load_reranker(model: str | None) -> Reranker | None:
    """The reranker that a setting names, or None."""
    return CrossEncoderReranker(model) if model else None
