"""A candidate as a row of the answer, with its reasons and what to check."""

from __future__ import annotations

from advisor.answer import Constraints, Estimate, Lang, Pick, Range
from advisor.reasoning.candidates import Candidate
from advisor.reasoning.counterfactuals import Links
from advisor.reasoning.joint import strong_fp64
from advisor.reasoning.picking import HOURS_A_MONTH, Role, by_application, hours_a_month, rental_hours
from advisor.reasoning.wording import plan_words, say, span
from advisor.reasoning.workload import Sizing
from knowledge.facts import Facts


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
        currency=o.currency,
        price_original_hour=o.price_original_hour,
        price_original_gpu_hour=None
        if o.price_original_hour is None
        else round(o.price_original_hour / o.gpu_count, 2),
        total_original_hour=None if o.price_original_hour is None else o.price_original_hour * candidate.nodes,
        price_note=o.price_note,
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
        caveats=caveats(candidate, sizing, constraints, memory, spread, lang),
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
    rented = rental_hours(candidate, sizing)
    if constraints.budget_usd is not None and candidate.cost is None and rented is not None:
        lines.append(say("why.rental", lang, hours=span(rented, lang), cost=rented * candidate.usd_hour))
    if constraints.budget_usd_month and candidate.usd_hour * HOURS_A_MONTH <= constraints.budget_usd_month:
        lines.append(say("why.month", lang, budget=constraints.budget_usd_month, hours=HOURS_A_MONTH))
    if o.nvlink == "yes" and o.gpu_count > 1 and o.nvlink_gb_s_per_gpu and sizing.mode != "memory":
        joined = o.nvlink_domain_gpus or round(o.gpu_count)
        lines.append(say("why.link", lang, gpus=joined, rate=o.nvlink_gb_s_per_gpu))
    return tuple(lines)


def slow_fp64(candidate: Candidate) -> float | None:
    """TFLOPS in double precision of a card that is slow at it; None for other cards and where no rate is known."""
    gpu = candidate.gpu
    if gpu is None or gpu.fp64_tflops is None or strong_fp64(gpu):
        return None
    return gpu.fp64_tflops


def paid_hours(candidate: Candidate, sizing: Sizing, constraints: Constraints, lang: Lang) -> list[str]:
    """How long the budget lasts on this row, where it does not pay for all of the time or nobody said how long it runs."""
    lines = []
    total, month = constraints.budget_usd, constraints.budget_usd_month
    rented = rental_hours(candidate, sizing)
    if total is not None and (rented is None or rented * candidate.usd_hour > total):
        lines.append(say("caveat.budget_hours", lang, budget=total, hours=total / candidate.usd_hour))
    if month is not None:
        hours = month / candidate.usd_hour
        if hours < (hours_a_month(candidate, sizing) or HOURS_A_MONTH):
            lines.append(say("caveat.month_hours", lang, budget=month, hours=hours, month=HOURS_A_MONTH))
    return lines


def caveats(
    candidate: Candidate, sizing: Sizing, constraints: Constraints, memory: float | None, spread: float, lang: Lang
) -> tuple[str, ...]:
    """What to check before renting this row."""
    o, result = candidate.offer, candidate.result
    lines = paid_hours(candidate, sizing, constraints, lang)
    if by_application(o):
        lines.append(say("caveat.application", lang))
    fp64 = slow_fp64(candidate)
    if sizing.workload.kind == "hpc" and fp64 is not None:
        lines.append(say("caveat.fp64", lang, gpu=o.gpu, rate=fp64))
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
        kind = "rlhf_speed" if sizing.workload.kind == "rlhf" else "network_speed"
        lines.append(say(f"caveat.{kind}", lang))
    elif result.tokens_per_s:
        lines.append(say("caveat.range", lang, low=result.tokens_per_s / spread, high=result.tokens_per_s * spread))
    return tuple(lines)
