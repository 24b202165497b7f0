"""Ten minutes of a busy team: 100 conversations over nginx on two web processes, and what that does to errors, time and memory.

    python tests/cluster/soak.py [--minutes 10] [--sessions 100] [--pause 30]

Every session is a conversation of its own that asks, reads for `--pause` seconds on average, and asks on; a new one begins after
eight questions. Exit status 0 where no question failed, the 95th percentile is under 1.5 s, and no web process grew by 5 % or
more after its first minute.
"""

from __future__ import annotations

import argparse
import http.client
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path

from cluster_services import Chroma, Nginx, Postgres, Web, ask, get, memory_mb

QUESTIONS = (
    "Full fine-tune of a 13B model on A100 80GB, one node",
    "and with H100 instead?",
    "Does a single 8-GPU server need InfiniBand as well as NVLink?",
    "70Bを4台×8枚で事前学習したい。InfiniBandは必要ですか？",
    "一番安いものは？",
    "What is the difference between SXM and PCIe boards?",
    "LoRA fine-tuning of an 8B model, cheapest, in Europe",
    "Inference of Llama 3.1 405B for 50 users at once",
    "NCCLが遅いときは何を確認すればいいですか？",
    "without spot",
)


class Record:
    """What all sessions saw."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.seconds: list[tuple[float, float]] = []
        self.errors: list[str] = []


def session(base: str, record: Record, stop: threading.Event, pause: float, seed: int) -> None:
    """One visitor after another on one place."""
    chance = random.Random(seed)
    begun = time.monotonic()
    stop.wait(chance.uniform(0, pause))
    thread, asked = uuid.uuid4().hex, 0
    while not stop.is_set():
        start = time.monotonic()
        try:
            ask(base, chance.choice(QUESTIONS), thread, headers={"cookie": f"advisor_route={thread}"}, timeout=60)
            with record.lock:
                record.seconds.append((start - begun, time.monotonic() - start))
        except (OSError, RuntimeError, ValueError, http.client.HTTPException) as error:
            with record.lock:
                record.errors.append(repr(error)[:300])
        asked += 1
        if asked % 8 == 0:
            thread = uuid.uuid4().hex
        stop.wait(chance.expovariate(1 / pause))


def percentile(values: list[float], share: float) -> float:
    """The value below which `share` of the sorted values lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


def soak(minutes: float, sessions: int, pause: float) -> int:
    """Start everything, ask, watch, stop everything; returns the exit status."""
    with tempfile.TemporaryDirectory(prefix="advisor-soak-") as name, Postgres() as postgres:
        folder = Path(name)
        with Chroma(folder / "chroma") as chroma:
            env = {
                "ADVISOR_CHROMA_URL": chroma.url,
                "ADVISOR_DATABASE_URL": postgres.url,
                "ADVISOR_KNOWLEDGE": str(folder / "published"),
                "ADVISOR_RATE_LIMIT_PER_MINUTE": "100000",
            }
            writer = {**os.environ, **env, "ADVISOR_HOME": str(folder / "ingest-home")}
            subprocess.run([sys.executable, "-m", "advisor", "publish"], env=writer, check=True, timeout=300)
            env["ADVISOR_OFFERS"] = str(folder / "published" / "offers.parquet")
            web = [
                Web(folder / f"web{n}", {**env, "ADVISOR_HOME": str(folder / f"web{n}" / "home")}, name=f"web{n}")
                for n in (1, 2)
            ]
            nginx = Nginx(folder / "nginx", [one.port for one in web])
            try:
                for service in (*web, nginx):
                    service.wait()
                return watch(nginx.url, web, minutes, sessions, pause)
            finally:
                for service in (nginx, *web):
                    service.stop()


def warm(web: list[Web], rounds: int = 3, at_once: int = 4) -> None:
    """Ask every question of both processes, several at once: what a process loads once, and once a thread, is no growth."""

    def ask_all(one: Web) -> None:
        for _ in range(rounds):
            thread = uuid.uuid4().hex
            for question in QUESTIONS:
                ask(one.url, question, thread, timeout=120)

    places = [threading.Thread(target=ask_all, args=(one,)) for one in web for _ in range(at_once)]
    for place in places:
        place.start()
    for place in places:
        place.join()


def watch(base: str, web: list[Web], minutes: float, sessions: int, pause: float) -> int:
    """Run the sessions and print the figures."""
    warm(web)
    record, stop = Record(), threading.Event()
    places = [
        threading.Thread(target=session, args=(base, record, stop, pause, number), daemon=True)
        for number in range(sessions)
    ]
    start = time.monotonic()
    for place in places:
        place.start()
    memory: list[tuple[float, list[float]]] = []
    loads: list[float] = []
    print("minute  questions  errors  p50 s  p95 s  web1 MB  web2 MB  load", flush=True)
    while time.monotonic() - start < minutes * 60:
        stop.wait(min(15.0, max(0.1, minutes * 60 - (time.monotonic() - start))))
        now = time.monotonic() - start
        memory.append((now, [memory_mb(one.pid) for one in web]))
        loads.append(os.getloadavg()[0])
        with record.lock:
            seconds = [value for _, value in record.seconds]
            errors = len(record.errors)
        p50, p95 = percentile(seconds, 0.5), percentile(seconds, 0.95)
        used = "  ".join(f"{value:7.0f}" for value in memory[-1][1])
        print(
            f"{now / 60:6.2f}  {len(seconds):9d}  {errors:6d}  {p50:5.2f}  {p95:5.2f}  {used}  {loads[-1]:.1f}",
            flush=True,
        )
    stop.set()
    for place in places:
        place.join(60)
    seconds = [value for _, value in record.seconds]
    p95 = percentile(seconds, 0.95)
    after_first = [used for at, used in memory if at >= 60] or [memory[-1][1]]
    growth = [100 * (last / first - 1) for first, last in zip(after_first[0], memory[-1][1], strict=True)]
    rate = len(record.errors) / max(1, len(seconds) + len(record.errors))
    print(
        f"{sessions} sessions, {minutes:g} min, pause {pause:g} s: {len(seconds)} answers, error rate {rate:.4f}, "
        f"p50 {percentile(seconds, 0.5):.2f} s, p95 {p95:.2f} s, memory after the first minute "
        + ", ".join(f"{value:+.1f} %" for value in growth)
        + f", mean load {sum(loads) / len(loads):.1f} on {os.cpu_count()} cores"
    )
    for one in web:
        for line in one.log.read_text(errors="replace").splitlines():
            if '"event": "turn"' not in line or '"error": null' not in line:
                print(one.name, line[:400])
    for error in record.errors[:5]:
        print("error:", error)
    for one in web:
        assert get(f"{one.url}/healthz")[0] == 200
    return 0 if not record.errors and p95 < 1.5 and max(growth) < 5 else 1


def main() -> int:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--sessions", type=int, default=100)
    parser.add_argument("--pause", type=float, default=30)
    options = parser.parse_args()
    return soak(options.minutes, options.sessions, options.pause)


if __name__ == "__main__":
    sys.exit(main())
