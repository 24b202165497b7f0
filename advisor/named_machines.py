"""The machine that a person names: does the job fit it, how fast, and at what price it is sold."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from advisor.answer import Constraints, Lang, Workload
from advisor.selection import EVERYTHING, NODE_GPUS
from knowledge.offers import OfferFilter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowledge.facts import Facts
    from knowledge.offers import Offer, OfferStore

FP32_KINDS = frozenset({"hpc", "render"})
"""Jobs whose speed follows the single-precision peak."""
SERVING = frozenset({"inference", "moe_inference", "batch_inference"})
NO_JOB = "other"
"""The kind under which machines are compared where no job is named."""
FAMILY = "|"
"""Parts the types of one machine family."""
GROWN_NODES = (2, 3, 4, 6, 8, 12, 16)
"""Numbers of a family's full machine that are tried until they hold the job."""
Network = Literal["as_sold", "rdma", "none"]
"""The network between nodes: that of the row, a usual RDMA network of 400 Gb/s a GPU, or plain Ethernet."""
PLAIN_GBIT_S = 100.0
"""Ethernet of a training machine whose RDMA network is not used; TCP over it reaches 4 to 6 GB/s of bus bandwidth
(https://github.com/NVIDIA/nccl/issues/601)."""
NETWORK_FIELDS = ("internode_fabric", "internode_gbit_s_per_node", "internode_rdma", "orderable_as_cluster")


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
    network: Network = "as_sold",
) -> dict[str, Any]:
    """`assess` with the price of the cheapest row, on that row's board and network where the person named none.

    `gpu` is a GPU model, an instance type, or the types of one machine family joined with "|".
    """
    from advisor.named_links import only_a_gpu
    from knowledge.gpu_names import resolve_gpu

    name = resolve_gpu(gpu)
    a_type = name is None or not only_a_gpu(gpu, name)
    if a_type and (rows := rows_of_types(store, gpu.split(FAMILY), limits)):
        return assess_type(facts, workload, rows, nodes=nodes, network=network)
    said = name.variant if name is not None and name.variant.lower() in gpu.lower() else ""
    if nodes > 1 and name is not None and name.variant == "unknown":
        gpu, name = joined_board(facts, gpu, name)
    form = name.variant if name is not None else "unknown"
    sold = cheapest(store, gpu, form, gpus, limits, nodes=nodes)[0] if nodes > 1 else None
    if nodes > 1 and sold is None and network == "as_sold":
        network = "rdma"
    judged = partial(assess, facts, workload, gpus=gpus, nodes=nodes, lang=lang, network=network)
    found = judged(gpu=gpu, nvlink=nvlink, sold=sold)
    if name is not None and found["have_gb"] is None and name.memory_gb is not None:
        board = name.gpu if name.variant == "unknown" else f"{name.gpu} {name.variant}"
        found = judged(gpu=board, nvlink=nvlink, sold=sold)
    if name is None or found["have_gb"] is None:
        return found
    if said and said not in name.gpu:  # a form that the person named is part of the machine's name
        found["label"] = found["label"].replace(f"{name.gpu} ", f"{name.gpu} {said} ", 1)
    row, machines = cheapest(store, f"{name.gpu} {found['have_gb']:g}GB", name.variant, gpus, limits, nodes=nodes)
    if row is None or row.price_usd_hour is None:
        return found
    if name.variant == "unknown" and row.gpu_variant not in ("unknown", "board"):
        board = f"{name.gpu} {row.gpu_variant} {found['have_gb']:g}GB"
        linked = row.nvlink if row.nvlink in ("yes", "no") and nvlink == "unknown" else nvlink
        as_sold = judged(gpu=board, nvlink=linked, sold=row if nodes > 1 else None)
        if as_sold["have_gb"] is not None:
            found = as_sold
    price = {"gpu": gpu, "usd_hour": round(row.price_usd_hour * machines, 4)}
    price |= {"seller": row.provider, "seller_type": row.instance_type}
    if workload.kind in FP32_KINDS:
        spec = facts.gpu(row.gpu, None if row.gpu_variant == "unknown" else row.gpu_variant, found["have_gb"])
        price["fp32_tflops"] = spec.fp32_tflops if spec else None
    return found | price | {"serves": workload.kind in SERVING}


def joined_board(facts: Facts, gpu: str, name: Any) -> tuple[str, Any]:
    """The name with the form that machines joined by a network have where nobody said it: SXM, if the card is made so."""
    from knowledge.gpu_names import resolve_gpu

    if not any(spec.gpu == name.gpu and spec.gpu_variant == "SXM" for spec in facts.gpus):
        return gpu, name
    memory = "" if name.memory_gb is None else f" {name.memory_gb:g}GB"
    board = f"{name.gpu} SXM{memory}"
    return board, resolve_gpu(board) or name


def rows_of_types(store: OfferStore, types: Sequence[str], limits: Constraints) -> list[Offer]:
    """The cheapest row of each instance type, the smallest machine first; on-demand unless spot is accepted.

    A type that is sold without a known on-demand price keeps its facts and no price.
    """
    rows = []
    for name in types:
        known = store.by_instance_type(name)
        offers = [o for o in known if o.price_usd_hour is not None and (limits.spot or not o.spot)]
        offers = [o for o in offers if not limits.countries or o.country in limits.countries] or offers
        if offers:
            rows.append(min(offers, key=lambda o: o.price_usd_hour or 0.0))
        elif known:
            rows.append(known[0].model_copy(update={"price_usd_hour": None, "spot": False}))
    return sorted(rows, key=lambda o: o.gpu_count)


def assess_type(
    facts: Facts, workload: Workload, rows: Sequence[Offer], *, nodes: int, network: Network
) -> dict[str, Any]:
    """The job on a family's smallest machine that holds it, else on as many of its full machine as it takes.

    The full machine is taken where a number of nodes or no job is named.
    """
    from advisor.reasoning.candidates import can_cluster

    full = rows[-1]
    tries = [(full, nodes)] if nodes > 1 or workload.kind == NO_JOB else [(row, 1) for row in rows]
    if nodes == 1 and workload.kind != NO_JOB and (can_cluster(full) or workload.kind in SERVING):
        tries += [(full, n) for n in GROWN_NODES]
    found: dict[str, Any] = {}
    for row, n in tries:
        spec = facts.gpu(row.gpu, None if row.gpu_variant == "unknown" else row.gpu_variant, row.gpu_memory_gb)
        count = max(1, round(row.gpu_count))
        each = f"{row.instance_type} ({count}× {row.gpu} {row.gpu_memory_gb or 0:g} GB)"
        label = each if n == 1 else f"{n} × {each}"
        named = {"gpu": row.gpu, "gpus": count * n, "nodes": n, "label": label, "type": row.instance_type}
        result = judge(facts, workload, row, spec, nodes=n, named=named, network=network)
        price = None if row.price_usd_hour is None else round(row.price_usd_hour * n, 4)
        result |= {"usd_hour": price, "seller": row.provider}
        result |= {"seller_type": row.instance_type, "serves": workload.kind in SERVING}
        if not found or result["fits"] or (row is full and n == 1):
            found = result
        if result["fits"]:
            break
    return found


def cheapest(
    store: OfferStore, gpu: str, variant: str, gpus: int, limits: Constraints, *, nodes: int = 1
) -> tuple[Offer | None, int]:
    """(the cheapest row, how many of it make `gpus` cards), on-demand unless spot is accepted; (None, 0) where nobody has it.

    Machines with all the cards come first, then several of eight or fewer. Of several `nodes` each holds its share and can be
    joined with the others, those with an RDMA network first.
    """
    from advisor.reasoning.candidates import can_cluster

    counts = [gpus // nodes] if nodes > 1 and gpus % nodes == 0 else [gpus, NODE_GPUS, 4, 2, 1]
    for rdma in (True, False) if nodes > 1 else (False,):
        for count in dict.fromkeys(counts):
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
                rdma=rdma,
                spot=None if limits.spot else False,
                sort="price",
                limit=1 if nodes == 1 else EVERYTHING,
            )
            rows = store.search(wanted).offers
            row = next((row for row in rows if nodes == 1 or can_cluster(row)), None)
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
    facts: Facts,
    workload: Workload,
    *,
    gpu: str,
    gpus: int,
    nodes: int = 1,
    nvlink: str = "unknown",
    lang: Lang = "en",
    sold: Offer | None = None,
    network: Network = "as_sold",
) -> dict[str, Any]:
    """Does the job fit a machine that the person named, as planned by them or as well as it can be; how fast?

    `need_gb` and `have_gb` are of one GPU; None where the job or the GPU is not known well enough. The network between nodes
    is that of the row `sold`, where one is given.
    """
    offer = named_offer(gpu, gpus, nodes, nvlink)
    named = {"gpu": gpu, "gpus": gpus, "nodes": nodes, "label": f"{gpus}× {gpu}"}
    if offer is None:
        return {**named, "need_gb": None, "have_gb": None, "fits": None}
    if sold is not None:
        offer = offer.model_copy(update={name: getattr(sold, name) for name in NETWORK_FIELDS})
    spec = facts.gpu(offer.gpu, None if offer.gpu_variant == "unknown" else offer.gpu_variant, offer.gpu_memory_gb)
    if spec is None:
        return {**named, "need_gb": None, "have_gb": None, "fits": None}
    offer = offer.model_copy(update={"gpu_memory_gb": offer.gpu_memory_gb or spec.memory_gb})
    card = f"{offer.gpu} {offer.gpu_memory_gb:g} GB"
    named["label"] = f"{gpus}× {card}" if nodes == 1 else f"{nodes} × ({offer.gpu_count:g}× {card})"
    return judge(facts, workload, offer, spec, nodes=nodes, named=named, network=network)


def judge(
    facts: Facts, workload: Workload, offer: Offer, spec: Any, *, nodes: int, named: dict[str, Any], network: Network
) -> dict[str, Any]:
    """`assess` for a machine that is known: `named` is how the person called it."""
    from advisor.reasoning.candidates import Task, evaluate, work_tokens
    from advisor.reasoning.counterfactuals import networked
    from advisor.reasoning.recommend import wanted_of
    from advisor.reasoning.workload import SERVICES, complete

    gpus = named["gpus"]
    if network == "rdma":
        offer = networked(offer)
    elif network == "none":
        plain = {"internode_fabric": "ethernet", "internode_rdma": "no", "internode_gbit_s_per_node": PLAIN_GBIT_S}
        offer = offer.model_copy(update=plain)
    found = {**named, "need_gb": None, "have_gb": offer.gpu_memory_gb, "fits": None}
    if spec is None:
        return found
    found |= machine_facts(offer, spec, nodes) | {"network_assumed": nodes > 1 and network == "rdma"}
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
    found |= _rate(facts, sizing, spec, gpus)
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


def machine_facts(offer: Offer, spec: Any, nodes: int) -> dict[str, Any]:
    """What is known of a machine without a job: memory and dense 16-bit TFLOPS in all, and its links."""
    gpus = offer.gpu_count * nodes
    peak = spec.bf16_dense_tflops or spec.fp16_dense_tflops
    memory = offer.gpu_memory_gb or spec.memory_gb
    return {
        "total_gb": memory * gpus if memory else None,
        "dense_tflops": peak * gpus if peak else None,
        "bandwidth_gb_s": spec.memory_bandwidth_gb_s * gpus if spec.memory_bandwidth_gb_s else None,
        "nvlink": offer.nvlink,
        "nvlink_gb_s": offer.nvlink_gb_s_per_gpu or spec.nvlink_gb_s,
        "fabric": offer.internode_fabric,
        "gbit_s": offer.internode_gbit_s_per_node,
        "rdma": offer.internode_rdma,
        "as_offer": offer.model_dump(mode="json"),
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
