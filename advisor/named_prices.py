"""The machine that a person names, as it is sold: its cheapest row, and the job on that board."""

from __future__ import annotations

from typing import Any

from advisor.answer import Constraints, Lang, Workload
from knowledge.facts import Facts
from knowledge.offers import Offer, OfferFilter, OfferStore

NODE_GPUS = 8
FP32_KINDS = frozenset({"hpc", "render"})
"""Jobs whose speed follows the single-precision peak."""
SERVING = frozenset({"inference", "moe_inference", "batch_inference"})


def assess_as_sold(
    store: OfferStore,
    facts: Facts,
    workload: Workload,
    gpu: str,
    gpus: int,
    nodes: int,
    nvlink: str,
    limits: Constraints,
    lang: Lang,
) -> dict[str, Any]:
    """`selection.assess` with the price of the cheapest row, on that row's board where the person named no form."""
    from advisor.selection import assess
    from knowledge.gpu_names import resolve_gpu

    found = assess(facts, workload, gpu=gpu, gpus=gpus, nodes=nodes, nvlink=nvlink, lang=lang)
    name = resolve_gpu(gpu)
    if name is not None and found["have_gb"] is None and name.memory_gb is not None:
        board = name.gpu if name.variant == "unknown" else f"{name.gpu} {name.variant}"
        found = assess(facts, workload, gpu=board, gpus=gpus, nodes=nodes, nvlink=nvlink, lang=lang)
    if name is None or found["have_gb"] is None:
        return found
    row, machines = cheapest(store, f"{name.gpu} {found['have_gb']:g}GB", name.variant, gpus, limits)
    if row is None or row.price_usd_hour is None:
        return found
    if name.variant == "unknown" and row.gpu_variant not in ("unknown", "board"):
        board = f"{name.gpu} {row.gpu_variant} {found['have_gb']:g}GB"
        linked = row.nvlink if row.nvlink in ("yes", "no") else nvlink
        as_sold = assess(facts, workload, gpu=board, gpus=gpus, nodes=nodes, nvlink=linked, lang=lang)
        if as_sold["have_gb"] is not None:
            found = as_sold
    price = round(row.price_usd_hour * machines, 4)
    sold = {"gpu": gpu, "usd_hour": price, "seller": row.provider, "seller_type": row.instance_type}
    if workload.kind in FP32_KINDS:
        spec = facts.gpu(row.gpu, None if row.gpu_variant == "unknown" else row.gpu_variant, found["have_gb"])
        sold["fp32_tflops"] = spec.fp32_tflops if spec else None
    return found | sold | {"serves": workload.kind in SERVING}


def cheapest(store: OfferStore, gpu: str, variant: str, gpus: int, limits: Constraints) -> tuple[Offer | None, int]:
    """(the cheapest row, how many of it make `gpus` cards), on-demand unless spot is accepted; (None, 0) where nobody has it.

    Machines with all the cards come first, then several of eight or fewer.
    """
    for count in dict.fromkeys((gpus, NODE_GPUS, 4, 2, 1)):
        if count > gpus or gpus % count:
            continue
        wanted = OfferFilter(
            gpu=(gpu,),
            gpu_variant=() if variant == "unknown" else (variant,),
            provider=limits.providers,
            not_provider=limits.not_providers,
            region=limits.regions,
            country=limits.countries,
            not_country=limits.not_countries,
            min_gpus=count,
            max_gpus=count,
            spot=None if limits.spot else False,
            sort="price",
            limit=1,
        )
        row = next(iter(store.search(wanted).offers), None)
        if row is not None and row.price_usd_hour is not None:
            return row, gpus // count
    return None, 0
