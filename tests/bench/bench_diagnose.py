"""Speed and memory of the diagnosis on a 50 MB log, each case in a process of its own.

python tests/bench/bench_diagnose.py [MB]
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MEASURE = """
import json, resource, sys, time
start = time.perf_counter()
from advisor.reasoning.diagnose import run_files
loaded = time.perf_counter()
found = run_files([sys.argv[1]])
done = time.perf_counter()
print(json.dumps({"import_s": loaded - start, "read_s": done - loaded, "cpu_s": time.process_time(),
                  "mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                  "transport": found.transport, "problems": [p.code for p in found.problems]}))
"""


def nccl_log(target: int, dice: random.Random) -> str:
    """A multi-node NCCL log: mostly channel lines, as real ones are."""
    lines, size = [], 0
    while size < target:
        node, device, rank = dice.randrange(32), dice.randrange(8), dice.randrange(256)
        head = f"[1,{rank}]<stdout>:gpu-node-{node:03d}:{2000 + device}:{3000 + device} [{device}] NCCL INFO "
        kind = dice.random()
        if kind < 0.6:
            line = f"Channel {dice.randrange(16):02d}/0 : {rank}[{device}] -> {dice.randrange(256)}[{device}] [send] via NET/IB/{device}/GDRDMA"
        elif kind < 0.8:
            line = f"Channel {dice.randrange(16):02d}/0 : {rank}[{device}] -> {dice.randrange(256)}[{device}] via P2P/CUMEM/read"
        elif kind < 0.95:
            line = f"Trees [0] {rank}/-1/-1->{rank + 1}->{rank + 2} [1] {rank}/-1/-1->{rank + 1}->{rank + 2} [2] {rank}/-1/-1->0->2"
        else:
            line = f"comm 0x55d0c0ffee rank {rank} nranks 256 cudaDev {device} nvmlDev {device} busId {device}b000 - Init COMPLETE"
        lines.append(head + line)
        size += len(lines[-1]) + 1
    return "\n".join(lines)


def training_log(target: int, dice: random.Random) -> str:
    """Ordinary training output with a few NCCL lines in it."""
    lines, size = [], 0
    while size < target:
        line = (
            f"2026-05-04 12:00:{dice.randrange(60):02d} INFO step={dice.randrange(10**6)} loss={dice.random():.4f} "
            f"lr={dice.random():.2e} tokens_per_s={dice.randrange(10**5)} grad_norm={dice.random():.3f} rank {dice.randrange(64)}"
        )
        lines.append(line)
        size += len(line) + 1
    return "\n".join(lines)


def noise(target: int, dice: random.Random) -> str:
    """Random printable text in long lines: the worst case for patterns."""
    letters = [chr(c) for c in range(32, 127)]
    row = "".join(dice.choices(letters, k=4000))
    lines = []
    for _ in range(target // 4001 + 1):
        cut = dice.randrange(4000)
        lines.append(row[cut:] + row[:cut])
    return "\n".join(lines)


def mixture(target: int, dice: random.Random) -> str:
    """Every kind of output after another, again and again: what a monitoring job leaves."""
    cases = Path(__file__).parents[1] / "advisor" / "reasoning" / "diagnose" / "cases"
    texts = [path.read_bytes().decode("utf-8", "replace") for path in sorted(cases.glob("*.txt"))]
    parts, size = [], 0
    while size < target:
        parts.append(dice.choice(texts))
        size += len(parts[-1]) + 1
    return "\n".join(parts)


def main() -> None:
    """Write each log, read it in a new process, print one table."""
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    print(f"{'case':<16}{'MB':>6}{'import s':>10}{'read s':>9}{'CPU s':>8}{'MB/s':>8}{'peak MB':>9}  result")
    with tempfile.TemporaryDirectory() as folder:
        for name, make in (
            ("nccl log", nccl_log),
            ("training log", training_log),
            ("noise", noise),
            ("mixture", mixture),
        ):
            path = Path(folder) / "log.txt"
            path.write_text(make(megabytes << 20, random.Random(7)), encoding="utf-8")
            start = time.perf_counter()
            run = subprocess.run(
                [sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, check=True, timeout=600
            )
            got = json.loads(run.stdout)
            wall = time.perf_counter() - start
            result = f"{got['transport']}, {len(got['problems'])} problems ({wall:.1f} s in all)"
            rate = megabytes / got["read_s"]
            print(
                f"{name:<16}{megabytes:>6}{got['import_s']:>10.2f}{got['read_s']:>9.2f}{got['cpu_s']:>8.2f}{rate:>8.0f}{got['mb']:>9.0f}  {result}"
            )


if __name__ == "__main__":
    main()
