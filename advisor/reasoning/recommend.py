"""Recommend: offers x node counts, what fits, ranked by a printed formula; what the links are worth; what would change the choice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from advisor.answer import Constraints, Lang, Needs, Pick, Workload
from advisor.reasoning import picking, wording
from advisor.reasoning.candidates import (
    Candidate,
    Result,
    Task,
    can_cluster,
    evaluate,
    node_counts,
    signature,
    work_tokens,
)
from advisor.reasoning.counterfactuals import Links, link_worth
from advisor.reasoning.job import Plan
from advisor.reasoning.memory import train_memory
from advisor.reasoning.parallelism import Wanted
from advisor.reasoning.recommendation import Recommendation
from advisor.reasoning.series import chart_series
from advisor.reasoning.verdicts import verdict
from advisor.reasoning.workload import Sizing, complete
from knowledge.facts import Facts, GpuSpec
from knowledge.offer_model import Offer

__all__ = ["Recommendation", "recommend"]


@dataclass(slots=True)
class Group:
    """Offers of one physical machine, cheapest first."""

    gpu: GpuSpec | None
    offers: list[Offer]


def price_key(offer: Offer) -> tuple[float, str, str, str, str]:
    """Neutral order of equal machines: price, then names."""
    price = offer.price_usd_hour if offer.price_usd_hour is not None else float("inf")
    return (price, offer.provider, offer.instance_type, offer.region, offer.offer_id)


OLD = frozenset({"Kepler", "Maxwell", "Pascal", "GCN 5"})
"""Generations that current CUDA and ROCm releases no longer support."""
OWN_SOFTWARE = frozenset({"Google", "AWS", "Intel"})
"""Makers whose accelerators need their own compiler and ports of the model."""


def usual(gpu: GpuSpec | None) -> bool:
    """Whether a card is offered to someone who did not ask for it by name."""
    return gpu is None or (gpu.architecture not in OLD and gpu.vendor not in OWN_SOFTWARE)


def group_offers(offers: Iterable[Offer], constraints: Constraints, facts: Facts) -> list[Group]:
    """Priced offers by signature. Spot prices are left out unless they were asked for or nothing else is there."""
    priced = [offer for offer in offers if offer.price_usd_hour is not None and offer.price_usd_hour > 0]
    if constraints.spot is None and any(not offer.spot for offer in priced):
        priced = [offer for offer in priced if not offer.spot]
    asked = bool(constraints.gpus or constraints.instance_types)
    groups: dict[tuple[object, ...], Group] = {}
    for offer in priced:
        key = signature(offer)
        group = groups.get(key)
        if group is None:
            gpu = facts.gpu(offer.gpu, offer.gpu_variant, offer.gpu_memory_gb)
            groups[key] = Group(gpu, [offer])
        else:
            group.offers.append(offer)
    if not asked:
        groups = {key: group for key, group in groups.items() if usual(group.gpu)}
    for group in groups.values():
        group.offers.sort(key=price_key)
    return sorted(groups.values(), key=lambda group: price_key(group.offers[0]))


def floor_gb(sizing: Sizing) -> float:
    """GB over all GPUs below which no plan can fit: weights, and states where they are trained on the card."""
    if sizing.mode == "memory" or sizing.shape is None:
        return sizing.card_gb
    params = sizing.shape.params / 1e9
    if sizing.mode == "serve":
        per = {"fp32": 4.0, "fp8": 1.0, "int8": 1.0, "int4": 0.5, "fp4": 0.5}.get(
            sizing.workload.precision or "bf16", 2.0
        )
        return per * params
    job = sizing.job
    assert job is not None
    if job.method == "qlora":
        return 0.5 * params
    if job.method == "lora":
        return 2.0 * params
    per = job.weight_bytes + job.grad_bytes + job.optimizer_bytes
    if job.offload_optimizer:
        per = job.weight_bytes
    return params * (per * job.trained_copies + 2.0 * job.frozen_copies)


def physical_key(offer: Offer, gpu: GpuSpec | None, nodes: int) -> tuple[object, ...]:
    """What the result on `nodes` instances depends on: the network counts from the second node on only."""
    link = offer.nvlink if offer.nvlink in ("yes", "partial") and offer.gpu_count > 1 else "none"
    net = (offer.internode_fabric, offer.internode_gbit_s_per_node) if nodes > 1 else None
    joined = (link, offer.nvlink_gb_s_per_gpu, offer.nvlink_domain_gpus) if link != "none" else None
    return (id(gpu), offer.gpu_memory_gb, offer.gpu_count, joined, can_cluster(offer), nodes, net)


def search(task: Task, groups: Sequence[Group], constraints: Constraints) -> tuple[list[Candidate], list[Candidate]]:
    """(candidates that meet a deadline, candidates that only fit): for each machine the fewest nodes of either kind."""
    sizing = task.sizing
    tokens = work_tokens(sizing)
    deadline = sizing.workload.deadline_hours
    least = floor_gb(sizing)
    known: dict[tuple[object, ...], Result | None] = {}
    timely: list[Candidate] = []
    fitting: list[Candidate] = []
    for group in groups:
        offer = group.offers[0]
        memory = offer.gpu_memory_gb or (group.gpu.memory_gb if group.gpu else 0.0)
        counts = node_counts(offer, constraints, sizing)
        skip_below = 0.0
        found: Candidate | None = None
        for nodes in counts:
            if memory * max(offer.gpu_count, 1) * nodes < least or nodes < skip_below:
                continue
            key = physical_key(offer, group.gpu, nodes)
            if key not in known:
                known[key] = evaluate(task, offer, group.gpu, nodes)
            result = known[key]
            if result is None:
                if nodes > 64 and not deadline:
                    break
                continue
            candidate = priced(offer, group.gpu, result, sizing)
            if found is None:
                found = candidate
                fitting.append(candidate)
            if not deadline or tokens is None or candidate.hours is None:
                break
            if candidate.hours <= deadline:
                timely.append(candidate)
                break
            skip_below = nodes * min(8.0, candidate.hours / deadline * 0.98)
    return timely, fitting


def priced(offer: Offer, gpu: GpuSpec | None, result: Result, sizing: Sizing) -> Candidate:
    """The candidate with hours and cost where the amount of work is known."""
    assert offer.price_usd_hour is not None
    usd_hour = offer.price_usd_hour * result.nodes
    tokens = work_tokens(sizing)
    hours = tokens / result.tokens_per_s / 3600.0 if tokens and result.tokens_per_s else None
    return Candidate(offer, gpu, result, usd_hour, hours, usd_hour * hours if hours is not None else None)


def wanted_of(workload: Workload, *, stated_sharding: bool = False) -> Wanted:
    """Degrees that the user stated; the sharding too where it is the user's plan that is checked."""
    return Wanted(
        sharding=workload.sharding if stated_sharding else None,
        tp=workload.tensor_parallel,
        pp=workload.pipeline_parallel,
        ep=workload.expert_parallel,
        cp=workload.context_parallel,
        recompute=workload.activation_checkpointing,
        micro_batch=workload.micro_batch,
    )


def recommend(
    workload: Workload,
    constraints: Constraints,
    offers: Sequence[Offer],
    *,
    facts: Facts,
    lang: Lang,
    limit: int = 3,
) -> Recommendation:
    """Pick offers for a job.

    `offers` are already filtered by provider, GPU, place, spot and price; counts, nodes, budget, deadline and order are handled
    here. Nothing is read from outside. The same question gives the same picks in the same order.
    """
    sizing = complete(workload, facts)
    task = Task(sizing, wanted_of(workload), facts)
    assumptions = wording.assumptions(sizing, lang)
    groups = group_offers(offers, constraints, facts)
    if not groups:
        return Recommendation(outcome="no_match", workload=sizing.workload, assumptions=assumptions)
    timely, fitting = search(task, groups, constraints)
    deadline = sizing.workload.deadline_hours
    has_deadline = deadline is not None and work_tokens(sizing) is not None and sizing.speed_modelled
    pool = timely if has_deadline else fitting
    pool = picking.sensible(pool, sizing, constraints)
    links = link_worth(task, pool or fitting)
    pool = picking.with_links(pool, sizing, links, constraints)
    affordable, budget_problem = picking.within_budget(pool, constraints)
    if not affordable:
        return _infeasible(task, constraints, groups, pool, fitting, budget_problem, lang, limit)
    spread = picking.with_sellers(affordable, {id(g.offers[0]): g.offers for g in groups})
    chosen = picking.choose(spread, sizing, constraints, constraints.limit or limit)
    links = link_worth(task, [c for _, c in chosen] or affordable) if not links.measured else links
    picks = tuple(wording.pick(role, candidate, sizing, links, constraints, facts, lang) for role, candidate in chosen)
    needs = _needs(sizing, fitting, [c for _, c in chosen], links, lang, facts)
    return Recommendation(
        outcome="picks" if sizing.speed_modelled or sizing.mode != "memory" else "not_modelled",
        workload=sizing.workload,
        needs=needs,
        picks=picks,
        counterfactuals=wording.counterfactuals(sizing, chosen, affordable, links, facts, lang),
        assumptions=assumptions,
        why_not_runner_up=wording.why_not(chosen, sizing, lang),
        flips=wording.flips(sizing, chosen, links, constraints, lang),
        formula=wording.formula(sizing, constraints, lang),
        charts=chart_series(task, chosen, affordable),
    )


def least_gb(sizing: Sizing, candidate: Candidate, facts: Facts) -> float:
    """GB a GPU that the job takes at the least on as many GPUs: one sequence, recomputed, states sharded over all of them."""
    job = sizing.job
    if job is None:
        return candidate.result.memory_gb
    gpus = max(1, round(candidate.gpus))
    least = replace(job, micro_batch=1, recompute="full")
    plan = Plan(dp=gpus, sharding="zero3" if gpus > 1 else "ddp")
    return min(candidate.result.memory_gb, train_memory(least, plan, facts.values).total)


def _needs(
    sizing: Sizing,
    holding: Sequence[Candidate],
    shown: Sequence[Candidate],
    links: Links,
    lang: Lang,
    facts: Facts,
) -> Needs:
    """Needs of the job: memory and cards from the smallest machine that holds it, links and reasons for the rows shown."""
    if not holding:
        return Needs(total_gpu_memory_gb=round(floor_gb(sizing), 1), reasons=wording.reasons(sizing, links, None, lang))
    fewest = min(holding, key=lambda c: (c.gpus, c.usd_hour))
    each = least_gb(sizing, fewest, facts)
    total = each * max(1.0, fewest.gpus)
    first = shown[0] if shown else fewest
    rdma_slow = links.rdma if any(c.nodes > 1 for c in shown) else None
    return Needs(
        total_gpu_memory_gb=round(total, 1),
        min_gpu_memory_gb=round(each, 1),
        gpus_min=max(1, round(fewest.gpus)),
        nvlink=verdict(links.nvlink),
        internode_rdma=verdict(rdma_slow) if sizing.mode == "train" else "no",
        reasons=wording.reasons(sizing, links, first, lang),
        nvlink_slowdown=None if links.nvlink is None else round(links.nvlink, 3),
        rdma_slowdown=None if rdma_slow is None else round(rdma_slow, 3),
    )


NODE_GPUS = 8
"""GPUs of a usual node, where no machine on offer tells."""


def _needs_of_nothing(sizing: Sizing, required: dict[str, float], lang: Lang) -> Needs:
    """Needs of a job that no machine on offer holds: states spread over many cards travel over every link at each step."""
    gpus = required.get("gpus")
    spread = sizing.mode != "memory" and gpus is not None
    return Needs(
        total_gpu_memory_gb=required.get("memory_gb"),
        gpus_min=None if gpus is None else round(gpus),
        nvlink="yes" if spread and (gpus or 0) > 1 else "no",
        internode_rdma="yes" if spread and sizing.mode == "train" and (gpus or 0) > NODE_GPUS else "no",
        reasons=wording.reasons(sizing, Links(), None, lang),
    )


def _infeasible(
    task: Task,
    constraints: Constraints,
    groups: Sequence[Group],
    pool: Sequence[Candidate],
    fitting: Sequence[Candidate],
    budget_problem: dict[str, float],
    lang: Lang,
    limit: int,
) -> Recommendation:
    """Why nothing can be picked, in numbers, and the nearest that would hold the job."""
    sizing, facts = task.sizing, task.facts
    nearest_pool = list(pool) or list(fitting)
    required: dict[str, float] = dict(budget_problem)
    if not nearest_pool:
        free = Constraints(
            **{
                **constraints.model_dump(),
                "gpu_count": None,
                "nodes": None,
                "max_nodes": None,
                "max_gpus": None,
                "min_gpus": None,
                "gpus_per_node": None,
            }
        )
        _, nearest_pool = search(task, groups, free)
        required["memory_gb"] = round(floor_gb(sizing), 1)
        largest = max((g.offers[0].gpu_memory_gb or (g.gpu.memory_gb if g.gpu else 0.0) or 0.0) for g in groups)
        if largest:
            required["gpus"] = float(-(-floor_gb(sizing) // (largest * facts.values["usable_memory"])))
            required["card_gb"] = largest
    elif not pool and sizing.workload.deadline_hours:
        best = min((c for c in fitting if c.hours is not None), key=lambda c: c.hours or 0.0, default=None)
        if best is not None and best.hours is not None:
            required["hours"] = round(best.hours, 1)
            per_gpu = (best.result.tokens_per_s or 1.0) / best.gpus
            tokens = work_tokens(sizing) or 0.0
            required["gpus"] = float(-(-tokens // (per_gpu * sizing.workload.deadline_hours * 3600.0)))
    nearest_pool = sorted(nearest_pool, key=lambda c: (c.price_of_work, price_key(c.offer)))
    links = link_worth(task, nearest_pool)
    nearest: list[Pick] = []
    for candidate in nearest_pool:
        if len(nearest) < limit:
            nearest.append(wording.pick("match", candidate, sizing, links, constraints, facts, lang))
    return Recommendation(
        outcome="infeasible",
        workload=sizing.workload,
        needs=_needs(sizing, nearest_pool, nearest_pool[:3], links, lang, facts)
        if nearest_pool
        else _needs_of_nothing(sizing, required, lang),
        assumptions=wording.assumptions(sizing, lang),
        problem=wording.problems(sizing, constraints, required, nearest_pool, lang),
        nearest=tuple(nearest),
        required=required,
    )
