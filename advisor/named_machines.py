"""The machine that a person names: does the job fit it, how fast, and at what price it is sold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from advisor.answer import Constraints, Lang, Workload
from advisor.selection import NODE_GPUS
from knowledge.offers import OfferFilter

if TYPE_CHECKING:
    from knowledge.facts import Facts
    from knowledge.offers import Offer, OfferStore

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


FEWER_REQUESTS = ((4, None), (2, None), (1, None), (1, 4096), (1, 2048))
"""Requests at a time, and tokens of each (None: as usual), with which a named machine is tried where nobody said how many:
holding the model at all is holding it."""


def assess(
    facts: Facts, workload: Workload, *, gpu: str, gpus: int, nodes: int = 1, nvlink: str = "unknown", lang: Lang = "en"
) -> dict[str, Any]:
    """Does the job fit a machine that the person named, as planned by them or as well as it can be; how fast?

    `need_gb` and `have_gb` are of one GPU; None where the job or the GPU is not known well enough.
    """
    from advisor.reasoning.candidates import Task, evaluate, work_tokens
    from advisor.reasoning.recommend import wanted_of
    from advisor.reasoning.workload import SERVICES, complete

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
    if result is None and workload.concurrency is None and workload.kind in SERVICES:
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
