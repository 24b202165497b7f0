"""The search: offers by physical machine, the fewest nodes of each that hold the job or meet its deadline."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from advisor.answer import Constraints, Workload
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
from advisor.reasoning.parallelism import Wanted
from advisor.reasoning.workload import Sizing
from advisor.reasoning.worth import errand_hours
from knowledge.facts import Facts, GpuSpec
from knowledge.offer_model import Offer


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


@dataclass(slots=True)
class Found:
    """Candidates, at most one a machine in each list: fewest nodes that meet the deadline, fewest that hold the job, fastest tried."""

    timely: list[Candidate]
    fitting: list[Candidate]
    fastest: list[Candidate]


def search(task: Task, groups: Sequence[Group], constraints: Constraints) -> Found:
    """Try each machine on growing numbers of nodes until the job fits and, where there is one, the deadline is met."""
    sizing = task.sizing
    tokens = work_tokens(sizing)
    deadline = sizing.workload.deadline_hours
    least = floor_gb(sizing)
    known: dict[tuple[object, ...], Result | None] = {}
    lists = Found([], [], [])
    for group in groups:
        offer = group.offers[0]
        memory = offer.gpu_memory_gb or (group.gpu.memory_gb if group.gpu else 0.0)
        counts = node_counts(offer, constraints, sizing)
        skip_below = 0.0
        first: Candidate | None = None
        fastest: Candidate | None = None
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
            candidate = priced(offer, group.gpu, result, task)
            if first is None:
                first = candidate
                lists.fitting.append(candidate)
            if fastest is None or (candidate.hours or 0.0) < (fastest.hours or 0.0):
                fastest = candidate
            if not deadline or tokens is None or candidate.hours is None:
                break
            if candidate.hours <= deadline:
                lists.timely.append(candidate)
                break
            skip_below = nodes * min(8.0, candidate.hours / deadline * 0.98)
        if fastest is not None:
            lists.fastest.append(fastest)
    return lists


def priced(offer: Offer, gpu: GpuSpec | None, result: Result, task: Task) -> Candidate:
    """The candidate with hours and cost where the amount of work is known, and with the hours that rank it."""
    assert offer.price_usd_hour is not None
    usd_hour = offer.price_usd_hour * result.nodes
    tokens = work_tokens(task.sizing)
    hours = tokens / result.tokens_per_s / 3600.0 if tokens and result.tokens_per_s else None
    errand = errand_hours(task.sizing, result.pace, task.facts.values)
    return Candidate(offer, gpu, result, usd_hour, hours, usd_hour * hours if hours is not None else None, errand)


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
