"""From what a person asked for to rows of the offers table: filter, recommend, loosen, and check named hardware."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from advisor.answer import Constraints, Lang, Workload
from knowledge.offers import OfferFilter

if TYPE_CHECKING:
    from advisor.reasoning.recommend import Recommendation
    from knowledge.facts import Facts
    from knowledge.offers import Offer, OfferStore

EVERYTHING = 100_000
LOOSENING = (
    ("max_price_usd_gpu_hour",),
    ("max_price_usd_hour",),
    ("budget_usd", "budget_usd_month"),
    ("regions", "countries", "not_countries"),
    ("spot",),
    ("internode", "fabrics"),
    ("nvlink",),
    ("gpu_count", "min_gpus", "max_gpus", "gpus_per_node", "nodes", "max_nodes"),
    ("gpus", "not_gpus", "gpu_variants", "instance_types", "min_gpu_memory_gb"),
    ("providers", "not_providers"),
)
"""Tried in this order, one group at a time: money first, since a person can decide on it; the provider last."""


def offer_filter(constraints: Constraints, *, limit: int = EVERYTHING) -> OfferFilter:
    """The rows that can be meant at all. Counts over several nodes are left to the sizing."""
    c = constraints
    per_node = c.gpus_per_node or (
        c.gpu_count // c.nodes if c.gpu_count and c.nodes and c.gpu_count % c.nodes == 0 else None
    )
    exact = (
        per_node if per_node else (c.gpu_count if c.gpu_count and c.nodes in (None, 1) and limit < EVERYTHING else None)
    )
    sort = c.sort if c.sort in ("price", "price_gpu", "memory", "bandwidth") else "price_gpu"
    return OfferFilter(
        provider=c.providers,
        not_provider=c.not_providers,
        gpu=c.gpus,
        not_gpu=c.not_gpus,
        gpu_variant=c.gpu_variants,
        instance_type=c.instance_types,
        region=c.regions,
        country=c.countries,
        not_country=c.not_countries,
        min_gpus=exact,
        max_gpus=exact,
        min_gpu_memory=c.min_gpu_memory_gb,
        nvlink=bool(c.nvlink),
        rdma=c.internode is not None and limit < EVERYTHING,
        fabric=("infiniband",) if c.internode == "infiniband" else c.fabrics,
        max_price=c.max_price_usd_hour,
        max_price_gpu=c.max_price_usd_gpu_hour,
        spot=False if c.spot is False else None,
        sort=sort,  # type: ignore[arg-type]
        limit=limit,
    )


def recommend_from_store(
    store: OfferStore, facts: Facts, workload: Workload, constraints: Constraints, lang: Lang
) -> Recommendation:
    """Recommend from the whole table; where nothing matches, say which constraint, loosened, gives picks."""
    from advisor.reasoning.recommend import recommend

    offers = _candidates(store, constraints)
    result = recommend(workload, constraints, offers, facts=facts, lang=lang)
    if result.outcome != "no_match":
        return result
    for group in LOOSENING:
        looser = without(constraints, group)
        if looser == constraints:
            continue
        other = recommend(workload, looser, _candidates(store, looser), facts=facts, lang=lang)
        if other.outcome == "picks":
            loosened = tuple(name for name in group if getattr(constraints, name) != getattr(looser, name))
            return result.model_copy(update={"nearest": other.picks, "loosened": loosened})
    return result


def _candidates(store: OfferStore, constraints: Constraints) -> Sequence[Offer]:
    return store.search(offer_filter(constraints)).offers


def without(constraints: Constraints, names: Sequence[str]) -> Constraints:
    """The same constraints with these put back to "not said"."""
    empty = Constraints()
    return constraints.model_copy(update={name: getattr(empty, name) for name in names})
