"""From candidates to picks: what is sensible, what is affordable, and the three roles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from advisor.answer import Constraints
from advisor.reasoning.candidates import Candidate
from advisor.reasoning.verdicts import verdict
from advisor.reasoning.workload import Sizing
from knowledge.offer_model import Offer

if TYPE_CHECKING:
    from advisor.reasoning.counterfactuals import Links

Role = Literal["cheapest", "fastest", "balanced", "match"]
HOURS_A_MONTH = 730.0
SOME_HOURS = 20.0
"""Hours a month that a budget must pay for at the least where nobody said how long the machine runs."""
BY_APPLICATION = "by application"
"""Words of a note on offers that must be applied for."""
ALWAYS_ON = frozenset({"inference", "moe_inference"})
"""Services: they run all month."""
TIGHT = 0.9
"""A card that even the smallest batch fills beyond this is left to those who ask for it."""
SAME_CLASS = 1.25
"""Who asks for cards of 80 GB is shown cards of up to 100 GB before larger ones."""
MOST_COPIES = 4
"""Machines that each hold a copy of a served model, at most, where they are cheaper than one larger machine."""
WHOLE_NODE = 4
"""GPUs from which an instance counts as a node of a training cluster; smaller ones are taken only where nothing else holds the job."""
TOO_DEAR = 5.0
"""A row whose work costs more than this many times the cheapest is not shown to fill the list."""
READABLE = 8.0
"""Tokens a second a reader follows: a served stream slower than this is no pick while faster ones exist."""


def sort_key(candidate: Candidate) -> tuple[float, float, str, str, str, str]:
    """Ascending price of the machine, then names: neutral and the same each time."""
    o = candidate.offer
    return (candidate.usd_hour, candidate.gpus, o.provider, o.instance_type, o.region, o.offer_id)


def sensible(candidates: Sequence[Candidate], sizing: Sizing, constraints: Constraints) -> list[Candidate]:
    """No more GPUs than the job can use: one-GPU jobs get one-GPU machines, others at most 8 or twice the fewest that fit."""
    pool = list(candidates)
    if not pool:
        return pool
    if wanted := constraints.min_gpu_memory_gb:
        asked = [c for c in pool if (c.offer.gpu_memory_gb or 0.0) <= SAME_CLASS * wanted]
        pool = asked or pool
    if ran_out := constraints.ran_out_gpu_memory_gb:
        pool = [c for c in pool if (c.offer.gpu_memory_gb or 0.0) >= 0.95 * ran_out] or pool
    if sizing.mode == "train" and sizing.job is not None and sizing.job.precision == "bf16" and not constraints.gpus:
        pool = [c for c in pool if c.gpu is None or c.gpu.bf16_dense_tflops] or pool
    roomy = [c for c in pool if c.result.least_gb <= TIGHT * (c.offer.gpu_memory_gb or 1e9)]
    pool = roomy or pool
    if constraints.gpu_count or constraints.nodes:
        return pool
    if sizing.mode == "serve":
        quick = [c for c in pool if (c.result.stream_tokens_per_s or 0) >= READABLE]
        pool = quick or pool
        cheap = wants_cheap(sizing, constraints)
        copies = [c for c in pool if cheap and 1 < c.nodes <= MOST_COPIES and c.result.split <= c.offer.gpu_count]
        pool = [c for c in pool if c.nodes == 1] + copies or pool
    if sizing.workload.deadline_hours and any(c.hours is not None for c in pool):
        return pool
    fewest = min(c.gpus for c in pool)
    holds = [c for c in pool if c.gpus == 1 and (c.offer.gpu_memory_gb or 0) <= 100]
    small = sizing.mode == "memory" or sizing.workload.kind in (
        "lora",
        "qlora",
        "inference",
        "embeddings",
        "batch_inference",
    )
    alone = fewest <= 1 and (sizing.mode == "memory" or (small and holds))
    most = 1.0 if alone else max(8.0, 2.0 * fewest)
    return [c for c in pool if c.gpus <= most]


def with_links(
    candidates: Sequence[Candidate], sizing: Sizing, links: Links, constraints: Constraints
) -> list[Candidate]:
    """Keep to machines whose links the job needs; a link that nobody states does not count as present."""
    pool = list(candidates)
    wanted = verdict(links.nvlink)
    eager = sizing.mode == "train" or sizing.workload.priority == "latency"
    if wanted == "yes" or (wanted == "helpful" and eager) or constraints.nvlink:
        linked = [c for c in pool if c.offer.gpu_count <= 1 or c.offer.nvlink == "yes"]
        if any(c.offer.gpu_count > 1 for c in linked) or (linked and wanted != "yes"):
            pool = linked
    if sizing.joint:
        pool = [c for c in pool if c.nodes == 1 or c.offer.internode_rdma == "yes"] or pool
    if sizing.mode == "train":
        rdma = [c for c in pool if c.nodes == 1 or c.offer.internode_rdma == "yes"]
        if rdma or verdict(links.rdma) == "yes":
            pool = rdma
        whole = [c for c in pool if c.nodes == 1 or c.offer.gpu_count >= WHOLE_NODE]
        pool = whole or pool
    if constraints.internode == "infiniband":
        pool = [c for c in pool if c.offer.internode_fabric == "infiniband"]
    elif constraints.internode == "rdma":
        pool = [c for c in pool if c.offer.internode_rdma == "yes"]
    return pool


def offers_within_budget(
    offers: Sequence[Offer], constraints: Constraints, hours: float | None = None
) -> tuple[list[Offer], dict[str, float]]:
    """For a plain list of offers: (those that the budgets pay for, what the cheapest would cost where none is).

    A month is 730 hours. A total pays for `hours` of rental, or for one hour where no time was named. Unpriced offers are
    left out where there is a budget.
    """
    limits = [("budget_usd", hours or 1.0, constraints.budget_usd)]
    limits.append(("budget_usd_month", HOURS_A_MONTH, constraints.budget_usd_month))
    rows = list(offers)
    for name, time, budget in limits:
        if budget is None or not rows:
            continue
        costs = [(o.price_usd_hour * time, o) for o in rows if o.price_usd_hour]
        rows = [o for cost, o in costs if cost <= budget]
        if costs and not rows:
            return [], {name: round(min(cost for cost, _ in costs), 2)}
    return rows, {}


def rental_hours(candidate: Candidate, sizing: Sizing) -> float | None:
    """Hours that the machine is rented for: of the job where its work is known, else the time that was named for it."""
    return candidate.hours if candidate.hours is not None else sizing.workload.deadline_hours


def hours_a_month(candidate: Candidate, sizing: Sizing) -> float | None:
    """Hours of one month that the machine is needed: all of them for a service; None where nobody said."""
    hours = rental_hours(candidate, sizing)
    if hours is not None:
        return min(hours, HOURS_A_MONTH)
    return HOURS_A_MONTH if sizing.workload.kind in ALWAYS_ON else None


def within_budget(
    candidates: Sequence[Candidate], sizing: Sizing, constraints: Constraints
) -> tuple[list[Candidate], dict[str, float]]:
    """(affordable candidates, what the cheapest would cost where none is).

    Where nobody said for how long, a row stays that the budget pays for some hours; the row says how many.
    """
    pool = list(candidates)
    if not pool:
        return pool, {}
    if constraints.budget_usd is not None:
        costs = [c.usd_hour * (rental_hours(c, sizing) or 1.0) for c in pool]
        fine = [c for c, cost in zip(pool, costs, strict=True) if cost <= constraints.budget_usd]
        if not fine:
            least = round(min(costs), 2)
            known = any(rental_hours(c, sizing) is not None for c in pool)
            return [], {"budget_usd": least} | ({} if known else {"budget_usd_one_hour": least})
        pool = fine
    month = constraints.budget_usd_month
    if month is not None:
        costs = [c.usd_hour * (hours_a_month(c, sizing) or HOURS_A_MONTH) for c in pool]
        fine = [c for c, cost in zip(pool, costs, strict=True) if cost <= month]
        some = [c for c in pool if hours_a_month(c, sizing) is None and c.usd_hour * SOME_HOURS <= month]
        if month <= 0 or not (fine or some):
            return [], {"budget_usd_month": round(min(costs), 2)}
        pool = fine or some
    return pool, {}


def with_sellers(candidates: Sequence[Candidate], offers: Mapping[int, Sequence[Offer]]) -> list[Candidate]:
    """The same results at the next sellers of the same machine: up to three rows of different providers each."""
    out: list[Candidate] = []
    for candidate in candidates:
        seen: set[str] = set()
        for offer in offers.get(id(candidate.offer), [candidate.offer]):
            if offer.provider in seen or len(seen) == 3 or offer.price_usd_hour is None:
                continue
            seen.add(offer.provider)
            usd_hour = offer.price_usd_hour * candidate.nodes
            cost = usd_hour * candidate.hours if candidate.hours is not None else None
            out.append(replace(candidate, offer=offer, usd_hour=usd_hour, cost=cost))
    return out


def by_application(offer: Offer) -> bool:
    """Whether the machine must be applied for, as at academic centres, so a service cannot count on it."""
    return any(BY_APPLICATION in (note or "").lower() for note in (offer.price_note, offer.link_note))


def within_limits(candidates: Sequence[Candidate], sizing: Sizing, constraints: Constraints) -> list[Candidate]:
    """The rows of all sellers that the budget and the price limit allow; the cheapest of each machine passed before."""
    most = constraints.max_price_usd_hour or float("inf")
    fine = [c for c in candidates if c.usd_hour <= most]
    return within_budget(fine, sizing, constraints)[0] or list(candidates)


def choose_ordinary_first(
    candidates: Sequence[Candidate], sizing: Sizing, constraints: Constraints, limit: int
) -> list[tuple[Role, Candidate]]:
    """As `choose`; machines that must be applied for only fill up what ordinary offers leave.

    Who trains and asks for the lowest price may well have the time to apply, and sees them in their place.
    """
    ordinary = [c for c in candidates if not by_application(c.offer)]
    patient = sizing.mode != "serve" and wants_cheap(sizing, constraints)
    if constraints.providers or patient or not ordinary:
        return choose(candidates, sizing, constraints, limit)
    chosen = choose(ordinary, sizing, constraints, limit)
    rest = [c for c in candidates if by_application(c.offer)]
    more = choose(rest, sizing, constraints, limit - len(chosen)) if len(chosen) < limit else []
    return [*chosen, *(("match", c) for _, c in more)]


READER = 30.0
"""Tokens a second of one stream beyond which a faster machine is worth nothing to the reader of a served model."""


def duration(candidate: Candidate, latency: bool = False) -> float:
    """What ranks time: hours of the errand, or seconds a token of one stream; for latency always the latter."""
    stream = candidate.result.stream_tokens_per_s
    if latency and stream:
        return 1.0 / stream
    if candidate.errand_hours is not None:
        return candidate.errand_hours
    if stream:
        return 1.0 / stream
    if candidate.result.pace:
        return 1.0 / candidate.result.pace
    gpu = candidate.gpu
    rate = (gpu.fp32_tflops or gpu.bf16_dense_tflops or 1.0) if gpu else 1.0
    return 1.0 / (rate * max(1.0, candidate.gpus))


def scores(candidates: Sequence[Candidate], latency: bool = False) -> dict[int, float]:
    """cost / lowest cost x square root of (time / shortest time), by position; a stream faster than a reader counts as one."""

    def waited(candidate: Candidate) -> float:
        time = duration(candidate, latency)
        served = candidate.errand_hours is None and candidate.result.stream_tokens_per_s
        return max(time, 1.0 / READER) if served and not latency else time

    lowest = min(c.price_of_work for c in candidates)
    shortest = min(waited(c) for c in candidates)
    return {i: (c.price_of_work / lowest) * (waited(c) / shortest) ** 0.5 for i, c in enumerate(candidates)}


def wants_cheap(sizing: Sizing, constraints: Constraints) -> bool:
    """Whether the person puts the price before everything else."""
    return constraints.sort in ("price", "cost") or sizing.workload.priority == "cost"


def by_hour(candidates: Sequence[Candidate], sizing: Sizing, constraints: Constraints) -> bool:
    """Whether rows are ordered by the price of an hour: asked for, and the job has no known end that a total could be of."""
    if sizing.mode == "memory" or constraints.sort == "price_gpu":
        return True
    ends = all(c.cost is not None for c in candidates)
    return constraints.sort == "price" and not ends


def choose(
    candidates: Sequence[Candidate], sizing: Sizing, constraints: Constraints, limit: int
) -> list[tuple[Role, Candidate]]:
    """Up to `limit` different rows with their roles, in order."""
    pool = sorted(candidates, key=sort_key)
    if not pool:
        return []
    if wants_cheap(sizing, constraints) or by_hour(pool, sizing, constraints):
        ordered = pool
        if constraints.sort == "price_gpu":
            ordered = sorted(pool, key=lambda c: (c.usd_hour / max(c.gpus, 1e-9), sort_key(c)))
        elif not by_hour(pool, sizing, constraints):
            ordered = sorted(pool, key=lambda c: (c.price_of_work, sort_key(c)))
        return [("cheapest" if i == 0 else "match", c) for i, c in enumerate(distinct(ordered, limit))]
    if constraints.sort in ("memory", "bandwidth"):

        def amount(c: Candidate) -> float:
            if constraints.sort == "memory":
                return c.offer.gpu_memory_gb or 0.0
            return c.offer.nvlink_gb_s_per_gpu or 0.0

        ordered = sorted(pool, key=lambda c: (-amount(c), sort_key(c)))
        return [("match", c) for c in distinct(ordered, limit)]
    latency = sizing.workload.priority == "latency"
    hasty = constraints.sort == "speed" or sizing.workload.priority in ("latency", "throughput")
    score = scores(pool, latency)
    rank = {id(c): score[i] for i, c in enumerate(pool)}
    best = min(c.price_of_work for c in pool)
    fair = [c for c in pool if c.price_of_work <= TOO_DEAR * best]
    balanced = min(pool, key=lambda c: (rank[id(c)], sort_key(c)))
    cheapest = min(pool, key=lambda c: (c.price_of_work, rank[id(c)], sort_key(c)))
    fastest = min(pool if hasty else fair, key=lambda c: (duration(c, latency), c.usd_hour, sort_key(c)))
    order: list[tuple[Role, Candidate]] = []
    low: Role = "match" if (cheapest.cost or 0.0) > (balanced.cost or 0.0) else "cheapest"  # less only with its set-up
    wishes: list[tuple[Role, Candidate]] = [("balanced", balanced), (low, cheapest), ("fastest", fastest)]
    if hasty:
        wishes = [("fastest", fastest), ("balanced", balanced), (low, cheapest)]
    used: set[str] = set()
    for role, candidate in wishes:
        if len(order) < limit and candidate.offer.offer_id not in used:
            used.add(candidate.offer.offer_id)
            order.append((role, candidate))
    kinds = {(c.offer.gpu, c.offer.gpu_variant, c.gpus) for _, c in order}
    ranked = sorted(fair, key=lambda c: (rank[id(c)], sort_key(c)))
    others = [c for c in ranked if (c.offer.gpu, c.offer.gpu_variant, c.gpus) not in kinds]
    for candidate in [*distinct(others, limit), *ranked]:
        if len(order) < limit and candidate.offer.offer_id not in used:
            used.add(candidate.offer.offer_id)
            order.append(("match", candidate))
    return order


def distinct(candidates: Sequence[Candidate], limit: int) -> list[Candidate]:
    """The first rows that differ in GPU or count, in the same order; then others, to fill up."""
    seen: set[tuple[object, ...]] = set()
    first: list[Candidate] = []
    rest: list[Candidate] = []
    for candidate in candidates:
        o = candidate.offer
        key = (o.gpu, o.gpu_variant, candidate.gpus)
        (rest if key in seen else first).append(candidate)
        seen.add(key)
    if len(first) >= limit:
        return first[:limit]
    kept = {id(c) for c in first + rest[: limit - len(first)]}
    return [c for c in candidates if id(c) in kept]
