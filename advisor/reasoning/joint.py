"""Jobs whose speed is not modelled but whose cards work together, and jobs that need double precision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from advisor.answer import Constraints, Verdict
from advisor.reasoning.search import Group
from advisor.reasoning.workload import TRAINING, Sizing
from knowledge.facts import GpuSpec

STRONG_FP64 = 4.5
"""TFLOPS from which a card has FP64 units for computing (P100, A30 and up); cards for graphics reach 1 or 2 at most."""
LIGHT_B = 0.2
"""Billions of parameters up to which the gradients of a step hide behind compute even over PCIe: 400 MB against some 9 GB/s."""


def joined(sizing: Sizing, constraints: Constraints) -> Sizing:
    """The sizing, marked as one job over all cards where several were asked for and the kind is no set of independent jobs."""
    several = max(constraints.gpu_count or 1, constraints.nodes or 1) > 1 or bool(constraints.internode)
    together = sizing.workload.kind in ("hpc", "diffusion_train") or sizing.workload.kind in TRAINING
    independent = (sizing.workload.independent_jobs or 0) > 1
    if sizing.mode != "memory" or not several or not together or independent:
        return sizing
    return replace(sizing, joint=True)


def nvlink_of(sizing: Sizing) -> Verdict:
    """What NVLink is worth to cards that work together: little to small networks, some to simulations and larger ones."""
    params = sizing.workload.params_b or 0.0
    small = sizing.workload.kind != "hpc" and params <= LIGHT_B
    return "no" if small else "helpful"


def strong_fp64(gpu: GpuSpec | None) -> bool:
    """Whether the card computes in double precision at a useful rate."""
    return gpu is not None and (gpu.fp64_tflops or 0.0) >= STRONG_FP64


def with_fp64(groups: Sequence[Group], sizing: Sizing, constraints: Constraints) -> list[Group]:
    """The machines with strong double precision, where the job needs it and no card was named."""
    if not sizing.workload.fp64 or constraints.gpus or constraints.instance_types:
        return list(groups)
    return [group for group in groups if strong_fp64(group.gpu)] or list(groups)
