"""Links of a machine in plain rates: from the text of a published table, and from an offer."""

from __future__ import annotations

import re
from typing import Any

from advisor.reasoning.job import Machine
from knowledge.facts import Facts, GpuSpec
from knowledge.offer_model import Offer

PCIE_GB_S = {3.0: 15.75, 4.0: 31.5, 5.0: 63.0, 6.0: 126.0}
"""One way, x16 (PCI-SIG)."""


def pcie_gb_s(gpu: GpuSpec, k: dict[str, float]) -> float:
    """Bus bandwidth over PCIe between several cards of a node, GB/s."""
    return PCIE_GB_S.get(gpu.pcie_generation or 4.0, 31.5) * k["pcie_efficiency"]


def peer_gb_s(gpu: GpuSpec, quoted: float | None, k: dict[str, float]) -> float:
    """Bus bandwidth one way of the board's own link, GB/s, from the figure that vendors quote for both directions."""
    return (quoted or gpu.peer_link_gb_s or 0.0) / 2.0 * k["link_efficiency"]


def machine_for(
    gpu: GpuSpec,
    *,
    gpus: int,
    nodes: int,
    domain: int,
    intra: str,
    inter: str,
    gbit_s_per_node: float | None,
    facts: Facts,
    assumed: dict[str, Any],
) -> Machine:
    """The machine that a published row describes. What it does not say is assumed as usual for the board, and noted."""
    k = facts.values
    rack = gpu.gpu in ("GB200", "GB300")
    per_node = max(1, gpus // nodes) if nodes else min(gpus, 4 if rack else 8)
    nodes = nodes or max(1, -(-gpus // per_node))
    linked = gpu.peer_link != "none" and gpu.peer_link_gb_s is not None
    if linked and gpu.gpu_variant in ("PCIe", "NVL") and "nvlink" not in intra:
        linked = False
    if "pcie" in intra and "nvlink" not in intra:
        linked = False
    quoted = float(found[1]) if (found := re.search(r"nvlink[^,]*?(\d{3,4})\s*gb/s", intra)) else None
    if not domain:
        words = re.search(r"(\d+)\s*gpus", intra)
        domain = int(words[1]) if words else (72 if rack else 8)
    if not linked:
        domain = 1
    fabric = next(
        (name for name in ("infiniband", "roce", "efa", "omni-path", "tcpxo", "tcpx", "ethernet") if name in inter),
        "roce" if "rdma" in inter else "unknown",
    )
    rate = gbit_s_per_node
    if rate is None and (found := re.search(r"(\d+)\s*x\s*(\d+)\s*gb/s per node", inter)):
        rate = float(found[1]) * float(found[2])
    if rate is None and (found := re.search(r"(\d+)\s*gb/s per node", inter)):
        rate = float(found[1])
    if rate is None and (found := re.search(r"(\d+)\s*gb/s per gpu", inter)):
        rate = float(found[1]) * per_node
    known = fabric != "unknown"
    if rate is None and nodes > 1:
        modern = (gpu.bf16_dense_tflops or 0) > 500
        rate = per_node * (400.0 if modern else 200.0)
        assumed["inter_gbps_per_node"] = rate
    if not known and nodes > 1:
        fabric = "infiniband"
        assumed["inter_fabric"] = "rdma"
    spec = facts.fabrics[fabric if fabric in facts.fabrics else "unknown"]
    return Machine(
        gpu=gpu,
        gpus_per_node=per_node,
        nodes=nodes,
        domain=min(domain, gpus),
        link_gb_s=peer_gb_s(gpu, quoted, k) if linked else pcie_gb_s(gpu, k),
        link_latency_s=k["link_latency_s"] if linked else k["pcie_latency_s"],
        slow_gb_s=pcie_gb_s(gpu, k),
        slow_latency_s=k["pcie_latency_s"],
        net_gb_s=(rate or 10.0) / 8.0 / per_node * spec.efficiency,
        net_latency_s=spec.latency_us * 1e-6,
        rdma=spec.rdma == "yes",
        link=gpu.peer_link if linked else "pcie",
        fabric=fabric,
    )


def machine_of(offer: Offer, gpu: GpuSpec, nodes: int, facts: Facts, *, link: bool = True, net: bool = True) -> Machine:
    """The machine of `nodes` instances of an offer. `link=False` and `net=False` take the NVLink or the RDMA network away.

    A link or rate that nobody states is not counted as present: PCIe, and 10 Gb/s Ethernet over TCP.
    """
    k = facts.values
    per_node = max(1, round(offer.gpu_count))
    peer = gpu.peer_link in ("xgmi", "ethernet", "ici", "neuronlink")
    linked = link and per_node > 1 and (offer.nvlink in ("yes", "partial") or peer)
    domain = 1
    if linked:
        domain = 2 if offer.nvlink == "partial" else (offer.nvlink_domain_gpus or per_node)
        domain = max(2, domain)
    fabric = offer.internode_fabric
    rate = offer.internode_gbit_s_per_node
    if not net or fabric in ("none", "unknown"):
        plain = facts.fabrics["ethernet"]
        fabric = "ethernet"
        rate = plain.default_gbit_s_per_node
    spec = facts.fabrics[fabric]
    return Machine(
        gpu=gpu,
        gpus_per_node=per_node,
        nodes=nodes,
        domain=min(domain, per_node * nodes),
        link_gb_s=peer_gb_s(gpu, offer.nvlink_gb_s_per_gpu, k) if linked else pcie_gb_s(gpu, k),
        link_latency_s=k["link_latency_s"] if linked else k["pcie_latency_s"],
        slow_gb_s=pcie_gb_s(gpu, k),
        slow_latency_s=k["pcie_latency_s"],
        net_gb_s=(rate or facts.fabrics["ethernet"].default_gbit_s_per_node or 10.0) / 8.0 / per_node * spec.efficiency,
        net_latency_s=spec.latency_us * 1e-6,
        rdma=spec.rdma == "yes",
        link=("nvlink" if offer.nvlink in ("yes", "partial") else gpu.peer_link) if linked else "pcie",
        fabric=fabric,
    )
