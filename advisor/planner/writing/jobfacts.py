"""The arithmetic of the job in a line each: weights, states, models held, compute, what splitting it sends, what would change."""

from __future__ import annotations

import re
from typing import Any

from advisor.messages import text
from advisor.planner.writing.figures import number, usd

TRAINING = frozenset({"full_ft", "pretrain", "continued_pretrain", "moe_train", "long_context_train"})
ADAPTERS = frozenset({"lora", "qlora"})
SERVING = frozenset({"inference", "moe_inference", "batch_inference"})
WEIGHT_BYTES = {"fp32": 4.0, "tf32": 4.0, "bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "int8": 1.0, "int4": 0.5, "fp4": 0.5}
STATE_BYTES = 16
"""Mixed-precision Adam: weights 2, gradients 2, optimizer states 12 bytes a parameter."""
LONG = 16_384
"""From this length the activations of one sequence decide whether a training job fits."""
RLHF_MODELS = {"ppo": (2, 2), "grpo": (1, 2), "dpo": (1, 1)}
"""Models trained and models held frozen; GRPO's reward is often a rule, then one fewer."""
USABLE = 0.94
_TP = re.compile(r"\bTP (\d+)")
_REPLICAS = re.compile(r"× (\d+)$")


def weight_bytes(workload: Any) -> float:
    """Bytes a parameter of the weights in memory."""
    return 0.5 if workload.kind == "qlora" else WEIGHT_BYTES.get(workload.precision or "bf16", 2.0)


def fact_lines(recommendation: Any, reading: Any, lang: str) -> list[str]:
    """What is specific to this job, at most a few lines, the most telling first."""
    w = recommendation.workload
    picks = recommendation.picks or recommendation.nearest
    lines = [*rlhf_line(w, lang), *weights_line(w, picks, lang)]
    lines += compute_line(w, picks, lang)
    lines += long_line(w, picks, reading, lang)
    lines += split_line(w, picks, lang)
    lines += replicas_line(w, picks, reading.constraints, lang)
    return lines


def rlhf_line(workload: Any, lang: str) -> list[str]:
    """How many models a preference-tuning method holds, and what their states take."""
    counts = RLHF_MODELS.get(workload.rlhf_method or "")
    if workload.kind != "rlhf" or not counts or not workload.params_b:
        return []
    trained, frozen = counts
    gb = workload.params_b * (STATE_BYTES * trained + 2 * frozen)
    values = {"trained": trained, "frozen": frozen, "models": trained + frozen, "gb": number(gb)}
    size = number(workload.params_b)
    return [text(f"writing.fact.rlhf.{workload.rlhf_method}", lang, size=size, **values)]


def weights_line(workload: Any, picks: Any, lang: str) -> list[str]:
    """Weights of the whole model, against one card; for adapters also what training all of it would take."""
    if not workload.params_b or workload.kind not in SERVING | ADAPTERS:
        return []
    each = weight_bytes(workload)
    gb = workload.params_b * each
    lines = []
    precision = "4-bit" if workload.kind == "qlora" else (workload.precision or "bf16")
    values = {
        "params": number(workload.params_b),
        "bytes": f"{each:g}",
        "unit": text("writing.unit.byte" if each == 1 else "writing.unit.bytes", lang),
        "gb": number(gb),
        "precision": precision,
    }
    card = picks[0].gpu_memory_gb if picks else None
    plan = _plan(picks)
    split = bool(_TP.search(plan) or "FSDP" in plan or "PP" in plan)
    if split and card:
        least = max(2, -int(-gb // (USABLE * card))) if gb > USABLE * card else 1
        key = "writing.fact.weights.split" if least > 1 else "writing.fact.weights.one"
        lines.append(text(key, lang, card=number(card), least=least, **values))
    elif workload.kind in ADAPTERS:
        lines.append(text("writing.fact.weights", lang, **values))
    if workload.kind in ADAPTERS:
        lines.append(text("writing.fact.full_instead", lang, gb=number(workload.params_b * STATE_BYTES)))
    return lines


def compute_line(workload: Any, picks: Any, lang: str) -> list[str]:
    """6 x active parameters x tokens, the share of the peak rate that is counted on, and the GPU-hours."""
    active = workload.active_params_b or workload.params_b
    if workload.kind not in TRAINING or not workload.tokens or not active:
        return []
    flop = f"{6 * active * 1e9 * workload.tokens:.2g}".replace("e+", "e")
    line = text("writing.compute", lang, params=number(active), tokens=number(workload.tokens / 1e9), flop=flop)
    per_gpu: list[tuple[str, str]] = []
    for pick in picks:
        e = pick.estimate
        if e and e.mfu and e.hours and pick.gpu not in {name for name, _ in per_gpu}:
            values = {"gpu": pick.gpu, "mfu": f"{e.mfu:.0%}", "n": number(e.hours * pick.total_gpus)}
            per_gpu.append((pick.gpu, text("writing.compute.gpu_hours", lang, **values)))
    if per_gpu:
        line += text("writing.compute.at", lang, items=text("writing.join", lang).join(words for _, words in per_gpu))
    return [line]


def long_line(workload: Any, picks: Any, reading: Any, lang: str) -> list[str]:
    """Long sequences in training, and jobs that ran out of memory on several cards: what splits what."""
    if workload.kind in SERVING or not workload.seq_len:
        return []
    nodes = max([m.nodes or 1 for m in (*reading.current, *reading.candidates)] + [p.nodes for p in picks])
    if workload.seq_len < LONG:
        return []
    line = text("writing.fact.long", lang, seq=f"{workload.seq_len:,}")
    return [line + (text("writing.fact.long.nodes", lang, nodes=nodes) if nodes > 1 else "")]


def split_line(workload: Any, picks: Any, lang: str) -> list[str]:
    """Why a served model that is split over cards wants the link."""
    match = _TP.search(_plan(picks))
    if workload.kind not in SERVING or not match or int(match[1]) <= 1:
        return []
    return [text("writing.fact.tp", lang, tp=match[1])]


def replicas_line(workload: Any, picks: Any, constraints: Any, lang: str) -> list[str]:
    """How many copies of a served model the price limit pays for."""
    cap = constraints.max_price_usd_hour
    if workload.kind not in SERVING or not cap or not picks or not picks[0].total_usd_hour:
        return []
    match = _REPLICAS.search(_plan(picks))
    copies = int(match[1]) if match else 1
    machines = int(cap // picks[0].total_usd_hour)
    if machines < 1:
        return []
    each = picks[0].total_gpus / copies
    values = {"cap": usd(cap), "machines": machines, "copies": machines * copies, "gpus": f"{each:g}"}
    lines = [text("writing.fact.replicas", lang, **values)]
    if weight_bytes(workload) >= 2.0 and each > 1:
        lines.append(text("writing.fact.quantise", lang, gb=number(workload.params_b or 0.0)))
    return lines if workload.params_b else lines[:1]


def within_reach(recommendation: Any, reading: Any, lang: str) -> list[str]:
    """What the budget or the card that was named does allow, where the job as asked cannot be done."""
    w, c = recommendation.workload, reading.constraints
    lines = []
    card = max((m.memory_gb or _known_memory(m) or 0.0 for m in reading.mentions.gpus if m.known), default=0.0)
    one = (c.gpu_count or c.max_gpus or 99) <= 1
    if one and card and w.params_b and recommendation.required.get("memory_gb"):
        room = USABLE * card - 4.0
        values = {"card": number(card), "qlora": number(max(1.0, room / 0.9)), "lora": number(max(1.0, room / 2.4))}
        lines.append(text("writing.reach.card", lang, **values))
    need_gb = recommendation.required.get("memory_gb")
    if need_gb and need_gb > 8 * 100:
        lines.append(
            text("writing.reach.cluster", lang, gpus=number(-(-need_gb // 170)), nodes=number(-(-need_gb // 1350)))
        )
    budget = c.budget_usd
    pick = next(
        (p for p in recommendation.nearest if p.estimate and p.estimate.tokens_per_s and p.total_usd_hour), None
    )
    active = w.active_params_b or w.params_b
    if budget and pick and active and w.kind in TRAINING and recommendation.required.get("budget_usd"):
        hourly = (pick.total_usd_hour or 0.0) / pick.total_gpus
        gpu_hours = budget / hourly
        flop = gpu_hours * 3600 * pick.estimate.tokens_per_s / pick.total_gpus * 6 * active * 1e9
        values = {"budget": usd(budget), "n": number(gpu_hours), "gpu": pick.gpu}
        lines.append(text("writing.reach.budget", lang, tokens=number(flop / 6e9 / 1e9), **values))
    return lines


def _known_memory(mention: Any) -> float | None:
    from knowledge.gpu_names import resolve_gpu

    found = resolve_gpu(mention.gpu) if mention.gpu else None
    return found.memory_gb if found else None


def _plan(picks: Any) -> str:
    first = picks[0].estimate if picks else None
    return first.parallelism if first else ""
