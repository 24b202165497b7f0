"""From what a person asked for to rows of the offers table: filter, recommend, loosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from advisor.answer import Constraints, Lang, Workload
from advisor.messages import text
from knowledge.offers import OfferFilter

if TYPE_CHECKING:
    from advisor.reasoning.recommend import Recommendation
    from knowledge.facts import Facts
    from knowledge.offers import Offer, OfferStore

EVERYTHING = 100_000
NODE_GPUS = 8
"""GPUs of a usual node: more of them are several nodes, where nobody says how many."""
LOOSENING = (
    ("max_price_usd_gpu_hour",),
    ("max_price_usd_hour",),
    ("budget_usd", "budget_usd_month"),
    ("regions", "countries", "not_countries"),
    ("spot", "spot_only"),
    ("internode", "fabrics"),
    ("nvlink",),
    ("gpu_count", "min_gpus", "max_gpus", "gpus_per_node", "nodes", "max_nodes"),
    ("gpus", "not_gpus", "gpu_variants", "instance_types", "min_gpu_memory_gb", "max_gpu_memory_gb"),
    ("providers", "not_providers"),
)
"""Tried in this order, one group at a time: money first, since a person can decide on it; the provider last."""


def offer_filter(constraints: Constraints, *, limit: int = EVERYTHING) -> OfferFilter:
    """The rows that can be meant at all. Counts over several nodes are left to the sizing."""
    c = constraints
    per_node = c.gpus_per_node or (
        c.gpu_count // c.nodes if c.gpu_count and c.nodes and c.gpu_count % c.nodes == 0 else None
    )
    listed = limit < EVERYTHING
    exact = per_node
    if exact is None and listed and c.gpu_count and c.nodes in (None, 1):
        exact = c.gpu_count if c.gpu_count <= NODE_GPUS else NODE_GPUS if c.gpu_count % NODE_GPUS == 0 else None
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
        min_total_memory=c.min_total_gpu_memory_gb if listed else None,
        nvlink=bool(c.nvlink),
        rdma=c.internode is not None and limit < EVERYTHING,
        fabric=("infiniband",) if c.internode == "infiniband" else c.fabrics,
        max_price=hourly_cap(c) if listed else c.max_price_usd_hour,
        max_price_gpu=c.max_price_usd_gpu_hour,
        spot=False if c.spot is False else True if c.spot_only else None,
        sort=sort,  # type: ignore[arg-type]
        limit=limit,
    )


def hourly_cap(constraints: Constraints) -> float | None:
    """Dollars an hour that one instance may cost: the stated cap, or what a total pays for over the hours of rental.

    A total is for all machines, so its share counts where several are asked for; the lower of the two limits holds.
    """
    c = constraints
    limits = [c.max_price_usd_hour]
    if c.budget_usd is not None and c.rent_hours:
        machines = c.nodes or (-(-c.gpu_count // NODE_GPUS) if c.gpu_count else 1)
        limits.append(c.budget_usd / c.rent_hours / machines)
    return min((limit for limit in limits if limit is not None), default=None)


def recommend_from_store(
    store: OfferStore, facts: Facts, workload: Workload, constraints: Constraints, lang: Lang
) -> Recommendation:
    """Recommend from the whole table; where nothing matches, say which constraint, loosened, gives picks.

    GPUs that do not run CUDA are offered only where the person names one, since most software of such jobs assumes it; an
    assumption says so. Rows of price lists that name no region come second to rows that can be ordered somewhere. Interruptible (spot) rows are offered only where the person accepts them, or where nothing else is left; then
    `relaxed` says so.
    """
    from advisor.reasoning.recommend import recommend

    cuda_only = not names_other_vendors(constraints)
    constraints = constraints.model_copy(update={"min_gpus": least_gpus(workload, constraints)})

    def run(wanted: Constraints) -> Recommendation:
        rows = candidates(store, wanted)
        rows = [o for o in rows if runs_cuda(o)] if cuda_only else rows
        anywhere = wanted.providers or wanted.sort in ("price", "price_gpu")
        placed = rows if anywhere else [o for o in rows if o.region != "unknown"]
        found = recommend(workload, wanted, placed, facts=facts, lang=lang)
        if not found.picks and len(placed) < len(rows):
            found = recommend(workload, wanted, rows, facts=facts, lang=lang)
        if not cuda_only:
            return found
        return found.model_copy(update={"assumptions": (*found.assumptions, text("writing.cuda", lang))})

    result = run(constraints.model_copy(update={"spot": False}) if constraints.spot is None else constraints)
    if result.picks:
        return result
    if constraints.spot is None:
        with_spot = run(constraints)
        if with_spot.picks:
            return with_spot.model_copy(update={"relaxed": (*with_spot.relaxed, "spot")})
    if result.outcome == "infeasible" or result.nearest:
        return result
    for group in LOOSENING:
        looser = without(constraints, group)
        if looser == constraints:
            continue
        other = run(looser)
        if other.picks:
            loosened = tuple(name for name in group if getattr(constraints, name) != getattr(looser, name))
            return result.model_copy(update={"nearest": other.picks, "loosened": loosened})
    return result


def least_gpus(workload: Workload, constraints: Constraints) -> int | None:
    """A stated way of splitting the model means several GPUs: as many as its degrees ask for, at least two."""
    degrees = (
        workload.tensor_parallel,
        workload.pipeline_parallel,
        workload.expert_parallel,
        workload.context_parallel,
    )
    largest = max((d for d in degrees if d), default=1)
    split = workload.sharding not in (None, "ddp") or largest > 1
    if not split or constraints.gpu_count or constraints.max_gpus:
        return constraints.min_gpus
    return max(2, largest, constraints.min_gpus or 0)


def runs_cuda(offer: Offer) -> bool:
    """Is it an NVIDIA GPU, or one that no table knows?"""
    from knowledge.gpu_names import gpu_table

    known = gpu_table().get(offer.gpu)
    return known is None or known.vendor.lower() == "nvidia"


def names_other_vendors(constraints: Constraints) -> bool:
    """Does the person ask for a GPU of another vendor, or welcome them?"""
    if constraints.any_vendor:
        return True
    from knowledge.gpu_names import gpu_table, resolve_gpu

    found = [resolve_gpu(name) for name in constraints.gpus]
    return any(f is not None and gpu_table()[f.gpu].vendor.lower() != "nvidia" for f in found)


def candidates(store: OfferStore, constraints: Constraints) -> Sequence[Offer]:
    """All rows that the constraints allow."""
    rows = store.search(offer_filter(constraints)).offers
    most = constraints.max_gpu_memory_gb
    return rows if most is None else [o for o in rows if o.gpu_memory_gb is not None and o.gpu_memory_gb <= most]


def without(constraints: Constraints, names: Sequence[str]) -> Constraints:
    """The same constraints with these put back to "not said"."""
    empty = Constraints()
    return constraints.model_copy(update={name: getattr(empty, name) for name in names})


LIST_LOOSENING = (
    ("max_price_gpu", "max_price"),
    ("region", "country", "not_country"),
    ("spot",),
    ("rdma", "fabric"),
    ("nvlink",),
    ("min_gpus", "max_gpus"),
    ("min_gpu_memory", "min_total_memory", "gpu_variant"),
    ("gpu", "not_gpu", "instance_type"),
    ("provider", "not_provider"),
)


def nearest_rows(store: OfferStore, wanted: OfferFilter, limit: int = 60) -> tuple[list[Offer], tuple[str, ...]]:
    """Rows that miss one group of conditions, and the names of what was let go; empty where no single group is to blame."""
    empty = OfferFilter()
    neighbours = (
        store.search(wanted.model_copy(update={**same_country(wanted), "limit": limit})) if wanted.region else None
    )
    if neighbours is not None and neighbours.offers:
        return neighbours.offers, ("region",)
    for group in LIST_LOOSENING:
        names = tuple(name for name in group if getattr(wanted, name) != getattr(empty, name))
        if not names:
            continue
        page = store.search(wanted.model_copy(update={**{n: getattr(empty, n) for n in names}, "limit": limit}))
        if page.offers:
            return page.offers, names
    return [], ()


def same_country(wanted: OfferFilter) -> dict[str, tuple[str, ...]]:
    """The filter's regions let go in favour of their countries: Tokyo where there is nothing in Osaka."""
    from knowledge.places import resolve_place

    places = [place for name in wanted.region if (place := resolve_place(name)) is not None]
    countries = tuple(dict.fromkeys(c for place in places for c in place.countries))
    return {"region": (), "country": wanted.country or countries} if countries else {}
