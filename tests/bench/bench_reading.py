"""How long reading a turn takes: a short question, and 100,000 characters of one kind. Run: `python tests/bench/bench_reading.py`."""

from __future__ import annotations

import random
import statistics
import sys
import time

from advisor.planner.reading import read

LONG = 100_000
LIMIT_S = 2.0
SHORT = (
    "8x H100 in Tokyo under $20/h, 13B full fine-tune, 20B tokens within a week",
    "48GB4枚か80GB2枚か、Qwen2.5 72B int4の推論、月20万円以内、AWS以外で",
    "does the AWS p5 have InfiniBand? or should we take ND H100 v5 x 4",
)
PIECES = (
    "a", " ", "1", "1,", "h100 ", "8x ", "$1 ", "<", "<a ", "?", "(", "一", "カ", "```\n", "NCCL INFO x\n", "or ", "not aws ", "in the us ",
    "7b ", "東京の", "80gb or ", "p5en x 2 ", "1 node of 8 or ", "for 3 days, ", "spot or on-demand ", "3日間借りる", "か、", "no hyperscalers ",
    "予算 ", "budget of ", "14b video generation model ", "¥", "€3 ", "nv link ", "\u202e\x00", "\U0001f600", "\u0301", "ﾌｧ", "gpu. ", "\t\n",
)  # fmt: skip


def seconds(text: str) -> float:
    """Wall time of reading a turn that follows another one; the better of two."""
    before = read(SHORT[0])
    times = []
    for _ in range(2):
        start = time.perf_counter()
        read(text, before)
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> int:
    """Print the figures; 1 where a long text took longer than the limit."""
    read("warm up")
    times = [seconds(text) * 1000 for text in SHORT for _ in range(20)]
    print(f"short question: median {statistics.median(times):.1f} ms, worst {max(times):.1f} ms")
    noise = random.Random(7)
    texts = {repr(piece): (piece * (LONG // len(piece) + 1))[:LONG] for piece in PIECES}
    texts["all pieces, shuffled"] = "".join(noise.choice(PIECES) for _ in range(LONG))[:LONG]
    texts["any code points"] = "".join(chr(noise.randrange(32, 0xD7FF)) for _ in range(LONG))
    worst = sorted(((seconds(text), name) for name, text in texts.items()), reverse=True)
    for taken, name in worst[:8]:
        print(f"{taken:6.2f} s  100,000 characters of {name}")
    return int(worst[0][0] > LIMIT_S)


if __name__ == "__main__":
    sys.exit(main())
