"""The way of a document from a path or address into the store."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from ingest.documents.cut import cut_page
from ingest.documents.markdown import load_markdown
from ingest.documents.store import locked, make_passages, write
from ingest.report import Progress, Report
from knowledge.library import Document, Passage
from knowledge.passages import PassageStore
from knowledge.tokens import detect_language


def ingest_documents(
    paths_or_urls: Sequence[str | Path],
    *,
    home: Path,
    provider: str | None = None,
    lang: str = "auto",
    progress: Progress | None = None,
    embeddings: str = "use-multilingual",
    embeddings_base_url: str | None = None,
    embeddings_api_key: str | None = None,
    chroma_url: str | None = None,
    chroma_token: str | None = None,
) -> Report:
    """Put files, folders, zips or addresses into the store; what is unchanged is left alone. Returns what happened."""
    report = Report()
    store = PassageStore.open(
        home,
        embeddings=embeddings,
        embeddings_base_url=embeddings_base_url,
        embeddings_api_key=embeddings_api_key,
        chroma_url=chroma_url,
        chroma_token=chroma_token,
    )
    with locked(home):
        have = {document.doc_id: document for document in store.library.documents()}
        changed: list[tuple[Document, list[Passage]]] = []
        for source, path in _files(paths_or_urls, report):
            report.rows_in += 1
            data = path.read_bytes()
            page = load_markdown(data.decode("utf-8", "replace"))
            doc_id = hashlib.sha256(source.encode()).hexdigest()[:16]
            document = Document(
                doc_id=doc_id,
                source=source,
                title=page.title or path.stem,
                lang=lang if lang != "auto" else detect_language(data.decode("utf-8", "replace")),
                provider=provider,
                content_hash=hashlib.sha256(data).hexdigest(),
            )
            if doc_id in have and have[doc_id].content_hash == document.content_hash:
                report.unchanged += 1
                continue
            passages = make_passages(document, cut_page(page))
            if not passages:
                report.reject(source, "nothing to index: no sentence and no table")
                continue
            if doc_id in have:
                report.updated += 1
            else:
                report.added += 1
            changed.append((document, passages))
        if changed:
            write(store, changed, [], progress=progress)
    return report


def _files(inputs: Sequence[str | Path], report: Report) -> Iterator[tuple[str, Path]]:
    for given in inputs:
        path = Path(given)
        if path.is_dir():
            for inner in sorted(path.rglob("*")):
                if inner.is_file() and inner.suffix in (".md", ".mdx", ".txt", ".html", ".rst"):
                    yield str(inner), inner
        elif path.is_file():
            yield str(given), path
        else:
            report.reject(str(given), "no such file or folder")
