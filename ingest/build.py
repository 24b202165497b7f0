"""Building the shipped knowledge: the guides into the store, when they are absent or out of date."""

from __future__ import annotations

from pathlib import Path

from ingest.documents.cut import CUT_VERSION
from ingest.documents.guides import GUIDES, digest, guide_files, load_guide
from ingest.documents.store import locked, rules, write
from ingest.documents.vectors import Vectors
from ingest.report import Progress
from knowledge.passages import PassageStore


def ensure_built(
    home: Path,
    *,
    embeddings: str = "use-multilingual",
    embeddings_base_url: str | None = None,
    embeddings_api_key: str | None = None,
    chroma_url: str | None = None,
    chroma_token: str | None = None,
    progress: Progress | None = None,
    guides: Path = GUIDES,
) -> bool:
    """Bring the store under a home up to the shipped guides and the chosen embedding model; True where something was built.

    Documents that a person ingested stay. Two processes starting at once take turns; a killed build is done again.
    """
    store = PassageStore.open(
        home,
        embeddings=embeddings,
        embeddings_base_url=embeddings_base_url,
        embeddings_api_key=embeddings_api_key,
        chroma_url=chroma_url,
        chroma_token=chroma_token,
    )
    state = {
        "guides": f"cut{CUT_VERSION}-{digest(guides)}",
        "rules": rules(),
        "model": store.embedder.name,
        "pending": "no",
    }
    if _current(store, state):
        return False
    with locked(home):
        if _current(store, state):
            return False
        with Vectors(store.embedder) as vectors:
            if not store.library.version:
                vectors.expect(len(guide_files(guides)))
            loaded = [load_guide(path) for path in guide_files(guides)]
            have = {document.doc_id: document for document in store.library.documents() if document.kind == "guide"}
            recut = not (store.library.get_meta("guides") or "").startswith(f"cut{CUT_VERSION}-")
            changed = [
                (document, passages)
                for document, passages in loaded
                if recut or document.doc_id not in have or have[document.doc_id].content_hash != document.content_hash
            ]
            removed = sorted(set(have) - {document.doc_id for document, _ in loaded})
            write(store, changed, removed, {"guides": state["guides"]}, progress, vectors)
        return True


def _current(store: PassageStore, state: dict[str, str]) -> bool:
    if not store.dense.present():
        return False
    return all(store.library.get_meta(key) == value for key, value in state.items())
