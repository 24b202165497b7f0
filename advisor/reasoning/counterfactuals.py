"""The same job without a link: slow-downs measured on the best machine that has it, re-planned for the slower link."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from advisor.reasoning.candidates import Candidate, Result, Task, evaluate
from advisor.reasoning.verdicts import slowdown
from knowledge.offer_model import Offer


@dataclass(frozen=True, slots=True)
class Links:
    """Slow-downs, None where the link plays no part; and the results they were taken from."""

    nvlink: float | None = None
    rdma: float | None = None
    on: Candidate | None = None
    with_link: Result | None = None
    without_link: Result | None = None
    nodes: int = 1
    with_net: Result | None = None
    without_net: Result | None = None
    measured: bool = False


def rate(result: Result | None) -> float | None:
    """Speed to compare; None where the job does not fit."""
    return None if result is None else result.pace


def reference(candidates: Sequence[Candidate]) -> Candidate | None:
    """The candidate on which links are judged: several GPUs joined by NVLink, fewest GPUs, then best price of the work."""
    several = [c for c in candidates if c.offer.gpu_count > 1 and c.gpu is not None]
    linked = [c for c in several if c.offer.nvlink == "yes"]
    return min(linked or several, key=lambda c: (c.nodes, c.price_of_work, c.offer.offer_id), default=None)


def link_worth(task: Task, candidates: Sequence[Candidate]) -> Links:
    """What NVLink and RDMA are worth to the job on the reference machine; nothing for one-GPU and independent work."""
    sizing = task.sizing
    if sizing.mode == "memory" or (sizing.workload.independent_jobs or 0) > 1:
        return Links()
    on = reference(candidates)
    if on is None or all(c.gpus <= 1 for c in candidates):
        return Links()
    offer = on.offer
    if offer.nvlink != "yes" and on.gpu is not None and on.gpu.nvlink_gb_s:
        offer = _linked(offer)
    with_link = evaluate(task, offer, on.gpu, on.nodes)
    without = evaluate(task, offer, on.gpu, on.nodes, link=False)
    nvlink = slowdown(rate(with_link), rate(without))
    if sizing.mode == "serve":
        return Links(nvlink, None, on, with_link, without, measured=True)
    nodes = on.nodes if on.nodes > 1 else 2
    net_offer = networked(offer)
    with_net = evaluate(task, net_offer, on.gpu, nodes)
    without_net = evaluate(task, net_offer, on.gpu, nodes, net=False)
    rdma = slowdown(rate(with_net), rate(without_net))
    return Links(nvlink, rdma, on, with_link, without, nodes, with_net, without_net, measured=True)


def _linked(offer: Offer) -> Offer:
    return offer.model_copy(update={"nvlink": "yes"})


def networked(offer: Offer) -> Offer:
    """The offer with a usual RDMA network where its own is none: 400 Gb/s a GPU, as training machines have."""
    if offer.internode_rdma == "yes" and offer.internode_gbit_s_per_node:
        return offer
    rate_gbit = 400.0 * max(1.0, offer.gpu_count)
    return offer.model_copy(
        update={"internode_fabric": "infiniband", "internode_gbit_s_per_node": rate_gbit, "internode_rdma": "yes"}
    )
