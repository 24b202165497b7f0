"""The reasoning: time of a recommendation over the shipped table, and errors beside llm-analysis on published rows.

    python tests/bench/bench_reasoning.py [--rounds 5] [--truth FOLDER] [--llm-analysis PYTHON] [--write]

`--truth` is a folder with published rows (throughput.dev.jsonl and memory.dev.jsonl). `--llm-analysis`
is a Python interpreter with llm-analysis installed; without it only our own errors are shown. `--write` puts the table into
beside_llm_analysis.md next to this file. llm-analysis needs the model's share of the peak as input: it is given 0.4 and 0.5.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from advisor.answer import Constraints, Workload
from advisor.errors import AdvisorError
from advisor.reasoning.estimate import estimate_or_error
from advisor.reasoning.recommend import recommend
from advisor.reasoning.request import read
from knowledge.facts import load_facts
from knowledge.offers import OfferFilter, OfferStore

HERE = Path(__file__).parent
JOBS = {
    "full fine-tune, 7B": Workload(kind="full_ft", params_b=7),
    "full fine-tune, 70B": Workload(kind="full_ft", params_b=70),
    "LoRA, 8B": Workload(kind="lora", model="Llama 3.1 8B"),
    "continued pretraining, 50B tokens in a week": Workload(
        kind="continued_pretrain", model="Llama 3.1 8B", tokens=5e10, seq_len=8192, deadline_hours=168
    ),
    "mixture of experts, 30B-A3B": Workload(kind="moe_train", model="Qwen3 30B-A3B", seq_len=16384),
    "pretraining, 671B": Workload(kind="pretrain", model="DeepSeek V3"),
    "serving, 8B, 20 streams": Workload(kind="inference", model="Llama 3.1 8B", concurrency=20),
    "serving, 405B": Workload(kind="inference", model="Llama 3.1 405B", precision="fp8"),
    "rendering": Workload(kind="render", memory_gb=30),
}
CARDS = {("A100", 40): "a100-sxm-40gb", ("A100", 80): "a100-sxm-80gb", ("H100", 80): "h100-sxm-80gb"}
SHARDING = {"ddp": 0, "zero1": 1, "zero2": 2, "zero3": 3, "hsdp": 3}
GIB = 1.073741824


def speed(rounds: int) -> list[str]:
    """Milliseconds of one recommendation over the whole shipped table: wall clock and processor time, best of the rounds."""
    facts = load_facts()
    with tempfile.TemporaryDirectory() as home:
        offers = OfferStore(Path(home)).search(OfferFilter(limit=100_000)).offers
    lines = [
        f"One recommendation over {len(offers)} offers",
        "",
        "| Job | wall ms | CPU ms | outcome |",
        "|---|---|---|---|",
    ]
    for name, workload in JOBS.items():
        walls, cpus, outcome = [], [], ""
        for _ in range(rounds):
            wall, cpu = time.perf_counter(), time.process_time()
            outcome = recommend(workload, Constraints(), offers, facts=facts, lang="en").outcome
            walls.append((time.perf_counter() - wall) * 1000)
            cpus.append((time.process_time() - cpu) * 1000)
        lines.append(f"| {name} | {min(walls):.0f} | {min(cpus):.0f} | {outcome} |")
    return lines


def rows_of(folder: Path, task: str) -> list[dict[str, Any]]:
    """Scored rows of a published table."""
    text = (folder / f"{task}.dev.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines() if line.strip()]
    return [r for r in rows if r.get("quality") in ("A", "B") and "do_not_score" not in str(r.get("flags", ""))]


def peer_request(row: dict[str, Any], task: str) -> dict[str, Any] | None:
    """The row as llm-analysis takes it; None where it has no way to (adapters, experts, 8-bit, other cards, long-context cuts)."""
    try:
        asked = read({**row, "task": task}, load_facts())
    except AdvisorError:  # a row that we cannot read either is no row to compare
        return None
    if asked.machine is None or asked.job.method != "full" or asked.job.shape.is_moe or asked.job.precision != "bf16":
        return None
    card = CARDS.get((asked.machine.gpu.gpu, round(asked.machine.gpu.memory_gb)))
    if card is None or asked.plan.cp > 1 or asked.job.offload_optimizer or asked.job.states_only:
        return None
    batch = asked.job.global_batch_seqs or asked.job.micro_batch * asked.plan.dp
    shape = asked.job.shape
    return {
        "id": row["id"],
        "name": shape.name,
        "layers": shape.layers,
        "heads": shape.heads,
        "kv_heads": shape.kv_heads,
        "hidden": shape.hidden,
        "vocab": shape.vocab,
        "card": card,
        "tp": asked.plan.tp,
        "pp": asked.plan.pp,
        "dp": asked.plan.dp,
        "micro_batch": asked.job.micro_batch,
        "grad_accum": max(1, round(batch / (asked.job.micro_batch * asked.plan.dp))),
        "seq_len": asked.job.seq_len,
        "recompute": asked.job.recompute,
        "zero": SHARDING[asked.plan.sharding],
    }


def peer_answers(python: str, requests: list[dict[str, Any]], efficiency: float) -> dict[str, dict[str, Any]]:
    """Answers of llm-analysis by row."""
    lines = "\n".join(json.dumps({**request, "flops_efficiency": efficiency}) for request in requests)
    done = subprocess.run(
        [python, str(HERE / "llm_analysis_rows.py")],
        input=lines,
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    return {row["id"]: row for row in map(json.loads, done.stdout.splitlines())}


def errors(pairs: list[tuple[float, float]]) -> str:
    """Median error and share within a quarter."""
    found = [abs(p - t) / t for p, t in pairs]
    return f"{statistics.median(found):.3f} | {sum(e <= 0.25 for e in found) / len(found):.2f}"


def beside(folder: Path, python: str | None) -> list[str]:
    """The table of errors on the rows that llm-analysis answers."""
    facts = load_facts()
    lines = ["", "Errors beside llm-analysis on the rows that it answers", ""]
    lines += ["| Table | Estimator | rows | median error | within 25 % |", "|---|---|---|---|---|"]
    for task, field, theirs in (
        ("throughput", "tokens_per_s_per_gpu", "tokens_per_s_per_gpu"),
        ("memory", "memory_gb_per_gpu", "memory_gb"),
    ):
        rows = {row["id"]: row for row in rows_of(folder, task) if isinstance(row.get(field), int | float)}
        true = {
            key: row[field] * (GIB if task == "memory" and "GiB" in str(row.get("unit")) else 1.0)
            for key, row in rows.items()
        }
        ours = {key: estimate_or_error({**row, "task": task}, facts).get(field) for key, row in rows.items()}
        mine = [(ours[key], true[key]) for key in rows if ours[key]]
        lines.append(f"| {task}, all rows | ours | {len(mine)} | {errors(mine)} |")
        if python is None:
            continue
        requests = [request for row in rows.values() if (request := peer_request(row, task))]
        for efficiency in (0.4, 0.5) if task == "throughput" else (0.5,):
            answers = peer_answers(python, requests, efficiency)
            known = [key for key, row in answers.items() if row.get(theirs) and ours.get(key)]
            name = f"llm-analysis, given {efficiency:.0%} of the peak" if task == "throughput" else "llm-analysis"
            lines.append(
                f"| {task}, rows both answer | {name} | {len(known)} | {errors([(answers[k][theirs], true[k]) for k in known])} |"
            )
            lines.append(
                f"| {task}, rows both answer | ours | {len(known)} | {errors([(ours[k], true[k]) for k in known])} |"
            )
    return lines


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--truth", type=Path)
    parser.add_argument("--llm-analysis", metavar="PYTHON")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    table = speed(args.rounds)
    if args.truth:
        table += beside(args.truth, args.llm_analysis)
    print("\n".join(table))
    if args.write:
        head = "# Estimates beside llm-analysis 0.2.2, one run, published rows (development half)\n\n"
        (HERE / "beside_llm_analysis.md").write_text(head + "\n".join(table) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
