"""PassageStore: search over all that was ingested, dense (Chroma) and lexical, fused; the one door to passages."""

from __future__ import annotations

import csv
import statistics
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from knowledge import fusion
from knowledge.dense import DenseIndex
from knowledge.embeddings import Embedder, load_embedder
from knowledge.errors import StoreUnavailable
from knowledge.groups import Group
from knowledge.lexical import FIELD_MARK, FIELDS, Entry, LexicalIndex, build_lexical
from knowledge.library import Document, Library, Passage
from knowledge.query import query_groups
from knowledge.remembered import Remembered
from knowledge.rerank import Reranker, load_reranker
from knowledge.tokens import detect_language

DENSE_CANDIDATES = 60
WIDE = 120
"""Vectors asked for at once: both a search in one language and one in all of them find their candidates among these."""
ENOUGH = 40
"""Candidates of one language among these that need no search of their own."""
NO_NOISE = 0.3
QUERIES = 512
"""Questions whose vectors and passages are remembered; a turn asks for the same words in two ways."""
BODIES = 2048
"""Passages remembered with their words."""
BODY_END = FIELDS.index("body") + 1
UNRELATED = Path(__file__).parent / "data" / "unrelated_questions.csv"


class Hit(BaseModel):
    """One passage found. `score` is comparable within one answer only; `source` is the path as ingested or the URL; `url` is
    what to cite where the document has a public address; `entry_id` and `area` are set for the shipped guides."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rank: int
    score: float
    source: str
    title: str
    section: str
    text: str
    lang: str
    provider: str | None = None
    as_of: str | None = None
    passage_id: str
    url: str | None = None
    entry_id: str | None = None
    area: str | None = None
    edition: str | None = None
    asks: tuple[str, ...] = ()
    """The questions that a guide entry answers, as people put them."""


@dataclass(frozen=True)
class _Asked:
    """What a question is, apart from where its answer is looked for."""

    groups: Sequence[Group]
    lang: str
    likeness: tuple[np.ndarray, np.ndarray]


def _asked(index: LexicalIndex, query: str) -> _Asked:
    groups = query_groups(query)
    return _Asked(groups, detect_language(query), index.asks.likeness(groups))


def _rows(
    index: LexicalIndex, nearest: Sequence[tuple[str, float]], mask: np.ndarray | None, limit: int
) -> dict[int, float]:
    """The rows of the nearest vectors that the mask lets through, each with its best cosine; at most `limit` vectors."""
    out: dict[int, float] = {}
    for vector_id, cosine in nearest:
        row = index.row_of.get(vector_id.partition("#")[0])
        if row is None or (mask is not None and not mask[row]):
            continue
        out[row] = max(cosine, out.get(row, -1.0))
        limit -= 1
        if not limit:
            break
    return out


class SourceInfo(BaseModel):
    """One document in the store, for `advisor sources`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    title: str
    kind: str
    lang: str
    provider: str | None
    as_of: str | None
    url: str | None
    passages: int


def knowledge_folder(home: Path) -> Path:
    """Where the library, the lexical index and the embedded Chroma live under a home."""
    return Path(home) / "knowledge"


class PassageStore:
    """Search and reading of passages. Made by `open`; safe for several threads; notices what other processes ingest."""

    def __init__(
        self, home: Path, library: Library, dense: DenseIndex, embedder: Embedder, reranker: Reranker | None
    ) -> None:
        self.home = Path(home)
        self.library = library
        self.dense = dense
        self.embedder = embedder
        self.reranker = reranker
        self._index: LexicalIndex | None = None
        self._documents: dict[str, Document] = {}
        self._lock = threading.RLock()
        self._noise = NO_NOISE
        self.dense_failure: str | None = None
        self._asked: Remembered[_Asked] = Remembered(QUERIES)
        self._wide: Remembered[list[tuple[str, float]]] = Remembered(QUERIES)
        self._found: Remembered[tuple[Hit, ...]] = Remembered(QUERIES)
        self._bodies: Remembered[tuple[Passage, frozenset[str]] | None] = Remembered(BODIES)

    @classmethod
    def open(
        cls,
        home: Path,
        *,
        embeddings: str = "use-multilingual",
        embeddings_base_url: str | None = None,
        embeddings_api_key: str | None = None,
        reranker: str | None = None,
        chroma_url: str | None = None,
        chroma_token: str | None = None,
    ) -> PassageStore:
        """Open the store under a home; an empty home gives an empty store. Nothing heavy is loaded before the first search.

        Raises StoreUnavailable where the folder cannot be used, UnknownEmbeddings where the setting names no back end.
        """
        folder = knowledge_folder(home)
        embedder = load_embedder(embeddings, base_url=embeddings_base_url, api_key=embeddings_api_key)
        dense = DenseIndex(embedder.name, folder=folder / "chroma", url=chroma_url, token=chroma_token)
        return cls(Path(home), Library(folder / "library.sqlite"), dense, embedder, load_reranker(reranker))

    def index(self) -> LexicalIndex:
        """The lexical index of the current version, loaded or built when the version has changed."""
        version = self.library.version
        index = self._index
        if index is not None and index.version == version:
            return index
        with self._lock:
            if self._index is not None and self._index.version == version:
                return self._index
            path = lexical_path(self.home, version)
            try:
                index = LexicalIndex.load(path)
            except StoreUnavailable:
                index = build_lexical(entries(self.library), version)
            if self._index is not None:
                self.dense.reopen()
            self._noise = float(self.library.get_meta("noise") or NO_NOISE)
            self._documents = {document.doc_id: document for document in self.library.documents()}
            self._index = index
            return index

    def measure_noise(self, encode_query: Callable[[str], np.ndarray] | None = None) -> float:
        """How near, by cosine, questions about nothing in the store come to it: mean and two deviations over shipped examples.

        The figure differs between embedding models; ingestion stores it with each version. `encode_query` stands in for the
        embedder's own where ingestion embeds elsewhere.
        """
        with UNRELATED.open(encoding="utf-8", newline="") as file:
            questions = [row["question"] for row in csv.DictReader(file)]
        encode = encode_query or self.embedder.encode_query
        nearest = [self.dense.nearest(encode(question), 1) for question in questions]
        best = [found[0][1] for found in nearest if found]
        if not best:
            return NO_NOISE
        return statistics.fmean(best) + 2.0 * statistics.pstdev(best)

    @property
    def count(self) -> int:
        """How many passages there are."""
        return self.library.count()

    @property
    def version(self) -> int:
        """The version of the knowledge; it rises with each ingest that changed something."""
        return self.library.version

    def search(
        self, query: str, k: int = 5, lang: str | None = None, provider: str | None = None, *, gate: bool = True
    ) -> list[Hit]:
        """The k best passages for a question, best first; none where the knowledge holds nothing about it.

        `lang` and `provider` keep only passages of that language or provider. Where Chroma cannot answer, the lexical leg
        answers alone and `dense_failure` says why.
        """
        if not query.strip() or k < 1:
            return []
        index = self.index()
        if not len(index):
            return []
        if self.dense_failure is not None:  # asked anew, so that what is said of Chroma is how it is now
            return self._search(index, query, k, lang, provider, gate)
        found = self._found.get(
            (index.version, query, k, lang, provider, gate),
            lambda: tuple(self._search(index, query, k, lang, provider, gate)),
            keep=lambda hits: self.dense_failure is None,
        )
        return list(found)

    def _search(
        self, index: LexicalIndex, query: str, k: int, lang: str | None, provider: str | None, gate: bool
    ) -> list[Hit]:
        asked = self._asked.get((index.version, query), lambda: _asked(index, query))
        groups, asked_in = asked.groups, asked.lang
        mask = index.mask(lang=lang, provider=provider)
        dense = self._dense_rows(index, query, lang, provider, mask)
        candidates = fusion.fuse(index, groups, dense, mask, max(40, 4 * k), asked_in, asked.likeness)
        if gate and not fusion.on_topic(index, groups, candidates, dense, self._noise):
            return []
        candidates = fusion.prefer_editions(index, groups, candidates)
        candidates = fusion.one_language(index, candidates, lang or asked_in)
        if self.reranker is not None and candidates:
            candidates = self._rerank(index, query, candidates)

        def body_tokens(row: int) -> frozenset[str] | None:
            body = self._body(index, row)
            return None if body is None else body[1]

        chosen = fusion.select(index, groups, candidates, body_tokens, k)
        bodies = [(self._body(index, candidate.row), candidate.score) for candidate in chosen]
        return [self._describe(body[0], rank, score) for rank, (body, score) in enumerate(bodies, 1) if body]

    def _body(self, index: LexicalIndex, row: int) -> tuple[Passage, frozenset[str]] | None:
        """The passage of a row with the words of its text; None where it is gone."""

        def look() -> tuple[Passage, frozenset[str]] | None:
            passage = self.library.passages([index.ids[row]]).get(index.ids[row])
            if passage is None:
                return None
            return passage, frozenset(passage.terms.split(FIELD_MARK)[:BODY_END][-1].split(" "))

        return self._bodies.get((index.version, row), look, keep=lambda body: body is not None)

    def _dense_rows(
        self, index: LexicalIndex, query: str, lang: str | None, provider: str | None, mask: np.ndarray | None
    ) -> dict[int, float]:
        clauses: list[dict[str, Any]] = []
        if lang:
            clauses.append({"lang": lang})
        if provider:
            clauses.append({"provider": provider})
        where = {"$and": clauses} if len(clauses) > 1 else (clauses[0] if clauses else None)
        try:
            failing = self.dense_failure is not None
            key = (index.version, query)
            wide = self._nearest(query, WIDE) if failing else self._wide.get(key, lambda: self._nearest(query, WIDE))
            rows = _rows(index, wide[:DENSE_CANDIDATES] if mask is None else wide, mask, DENSE_CANDIDATES)
            if mask is not None and len(rows) < min(ENOUGH, int(mask.sum())):
                rows = _rows(index, self._nearest(query, DENSE_CANDIDATES, where), None, DENSE_CANDIDATES)
        except StoreUnavailable as error:
            self.dense_failure = str(error)
            return {}
        return rows

    def _nearest(self, query: str, k: int, where: dict[str, Any] | None = None) -> list[tuple[str, float]]:
        found = self.dense.nearest(self.embedder.encode_query(query), k, where)
        self.dense_failure = None
        return found

    def _rerank(self, index: LexicalIndex, query: str, candidates: list[fusion.Candidate]) -> list[fusion.Candidate]:
        assert self.reranker is not None
        passages = self.library.passages(index.ids[candidate.row] for candidate in candidates)
        known = [candidate for candidate in candidates if index.ids[candidate.row] in passages]
        scores = self.reranker.scores(query, [passages[index.ids[candidate.row]].text for candidate in known])
        for candidate, score in zip(known, scores, strict=True):
            candidate.score = float(score)
        return sorted(known, key=lambda candidate: (-candidate.score, candidate.row))

    def _describe(self, passage: Passage, rank: int, score: float) -> Hit:
        document = self._documents.get(passage.doc_id) or self.library.document(passage.doc_id)
        if document is None:
            raise StoreUnavailable(f"The document of passage {passage.passage_id} is gone; search again.")
        return Hit(
            rank=rank,
            score=round(score, 6),
            source=document.source,
            title=document.title,
            section=passage.section,
            text=passage.text,
            lang=document.lang,
            provider=document.provider,
            as_of=document.as_of,
            passage_id=passage.passage_id,
            url=document.url or next((s["url"] for s in document.extra.get("sources", []) if s.get("url")), None),
            entry_id=document.extra.get("entry_id"),
            area=document.extra.get("area"),
            edition=document.edition,
            asks=tuple(document.extra.get("asks", ())),
        )

    def get(self, passage_id: str) -> Hit | None:
        """One passage by id, or None where it is gone."""
        passage = self.library.passages([passage_id]).get(passage_id)
        return None if passage is None else self._describe(passage, 1, 0.0)

    def neighbours(self, passage_id: str, before: int = 1, after: int = 1) -> list[Hit]:
        """The passages around one in its document, in reading order, itself among them; empty where it is gone."""
        passage = self.library.passages([passage_id]).get(passage_id)
        if passage is None:
            return []
        around = self.library.of_document(passage.doc_id, passage.ord - before, passage.ord + after)
        return [self._describe(other, place, 0.0) for place, other in enumerate(around, 1)]

    def sources(self) -> list[SourceInfo]:
        """All documents, by source, with how many passages each gave."""
        counts = self.library.passage_counts()
        return [
            SourceInfo(
                source=document.source,
                title=document.title,
                kind=document.kind,
                lang=document.lang,
                provider=document.provider,
                as_of=document.as_of,
                url=document.url,
                passages=counts.get(document.doc_id, 0),
            )
            for document in self.library.documents()
        ]


def lexical_path(home: Path, version: int) -> Path:
    """The file of the lexical index of a version."""
    return knowledge_folder(home) / f"lexical-{version}.npz"


def entries(library: Library) -> list[Entry]:
    """What the lexical index needs of each passage, in the library's order."""
    return [
        Entry(
            passage_id=row["passage_id"],
            terms=row["terms"],
            doc=row["doc_id"],
            lang=row["lang"],
            provider=row["provider"] or "",
            kind=row["kind"],
            fold=row["fold"],
            as_of=row["as_of"] or "",
            edition=row["edition"] or "",
            family=row["family"] or "",
        )
        for row in library.all_passages()
    ]
