"""Time of collectives on a machine: ring formulas of NCCL with a fast level (NVLink domain or node) and a network level.

Hockney's α-β model; busbw as nccl-tests defines it (all-reduce moves 2·(n-1)/n·S, reduce-scatter and all-gather (n-1)/n·S).
"""

from __future__ import annotations

from math import log2

from advisor.reasoning.job import Machine


def levels(machine: Machine, group: int, stride: int = 1) -> tuple[int, int]:
    """(ranks of a group inside one fast domain, number of domains) for `group` ranks that stand `stride` GPUs apart."""
    domain = max(1, machine.domain if machine.domain > 1 else machine.gpus_per_node)
    inside = max(1, min(group, domain // max(1, stride)))
    return inside, max(1, -(-group // inside))


def scatter_gather_s(
    machine: Machine, size_bytes: float, group: int, stride: int = 1, congestion: float = 0.0
) -> float:
    """Seconds of one reduce-scatter or one all-gather of `size_bytes` (the whole buffer) over `group` ranks.

    Hierarchical: inside the domain at link rate, across domains each rank carries its share S/inside over its part of the
    network; the levels are pipelined, so the slower one counts whole and the other a quarter. Network efficiency falls by
    `congestion` for each doubling of the number of domains.
    """
    if group <= 1 or size_bytes <= 0:
        return 0.0
    inside, outside = levels(machine, group, stride)
    rate = machine.link_gb_s if machine.domain > 1 else machine.slow_gb_s
    latency = machine.link_latency_s if machine.domain > 1 else machine.slow_latency_s
    near = (inside - 1) / inside * size_bytes / (rate * 1e9) + (inside - 1) * latency if inside > 1 else 0.0
    if outside == 1:
        return near
    net = machine.net_gb_s * 1e9 / (1.0 + congestion * log2(outside))
    if machine.nodes <= 1:  # several bridged pairs in one node: PCIe is the outer level
        net = machine.slow_gb_s * 1e9
    far = (outside - 1) / outside * size_bytes / inside / net + log2(outside) * machine.net_latency_s
    return max(near, far) + 0.25 * min(near, far)


def all_reduce_s(machine: Machine, size_bytes: float, group: int, stride: int = 1, congestion: float = 0.0) -> float:
    """Seconds of one all-reduce: a reduce-scatter and an all-gather."""
    return 2.0 * scatter_gather_s(machine, size_bytes, group, stride, congestion)


def small_all_reduce_s(machine: Machine, size_bytes: float, group: int) -> float:
    """Seconds of an all-reduce of small messages, as in serving: one-shot kernels pay the latency once, not a hop at a time."""
    if group <= 1 or size_bytes <= 0:
        return 0.0
    inside, outside = levels(machine, group)
    fast = machine.domain > 1
    rate = (machine.link_gb_s if fast else machine.slow_gb_s) * 1e9
    latency = machine.link_latency_s if fast else machine.slow_latency_s
    near = latency + 2.0 * (inside - 1) / inside * size_bytes / rate
    if outside == 1:
        return near
    net = (machine.net_gb_s if machine.nodes > 1 else machine.slow_gb_s) * 1e9
    return near + machine.net_latency_s + 2.0 * (outside - 1) / outside * size_bytes / inside / net


def expert_exchange_s(machine: Machine, size_bytes: float, group: int, topk: int, congestion: float = 0.0) -> float:
    """Seconds for each of `group` ranks to send its tokens to their `topk` experts (`size_bytes` in all, one copy an expert).

    A token crosses to another domain once, however many of its experts are there (DeepEP and node-limited routing of the
    DeepSeek-V3 report, arXiv 2412.19437): of D domains it reaches D·(1 - (1 - 1/D)^topk), its own among them.
    """
    if group <= 1 or size_bytes <= 0:
        return 0.0
    inside, outside = levels(machine, group)
    rate = machine.link_gb_s if machine.domain > 1 else machine.slow_gb_s
    latency = machine.link_latency_s if machine.domain > 1 else machine.slow_latency_s
    near = (inside - 1) / inside * size_bytes / (rate * 1e9) + latency
    if outside == 1:
        return near
    reached = outside * (1.0 - (1.0 - 1.0 / outside) ** topk) * (1.0 - 1.0 / outside)
    net = machine.net_gb_s if machine.nodes > 1 else machine.slow_gb_s
    far = size_bytes / topk * reached * (1.0 + congestion * log2(outside)) / (net * 1e9) + machine.net_latency_s
    return max(near, far) + 0.25 * min(near, far)


def point_to_point_s(machine: Machine, size_bytes: float, far: bool) -> float:
    """Seconds to send `size_bytes` to the next pipeline stage or ring neighbour, across the network where `far`."""
    if far and machine.nodes > 1:
        return size_bytes / (machine.net_gb_s * 1e9) + machine.net_latency_s
    rate = machine.link_gb_s if machine.domain > 1 else machine.slow_gb_s
    return size_bytes / (rate * 1e9) + machine.link_latency_s
