"""Where the lexical leg of a shared store should live: an index file that each process loads, Chroma's own text filter, or
Postgres' full-text search; the same passages, the same questions, one run.

    python tests/bench/bench_shared_lexical.py [--passages 20000] [--questions 50]

200,000 passages is the size the decision in deploy/DESIGN.md was made on. Tokens are ours in all three (Japanese words included),
so that only the engines differ. Postgres is left out where it is not installed.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cluster"))

from cluster_services import Chroma, Postgres, postgres_bin

from knowledge.groups import Group
from knowledge.lexical import FIELD_MARK, Entry, LexicalIndex, build_lexical

WORDS, LENGTH = 60_000, 90


def passages(count: int, seed: int = 3) -> list[list[str]]:
    """Tokens of `count` passages, their words as often as words of a language are (Zipf)."""
    chance = np.random.default_rng(seed)
    numbers = np.minimum(chance.zipf(1.25, size=(count, LENGTH)), WORDS) - 1
    return [[f"w{number}" for number in row] for row in numbers]


def questions(texts: list[list[str]], count: int, seed: int = 5) -> list[list[str]]:
    """Six words of one passage each: some rare, some common."""
    chance = random.Random(seed)
    return [chance.sample(sorted(set(chance.choice(texts))), 6) for _ in range(count)]


def milliseconds(work, items) -> tuple[float, float, list]:
    """Median and 95th percentile of the time of `work` on each item, and what it gave."""
    times, found = [], []
    for item in items:
        start = time.perf_counter()
        found.append(work(item))
        times.append((time.perf_counter() - start) * 1000)
    return float(np.percentile(times, 50)), float(np.percentile(times, 95)), found


def memory_mb() -> float:
    """Highest resident memory of this process so far, MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def row(name: str, build_s: float, load_s: float | None, times: tuple[float, float], note: str) -> None:
    """One line of the table."""
    load = "" if load_s is None else f"{load_s:.2f}"
    print(f"{name:28s} {build_s:9.1f} {load:>7s} {times[0]:8.1f} {times[1]:8.1f}  {note}", flush=True)


def index_file(texts: list[list[str]], asked: list[list[str]], folder: Path) -> list[set[int]]:
    """Our index; returns the ten best of each question."""
    entries = (
        Entry(str(n), FIELD_MARK.join(["", "", " ".join(words)]), str(n), "en", "", "document", str(n), "", "", "")
        for n, words in enumerate(texts)
    )
    start = time.perf_counter()
    index = build_lexical(entries, 1)
    index.save(folder / "lexical-1.npz")
    built = time.perf_counter() - start
    del index
    start = time.perf_counter()
    index = LexicalIndex.load(folder / "lexical-1.npz")
    loaded = time.perf_counter() - start

    def search(words: list[str]) -> set[int]:
        scores = index.scores([Group(((word, 1.0),)) for word in words])
        return set(np.argpartition(-scores, 10)[:10].tolist())

    p50, p95, found = milliseconds(search, asked)
    size = (folder / "lexical-1.npz").stat().st_size / 1e6
    held = sum(array.nbytes for array in (index.indptr, index.rows, index.impact, index.idf)) / 1e6
    row(
        "index file, each process",
        built,
        loaded,
        (p50, p95),
        f"file {size:.0f} MB, arrays {held:.0f} MB, BM25F, ranked",
    )
    return found


def chroma_text(texts: list[list[str]], asked: list[list[str]], folder: Path) -> None:
    """Chroma's `where_document`: which passages contain the words; no ranking, so the rarest two words are asked for."""
    import chromadb

    with Chroma(folder / "chroma") as server:
        client = chromadb.HttpClient(host="127.0.0.1", port=server.port)
        collection = client.create_collection("text", embedding_function=None)
        start = time.perf_counter()
        for first in range(0, len(texts), 2000):
            part = texts[first : first + 2000]
            collection.add(
                ids=[str(first + n) for n in range(len(part))],
                embeddings=np.ones((len(part), 2), dtype=np.float32),
                documents=[f" {' '.join(words)} " for words in part],
            )
        built = time.perf_counter() - start

        def search(words: list[str]) -> int:
            rare = sorted(words, key=lambda word: -int(word[1:]))[:2]
            where = {"$or": [{"$contains": f" {word} "} for word in rare]}
            return len(collection.get(where_document=where, limit=1000, include=[])["ids"])

        p50, p95, _ = milliseconds(search, asked)
        row("Chroma, where_document", built, None, (p50, p95), "substrings, no ranking; two words")


def postgres_text(texts: list[list[str]], asked: list[list[str]], best: list[set[int]]) -> None:
    """Postgres: tsvector of our tokens, GIN, OR of the words, ts_rank."""
    import psycopg

    with Postgres() as server, psycopg.connect(server.url, autocommit=True) as connection:
        start = time.perf_counter()
        connection.execute("CREATE UNLOGGED TABLE p(id int, words tsvector)")
        with connection.cursor() as cursor, cursor.copy("COPY p(id, words) FROM STDIN") as copy:
            for number, words in enumerate(texts):
                copy.write_row((number, " ".join(f"{word}:{at}" for at, word in enumerate(words, 1))))
        connection.execute("CREATE INDEX ON p USING gin(words)")
        connection.execute("ANALYZE p")
        built = time.perf_counter() - start

        def search(words: list[str]) -> set[int]:
            query = " | ".join(words)
            sql = (
                "SELECT id FROM p, to_tsquery('simple', %s) q WHERE words @@ q ORDER BY ts_rank(words, q) DESC LIMIT 10"
            )
            return {found[0] for found in connection.execute(sql, (query,)).fetchall()}

        p50, p95, found = milliseconds(search, asked)
        same = sum(len(one & other) for one, other in zip(found, best, strict=True)) / (10 * len(asked))
        row("Postgres, GIN and ts_rank", built, None, (p50, p95), f"no idf: {same:.0%} of BM25's ten best")


def main() -> None:
    """Read the options and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=20_000)
    parser.add_argument("--questions", type=int, default=50)
    options = parser.parse_args()
    texts = passages(options.passages)
    asked = questions(texts, options.questions)
    print(f"{options.passages:,} passages of {LENGTH} tokens, {options.questions} questions of six words")
    print(f"{'':28s} {'build s':>9s} {'load s':>7s} {'p50 ms':>8s} {'p95 ms':>8s}")
    with tempfile.TemporaryDirectory(prefix="advisor-bench-") as name:
        best = index_file(texts, asked, Path(name))
        if postgres_bin() and find_spec("psycopg"):
            postgres_text(texts, asked, best)
        chroma_text(texts, asked, Path(name))
    print(f"(highest memory of this script {memory_mb():.0f} MB)")


if __name__ == "__main__":
    main()
