"""Writing into the store: the lock, what changed, vectors first, then one commit, then tidying up.

Killed at any point the library is in its old state or its new one. Vectors that no passage of the library names are left
over from a killed run; the next run removes them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from ingest.documents.cut import CUT_VERSION, Cut
from ingest.report import Progress
from knowledge.errors import StoreUnavailable
from knowledge.glossary import PATH as GLOSSARY
from knowledge.lexical import FIELD_MARK, build_lexical
from knowledge.library import Document, Passage
from knowledge.passages import PassageStore, entries, knowledge_folder, lexical_path
from knowledge.query import index_terms
from knowledge.tokens import TOKENS_VERSION

EMBED_BATCH = 64
_KEEP_INDEXES = 2


def rules() -> str:
    """What the stored passages depend on besides their text: the cutting, the tokens, the glossary."""
    digest = hashlib.sha256(GLOSSARY.read_bytes()).hexdigest()[:12]
    return f"cut{CUT_VERSION}-tokens{TOKENS_VERSION}-{digest}"


@contextmanager
def locked(home: Path, timeout_s: float = 600) -> Iterator[None]:
    """Hold the one lock of all that writes under a home; others wait."""
    folder = knowledge_folder(home)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / "write.lock", timeout=timeout_s):
            yield
    except OSError as error:
        raise StoreUnavailable(f"The folder {folder} cannot be written ({error}).") from error


def make_passages(document: Document, cuts: list[Cut], context: str = "") -> list[Passage]:
    """Passages of a document with ids made from source, section and text (and a count where one text stands twice)."""
    out: list[Passage] = []
    seen: dict[str, int] = {}
    title_terms = " ".join(index_terms(f"{document.title} {context}"))
    for place, cut in enumerate(cuts):
        text = whole_text(document.title, cut)
        key = hashlib.sha256(f"{document.source}\0{text}".encode()).hexdigest()[:20]
        seen[key] = seen.get(key, 0) + 1
        passage_id = key if seen[key] == 1 else f"{key}-{seen[key]}"
        terms = FIELD_MARK.join(
            [title_terms, " ".join(index_terms(cut.section + " " + cut.header)), " ".join(index_terms(cut.text))]
        )
        fold = hashlib.sha256(re.sub(r"\W+", "", cut.text.lower()).encode()).hexdigest()[:16]
        out.append(
            Passage(
                passage_id=passage_id,
                doc_id=document.doc_id,
                ord=place,
                section=cut.section,
                text=text,
                fold=fold,
                terms=terms,
            )
        )
    return out


def whole_text(title: str, cut: Cut) -> str:
    """The passage as it is shown: the title, the section path, then the body."""
    head = title if not cut.section or cut.section == title else f"{title}\n{cut.section}"
    return f"{head}\n\n{cut.text}".strip()[:2000]


def write(
    store: PassageStore,
    changed: list[tuple[Document, list[Passage]]],
    removed: list[str],
    meta: dict[str, str] | None = None,
    progress: Progress | None = None,
) -> int:
    """Put documents in place of those of the same id and drop the removed ids. The caller holds the lock.

    Returns the version after the write.
    """
    library = store.library
    recover(store)
    before = library.passage_ids() if library.version else set()
    new = [
        (document, passage)
        for document, passages in changed
        for passage in passages
        if passage.passage_id not in before
    ]
    library.set_meta(pending="yes")
    _embed(store, new, progress)
    version = library.replace(
        changed,
        removed,
        {"model": store.embedder.name, "rules": rules(), **(meta or {})},
        finish=lambda number: build_lexical(entries(library), number).save(lexical_path(store.home, number)),
    )
    after = library.passage_ids()
    store.dense.delete(before - after)
    library.set_meta(pending="no")
    tidy(store.home, version)
    return version


def _embed(store: PassageStore, new: list[tuple[Document, Passage]], progress: Progress | None) -> None:
    total = len(new)
    for start in range(0, total, EMBED_BATCH * 8):
        part = new[start : start + EMBED_BATCH * 8]
        vectors = store.embedder.encode([passage.text for _, passage in part])
        store.dense.upsert(
            [passage.passage_id for _, passage in part],
            vectors,
            [passage.text for _, passage in part],
            [
                {"lang": document.lang, "provider": document.provider or "", "source": document.source}
                for document, _ in part
            ],
        )
        if progress:
            progress("passages", min(total, start + len(part)), total)


def recover(store: PassageStore) -> None:
    """Make the vectors agree with the library after a killed run, another model, or a lost Chroma folder."""
    library = store.library
    if not library.version:
        return
    wanted = library.passage_ids()
    if library.get_meta("pending") != "yes" and store.dense.count() == len(wanted):
        return
    there = store.dense.ids()
    store.dense.delete(there - wanted)
    missing = wanted - there
    if missing:
        documents = {document.doc_id: document for document in library.documents()}
        lost = [(documents[passage.doc_id], passage) for passage in library.passages(missing).values()]
        _embed(store, lost, None)
    library.set_meta(pending="no", model=store.embedder.name)


def tidy(home: Path, version: int) -> None:
    """Remove index files older than the last two versions and parts that killed runs left."""
    folder = knowledge_folder(home)
    for path in folder.glob("lexical-*"):
        number = path.name.split("-")[1].split(".")[0]
        if path.suffix == ".part" or (number.isdigit() and int(number) <= version - _KEEP_INDEXES):
            path.unlink(missing_ok=True)
