"""The same job without a link: slow-downs measured on the first machine shown that has it, re-planned for the slower link."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from advisor.reasoning.candidates import Candidate, Result, Task, evaluate
from advisor.reasoning.verdicts import slowdown
from knowledge.offer_model import Offer

REFERENCE = ("H100", "SXM", 80.0, 900.0)
"""Card, form, GB and NVLink GB/s of the stated machine on which NVLink is judged where no candidate can have it."""
REFERENCE_SIZES = ((2, 1), (4, 1), (8, 1), (8, 2), (8, 4), (8, 8), (8, 16), (8, 32))
"""(GPUs a node, nodes) of the stated machine, tried in this order."""
BRIDGED = frozenset({"PCIe", "NVL"})
"""Forms whose NVLink is a bridge over a pair of cards."""


@dataclass(frozen=True, slots=True)
class Links:
    """Slow-downs, None where the link plays no part; and the results they were taken from.

    `on` is the candidate that NVLink was judged on, or the stated reference machine where `stated` is true: no row to rent.
    """

    nvlink: float | None = None
    rdma: float | None = None
    on: Candidate | None = None
    with_link: Result | None = None
    without_link: Result | None = None
    nodes: int = 1
    with_net: Result | None = None
    without_net: Result | None = None
    measured: bool = False
    stated: bool = False
    independent: bool = False
    """Each GPU works for itself."""


def rate(result: Result | None) -> float | None:
    """Speed to compare; None where the job does not fit."""
    return None if result is None else result.pace


def capable(candidate: Candidate) -> bool:
    """Whether NVLink can join the GPUs: the offer says so, or the board has the connector."""
    return candidate.offer.nvlink == "yes" or bool(candidate.gpu and candidate.gpu.nvlink_gb_s)


def rack(candidate: Candidate) -> bool:
    """Whether one NVLink domain joins the GPUs of all its nodes, as in NVL72 racks."""
    return candidate.offer.nvlink == "yes" and (candidate.offer.nvlink_domain_gpus or 0) >= candidate.gpus > 1


def reference(candidates: Sequence[Candidate]) -> Candidate | None:
    """The candidate that links are judged on: several GPUs that NVLink can join, fewest nodes, then the lowest price a token.

    The price a token and not of the errand: the links matter to those who keep the machine busy.
    """
    several = [c for c in candidates if c.offer.gpu_count > 1 and c.gpu is not None]
    linked = [c for c in several if c.offer.nvlink == "yes"] or [c for c in several if capable(c)]
    return min(
        linked or several, key=lambda c: (c.nodes, c.usd_hour / (c.result.pace or 1.0), c.offer.offer_id), default=None
    )


def stated_reference(task: Task, like: Candidate) -> Candidate | None:
    """The stated machine with as many GPUs a node as `like`, or with more until the job fits; None where none holds it."""
    gpu_name, form, memory, link = REFERENCE
    gpu = task.facts.gpu(gpu_name, form, memory)
    if gpu is None:
        return None
    for count, nodes in REFERENCE_SIZES:
        if count < min(like.offer.gpu_count, 8):
            continue
        offer = like.offer.model_copy(
            update={
                "gpu": gpu_name,
                "gpu_variant": form,
                "gpu_memory_gb": memory,
                "gpu_count": float(count),
                "nvlink": "yes",
                "nvlink_gb_s_per_gpu": link,
                "nvlink_domain_gpus": count,
            }
        )
        result = evaluate(task, networked(offer), gpu, nodes)
        if result is not None:
            return replace(like, offer=offer, gpu=gpu, result=result)
    return None


def link_worth(task: Task, candidates: Sequence[Candidate]) -> Links:
    """What NVLink and RDMA are worth to the job on the reference machine; nothing for one-GPU and independent work."""
    sizing = task.sizing
    if sizing.joint:
        return Links()
    if sizing.mode == "memory" or (sizing.workload.independent_jobs or 0) > 1:
        return Links(independent=True)
    if all(c.gpus <= 1 for c in candidates):
        return Links()
    if sizing.mode == "serve":  # only copies that are cut over GPUs talk over a link
        candidates = [c for c in candidates if c.result.split > 1]
        if not candidates:
            return Links(measured=True, independent=True)
    on = reference(candidates)
    if on is None:
        return Links()
    spanning = [c for c in candidates if c.nodes > 1]
    crossing = [c for c in spanning if not rack(c)]
    wide = max(crossing, key=lambda c: c.offer.gpu_count, default=on)
    stated = not capable(on)
    if stated:
        on = stated_reference(task, on) or on
        stated = capable(on)
    offer = on.offer if on.offer.nvlink == "yes" or not capable(on) else _linked(on.offer)
    with_link = evaluate(task, offer, on.gpu, on.nodes)
    known = capable(on)
    without = evaluate(task, offer, on.gpu, on.nodes, link=False) if known else None
    if (rate(without) or 0.0) > (rate(with_link) or 0.0):  # who has the link need not use it
        with_link = without
    nvlink = slowdown(rate(with_link), rate(without)) if known else None
    if sizing.mode == "serve":
        return Links(nvlink, None, on, with_link, without, measured=True, stated=stated)
    if spanning and not crossing:
        return Links(nvlink, None, on, with_link, without, measured=True, stated=stated)
    nodes = wide.nodes if wide.nodes > 1 else 2
    net_offer = networked(wide.offer if wide.nodes > 1 else offer)
    card = wide.gpu if wide.nodes > 1 else on.gpu
    with_net = evaluate(task, net_offer, card, nodes)
    without_net = evaluate(task, net_offer, card, nodes, net=False)
    rdma = slowdown(rate(with_net), rate(without_net))
    return Links(nvlink, rdma, on, with_link, without, nodes, with_net, without_net, measured=True, stated=stated)


def _linked(offer: Offer) -> Offer:
    """The offer with the NVLink of its board: all of the node, or pairs where it is a bridge."""
    pairs = offer.gpu_variant in BRIDGED and offer.gpu_count > 2
    return offer.model_copy(update={"nvlink": "partial" if pairs else "yes"})


def networked(offer: Offer) -> Offer:
    """The offer with a usual RDMA network where its own is none: 400 Gb/s a GPU, as training machines have."""
    if offer.internode_rdma == "yes" and offer.internode_gbit_s_per_node:
        return offer
    rate_gbit = 400.0 * max(1.0, offer.gpu_count)
    return offer.model_copy(
        update={"internode_fabric": "infiniband", "internode_gbit_s_per_node": rate_gbit, "internode_rdma": "yes"}
    )
