"""From what a person asked for to rows of the offers table: filter, recommend, loosen, and check named hardware."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

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


def named_offer(gpu: str, gpus: int, nodes: int, nvlink: str) -> Offer | None:
    """A machine as a person names it ("8x V100 32GB"), with the link facts that the GPU alone decides; None if unknown."""
    from knowledge.gpu_names import resolve_gpu
    from knowledge.links import join_links
    from knowledge.offers import Offer

    found = resolve_gpu(gpu)
    if found is None:
        return None
    count = max(1, gpus // max(1, nodes))
    links = join_links("", "", found.gpu, found.variant, float(count))
    return Offer(
        offer_id="named",
        provider="named",
        instance_type=gpu,
        gpu=found.gpu,
        gpu_variant=found.variant,
        gpu_count=count,
        gpu_memory_gb=found.memory_gb,
        price_usd_hour=1.0,
        source="named in the question",
        nvlink=nvlink if nvlink != "unknown" else links.nvlink,  # type: ignore[arg-type]
        nvlink_gb_s_per_gpu=links.nvlink_gb_s_per_gpu,
        nvlink_domain_gpus=links.nvlink_domain_gpus,
        internode_fabric="ethernet" if nodes > 1 else "unknown",
        orderable_as_cluster="yes" if nodes > 1 else "unknown",
    )


SERVED = frozenset({"inference", "moe_inference"})
FEWER_REQUESTS = ((4, None), (2, None), (1, None), (1, 4096), (1, 2048))
"""Requests at a time, and tokens of each (None: as usual), with which a named machine is tried where nobody said how many: holding the model at all is holding it."""


def assess(
    facts: Facts, workload: Workload, *, gpu: str, gpus: int, nodes: int = 1, nvlink: str = "unknown", lang: Lang = "en"
) -> dict[str, Any]:
    """Does the job fit a machine that the person named, as planned by them or as well as it can be; how fast?

    `need_gb` and `have_gb` are of one GPU; None where the job or the GPU is not known well enough.
    """
    from advisor.reasoning.candidates import Task, evaluate, work_tokens
    from advisor.reasoning.recommend import wanted_of
    from advisor.reasoning.workload import complete

    offer = named_offer(gpu, gpus, nodes, nvlink)
    empty = {
        "gpu": gpu,
        "gpus": gpus,
        "nodes": nodes,
        "label": f"{gpus}× {gpu}",
        "need_gb": None,
        "have_gb": None,
        "fits": None,
    }
    if offer is None:
        return empty
    spec = facts.gpu(offer.gpu, None if offer.gpu_variant == "unknown" else offer.gpu_variant, offer.gpu_memory_gb)
    if spec is None:
        return empty
    offer = offer.model_copy(update={"gpu_memory_gb": offer.gpu_memory_gb or spec.memory_gb})
    sizing = complete(workload, facts)
    task = Task(sizing, wanted_of(workload, stated_sharding=True), facts)
    result = evaluate(task, offer, spec, nodes)
    requests = None
    if result is None and workload.concurrency is None and workload.kind in SERVED:
        for requests, context in FEWER_REQUESTS:
            less = {"concurrency": requests, "seq_len": workload.seq_len or context}
            sizing = complete(workload.model_copy(update=less), facts)
            result = evaluate(Task(sizing, task.wanted, facts), offer, spec, nodes)
            if result is not None:
                break
    label = f"{gpus}× {offer.gpu} {offer.gpu_memory_gb:g} GB"
    found = {**empty, "label": label, "have_gb": offer.gpu_memory_gb, **_rate(facts, sizing, spec, gpus)}
    if result is None:
        return found | {
            "fits": False,
            "need_gb": _needed(facts, sizing, spec, gpus, nodes),
            "plan": _plan_words(workload),
        }
    tokens = work_tokens(sizing)
    hours = tokens / result.tokens_per_s / 3600 if tokens and result.tokens_per_s else None
    return found | {
        "fits": True,
        "need_gb": round(result.memory_gb, 1),
        "plan": result.parallelism,
        "tokens_per_s": result.tokens_per_s,
        "hours": hours,
        **({"requests": requests, "context": sizing.workload.seq_len} if requests else {}),
    }


def _rate(facts: Facts, sizing: Any, spec: Any, gpus: int) -> dict[str, Any]:
    """TFLOPS of all cards by which machines are compared where speed is not modelled: double precision, or peak in 16 bits."""
    if sizing.workload.fp64 and spec.fp64_tflops:
        return {"rate": "fp64", "rate_tflops": spec.fp64_tflops * gpus}
    network = sizing.model is not None and sizing.model.kind in facts.model_memory
    peak = spec.bf16_dense_tflops or spec.fp16_dense_tflops
    return {"rate": "peak", "rate_tflops": peak * gpus} if network and sizing.mode == "memory" and peak else {}


def _plan_words(workload: Workload) -> str:
    return {"zero1": "ZeRO-1", "zero2": "ZeRO-2", "zero3": "ZeRO-3", "fsdp": "FSDP", "hsdp": "HSDP", "ddp": "DDP"}.get(
        workload.sharding or "", ""
    )


def _needed(facts: Facts, sizing: Any, spec: Any, gpus: int, nodes: int) -> float | None:
    """GB a GPU that the job would take on these GPUs, as planned by the person or sharded as far as possible."""
    from advisor.reasoning.estimate import estimate

    w = sizing.workload
    if sizing.mode == "memory":
        return sizing.card_gb or None
    if sizing.mode == "serve":
        from advisor.reasoning.inference import serving_memory

        parts = serving_memory(sizing.shape, w.precision or "bf16", sizing.context, sizing.streams, gpus, facts.values)
        return round(sum(parts.values()), 1)
    request = {
        "task": "memory",
        "model": w.model,
        "params_b": w.params_b,
        "method": w.kind,
        "precision": w.precision or "bf16",
        "seq_len": w.seq_len,
        "micro_batch": w.micro_batch or 1,
        "gpus": gpus,
        "nodes": nodes,
        "gpu_model": f"{spec.gpu} {spec.memory_gb:g}GB",
        "parallelism": _plan_words(w) or ("ZeRO-3" if gpus > 1 else ""),
        "activation_checkpointing": True,
        "optimizer": w.optimizer or "AdamW",
    }
    answer = estimate({key: value for key, value in request.items() if value is not None}, facts)
    value = answer.get("memory_gb_per_gpu")
    return None if value is None else round(float(value), 1)


def link_facts(store: OfferStore, facts: Facts, names: Sequence[str]) -> list[dict[str, Any]]:
    """What is known of the links of GPU models ("H100 NVL") and instance types ("p5.48xlarge"); unknown GPUs are left out.

    For a type that no table has, a row of kind "near" gives the types whose names are nearest.

    A GPU row has link "nvlink" (board of linked GPUs), "bridge" (pairs of PCIe cards), "amd", "other", "none" or "unknown".
    """
    from knowledge.gpu_names import resolve_gpu

    rows: list[dict[str, Any]] = []
    sellers = set(store.providers())
    for name in names:
        if name in sellers:
            rows.append({"kind": "provider", "name": name, "fabrics": store_fabrics(store, name)})
            continue
        found = resolve_gpu(name)
        if found is None or not _only_a_gpu(name, found):
            offers = store.by_instance_type(name)
            if offers:
                rows.append(
                    {"kind": "type", "name": offers[0].instance_type, "offer": offers[0].model_dump(mode="json")}
                )
                continue
        if found is None:
            near = near_types(store, name)
            if near:
                rows.append({"kind": "near", "name": name, "near": near})
            continue
        specs = [s for s in facts.gpus if s.gpu == found.gpu and found.variant in ("unknown", s.gpu_variant)]
        for variant in dict.fromkeys(s.gpu_variant for s in specs):
            rows.append(
                _gpu_row([s for s in specs if s.gpu_variant == variant], len({s.gpu_variant for s in specs}) > 1)
            )
    return list({row["name"]: row for row in rows}.values())


NEAR_TYPES = 5
NEAR_SPELLING = 0.7


def near_types(store: OfferStore, name: str) -> list[str]:
    """Types of the table whose names are nearest in spelling, each with its GPUs: "p5.48xlarge (8× H100)"."""
    from difflib import get_close_matches

    known: dict[str, str] = {}
    for offer in store.all():
        known.setdefault(offer.instance_type.lower(), f"{offer.instance_type} ({offer.gpu_count:g}× {offer.gpu})")
    found = get_close_matches(name.lower(), known, n=NEAR_TYPES, cutoff=NEAR_SPELLING)
    return [known[key] for key in found]


def store_fabrics(store: OfferStore, provider: str) -> list[str]:
    """The kinds of network in a provider's rows, the commonest first."""
    from collections import Counter

    page = store.search(OfferFilter(provider=(provider,), limit=EVERYTHING))
    return [name for name, _ in Counter(offer.internode_fabric for offer in page.offers).most_common()]


def _only_a_gpu(name: str, found: Any) -> bool:
    """Is the name a GPU's, not that of an instance type which has the GPU in it?"""

    def squash(text: str) -> str:
        return "".join(c for c in text.lower() if c.isalnum())

    memory = "" if found.memory_gb is None else f"{found.memory_gb:g}"
    forms = {
        found.gpu,
        f"{found.gpu}{found.variant}",
        f"{found.gpu}{memory}gb",
        f"{found.gpu}{found.variant}{memory}gb",
    }
    return squash(name) in {squash(form) for form in forms} | {squash(f"{found.gpu}{memory}gb{found.variant}")}


def _gpu_row(specs: list[Any], several: bool) -> dict[str, Any]:
    spec = specs[0]
    if spec.vendor == "AMD":
        link = "amd"
    elif spec.vendor != "NVIDIA":
        link = "other"
    elif not spec.nvlink_gb_s:
        link = "none" if spec.peer_link == "none" and spec.gpu_variant != "superchip" else "unknown"
    else:
        link = "bridge" if spec.gpu_variant in ("PCIe", "NVL") else "nvlink"
    named = f"{spec.gpu} {spec.gpu_variant}" if several or spec.gpu_variant == "NVL" else spec.gpu
    return {
        "kind": "gpu",
        "name": named,
        "link": link,
        "vendor": spec.vendor,
        "nvlink_generation": spec.nvlink_generation,
        "nvlink_gb_s": spec.nvlink_gb_s or spec.peer_link_gb_s,
        "pcie_generation": None if spec.pcie_generation is None else f"{spec.pcie_generation:g}",
        "memory_gb": sorted({s.memory_gb for s in specs}),
        "source": spec.source,
        "as_of": spec.as_of,
        "confidence": spec.confidence,
    }
