"""Recommend: offers x node counts, what fits, ranked by a printed formula; what the links are worth; what would change the choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil
from statistics import mode

from advisor.answer import Constraints, Lang, Needs, Pick, Verdict, Workload
from advisor.errors import BadRequest
from advisor.reasoning import picking, rows, trade, wording
from advisor.reasoning.candidates import (
    Candidate,
    Task,
    can_cluster,
    evaluate,
    work_tokens,
)
from advisor.reasoning.counterfactuals import Links, link_worth
from advisor.reasoning.inference import serving_memory
from advisor.reasoning.job import Plan
from advisor.reasoning.joint import joined, nvlink_of, with_fp64
from advisor.reasoning.memory import train_memory
from advisor.reasoning.recommendation import Recommendation
from advisor.reasoning.search import Found, Group, floor_gb, group_offers, price_key, search, wanted_of
from advisor.reasoning.series import chart_series
from advisor.reasoning.verdicts import verdict
from advisor.reasoning.workload import Sizing, complete, frugal, leaner
from knowledge.facts import Facts
from knowledge.offer_model import Offer

__all__ = ["Recommendation", "recommend", "wanted_of"]


POSITIVE = (
    "params_b",
    "active_params_b",
    "seq_len",
    "tokens",
    "deadline_hours",
    "concurrency",
    "memory_gb",
    "micro_batch",
)
COUNTS = ("gpu_count", "nodes", "max_nodes", "max_gpus", "gpus_per_node")


def check(workload: Workload, constraints: Constraints) -> None:
    """Raise BadRequest for a size, count or amount that cannot be, naming it, its value and the remedy."""
    for source, names in ((workload, POSITIVE), (constraints, COUNTS)):
        for name in names:
            value = getattr(source, name)
            if value is not None and value <= 0:
                raise BadRequest(f"{name}={value:g} must be greater than 0; correct it or leave it out.")
    for name in ("budget_usd", "budget_usd_month"):
        value = getattr(constraints, name)
        if value is not None and value < 0:
            raise BadRequest(f"{name}={value:g} is negative; give an amount of at least 0.")


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
    here. Nothing is read from outside. The same question gives the same picks in the same order. Raises BadRequest for a size, count
    or amount that cannot be.
    """
    check(workload, constraints)
    sizing = joined(complete(frugal(workload, constraints, facts), facts), constraints)
    task = Task(sizing, wanted_of(workload), facts)
    assumptions = wording.assumptions(sizing, lang)
    groups = with_fp64(group_offers(offers, constraints, facts), sizing, constraints)
    if not groups:
        return Recommendation(outcome="no_match", workload=sizing.workload, assumptions=assumptions)
    found = search(task, groups, constraints)
    if not found.fitting and not found.fastest and (lean := leaner(workload, sizing, facts)):
        lean_task = Task(lean, task.wanted, facts)
        lean_found = search(lean_task, groups, constraints)
        if lean_found.fitting:
            sizing, task, found = lean, lean_task, lean_found
            assumptions = wording.assumptions(sizing, lang)
    fitting = found.fitting
    deadline = sizing.workload.deadline_hours
    has_deadline = deadline is not None and work_tokens(sizing) is not None and sizing.speed_modelled
    pool = found.timely if has_deadline else fitting
    pool = picking.sensible(pool, sizing, constraints)
    links = link_worth(task, pool or fitting)
    pool = picking.with_links(pool, sizing, links, constraints)
    affordable, budget_problem = picking.within_budget(pool, sizing, constraints)
    if not affordable:
        return _infeasible(task, constraints, groups, pool, found, budget_problem, lang, limit, _on_request(offers))
    spread = picking.with_sellers(affordable, {id(g.offers[0]): g.offers for g in groups})
    spread = picking.within_limits(spread, sizing, constraints)
    chosen = picking.choose_ordinary_first(spread, sizing, constraints, constraints.limit or limit)
    shown_links = link_worth(task, [c for _, c in chosen])
    links = _judged_on(shown_links, links)
    picks = tuple(rows.pick(role, candidate, sizing, links, constraints, facts, lang) for role, candidate in chosen)
    needs = _needs(sizing, fitting, [c for _, c in chosen], links, lang, facts, constraints)
    return Recommendation(
        outcome="picks" if sizing.speed_modelled or sizing.mode != "memory" else "not_modelled",
        workload=sizing.workload,
        needs=needs,
        picks=picks,
        counterfactuals=trade.counterfactuals(sizing, chosen, affordable, links, facts, lang),
        assumptions=assumptions,
        why_not_runner_up=trade.why_not(chosen, sizing, constraints, lang),
        flips=trade.flips(sizing, chosen, links, constraints, lang),
        formula=trade.formula(chosen, sizing, constraints, lang),
        charts=chart_series(task, chosen, affordable),
    )


def _judged_on(shown: Links, pool: Links) -> Links:
    """The links as judged on the rows shown; on the pool's machine where those rows have no full NVLink to judge by."""
    weak = shown.on is not None and shown.on.offer.nvlink != "yes" and not shown.stated
    better = pool.on is not None and (pool.on.offer.nvlink == "yes" or pool.stated)
    return shown if shown.measured and not (weak and better) else pool


def least_gb(sizing: Sizing, candidate: Candidate, facts: Facts) -> float:
    """GB a GPU that the job takes at the least on as many GPUs: one sequence, recomputed, states sharded over all of them."""
    job = sizing.job
    if job is None:
        return candidate.result.memory_gb
    gpus = max(1, round(candidate.gpus))
    least = replace(job, micro_batch=1, recompute="full")
    plan = Plan(dp=gpus, sharding="zero3" if gpus > 1 else "ddp")
    return min(candidate.result.memory_gb, train_memory(least, plan, facts.values).total)


MOST_CARDS = 512


def usual_card_gb(groups: Sequence[Group], constraints: Constraints) -> float:
    """GB of the card that the answer counts in: the commonest of a card that was named, else the largest on offer; 0 if unknown."""
    sizes = [g.offers[0].gpu_memory_gb or (g.gpu.memory_gb if g.gpu else 0.0) or 0.0 for g in groups]
    return mode(sizes) if constraints.gpus else max(sizes)


def least_cards(sizing: Sizing, card_gb: float, facts: Facts) -> tuple[int, float]:
    """(cards of that size that hold the job at the least, GB over all of them): sharded over all, one sequence, recomputed.

    Where even many do not (one sequence fills a card), the count that weights and states alone would take.
    """
    room = card_gb * facts.values["usable_memory"]
    fewest = max(1, ceil(floor_gb(sizing) / room))
    if sizing.mode == "memory" or sizing.shape is None:
        return fewest, floor_gb(sizing)
    for gpus in range(fewest, min(MOST_CARDS, 4 * fewest) + 1):
        if sizing.job is not None:
            least = replace(sizing.job, micro_batch=1, recompute="full")
            plan = Plan(dp=gpus, sharding="zero3" if gpus > 1 else "ddp")
            each = train_memory(least, plan, facts.values).total
        else:
            precision = sizing.workload.precision or "bf16"
            parts = serving_memory(sizing.shape, precision, sizing.context, sizing.streams, gpus, facts.values)
            each = sum(parts.values())
        if each <= room:
            return gpus, each * gpus
    return fewest, floor_gb(sizing)


def _needs(
    sizing: Sizing,
    holding: Sequence[Candidate],
    shown: Sequence[Candidate],
    links: Links,
    lang: Lang,
    facts: Facts,
    constraints: Constraints,
) -> Needs:
    """Needs of the job: memory and cards from the smallest machine that holds it, links and reasons for the rows shown."""
    if not holding:
        return Needs(total_gpu_memory_gb=round(floor_gb(sizing), 1), reasons=wording.reasons(sizing, links, (), lang))
    fewest = min(holding, key=lambda c: (c.gpus, c.usd_hour))
    each = least_gb(sizing, fewest, facts)
    total = each * max(1.0, fewest.gpus)
    shown = shown or [fewest]
    if sizing.joint:
        return Needs(
            total_gpu_memory_gb=round(total, 1),
            min_gpu_memory_gb=round(each, 1),
            gpus_min=max(1, round(fewest.gpus)),
            nvlink=nvlink_of(sizing) if shown and shown[0].offer.gpu_count > 1 else "no",
            internode_rdma="yes" if any(c.nodes > 1 for c in shown) else "no",
            reasons=wording.reasons(sizing, links, shown, lang),
        )
    nvlink = None if all(c.gpus <= 1 for c in shown) else links.nvlink
    rdma_slow = links.rdma if any(c.nodes > 1 for c in shown) else None
    return Needs(
        total_gpu_memory_gb=round(total, 1),
        min_gpu_memory_gb=round(each, 1),
        gpus_min=max(1, round(fewest.gpus)),
        nvlink=_capped(verdict(nvlink), shown[0]),
        internode_rdma=verdict(rdma_slow) if sizing.mode == "train" else "no",
        reasons=wording.reasons(sizing, links, shown, lang, asks_network=_asks_network(constraints)),
        nvlink_slowdown=None if nvlink is None else round(nvlink, 3),
        rdma_slowdown=None if rdma_slow is None else round(rdma_slow, 3),
    )


def _capped(worth: Verdict, first: Candidate) -> Verdict:
    """A job whose first pick is one GPU does not need the link, however much it helps those who take several.

    Nor do independent replicas on a machine of several GPUs.
    """
    if first.replicas:
        return "no"
    return "helpful" if worth == "yes" and first.gpus <= 1 else worth


def _asks_network(constraints: Constraints) -> bool:
    """Whether the question is about several nodes or the network between them."""
    return bool(constraints.internode or constraints.fabrics or (constraints.nodes or 0) > 1)


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
        reasons=wording.reasons(sizing, Links(), (), lang),
    )


def uncounted(task: Task, groups: Sequence[Group], constraints: Constraints) -> Candidate | None:
    """The asked number of cards in one machine as it would be, where it holds the job though nobody offers that number."""
    count = constraints.gpu_count
    if count is None or count > NODE_GPUS or (constraints.nodes or 1) > 1:
        return None
    if any(round(g.offers[0].gpu_count) == count for g in groups):
        return None
    for group in groups:
        offer = group.offers[0].model_copy(update={"gpu_count": float(count), "nvlink_domain_gpus": None})
        result = evaluate(task, offer, group.gpu, 1)
        if result is not None:
            return Candidate(offer, group.gpu, result, 0.0, None, None)
    return None


def _no_such_count(
    task: Task, constraints: Constraints, asked: Candidate, near: Sequence[Candidate], lang: Lang, limit: int
) -> Recommendation:
    """The cards asked for hold the job, and no machine on offer has that many."""
    sizing, facts = task.sizing, task.facts
    near = sorted(near, key=lambda c: (abs(c.gpus - asked.gpus), c.usd_hour, price_key(c.offer)))
    links = link_worth(task, near[:limit])
    problem = wording.say(
        "problem.no_such_count",
        lang,
        count=round(asked.gpus),
        gpu=asked.offer.gpu,
        need=asked.result.memory_gb,
        card=asked.offer.gpu_memory_gb or (asked.gpu.memory_gb if asked.gpu else 0.0),
    )
    return Recommendation(
        outcome="no_match",
        workload=sizing.workload,
        needs=_needs(sizing, near, near[:limit], links, lang, facts, constraints),
        assumptions=wording.assumptions(sizing, lang),
        problem=(problem,),
        nearest=tuple(rows.pick("match", c, sizing, links, constraints, facts, lang) for c in near[:limit]),
        loosened=("gpu_count",) if near else (),
        required={"gpus": float(round(asked.gpus))},
    )


def _on_request(offers: Sequence[Offer]) -> Offer | None:
    """A machine that is joined to clusters and whose price is told on request only."""
    joined = [o for o in offers if not o.price_usd_hour and can_cluster(o)]
    return min(joined, key=lambda o: (o.provider, o.instance_type), default=None)


def _infeasible(
    task: Task,
    constraints: Constraints,
    groups: Sequence[Group],
    pool: Sequence[Candidate],
    found: Found,
    budget_problem: dict[str, float],
    lang: Lang,
    limit: int,
    on_request: Offer | None = None,
) -> Recommendation:
    """Why nothing can be picked, in numbers, and the nearest that would hold the job."""
    sizing, facts = task.sizing, task.facts
    nearest_pool = list(pool) or list(found.fastest)
    required: dict[str, float] = dict(budget_problem)
    missing = None if nearest_pool else uncounted(task, groups, constraints)
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
        nearest_pool = search(task, groups, free).fitting
        if missing is not None:
            return _no_such_count(task, constraints, missing, nearest_pool, lang, limit)
        required["memory_gb"] = round(floor_gb(sizing), 1)
        card = usual_card_gb(groups, constraints)
        if card:
            gpus, total = least_cards(sizing, card, facts)
            required |= {"gpus": float(gpus), "memory_gb": round(total, 1), "card_gb": card}
            required["machine_gpus"] = max(g.offers[0].gpu_count for g in groups)
    elif not pool and sizing.workload.deadline_hours:
        best = min((c for c in found.fastest if c.hours is not None), key=lambda c: c.hours or 0.0, default=None)
        if best is not None and best.hours is not None:
            required["hours"] = round(best.hours, 1)
            per_gpu = (best.result.tokens_per_s or 1.0) / best.gpus
            tokens = work_tokens(sizing) or 0.0
            required["gpus"] = float(-(-tokens // (per_gpu * sizing.workload.deadline_hours * 3600.0)))
    late = "hours" in required
    nearest_pool = sorted(
        nearest_pool, key=lambda c: ((c.hours or 0.0) if late else c.price_of_work, c.usd_hour, price_key(c.offer))
    )
    links = link_worth(task, nearest_pool)
    nearest: list[Pick] = []
    for candidate in nearest_pool:
        if len(nearest) < limit:
            nearest.append(rows.pick("match", candidate, sizing, links, constraints, facts, lang))
    return Recommendation(
        outcome="infeasible",
        workload=sizing.workload,
        needs=_needs(sizing, nearest_pool, nearest_pool[:3], links, lang, facts, constraints)
        if nearest_pool
        else _needs_of_nothing(sizing, required, lang),
        assumptions=wording.assumptions(sizing, lang),
        problem=trade.problems(sizing, constraints, required, nearest_pool, lang, on_request),
        nearest=tuple(nearest),
        required=required,
    )
