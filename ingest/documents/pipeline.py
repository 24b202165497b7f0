"""The way of documents from paths and addresses into the store."""

from __future__ import annotations

import hashlib
import re
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ingest.documents.cut import CUT_VERSION, cut_page
from ingest.documents.decode import decode
from ingest.documents.describe import edition_words, language, read_place
from ingest.documents.discover import Found, Item, Unchanged, find_local, is_url
from ingest.documents.load import load
from ingest.documents.model import Page, Text, Unreadable
from ingest.documents.store import locked, make_passages, rules, write
from ingest.documents.vectors import Vectors
from ingest.report import Progress, Report
from knowledge.library import Document, Passage
from knowledge.passages import PassageStore

PASSAGES_A_FILE = 10
"""A usual page; so that embedding can get ready while pages are still read."""
CHROME_PAGES = 3
"""A paragraph that stands on this many HTML pages of one ingest is chrome."""


@dataclass
class _Loaded:
    item: Item
    data: bytes
    page: Page
    digest: str


def ingest_documents(
    paths_or_urls: Sequence[str | Path],
    *,
    home: Path,
    provider: str | None = None,
    lang: str = "auto",
    progress: Progress | None = None,
    allow_private: bool = False,
    embeddings: str = "use-multilingual",
    embeddings_base_url: str | None = None,
    embeddings_api_key: str | None = None,
    chroma_url: str | None = None,
    chroma_token: str | None = None,
) -> Report:
    """Put files, folders, zips, addresses and site maps into the store; what is unchanged is left alone.

    A file gone from a folder that was ingested before goes from the store. A file that cannot be read is in the report's
    `rejected`, keeps what it gave before, and the others go on; `details` has every file with its passages. With
    `allow_private` addresses of private and loopback ranges are fetched too.
    """
    report = Report()
    store = PassageStore.open(
        home,
        embeddings=embeddings,
        embeddings_base_url=embeddings_base_url,
        embeddings_api_key=embeddings_api_key,
        chroma_url=chroma_url,
        chroma_token=chroma_token,
    )
    with locked(home), Vectors(store.embedder) as vectors:
        have = {document.doc_id: document for document in store.library.documents() if document.kind == "document"}
        etags = {document.source: document.etag for document in have.values() if document.etag}
        found = [_find(str(given), report, allow_private, etags) for given in paths_or_urls]
        behind = store.library.version > 0 and store.library.get_meta("rules") != rules()
        if store.library.get_meta("model") not in (store.embedder.name, None):
            behind = True
            report.warn(f"The embedding model is now {store.embedder.name}; everything is embedded anew.")
        loaded = _load_all(found, have, report, progress, (provider, lang), vectors)
        changed = _documents(loaded, report, have, provider, lang)
        removed = _removed(found, have)
        report.removed += len(removed)
        report.changes += [f"removed {have[doc_id].source}" for doc_id in removed]
        if changed or removed or behind or store.library.get_meta("pending") == "yes":
            write(store, changed, removed, progress=progress, vectors=vectors)
    return report


def _find(given: str, report: Report, allow_private: bool, etags: Mapping[str, str | None]) -> Found:
    if not is_url(given):
        return find_local(given, report)
    from ingest.documents.remote import find_remote

    return find_remote(given, report, allow_private=allow_private, etags=etags)


def document_id(item: Item) -> str:
    """The id of a document: the same however its path was written."""
    return hashlib.sha256(item.key.encode()).hexdigest()[:16]


def _load_all(
    found: list[Found],
    have: dict[str, Document],
    report: Report,
    progress: Progress | None,
    options: tuple[str | None, str],
    vectors: Vectors,
) -> list[_Loaded]:
    items = [item for part in found for item in part.items]
    inputs = {str(item.path.resolve()): item for item in items if item.path}
    out: list[_Loaded] = []
    seen: set[str] = set()
    for number, item in enumerate(items, 1):
        if item.key in seen:
            continue
        seen.add(item.key)
        report.rows_in += 1
        if progress:
            progress("documents", number, len(items))
        known = have.get(document_id(item))
        try:
            data = item.read()
            digest = hashlib.sha256(repr((CUT_VERSION, *options)).encode() + data).hexdigest()
            if known and known.content_hash == digest and not known.extra.get("includes"):
                report.unchanged += 1
                report.details[item.source] = {"unchanged": 1}
                continue
            included: list[str] = []
            page = load(
                item.relative,
                data,
                include=lambda name, item=item, into=included: _include(item, name, inputs, into),  # type: ignore[misc]
                media_type=item.media_type,
                charset=item.charset,
            )
            if included:
                digest = hashlib.sha256("\0".join([digest, *included]).encode()).hexdigest()
                if known and known.content_hash == digest:
                    report.unchanged += 1
                    report.details[item.source] = {"unchanged": 1}
                    continue
        except Unchanged:
            report.unchanged += 1
            report.details[item.source] = {"unchanged": 1}
            continue
        except Unreadable as error:
            report.reject(item.source, str(error))
            report.details[item.source] = {"passages": 0}
            continue
        except (OSError, zipfile.BadZipFile, ValueError, RecursionError) as error:
            report.reject(item.source, f"cannot be read ({error})")
            report.details[item.source] = {"passages": 0}
            continue
        out.append(_Loaded(item, data, page, digest))
        vectors.expect(PASSAGES_A_FILE * len(out))
    return out


def _include(item: Item, name: str, inputs: dict[str, Item], into: list[str]) -> str | None:
    """The text of a file that a page includes; None where it is absent, outside the root, or ingested on its own."""
    if item.path is None:
        return None
    target = (item.path.parent / name).resolve()
    if str(target) in inputs or not target.is_relative_to(Path(item.root)) or not target.is_file():
        return None
    text = decode(target.read_bytes())
    into.append(text)
    return text


def _includers(loaded: list[_Loaded]) -> dict[str, str]:
    """Titles of the pages that include a file, by the file's place."""
    out: dict[str, str] = {}
    for one in loaded:
        for name in one.page.includes:
            if one.item.path is not None:
                out.setdefault(str((one.item.path.parent / name).resolve()), one.page.title)
    return out


def _documents(
    loaded: list[_Loaded], report: Report, have: dict[str, Document], provider: str | None, lang: str
) -> list[tuple[Document, list[Passage]]]:
    chrome = _chrome(loaded)
    includers = _includers(loaded)
    out: list[tuple[Document, list[Passage]]] = []
    for one in loaded:
        item, page = one.item, one.page
        for note in page.notes:
            report.warn(f"{item.source}: {note}")
        if chrome and _is_html_page(item):
            page.blocks = [
                block for block in page.blocks if not (isinstance(block, Text) and _plain(block.text) in chrome)
            ]
        place = read_place(item.relative, item.host)
        own_lang = language(page, place, lang)
        title = (
            includers.get(item.key)
            or page.title
            or PurePosixPath(item.relative).stem.replace("-", " ").replace("_", " ")
        )
        if place.edition and place.edition not in title.lower():
            title = f"{title} ({place.edition})"
        document = Document(
            doc_id=document_id(item),
            source=item.source,
            root=item.root,
            title=title[:200],
            lang=own_lang,
            provider=provider or place.provider,
            as_of=page.as_of or item.as_of or item.file_date,
            url=item.url or page.url,
            edition=place.edition,
            family=place.family,
            content_hash=one.digest,
            etag=item.etag,
            extra={
                "context": f"{place.words} . {provider or place.provider or ''} . {edition_words(place.edition)}",
                **({"includes": page.includes} if page.includes else {}),
            },
        )
        passages = make_passages(document, cut_page(page))
        report.details[item.source] = {"passages": len(passages)}
        if not passages:
            report.reject(item.source, "nothing to index: no sentence and no table")
            continue
        if document.doc_id in have:
            report.updated += 1
        else:
            report.added += 1
        out.append((document, passages))
    return out


def _is_html_page(item: Item) -> bool:
    return item.relative.lower().endswith((".html", ".htm")) or item.media_type == "text/html"


def _plain(text: str) -> str:
    return re.sub(r"\W+", " ", text).strip().lower()


def _chrome(loaded: list[_Loaded]) -> set[str]:
    """Paragraphs that stand on several of the HTML pages: menus, notices, footers that no rule for elements caught."""
    counts: Counter[str] = Counter()
    for one in loaded:
        if _is_html_page(one.item):
            counts.update({_plain(block.text) for block in one.page.blocks if isinstance(block, Text)})
    return {text for text, count in counts.items() if count >= CHROME_PAGES}


def _removed(found: list[Found], have: dict[str, Document]) -> list[str]:
    """Documents of an input seen whole that are in it no more."""
    gone: list[str] = []
    for part in found:
        if part.complete:
            there = {document_id(item) for item in part.items}
            gone += [doc_id for doc_id, document in have.items() if document.root == part.root and doc_id not in there]
    return gone
