"""Speed of ingestion and search, beside Chroma's own query alone, and the approximate leg against an exact scan.

python tests/bench/bench_retrieval.py [--sizes 5000,200000] [--docs FOLDER] [--questions FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ingest.documents import ingest_documents
from ingest.documents.store import rules
from knowledge.lexical import FIELD_MARK, build_lexical
from knowledge.library import Document, Passage
from knowledge.passages import PassageStore, entries, lexical_path
from knowledge.query import query_groups

QUESTIONS = [
    "How much bandwidth does a node of eight H100 give between nodes?",
    "NCCL_IB_HCA で使うポートを選ぶには？",
    "Which instance has NVLink between all GPUs?",
    "予約の取り消しはいつまでできますか。",
    "p5.48xlarge EFA cards",
]


_PROCESSES = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)


def row(name: str, *figures: object) -> None:
    """Print one line of the table."""
    print(f"| {name:<44} | " + " | ".join(f"{figure!s:>14}" for figure in figures) + " |", flush=True)


def timed(run: Callable[[], object], times: int, clock: Callable[[], float] = time.perf_counter) -> tuple[float, float]:
    """Median and 95th percentile in milliseconds."""
    out = []
    for _ in range(times):
        start = clock()
        run()
        out.append((clock() - start) * 1000)
    return statistics.median(out), sorted(out)[int(len(out) * 0.95)]


REAL = [
    "bandwidth",
    "node",
    "gpu",
    "h100",
    "nvlink",
    "infiniband",
    "efa",
    "p5.48xlarge",
    "予約",
    "取り消し",
    "instance",
    "port",
]
AT_ONCE = 5000


def synthetic(home: Path, size: int) -> tuple[PassageStore, float]:
    """A store of made passages, and the seconds that Chroma took of its building.

    Words are drawn by Zipf's law, vectors lie in clusters, 20 passages make a document. Tokens are the words themselves and vectors are
    made, so that only the indexes are built: this is no measure of ingestion.
    """
    store = PassageStore.open(home)
    pick = np.random.default_rng(1)
    words = np.array([f"word{number}" for number in range(20_000)])
    share = 1 / (np.arange(len(words)) + 3)
    share /= share.sum()
    centres = np.random.default_rng(2).normal(size=(200, 512)).astype(np.float32)
    documents: list[tuple[Document, list[Passage]]] = []
    in_chroma = 0.0
    for first in range(0, size, AT_ONCE):
        many = min(AT_ONCE, size - first)
        common, telling = pick.choice(words, (many, 60), p=share), pick.choice(REAL, (many, 3))
        texts = [" ".join([*one, *two]) for one, two in zip(common, telling, strict=True)]
        vectors = centres[pick.integers(0, len(centres), many)] + 0.8 * pick.normal(size=(many, 512)).astype(np.float32)
        vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
        made = [made_document(number, texts) for number in range(first // 20, (first + many) // 20)]
        documents += made
        flat = [(document, passage) for document, passages in made for passage in passages]
        start = time.perf_counter()
        store.dense.upsert(
            [passage.passage_id for _, passage in flat],
            vectors,
            [passage.text for _, passage in flat],
            [{"lang": document.lang, "provider": document.provider or ""} for document, _ in flat],
        )
        in_chroma += time.perf_counter() - start
        print(f"  {first + many} of {size}, Chroma {in_chroma:.0f} s", end="\r", flush=True)
    store.library.replace(
        documents,
        [],
        {"model": store.embedder.name, "rules": rules(), "noise": "0.3"},
        finish=lambda number: build_lexical(entries(store.library), number).save(lexical_path(home, number)),
    )
    return store, in_chroma


def made_document(number: int, texts: list[str]) -> tuple[Document, list[Passage]]:
    """Document `number` with its 20 of the texts."""
    document = Document(
        doc_id=f"d{number}", source=f"made/{number}.md", title=f"Page {number}", lang="en" if number % 3 else "ja",
        provider="aws" if number % 4 else "gcp", content_hash=str(number),
    )  # fmt: skip
    first = number * 20 % AT_ONCE
    return document, [
        Passage(
            passage_id=f"p{number}-{place}", doc_id=document.doc_id, ord=place, section="", text=text,
            terms=FIELD_MARK.join([f"page {number}", "", text]),
        )
        for place, text in enumerate(texts[first : first + 20])
    ]  # fmt: skip


def bench_search(size: int) -> None:
    """Search, Chroma alone, and the approximate leg against the exact one, over `size` made passages."""
    home = Path(tempfile.mkdtemp())
    try:
        start = time.perf_counter()
        store, in_chroma = synthetic(home, size)
        built = time.perf_counter() - start
        store.search(QUESTIONS[0], gate=False)
        turn = iter(range(10**9))
        median, high = timed(lambda: store.search(QUESTIONS[next(turn) % len(QUESTIONS)], gate=False), 100)
        used = timed(lambda: store.search(QUESTIONS[next(turn) % len(QUESTIONS)], gate=False), 100, time.process_time)
        vector = store.embedder.encode_query(QUESTIONS[0])
        alone, alone_high = timed(lambda: store.dense.nearest(vector, 60), 100)
        row(f"search over {store.count} passages, ms (median, p95)", f"{median:.1f}", f"{high:.1f}")
        row("  its processor time, ms (median, p95)", *(f"{value:.1f}" for value in used))
        row("Chroma's query alone, ms (median, p95)", f"{alone:.1f}", f"{alone_high:.1f}")
        groups = query_groups(QUESTIONS[0])
        lexical, lexical_high = timed(lambda: store.index().scores(groups), 100)
        row("the lexical scores alone, ms (median, p95)", f"{lexical:.1f}", f"{lexical_high:.1f}")
        encode, encode_high = timed(lambda: store.embedder.encode_query(QUESTIONS[0]), 100)
        row("embedding the question alone, ms", f"{encode:.1f}", f"{encode_high:.1f}")
        row("built in, s (all, Chroma's part)", f"{built:.0f}", f"{in_chroma:.0f}")
        row("recall@10 of the approximate leg", f"{recall(store):.3f}", "")
    finally:
        shutil.rmtree(home, ignore_errors=True)


def recall(store: PassageStore, queries: int = 50, k: int = 10) -> float:
    """The share of the k nearest by exact scan that the collection's index gives."""
    collection = store.dense.collection()
    ids: list[str] = []
    parts = []
    while len(ids) < store.count:
        page = collection.get(include=["embeddings"], limit=20_000, offset=len(ids))
        ids += page["ids"]
        parts.append(np.asarray(page["embeddings"], dtype=np.float32))
    vectors = np.concatenate(parts)
    generator = np.random.default_rng(9)
    found = 0
    for number in generator.integers(0, len(ids), queries):
        query = vectors[number] + 0.02 * generator.normal(size=vectors.shape[1]).astype(np.float32)
        query /= np.linalg.norm(query)
        exact = {ids[place] for place in np.argpartition(-(vectors @ query), k)[:k]}
        found += len(exact & {key for key, _ in store.dense.nearest(query, k)})
    return found / (queries * k)


def processor_time() -> float:
    """Seconds of processor time used by this process and by those it started that have ended."""
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, _PROCESSES))


def bench_ingest(docs: Path, questions: Path | None) -> None:
    """Ingest a folder of real documents, twice, and search it."""
    home = Path(tempfile.mkdtemp())
    try:
        start, cpu = time.perf_counter(), processor_time()
        report = ingest_documents([docs], home=home)
        wall, used = time.perf_counter() - start, processor_time() - cpu
        store = PassageStore.open(home)
        row(f"ingest {report.rows_in} files, s (wall, processor)", f"{wall:.1f}", f"{used:.1f}")
        row("passages a second (wall, two cores' worth)", f"{store.count / wall:.0f}", f"{2 * store.count / used:.0f}")
        here, embedding = (resource.getrusage(who).ru_maxrss // 1024 for who in _PROCESSES)
        row("memory, MB (this process, the embedding one)", here, embedding)
        start = time.perf_counter()
        ingest_documents([docs], home=home)
        row("ingest again unchanged, s", f"{time.perf_counter() - start:.2f}", "")
        asked = QUESTIONS
        if questions is not None:
            asked = [json.loads(line)["question"] for line in questions.read_text().splitlines() if line.strip()]
        store.search(asked[0])
        turn = iter(range(10**9))
        median, high = timed(lambda: store.search(asked[next(turn) % len(asked)]), 100)
        row(f"search over {store.count} passages, ms (median, p95)", f"{median:.1f}", f"{high:.1f}")
    finally:
        shutil.rmtree(home, ignore_errors=True)


def main() -> None:
    """Run what the options ask for and print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="5000")
    parser.add_argument("--docs", type=Path, default=Path(__file__).resolve().parents[3] / "shared" / "corpus" / "docs")
    parser.add_argument("--questions", type=Path, default=None)
    options = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    if options.docs.is_dir():
        bench_ingest(options.docs, options.questions)
    for size in options.sizes.split(","):
        if size:
            bench_search(int(size))


if __name__ == "__main__":
    main()
