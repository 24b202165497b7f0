"""Kills ingestion at random moments and checks after each kill that nothing is lost and nothing is half there.

    python tests/faults/kill_ingestion.py --rounds 200 [--seed 1]

Every round takes in one of two states of the same 20 documents and of the same 60 offers, and is killed (SIGKILL) at a random
moment of the time that a whole round takes. Afterwards the library must be sound and hold one of the two states whole, and the
offers likewise. Now and then, and at the end, a round is let through: then the state must be the new one, every passage must
have its vector and no vector may be left over, and a search must find the new text.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import os
import random
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

DOCUMENTS, OFFERS = 20, 60
WORDS = {"alpha": "quicksilver", "beta": "marmalade"}


class QuickEmbedder:
    """Vectors from a digest: what is tried here is the writing, and a model's start would take most of each round."""

    name = "quick"

    def encode(self, texts):
        """One unit vector a text, float32, shape (texts, 16)."""
        digests = [np.frombuffer(hashlib.sha256(text.encode()).digest()[:16], dtype=np.uint8) for text in texts]
        rows = np.array(digests, dtype=np.float32).reshape(len(texts), 16) - 127.5
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def encode_query(self, text):
        """As `encode`, for one text."""
        return self.encode([text])[0]


def write_inputs(folder: Path, state: str) -> None:
    """The documents and the offers of one state."""
    (folder / state).mkdir(parents=True)
    for number in range(DOCUMENTS):
        text = f"The rail network of pod {number} is built of {WORDS[state]} switches with 400 Gb/s ports."
        (folder / state / f"pod{number}.md").write_text(f"# Pod {number}\n\n## Network\n\n{text}\n")
    price = 2 if state == "alpha" else 3
    rows = ["provider,instance_type,gpu,gpu_count,gpu_memory_gb,region,price_usd_hour"]
    rows += [f"killtest,kt-{number},H100,8,80,us-east-1,{price}.{number:03d}" for number in range(OFFERS)]
    (folder / f"{state}.csv").write_text("\n".join(rows) + "\n")


def ingest(home: Path, inputs: Path, state: str) -> None:
    """Take in one state: its files are put where the last state's were, as an updated folder would be."""
    from ingest.documents import ingest_documents
    from ingest.offers import ingest_offers

    ingest_documents([str(inputs / "docs")], home=home)
    ingest_offers([str(inputs / f"{state}.csv")], home=home, format="table")


def in_child(work, seconds: float | None = None) -> int:
    """Run `work` in a forked process, killed after `seconds` where given; returns its exit status (negative: the signal)."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        except BaseException as error:
            print(f"child: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        finally:
            os._exit(status)
    if seconds is not None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.002)
        os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def states_of_documents(home: Path) -> Counter:
    """How many passages each state has in the library. Raises AssertionError where the file is not sound."""
    path = home / "knowledge" / "library.sqlite"
    if not path.exists():
        return Counter()
    connection = sqlite3.connect(path)
    try:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name='passages'").fetchall():
            return Counter()
        texts = [row[0] for row in connection.execute("SELECT text FROM passages WHERE text LIKE '%rail network%'")]
    finally:
        connection.close()
    return Counter(state for text in texts for state, word in WORDS.items() if word in text)


def states_of_offers(home: Path) -> Counter:
    """How many of the test's offers there are at each whole dollar."""
    import pyarrow.parquet as pq

    path = home / "offers" / "offers.parquet"
    if not path.exists():
        return Counter()
    table = pq.read_table(path, columns=["provider", "price_usd_hour"]).to_pylist()
    return Counter(int(row["price_usd_hour"]) for row in table if row["provider"] == "killtest")


def check_whole(home: Path) -> None:
    """Each of the two stores holds one state whole, or nothing of the test yet."""
    documents = states_of_documents(home)
    assert len(documents) <= 1, documents
    assert all(count == DOCUMENTS for count in documents.values()), documents
    offers = states_of_offers(home)
    assert len(offers) <= 1, offers
    assert all(count == OFFERS for count in offers.values()), offers


def check_search(home: Path, state: str) -> None:
    """Vectors agree with passages and the new text is found; the old one is not."""
    from knowledge.passages import PassageStore

    store = PassageStore.open(home)
    assert store.dense.ids() == store.library.passage_ids(), "vectors and passages differ"
    hits = store.search("What switches is the rail network of pod 7 built of?", 5)
    assert hits, "nothing found"
    assert all(WORDS[state] in hit.text for hit in hits), [hit.text for hit in hits]


def run(rounds: int, seed: int, every: int = 20, say=print) -> dict[str, int]:
    """The loop. Raises AssertionError at the first thing that is not as promised."""
    chance = random.Random(seed)
    counts = Counter()
    with tempfile.TemporaryDirectory(prefix="advisor-kill-") as folder:
        home, inputs = Path(folder) / "home", Path(folder) / "inputs"
        for state in WORDS:
            write_inputs(inputs, state)

        def put(state: str) -> None:
            docs = inputs / "docs"
            docs.mkdir(exist_ok=True)
            for path in (inputs / state).iterdir():
                (docs / path.name).write_text(path.read_text())

        for name in ("ingest.documents", "ingest.offers", "knowledge.offers"):
            importlib.import_module(name)  # here, so that each child starts at once
        import knowledge.passages
        from knowledge.query import index_terms

        knowledge.passages.load_embedder = lambda *_, **__: QuickEmbedder()
        index_terms("辞書を読み込む")

        put("alpha")
        assert in_child(lambda: ingest(home, inputs, "alpha")) == 0
        put("beta")
        start = time.monotonic()
        assert in_child(lambda: ingest(home, inputs, "beta")) == 0
        whole = time.monotonic() - start
        say(f"a whole round takes {whole:.2f} s")
        state = "beta"
        for number in range(1, rounds + 1):
            state = chance.choice(list(WORDS))
            put(state)
            start = time.monotonic()
            status = in_child(lambda: ingest(home, inputs, state), chance.uniform(0, whole))  # noqa: B023
            if (
                status == 0
            ):  # a busy machine's rounds differ in length: the newest whole one is what kills are spread over
                whole = min(whole, time.monotonic() - start)
            elif status == -signal.SIGKILL:
                whole *= 1.02
            counts["killed" if status == -signal.SIGKILL else "came through" if status == 0 else "failed"] += 1
            assert status in (0, -signal.SIGKILL), status
            check_whole(home)
            documents = states_of_documents(home)
            counts["new state" if documents[state] else "old state"] += 1
            if number % every == 0 or number == rounds:
                assert in_child(lambda: ingest(home, inputs, state)) == 0  # noqa: B023
                check_whole(home)
                assert states_of_documents(home) == {state: DOCUMENTS}
                assert in_child(lambda: check_search(home, state)) == 0  # noqa: B023
                counts["let through and searched"] += 1
                say(f"round {number}: {dict(counts)}")
    return dict(counts)


def main() -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    found = run(options.rounds, options.seed)
    print(f"{options.rounds} rounds: {found}; nothing lost, nothing half there")


if __name__ == "__main__":
    main()
