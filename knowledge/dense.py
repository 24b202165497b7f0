"""The dense leg: one Chroma collection a model, embedded by default or on a server, with vectors of ours only."""

from __future__ import annotations

import hashlib
import importlib
import re
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from knowledge.deadline import CONNECT_S, Deadline
from knowledge.errors import StoreUnavailable

_HNSW = {"hnsw": {"space": "cosine", "ef_construction": 200, "max_neighbors": 32, "ef_search": 200}}
_BATCH = 500


def import_chroma() -> Any:
    """The module chromadb. Checks of URIs in JSON schemas are left out of its import: their grammar takes most of a second."""
    hidden = "rfc3987_syntax"
    held = sys.modules.get(hidden)
    sys.modules[hidden] = None  # type: ignore[assignment]
    try:
        return importlib.import_module("chromadb")
    finally:
        if held is not None:
            sys.modules[hidden] = held
        else:
            del sys.modules[hidden]


def collection_name(model: str) -> str:
    """The name of the collection for a model: readable, valid for Chroma, and different for each model."""
    readable = re.sub(r"[^a-z0-9]+", "-", model.lower()).strip("-")[-40:].strip("-") or "model"
    return f"passages-{readable}-{hashlib.sha256(model.encode()).hexdigest()[:8]}"


class DenseIndex:
    """Vectors by passage id. A passage can have several vectors (parts of its text); the nearest counts."""

    def __init__(
        self, model: str, *, folder: Path | None = None, url: str | None = None, token: str | None = None
    ) -> None:
        self.model = model
        self._folder, self._url, self._token = folder, url, token
        self._client: Any = None
        self._collection: Any = None
        self._opening = threading.RLock()
        self._deadline = Deadline() if url else None

    def _connect(self) -> Any:
        """The client. One thread opens it: Chroma's registry of open folders is not made for two at once."""
        with self._opening:
            return self._open()

    def _open(self) -> Any:
        if self._client is None:
            chromadb = import_chroma()
            from chromadb.config import Settings

            settings = Settings(anonymized_telemetry=False)
            try:
                if self._url:
                    parts = urlsplit(self._url if "//" in self._url else f"http://{self._url}")
                    secure = parts.scheme == "https"
                    self._client = chromadb.HttpClient(
                        host=parts.hostname or "localhost",
                        port=parts.port or (443 if secure else 8000),
                        ssl=secure,
                        headers={"Authorization": f"Bearer {self._token}"} if self._token else None,
                        settings=settings,
                    )
                else:
                    assert self._folder is not None
                    self._folder.mkdir(parents=True, exist_ok=True)
                    self._client = chromadb.PersistentClient(str(self._folder), settings)
            except Exception as error:  # Chroma raises ValueError, its own and httpx errors here, of no common family
                where = self._url or self._folder
                raise StoreUnavailable(f"Chroma at {where} cannot be reached ({error}).") from error
        return self._client

    def collection(self) -> Any:
        """The collection, made where it is absent. Never with Chroma's own embedding function."""
        with self._opening:
            return self._open_collection()

    def _open_collection(self) -> Any:
        if self._collection is None:
            try:
                self._collection = self._connect().get_or_create_collection(
                    collection_name(self.model),
                    embedding_function=None,
                    metadata={"model": self.model},
                    configuration=_HNSW,
                )
            except StoreUnavailable:
                raise
            except Exception as error:  # as above
                raise StoreUnavailable(f"The collection of {self.model} cannot be opened ({error}).") from error
        return self._collection

    def present(self) -> bool:
        """Whether an embedded store has its files; a server's is taken to be there."""
        return bool(self._url) or (self._folder is not None and (self._folder / "chroma.sqlite3").is_file())

    def reopen(self) -> None:
        """Forget the open client, so that the next call sees what other processes wrote."""
        if self._client is not None and not self._url:
            from chromadb.api.shared_system_client import SharedSystemClient

            SharedSystemClient.clear_system_cache()
        self._client = self._collection = None

    def upsert(
        self, ids: Sequence[str], vectors: np.ndarray, documents: Sequence[str], metadatas: Sequence[dict[str, Any]]
    ) -> None:
        """Put vectors in, with the text and the fields that filters need."""
        collection = self.collection()
        for start in range(0, len(ids), _BATCH):
            part = slice(start, start + _BATCH)
            try:
                collection.upsert(
                    ids=list(ids[part]),
                    embeddings=vectors[part],
                    documents=list(documents[part]),
                    metadatas=list(metadatas[part]),
                )
            except Exception as error:  # as above
                raise StoreUnavailable(f"Chroma refused {len(ids[part])} passages ({error}).") from error

    def delete(self, ids: Iterable[str]) -> None:
        """Take vectors out; ids that are not there are ignored."""
        gone = list(ids)
        for start in range(0, len(gone), _BATCH):
            self.collection().delete(ids=gone[start : start + _BATCH])

    def ids(self) -> set[str]:
        """All ids in the collection."""
        collection, out, offset = self.collection(), set(), 0
        while page := collection.get(include=[], limit=10_000, offset=offset)["ids"]:
            out.update(page)
            offset += len(page)
        return out

    def count(self) -> int:
        """How many vectors there are."""
        return int(self.collection().count())

    def nearest(self, vector: np.ndarray, k: int, where: dict[str, Any] | None = None) -> list[tuple[str, float]]:
        """The k nearest vectors' ids with their cosine similarity, best first. A server gets three seconds; see `Deadline`."""
        if self._deadline is not None:
            import_chroma()  # takes seconds on its own, which are not the server's
            first = CONNECT_S if self._client is None else None
            return self._deadline.run(lambda: self._nearest(vector, k, where), first)
        return self._nearest(vector, k, where)

    def _nearest(self, vector: np.ndarray, k: int, where: dict[str, Any] | None) -> list[tuple[str, float]]:
        try:
            found = self.collection().query(query_embeddings=[vector], n_results=k, where=where, include=["distances"])
        except StoreUnavailable:
            raise
        except Exception as error:  # as above
            self._collection = None  # a server that lost its data makes a new one under the same name
            raise StoreUnavailable(f"Chroma cannot answer ({error}).") from error
        return [
            (passage_id, 1.0 - float(distance))
            for passage_id, distance in zip(found["ids"][0], found["distances"][0], strict=True)
        ]

    def drop_other_models(self, keep: Callable[[str], bool] | None = None) -> list[str]:
        """Delete collections of other models; returns their names."""
        client = self._connect()
        mine, gone = collection_name(self.model), []
        for entry in client.list_collections():
            name = getattr(entry, "name", entry)
            if name.startswith("passages-") and name != mine and not (keep and keep(name)):
                client.delete_collection(name)
                gone.append(name)
        return gone
