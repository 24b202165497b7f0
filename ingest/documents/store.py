"""Writing into the store: the lock, what changed, vectors first, then one commit, then tidying up.

Killed at any point the library is in its old state or its new one. Vectors that no passage of the library names are left
over from a killed run; the next run removes them.
"""

from __future__ import annotations

import hashlib
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from filelock import FileLock

from ingest.documents.cut import Cut
from ingest.documents.vectors import Vectors
from ingest.report import Progress
from knowledge.asks import pack
from knowledge.errors import StoreUnavailable
from knowledge.glossary import PATH as GLOSSARY
from knowledge.glossary import PROVIDERS
from knowledge.lexical import FIELD_MARK, LEXICAL_VERSION, build_lexical
from knowledge.library import Document, Passage
from knowledge.passages import PassageStore, entries, knowledge_folder, lexical_path
from knowledge.query import index_terms, query_groups
from knowledge.tokens import STOP_WORDS, TOKENS_VERSION

BATCH = 128
EMBED_WIDTH = 380
"""How much of a passage is embedded: title, last heading, then the body; a Japanese character counts as two. More made ingestion
slower and search no better."""
AHEAD = 3
"""Batches that may wait for their vectors: enough to keep both threads busy, few enough for memory."""
MAX_CHARS = 2000
_KEEP_INDEXES = 2


def rules() -> str:
    """What stored tokens and the index depend on besides the text: their versions and the tables that tokens are read with."""
    digest = hashlib.sha256()
    for path in (GLOSSARY, PROVIDERS, STOP_WORDS):
        digest.update(path.read_bytes() if path.is_file() else b"")
    return f"tokens{TOKENS_VERSION}-index{LEXICAL_VERSION}-{digest.hexdigest()[:16]}"


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


def make_passages(document: Document, cuts: Sequence[Cut]) -> list[Passage]:
    """Passages of a document, their ids made from source and text (and a count where one text stands twice)."""
    out: list[Passage] = []
    seen: dict[str, int] = {}
    for place, cut in enumerate(cuts):
        text = _whole_text(document.title, cut)
        key = hashlib.sha256(f"{document.doc_id}\0{text}".encode()).hexdigest()[:20]
        seen[key] = seen.get(key, 0) + 1
        out.append(
            Passage(
                passage_id=key if seen[key] == 1 else f"{key}-{seen[key]}",
                doc_id=document.doc_id,
                ord=place,
                section=cut.section,
                text=text,
                hints=cut.header,
                fold=hashlib.sha256(re.sub(r"\W+", "", cut.text.lower()).encode()).hexdigest()[:16],
            )
        )
    return out


def _whole_text(title: str, cut: Cut) -> str:
    """The passage as it is shown: the title, the section path, then the body."""
    head = title if not cut.section or cut.section == title else f"{title}\n{cut.section}"
    return f"{head}\n\n{cut.text}".strip()[:MAX_CHARS]


def body_of(passage: Passage) -> str:
    """A passage's text without its title and section lines."""
    return passage.text.split("\n\n", 1)[-1]


def terms_of(document: Document, passage: Passage, title_terms: str | None = None) -> str:
    """The tokens of a passage by field: the document's title and context, the section, the body; then what the entry answers."""
    if title_terms is None:
        title_terms = title_terms_of(document)
    section = " ".join(index_terms(f"{passage.section} {passage.hints}"))
    fields = [title_terms, section, " ".join(index_terms(body_of(passage)))]
    if passage.ord == 0 and (asks := asks_of(document)):
        fields.append(pack([query_groups(ask) for ask in asks]))
    return FIELD_MARK.join(fields)


def asks_of(document: Document) -> list[str]:
    """What an entry answers, as people put it: its questions, and the words of its id, which name its subject."""
    if not document.extra.get("asks"):
        return []
    return [*document.extra["asks"], str(document.extra.get("entry_id", "")).replace("-", " ")]


def title_terms_of(document: Document) -> str:
    """The tokens of a document's title and of the words that its path, provider and questions give."""
    return " ".join(index_terms(f"{document.title} . {document.extra.get('context', '')}"))


def embedding_text(document: Document, passage: Passage) -> str:
    """What is embedded of a passage."""
    lead = str(document.extra.get("question") or document.title)
    section = passage.section.rsplit(" › ", 1)[-1]
    text = f"{lead}. {section}. {body_of(passage)}"[:EMBED_WIDTH]
    left = EMBED_WIDTH
    for place, character in enumerate(text):
        left -= 2 if ord(character) > 0x2E7F else 1
        if left < 0:
            return text[:place]
    return text


def write(
    store: PassageStore,
    changed: Sequence[tuple[Document, list[Passage]]],
    removed: Sequence[str],
    meta: dict[str, str] | None = None,
    progress: Progress | None = None,
    vectors: Vectors | None = None,
) -> int:
    """Put documents in place of those of the same id and drop the removed ids. The caller holds the lock.

    Returns the version after the write. Where the rules for tokens have changed, all that stays gets new tokens too.
    """
    if vectors is None:
        with Vectors(store.embedder) as own:
            return write(store, changed, removed, meta, progress, own)
    library = store.library
    recover(store, vectors, progress)
    replaced = {document.doc_id for document, _ in changed} | set(removed)
    before = library.passage_ids()
    library.set_meta(pending="yes")
    ready = _prepare(store, changed, before, vectors, progress)
    terms = _new_terms(store, replaced) if library.get_meta("rules") not in (rules(), None) else []
    version = library.replace(
        ready,
        removed,
        {
            "model": store.embedder.name,
            "rules": rules(),
            "noise": f"{store.measure_noise(vectors.encode_query):.4f}",
            **(meta or {}),
        },
        terms=terms,
        finish=lambda number: build_lexical(entries(library), number).save(lexical_path(store.home, number)),
    )
    store.dense.delete(before - library.passage_ids())
    library.set_meta(pending="no")
    tidy(store.home, version)
    return version


def _prepare(
    store: PassageStore,
    changed: Sequence[tuple[Document, list[Passage]]],
    before: set[str],
    vectors: Vectors,
    progress: Progress | None,
) -> list[tuple[Document, list[Passage]]]:
    """Tokens and vectors for all passages: a thread computes vectors and another puts them into Chroma, beside the tokens."""
    titles = {document.doc_id: title_terms_of(document) for document, _ in changed}
    flat = [(document, passage) for document, passages in changed for passage in passages]
    vectors.expect(sum(passage.passage_id not in before for _, passage in flat))
    done: dict[str, list[Passage]] = {document.doc_id: [] for document, _ in changed}
    with ThreadPoolExecutor(1) as encoding, ThreadPoolExecutor(1) as writing:
        under_way: deque[Future[None]] = deque()
        for start in range(0, len(flat), BATCH):
            part = flat[start : start + BATCH]
            new = [one for one in part if one[1].passage_id not in before]
            if new:
                encoded = encoding.submit(vectors.encode, [embedding_text(*one) for one in new])
                under_way.append(writing.submit(_upsert, store, new, encoded.result))
            for document, passage in part:
                terms = terms_of(document, passage, titles[document.doc_id])
                done[document.doc_id].append(passage.model_copy(update={"terms": terms}))
            while len(under_way) > AHEAD:
                under_way.popleft().result()
            if progress:
                progress("passages", min(len(flat), start + len(part)), len(flat))
        for left in under_way:
            left.result()
    return [(document, done[document.doc_id]) for document, _ in changed]


def _upsert(store: PassageStore, new: Sequence[tuple[Document, Passage]], encoded: Callable[[], np.ndarray]) -> None:
    if new:
        store.dense.upsert(
            [passage.passage_id for _, passage in new],
            encoded(),
            [passage.text for _, passage in new],
            [
                {
                    "lang": document.lang,
                    "provider": document.provider or "",
                    "source": document.source,
                    "ord": passage.ord,
                }
                for document, passage in new
            ],
        )


def _new_terms(store: PassageStore, replaced: set[str]) -> list[tuple[str, str]]:
    """New tokens for the passages of all documents that stay."""
    out = []
    for document in store.library.documents():
        if document.doc_id not in replaced:
            title = title_terms_of(document)
            for passage in store.library.of_document(document.doc_id):
                out.append((passage.passage_id, terms_of(document, passage, title)))
    return out


def recover(store: PassageStore, vectors: Vectors, progress: Progress | None = None) -> None:
    """Make the vectors agree with the library after a killed run, another model, or a lost Chroma folder."""
    library = store.library
    wanted = library.passage_ids()
    if not wanted and not store.dense.present():
        return
    if library.get_meta("pending") != "yes" and store.dense.count() == len(wanted):
        return
    there = store.dense.ids()
    store.dense.delete(there - wanted)
    missing = list(library.passages(wanted - there).values())
    vectors.expect(len(missing))
    documents = {document.doc_id: document for document in library.documents()}
    what = "passages"
    if library.get_meta("model") not in (store.embedder.name, None):
        what = f"passages embedded anew with {store.embedder.name}"
    for start in range(0, len(missing), BATCH):
        part = [(documents[passage.doc_id], passage) for passage in missing[start : start + BATCH]]
        encoded = vectors.encode([embedding_text(*one) for one in part])
        _upsert(store, part, lambda encoded=encoded: encoded)  # type: ignore[misc]
        if progress:
            progress(what, min(len(missing), start + BATCH), len(missing))


def tidy(home: Path, version: int) -> None:
    """Remove index files older than the last two versions and parts that killed runs left."""
    for path in knowledge_folder(home).glob("lexical-*"):
        number = path.name.split("-")[1].split(".")[0]
        if path.suffix == ".part" or (number.isdigit() and int(number) <= version - _KEEP_INDEXES):
            path.unlink(missing_ok=True)
