"""Speed of ingestion and search, beside Chroma's own query alone, and the approximate leg against an exact scan.

python tests/bench/bench_retrieval.py [--sizes 5000,200000] [--docs FOLDER] [--questions FILE]
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ingest.documents import ingest_documents
from ingest.documents.store import write
from knowledge.library import Document, Passage
from knowledge.passages import PassageStore

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


def timed(run: Callable[[], object], times: int) -> tuple[float, float]:
    """Median and 95th percentile in milliseconds."""
    out = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        out.append((time.perf_counter() - start) * 1000)
    return statistics.median(out), sorted(out)[int(len(out) * 0.95)]


def synthetic(home: Path, size: int) -> PassageStore:
    """A store of made passages: words drawn by Zipf's law, vectors in clusters, 20 passages a document."""
    store = PassageStore.open(home)
    pick = random.Random(1)
    words = [f"word{number}" for number in range(20_000)]
    weights = [1 / (number + 3) for number in range(len(words))]
    real = [
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
    centres = np.random.default_rng(2).normal(size=(200, 512)).astype(np.float32)

    class Fast:
        """Vectors without a model for passages, the real model for questions."""

        name = store.embedder.name
        encode_query = staticmethod(store.embedder.encode_query)
        generator = np.random.default_rng(3)

        def encode(self, texts: list[str]) -> np.ndarray:
            """Clustered unit vectors, one row a text."""
            chosen = centres[self.generator.integers(0, len(centres), len(texts))]
            vectors = chosen + 0.8 * self.generator.normal(size=chosen.shape).astype(np.float32)
            return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    real_embedder, store.embedder = store.embedder, Fast()
    batch = []
    for number in range(size // 20):
        document = Document(
            doc_id=f"d{number}", source=f"made/{number}.md", title=f"Page {number}", lang="en" if number % 3 else "ja",
            provider="aws" if number % 4 else "gcp", content_hash=str(number),
        )  # fmt: skip
        passages = []
        for place in range(20):
            text = " ".join(pick.choices(words, weights, k=60) + pick.choices(real, k=3))
            passages.append(
                Passage(passage_id=f"p{number}-{place}", doc_id=document.doc_id, ord=place, section="", text=text)
            )
        batch.append((document, passages))
        if len(batch) == 2500:
            write(store, batch, [])
            batch = []
    if batch:
        write(store, batch, [])
    store.embedder = real_embedder
    return store


def bench_search(size: int) -> None:
    """Search, Chroma alone, and the approximate leg against the exact one, over `size` made passages."""
    home = Path(tempfile.mkdtemp())
    try:
        start = time.perf_counter()
        store = synthetic(home, size)
        built = time.perf_counter() - start
        store.search(QUESTIONS[0], gate=False)
        turn = iter(range(10**9))
        median, high = timed(lambda: store.search(QUESTIONS[next(turn) % len(QUESTIONS)], gate=False), 100)
        vector = store.embedder.encode_query(QUESTIONS[0])
        alone, alone_high = timed(lambda: store.dense.nearest(vector, 60), 100)
        row(f"search over {store.count} passages, ms (median, p95)", f"{median:.1f}", f"{high:.1f}")
        row("Chroma's query alone, ms (median, p95)", f"{alone:.1f}", f"{alone_high:.1f}")
        row("built in, s", f"{built:.0f}", "")
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
    if options.docs.is_dir():
        bench_ingest(options.docs, options.questions)
    for size in options.sizes.split(","):
        if size:
            bench_search(int(size))


if __name__ == "__main__":
    main()
