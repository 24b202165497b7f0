"""The shipped guides: each file an entry with front matter, one passage unless it is long."""

from __future__ import annotations

import hashlib
from pathlib import Path

from ingest.documents.cut import cut_page
from ingest.documents.markdown import load_markdown
from ingest.documents.model import Heading
from ingest.documents.store import make_passages
from knowledge.errors import DataError
from knowledge.library import Document, Passage

GUIDES = Path(__file__).resolve().parents[2] / "knowledge" / "guides"


def guide_files(folder: Path = GUIDES) -> list[Path]:
    """The entries in both languages, by path."""
    return sorted(folder.glob("*/*.md"))


def digest(folder: Path = GUIDES) -> str:
    """A hash of all entries; another hash means the store is behind."""
    value = hashlib.sha256()
    for path in guide_files(folder):
        value.update(f"{path.parent.name}/{path.name}\0".encode() + path.read_bytes() + b"\0")
    return value.hexdigest()


def load_guide(path: Path) -> tuple[Document, list[Passage]]:
    """One entry. Its question, other wordings and keywords count as title when it is searched.

    Raises DataError where the front matter lacks its id.
    """
    data = path.read_bytes()
    page = load_markdown(data.decode("utf-8"))
    lang = path.parent.name
    meta = page.meta
    if not meta.get("id"):
        raise DataError(f"{lang}/{path.name} has no id in its front matter.")
    source = f"guides/{lang}/{path.name}"
    heading = next(
        (block.text for block in page.blocks if isinstance(block, Heading)), str(meta.get("question", path.stem))
    )
    first = next((index for index, block in enumerate(page.blocks) if isinstance(block, Heading)), None)
    if first is not None:
        del page.blocks[first]
    sources = meta.get("sources") or []
    context = [
        str(meta.get("question") or ""),
        *map(str, meta.get("also") or []),
        *map(str, meta.get("keywords") or []),
    ]
    document = Document(
        doc_id=hashlib.sha256(source.encode()).hexdigest()[:16],
        source=source,
        kind="guide",
        root="guides",
        title=heading,
        lang=lang,
        provider=str(meta["provider"]) if meta.get("provider") else None,
        as_of=str(meta["as_of"]) if meta.get("as_of") else None,
        url=None,
        family=str(meta["id"]),
        content_hash=hashlib.sha256(data).hexdigest(),
        extra={
            "entry_id": str(meta["id"]),
            "area": str(meta.get("area", "")),
            "question": str(meta.get("question") or heading),
            "sources": sources,
            "asks": [str(meta.get("question") or heading), *map(str, meta.get("also") or [])],
            "context": " . ".join(context),
        },
    )
    return document, make_passages(document, cut_page(page))
