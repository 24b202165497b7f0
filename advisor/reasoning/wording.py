"""The needs of a job and what was assumed, in words and in the numbers of this job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from advisor.answer import Lang
from advisor.messages import text
from advisor.reasoning.candidates import Candidate, Result
from advisor.reasoning.counterfactuals import Links, rack
from advisor.reasoning.inference import weight_gb
from advisor.reasoning.joint import STRONG_FP64, nvlink_of, strong_fp64
from advisor.reasoning.verdicts import HELPFUL_FROM
from advisor.reasoning.workload import Sizing

ORDER = (
    "params_b", "tokens", "precision", "seq_len", "global_batch_seqs", "lora_rank", "concurrency", "input_tokens", "output_tokens",
    "memory_gb",
)  # fmt: skip

SHORT_RUN = 1.0
"""Hours below which the set-up weighs as much as the run."""
LARGER_BATCH = 1.3
"""A row that holds this many times the least is said to hold a larger batch, so that nobody takes it for the need."""


def say(key: str, lang: Lang, **values: Any) -> str:
    """The text `reasoning.<key>`."""
    return text(f"reasoning.{key}", lang, **values)


def assumptions(sizing: Sizing, lang: Lang) -> tuple[str, ...]:
    """Every value that the question left out and the answer rests on."""
    workload = sizing.workload
    items = [
        say(f"assume.{name}", lang, value=getattr(workload, name))
        for name in ORDER
        if workload.sources.get(name) == "assumed" and getattr(workload, name) is not None
    ]
    if workload.sources.get("precision") == "registry":
        items.append(say("assume.native", lang, value=workload.precision, model=workload.model))
    if sizing.usual_tokens:
        items.append(say("assume.amount", lang, value=sizing.usual_tokens))
    if sizing.lean:
        items.append(say("assume.lean", lang))
    if sizing.borrowed_shape:
        items.append(say("assume.shape", lang, value=sizing.borrowed_shape))
    if sizing.job is not None and sizing.job.method == "full" and workload.optimizer is None:
        items.append(say("assume.optimizer", lang))
    if sizing.generates:
        items.append(say("assume.rollout", lang))
    if workload.kind == "rlhf" and workload.rlhf_method is None and sizing.job and sizing.job.trained_copies > 1:
        items.append(say("assume.rlhf_method", lang))
    return tuple(items)


def span(hours: float, lang: Lang) -> str:
    """Hours, or days from two days on."""
    return say("days", lang, value=hours / 24) if hours >= 48 else say("hours", lang, value=hours)


def pace(result: Result | None, lang: Lang) -> str:
    """Step time, or tokens a second for serving."""
    if result is None:
        return "–"
    if result.step_s is None and result.tokens_per_s is None and result.pace:
        return say("tokens", lang, value=result.pace)
    if result.step_s is not None:
        return say("seconds", lang, value=result.step_s)
    if result.tokens_per_s is not None:
        return say("tokens", lang, value=result.tokens_per_s)
    return "–"


def reasons(
    sizing: Sizing, links: Links, shown: Sequence[Candidate], lang: Lang, *, asks_network: bool = False
) -> tuple[str, ...]:
    """Why the needs are what they are: memory of the first row shown, then each link. Nothing fits where `shown` is empty."""
    lines: list[str] = []
    if shown:
        if not sizing.joint:
            lines.append(memory_line(sizing, shown[0], lang))
        hours, model = shown[0].hours, sizing.shape
        if model is not None and hours is not None and hours < SHORT_RUN:
            gb = weight_gb(model, sizing.workload.precision or "bf16")
            lines.append(say("short_run", lang, minutes=max(1.0, hours * 60.0), gb=gb))
    shape = sizing.shape
    stated = sizing.workload.sharding
    if shape is not None and sizing.mode == "train" and stated in ("ddp", "zero1", "zero2"):
        name = {"ddp": "DDP", "zero1": "ZeRO-1", "zero2": "ZeRO-2"}[stated]
        lines.append(say("memory.whole_weights", lang, name=name, gb=2.0 * shape.params / 1e9))
    if shape is not None and shape.is_moe:
        lines.append(say("memory.moe", lang, total=shape.params / 1e9, active=shape.active / 1e9))
    if sizing.mode == "memory":
        return (*lines, *memory_links(sizing, shown, lang))
    if not shown:
        return tuple(lines)
    alone = all(c.gpus <= 1 for c in shown)
    if links.independent and not alone:
        return (*lines, say("link.replicas" if sizing.mode == "serve" else "link.independent", lang))
    lines += nvlink_lines(links, shown, lang)
    if not alone:
        lines += network_lines(sizing, links, shown, asks_network, lang)
    return tuple(lines)


def memory_links(sizing: Sizing, shown: Sequence[Candidate], lang: Lang) -> list[str]:
    """The links of jobs whose speed is not modelled: together on several cards, or each card for itself; and double precision."""
    lines = []
    first = shown[0] if shown else None
    if sizing.workload.fp64 and first is not None and strong_fp64(first.gpu) and first.gpu is not None:
        rate = first.gpu.fp64_tflops or 0.0
        lines.append(say("fp64.need", lang, gpu=first.offer.gpu, rate=rate, least=STRONG_FP64))
    if not sizing.joint or first is None:
        return [*lines, say("link.independent", lang)]
    params = sizing.workload.params_b
    if nvlink_of(sizing) == "helpful" and first.offer.gpu_count > 1:
        lines.append(say("link.joint", lang, gpus=round(first.gpus)))
    elif params and nvlink_of(sizing) == "no":
        lines.append(say("link.small_network", lang, params=params * 1e3, mb=params * 4e3))
    if first.nodes > 1:
        lines.append(say("link.mpi", lang, nodes=first.nodes))
    return lines


def nvlink_lines(links: Links, shown: Sequence[Candidate], lang: Lang) -> list[str]:
    """What NVLink does for the job, and on which machine that was judged."""
    lines = []
    on = links.on
    measured = links.nvlink is not None and on is not None
    if shown[0].gpus <= 1:
        if not measured:
            return [say("link.none", lang)]
        lines.append(say("link.alone", lang))
    elif shown[0].replicas:
        lines.append(say("link.first_replicas", lang))
    if on is None or links.nvlink is None:
        return lines
    gpus = round(on.gpus)
    name = on.offer.gpu
    if links.stated:
        form = f"{on.offer.gpu} {on.offer.gpu_variant}"
        lines.append(say("link.reference", lang, gpus=gpus, gpu=form))
    values = {
        "gpus": gpus,
        "gpu": name,
        "with_s": pace(links.with_link, lang),
        "without_s": pace(links.without_link, lang),
    }
    if links.without_link is None:
        lines.append(say("link.nvlink_fits_not", lang, gpus=gpus, gpu=name))
    elif links.nvlink < HELPFUL_FROM:
        lines.append(say("link.nvlink_same", lang, **values))
    else:
        lines.append(say("link.nvlink", lang, slowdown=times(links.nvlink), **values))
    return lines


def network_lines(
    sizing: Sizing, links: Links, shown: Sequence[Candidate], asks_network: bool, lang: Lang
) -> list[str]:
    """What the network between nodes does for the rows shown: nothing for one node, measured from the second on."""
    several = [c for c in shown if c.nodes > 1]
    lines = [] if several else [say("link.one_node", lang)]
    if several and all(rack(c) for c in several):
        return [*lines, say("link.rack", lang, gpu=several[0].offer.gpu, nodes=several[0].nodes)]
    if sizing.mode != "train" or links.rdma is None or links.with_net is None or not (several or asks_network):
        return lines
    if links.without_net is None:
        measured = say("link.rdma_fits_not", lang, nodes=links.nodes)
    elif links.rdma < HELPFUL_FROM:
        measured = say("link.rdma_same", lang, nodes=links.nodes)
    else:
        measured = say(
            "link.rdma",
            lang,
            nodes=links.nodes,
            slowdown=times(links.rdma),
            with_s=pace(links.with_net, lang),
            without_s=pace(links.without_net, lang),
        )
    mixed = bool(several) and len(several) < len(shown)
    return [*lines, say("link.mixed", lang, measured=measured) if mixed else measured]


def times(slowdown: float) -> str:
    """A factor with as many digits as it deserves: 1.24, 3.1, 27."""
    return f"{slowdown:.2f}" if slowdown < 2 else f"{slowdown:.1f}" if slowdown < 10 else f"{slowdown:.0f}"


def plan_words(result: Result, lang: Lang) -> str:
    """The plan, with recomputation where activations do not all fit."""
    return say("plan.recompute", lang, plan=result.parallelism) if result.recompute else result.parallelism


def memory_line(sizing: Sizing, candidate: Candidate, lang: Lang) -> str:
    """What fills one card."""
    result = candidate.result
    parts = result.parts
    if sizing.mode == "memory":
        return say("memory.job", lang, need_gb=sizing.card_gb)
    if sizing.mode == "serve":
        return say(
            "memory.serve",
            lang,
            gpu_gb=result.memory_gb,
            plan=result.parallelism,
            weights_gb=parts.get("weights", 0.0),
            kv_gb=parts.get("kv_cache", 0.0),
            streams=sizing.streams,
            context=sizing.context,
        )
    states = sum(parts.get(name, 0.0) for name in ("weights", "gradients", "optimizer"))
    values = {
        "gpu_gb": result.memory_gb,
        "plan": plan_words(result, lang),
        "states_gb": states,
        "act_gb": parts.get("activations", 0.0) + parts.get("logits", 0.0),
    }
    if candidate.gpus <= 1:
        line = say("memory.train_one", lang, **values)
        if result.least_gb and result.memory_gb > LARGER_BATCH * result.least_gb:
            line = say("memory.least", lang, line=line, least_gb=result.least_gb)
        return line
    total = result.memory_gb * candidate.gpus
    return say("memory.train", lang, gpus=round(candidate.gpus), total_gb=total, **values)
