"""The texts of a recommendation, in the numbers of this job, and the Pick rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from advisor.answer import Constraints, Counterfactual, Estimate, Lang, Pick, Range
from advisor.messages import text
from advisor.reasoning.candidates import Candidate, Result
from advisor.reasoning.counterfactuals import Links
from advisor.reasoning.picking import HOURS_A_MONTH, Role, duration, scores
from advisor.reasoning.series import label
from advisor.reasoning.verdicts import HELPFUL_FROM, verdict
from advisor.reasoning.workload import Sizing
from knowledge.facts import Facts

ORDER = (
    "params_b", "tokens", "precision", "seq_len", "global_batch_seqs", "lora_rank", "concurrency", "input_tokens", "output_tokens",
    "memory_gb",
)  # fmt: skip


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


def reasons(sizing: Sizing, links: Links, fewest: Candidate | None, lang: Lang) -> tuple[str, ...]:
    """Why the needs are what they are: memory first, then each link."""
    lines: list[str] = []
    if fewest is not None:
        lines.append(memory_line(sizing, fewest, lang))
    shape = sizing.shape
    stated = sizing.workload.sharding
    if shape is not None and sizing.mode == "train" and stated in ("ddp", "zero1", "zero2"):
        name = {"ddp": "DDP", "zero1": "ZeRO-1", "zero2": "ZeRO-2"}[stated]
        lines.append(say("memory.whole_weights", lang, name=name, gb=2.0 * shape.params / 1e9))
    if shape is not None and shape.is_moe:
        lines.append(say("memory.moe", lang, total=shape.params / 1e9, active=shape.active / 1e9))
    if sizing.mode == "memory":
        lines.append(say("link.independent", lang))
        return tuple(lines)
    if fewest is None:
        return tuple(lines)
    if links.nvlink is None or links.on is None:
        lines.append(say("link.none", lang))
        return tuple(lines)
    on = links.on
    gpus = round(on.gpus)
    name = on.offer.gpu
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
    if sizing.mode == "train" and links.rdma is not None and links.with_net is not None:
        if fewest.nodes == 1:
            lines.append(say("link.one_node", lang))
        key = "link.rdma_same" if links.rdma < HELPFUL_FROM else "link.rdma"
        extra = (
            {}
            if links.rdma < HELPFUL_FROM
            else {
                "slowdown": times(links.rdma),
                "with_s": pace(links.with_net, lang),
                "without_s": pace(links.without_net, lang),
            }
        )
        lines.append(say(key, lang, nodes=links.nodes, **extra))
    elif fewest.nodes == 1:
        lines.append(say("link.one_node", lang))
    return tuple(lines)


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
        return say("memory.train_one", lang, **values)
    total = result.memory_gb * candidate.gpus
    return say("memory.train", lang, gpus=round(candidate.gpus), total_gb=total, **values)


def pick(
    role: Role,
    candidate: Candidate,
    sizing: Sizing,
    links: Links,
    constraints: Constraints,
    facts: Facts,
    lang: Lang,
) -> Pick:
    """The candidate as a row of the answer."""
    o, result = candidate.offer, candidate.result
    spread = facts.values["speed_spread"]
    memory = o.gpu_memory_gb or (candidate.gpu.memory_gb if candidate.gpu else None)
    rate = result.tokens_per_s
    estimate = Estimate(
        memory_gb_per_gpu=round(result.memory_gb, 1),
        memory_breakdown_gb={name: round(value, 2) for name, value in result.parts.items()},
        fits=True,
        parallelism=result.parallelism + (", recompute" if result.recompute else ""),
        step_s=None if result.step_s is None else round(result.step_s, 4),
        tokens_per_s=None if rate is None else round(rate, 1),
        mfu=None if result.mfu is None else round(result.mfu, 4),
        comm_share=None if result.comm_share is None else round(min(1.0, result.comm_share), 4),
        hours=None if candidate.hours is None else round(candidate.hours, 3),
        cost_usd=None if candidate.cost is None else round(candidate.cost, 2),
        range=None if rate is None else Range(low=round(rate / spread, 1), high=round(rate * spread, 1)),
    )
    return Pick(
        role=role,
        offer_id=o.offer_id,
        provider=o.provider,
        instance_type=o.instance_type,
        gpu=o.gpu,
        gpu_variant=o.gpu_variant,
        gpu_count=_whole(o.gpu_count),
        gpu_memory_gb=memory,
        region=o.region,
        country=o.country,
        spot=o.spot,
        price_usd_hour=o.price_usd_hour,
        price_usd_gpu_hour=o.price_usd_gpu_hour,
        as_of=o.as_of,
        source=o.source,
        nodes=candidate.nodes,
        total_gpus=_whole(candidate.gpus),
        total_gpu_memory_gb=None if memory is None else round(memory * candidate.gpus, 1),
        total_usd_hour=round(candidate.usd_hour, 4),
        nvlink=o.nvlink,
        nvlink_gb_s_per_gpu=o.nvlink_gb_s_per_gpu,
        nvlink_domain_gpus=o.nvlink_domain_gpus,
        internode_fabric=o.internode_fabric,
        internode_gbit_s_per_node=o.internode_gbit_s_per_node,
        internode_rdma=o.internode_rdma,
        fabric_source=o.fabric_source,
        fabric_confidence=o.fabric_confidence,
        estimate=estimate,
        why=why(candidate, sizing, constraints, memory, lang),
        caveats=caveats(candidate, sizing, memory, spread, lang),
    )


def _whole(value: float) -> int | float:
    return int(value) if float(value).is_integer() else value


def why(
    candidate: Candidate, sizing: Sizing, constraints: Constraints, memory: float | None, lang: Lang
) -> tuple[str, ...]:
    """Reasons for this row, in numbers."""
    result, o = candidate.result, candidate.offer
    lines = []
    if memory:
        if sizing.mode == "memory":
            lines.append(say("why.fits_job", lang, memory=sizing.card_gb, card=memory))
        else:
            lines.append(say("why.fits", lang, memory=result.memory_gb, card=memory, plan=plan_words(result, lang)))
    if sizing.mode == "train" and result.tokens_per_s and result.mfu is not None:
        lines.append(
            say("why.speed", lang, rate=result.tokens_per_s, mfu=result.mfu, comm=min(1.0, result.comm_share or 0.0))
        )
    elif sizing.workload.kind == "embeddings" and result.tokens_per_s:
        lines.append(say("why.embeddings", lang, rate=result.tokens_per_s))
    elif sizing.mode == "serve" and result.tokens_per_s:
        lines.append(
            say(
                "why.serving",
                lang,
                rate=result.tokens_per_s,
                stream=result.stream_tokens_per_s or 0.0,
                ttft=result.ttft_s or 0.0,
            )
        )
    if candidate.hours is not None and candidate.cost is not None:
        lines.append(say("why.cost", lang, hours=span(candidate.hours, lang), cost=candidate.cost))
    if constraints.budget_usd and candidate.cost is None:
        lines.append(
            say("why.budget", lang, budget=constraints.budget_usd, hours=constraints.budget_usd / candidate.usd_hour)
        )
    if constraints.budget_usd_month:
        hours = min(HOURS_A_MONTH, constraints.budget_usd_month / candidate.usd_hour)
        lines.append(say("why.month", lang, budget=constraints.budget_usd_month, hours=hours))
    if o.nvlink == "yes" and o.gpu_count > 1 and o.nvlink_gb_s_per_gpu and sizing.mode != "memory":
        joined = o.nvlink_domain_gpus or round(o.gpu_count)
        lines.append(say("why.link", lang, gpus=joined, rate=o.nvlink_gb_s_per_gpu))
    return tuple(lines)


def caveats(candidate: Candidate, sizing: Sizing, memory: float | None, spread: float, lang: Lang) -> tuple[str, ...]:
    """What to check before renting this row."""
    o, result = candidate.offer, candidate.result
    lines = []
    several = o.gpu_count > 1 and sizing.mode != "memory"
    if several and o.nvlink == "unknown":
        lines.append(say("caveat.nvlink_unknown", lang, type=o.instance_type))
    if several and o.nvlink == "partial":
        lines.append(say("caveat.nvlink_partial", lang))
    if candidate.nodes > 1:
        if o.internode_rdma == "unknown":
            lines.append(say("caveat.network_unknown", lang, type=o.instance_type))
        if o.orderable_as_cluster == "reserved-only":
            lines.append(say("caveat.reserved", lang))
    if o.gpu_variant == "unknown" and o.gpu in ("A100", "H100", "H200", "V100") and sizing.mode != "memory":
        lines.append(say("caveat.variant_unknown", lang, gpu=o.gpu))
    if o.spot:
        lines.append(say("caveat.spot", lang))
    if memory and sizing.mode != "memory" and result.memory_gb > 0.88 * memory:
        lines.append(say("caveat.tight", lang, share=result.memory_gb / memory))
    if sizing.workload.model and sizing.model is None and sizing.mode != "memory":
        lines.append(say("caveat.unknown_model", lang, model=sizing.workload.model))
    if sizing.mode == "memory":
        lines.append(say("caveat.no_speed", lang))
    elif not sizing.speed_modelled:
        lines.append(say("caveat.rlhf_speed", lang))
    elif result.tokens_per_s:
        lines.append(say("caveat.range", lang, low=result.tokens_per_s / spread, high=result.tokens_per_s * spread))
    return tuple(lines)


def counterfactuals(
    sizing: Sizing,
    chosen: Sequence[tuple[Role, Candidate]],
    candidates: Sequence[Candidate],
    links: Links,
    facts: Facts,
    lang: Lang,
) -> tuple[Counterfactual, ...]:
    """The job without NVLink and without RDMA, each with its verdict in one sentence."""
    out: list[Counterfactual] = []
    if links.on is None or not chosen:
        return ()
    empty = Constraints()
    if links.nvlink is not None and links.on.offer.gpu_count > 1:
        on = links.on
        other = min(
            (
                c
                for c in candidates
                if c.offer.nvlink in ("no", "unknown") and c.gpus >= on.gpus * 0.5 and c.offer.gpu_count > 1
            ),
            key=lambda c: (c.usd_hour, c.offer.offer_id),
            default=None,
        )
        saved = round(on.usd_hour - other.usd_hour, 4) if other else None
        out.append(
            Counterfactual.model_validate(
                {
                    "question": say("counter.nvlink.question", lang),
                    "with": pick("match", on, sizing, links, empty, facts, lang),
                    "without": pick("match", other, sizing, links, empty, facts, lang) if other else None,
                    "slowdown": round(links.nvlink, 3),
                    "price_difference_usd_hour": saved,
                    "verdict": _counter_words(
                        say("nvlink.name", lang), links.nvlink, links.without_link, on, other, lang
                    ),
                }
            )
        )
    if sizing.mode == "train" and links.rdma is not None and links.with_net is not None:
        words = _counter_words(say("net.name", lang), links.rdma, links.without_net, None, None, lang)
        out.append(
            Counterfactual.model_validate(
                {
                    "question": say("counter.rdma.question", lang),
                    "slowdown": round(links.rdma, 3),
                    "verdict": say("counter.nodes", lang, nodes=links.nodes) + words,
                }
            )
        )
    return tuple(out)


def _counter_words(
    link: str, slow: float, without: Result | None, on: Candidate | None, other: Candidate | None, lang: Lang
) -> str:
    if without is None:
        return say("counter.impossible", lang, link=link)
    if slow < HELPFUL_FROM:
        return say("counter.same", lang, link=link)
    if on is not None and other is not None and other.usd_hour < on.usd_hour:
        saved = on.usd_hour - other.usd_hour
        return say(
            "counter.slower_cheaper",
            lang,
            link=link,
            slowdown=times(slow),
            other=label(other),
            saved=saved,
            percent=saved / on.usd_hour,
        )
    return say("counter.slower", lang, link=link, slowdown=times(slow))


def why_not(chosen: Sequence[tuple[Role, Candidate]], sizing: Sizing, lang: Lang) -> tuple[str, ...]:
    """Why the other rows are not first."""
    if len(chosen) < 2:
        return ()
    first = chosen[0][1]
    lines = []
    for _, other in chosen[1:]:
        dearer = other.price_of_work / first.price_of_work - 1.0
        slower = duration(other) / duration(first)
        if dearer > 0.05:
            lines.append(say("whynot.dearer", lang, other=label(other), percent=dearer))
        elif slower > 1.05 and sizing.mode != "memory":
            lines.append(say("whynot.slower", lang, other=label(other), factor=slower))
        else:
            lines.append(say("whynot.close", lang, other=label(other)))
    return tuple(lines)


def flips(
    sizing: Sizing,
    chosen: Sequence[tuple[Role, Candidate]],
    links: Links,
    constraints: Constraints,
    lang: Lang,
) -> tuple[str, ...]:
    """What would change the choice."""
    if not chosen:
        return ()
    lines = []
    first = chosen[0][1]
    if len(chosen) > 1 and sizing.mode != "memory" and constraints.sort is None:
        pool = [candidate for _, candidate in chosen]
        score = scores(pool)
        second = min(range(1, len(pool)), key=lambda i: score[i])
        gap = 1.0 - score[0] / score[second]
        if 0.0 < gap < 0.6:
            lines.append(say("flip.price", lang, other=label(pool[second]), percent=gap, price=pool[second].usd_hour))
    if sizing.mode == "train" and sizing.job is not None:
        if first.nodes == 1 and links.rdma is not None and verdict(links.rdma) == "yes":
            lines.append(say("flip.nodes", lang, slowdown=times(links.rdma)))
        if first.hours is not None and not sizing.workload.deadline_hours:
            lines.append(say("flip.deadline", lang, hours=first.hours))
        card = first.offer.gpu_memory_gb
        if card and first.result.memory_gb > 0.6 * card:
            lines.append(say("flip.seq", lang, seq=sizing.job.seq_len * 2))
    if sizing.mode == "serve" and sizing.streams:
        lines.append(say("flip.streams", lang, streams=capacity(sizing, first)))
    return tuple(lines)


def capacity(sizing: Sizing, candidate: Candidate) -> int:
    """Requests that the free memory of the pick would hold."""
    parts = candidate.result.parts
    card = candidate.offer.gpu_memory_gb or (candidate.gpu.memory_gb if candidate.gpu else 0.0)
    free = 0.94 * card - candidate.result.memory_gb
    each = parts.get("kv_cache", 0.0) / max(1, sizing.streams)
    return sizing.streams + (int(free / each) if each > 0 and free > 0 else 0)


def formula(sizing: Sizing, constraints: Constraints, lang: Lang) -> str:
    """The ranking formula, as printed."""
    by_price = constraints.sort in ("price", "price_gpu") or sizing.mode == "memory"
    return say("formula.price" if by_price else "formula.score", lang)


def problems(
    sizing: Sizing,
    constraints: Constraints,
    required: dict[str, float],
    nearest: Sequence[Candidate],
    lang: Lang,
) -> tuple[str, ...]:
    """What is missing, in numbers."""
    lines = []
    if "budget_usd" in required:
        lines.append(say("problem.budget", lang, need=required["budget_usd"], have=constraints.budget_usd or 0.0))
    if "budget_usd_month" in required:
        lines.append(
            say(
                "problem.budget_month",
                lang,
                need=required["budget_usd_month"],
                have=constraints.budget_usd_month or 0.0,
            )
        )
    if "hours" in required:
        lines.append(
            say(
                "problem.deadline",
                lang,
                hours=span(required["hours"], lang),
                deadline=span(sizing.workload.deadline_hours or 0.0, lang),
                gpus=required.get("gpus", 0.0),
            )
        )
    elif "memory_gb" in required:
        card = required.get("card_gb", 0.0)
        if sizing.mode == "memory":
            lines.append(say("problem.card", lang, need=required["memory_gb"], card=card))
        elif card:
            lines.append(say("problem.memory", lang, need=required["memory_gb"], gpus=required["gpus"], card=card))
        if nearest:
            lines.append(say("problem.count", lang))
    return tuple(lines) or (say("problem.unknown", lang),)
