"""Start to first answer, answer and search latency, filter latency, build time and memory: one table, one run.

python tests/bench/bench_answers.py
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

QUESTIONS = [
    "Full fine-tune of a 7B model, one node",
    "70Bを8台×8枚で事前学習したい",
    "LoRA of Llama 3.1 8B in Tokyo, under $3 an hour",
    "70BをFP8で社内サービングしたい。同時30リクエスト、国内のみ",
    "Does every multi-GPU instance have NVLink?",
    "AWSにInfiniBandはありますか？",
    "8x H100 with InfiniBand in Europe",
    "NCCL falls back to sockets on two nodes, what do I check?",
    "QLoRA of a 32B model, cheapest spot",
    "What is the difference between H100 NVL and SXM?",
]
ROUNDS = 5


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        environment = {**os.environ, "ADVISOR_HOME": str(home)}
        command = [sys.executable, "-m", "advisor", "ask", QUESTIONS[0], "--json"]
        start = time.perf_counter()
        subprocess.run(command, env=environment, check=True, capture_output=True)
        first = time.perf_counter() - start
        start = time.perf_counter()
        subprocess.run(command, env=environment, check=True, capture_output=True)
        second = time.perf_counter() - start

        from advisor.conversation import build_advisor
        from advisor.settings import Settings
        from knowledge.offers import OfferFilter

        advisor = build_advisor(Settings(home=home))
        for question in QUESTIONS:
            advisor.ask(question)
        answers, searches, filters = [], [], []
        for _ in range(ROUNDS):
            for question in QUESTIONS:
                start = time.perf_counter()
                advisor.ask(question)
                answers.append((time.perf_counter() - start) * 1000)
                start = time.perf_counter()
                advisor.passages.search(question)
                searches.append((time.perf_counter() - start) * 1000)
                start = time.perf_counter()
                advisor.offers.search(OfferFilter(gpu=("H100",), min_gpus=8, rdma=True))
                filters.append((time.perf_counter() - start) * 1000)
        passages, offers = advisor.passages.count, advisor.offers.count
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    answers.sort()
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    print(f"{'what':44s} {'measured':>12s}   wanted")
    for what, value, wanted in (
        ("first start with build, to first answer", f"{first:.1f} s", "build < 15 s"),
        ("later start to first answer", f"{second:.1f} s", "< 5 s"),
        ("answer, median", f"{statistics.median(answers):.0f} ms", "< 150 ms"),
        ("answer, 95th percentile", f"{answers[int(0.95 * len(answers))]:.0f} ms", "< 400 ms"),
        (f"search over {passages} passages, median", f"{statistics.median(searches):.1f} ms", "< 10 ms"),
        (f"filter over {offers} offers, median", f"{statistics.median(filters):.1f} ms", "< 20 ms"),
        ("memory of the process", f"{memory:.0f} MB", "< 700 MB"),
    ):
        print(f"{what:44s} {value:>12s}   {wanted}")


if __name__ == "__main__":
    main()
