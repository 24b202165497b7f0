"""What runs (Job), how it is cut (Plan) and on what (Machine): the values that the formulas take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from advisor.reasoning.shape import Shape
from knowledge.facts import GpuSpec

Method = Literal["full", "lora", "qlora", "inference"]
Sharding = Literal["ddp", "zero1", "zero2", "zero3", "hsdp"]
Recompute = Literal["none", "selective", "full"]


@dataclass(frozen=True, slots=True)
class Job:
    """One training job. `micro_batch` is sequences per data-parallel rank and pass; bytes are per parameter."""

    shape: Shape
    method: Method = "full"
    precision: str = "bf16"
    seq_len: int = 4096
    micro_batch: int = 1
    global_batch_seqs: int | None = None
    recompute: Recompute = "none"
    weight_bytes: float = 2.0
    grad_bytes: float = 2.0
    optimizer_bytes: float = 12.0
    adapter_params: float = 0.0
    fused_loss: bool = False
    flash_attention: bool = True
    offload_optimizer: bool = False
    offload_params: bool = False
    trained_copies: float = 1.0
    """Models that are trained at once (actor and critic of PPO: 2)."""
    frozen_copies: float = 0.0
    """Models that only run forward (reference, reward)."""
    dense_mask: bool = False
    """Masks of dropout are kept (Korthikanti's 34·s·b·h)."""
    compiled: bool = False
    offload_activations: bool = False
    """Kept activations wait in host memory; one layer's working set stays."""
    states_only: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """Degrees of parallelism. dp·tp·pp·cp is the number of GPUs; ep divides the experts inside dp·tp."""

    dp: int = 1
    tp: int = 1
    pp: int = 1
    cp: int = 1
    ep: int = 1
    virtual: int = 1
    sharding: Sharding = "zero1"
    shard_group: int = 0
    """Ranks that share the states; 0 means all data-parallel ranks."""
    sequence_parallel: bool = True
    tp_overlap: bool = False

    @property
    def gpus(self) -> int:
        """GPUs that the plan uses."""
        return self.dp * self.tp * self.pp * self.cp

    def text(self) -> str:
        """Compact name, as engineers write it: "FSDP 16 × TP 8"."""
        parts = []
        ranks = self.dp * self.cp
        if ranks > 1:
            name = {"ddp": "DDP", "zero1": "ZeRO-1", "zero2": "ZeRO-2", "zero3": "FSDP", "hsdp": "HSDP"}[self.sharding]
            group = f" (shards in {self.shard_group})" if self.sharding == "hsdp" and self.shard_group else ""
            cut = f" (CP {self.cp})" if self.cp > 1 else ""
            parts.append(f"{name} {ranks}{group}{cut}")
        parts += [f"{n} {v}" for n, v in (("TP", self.tp), ("PP", self.pp), ("EP", self.ep)) if v > 1]
        return " × ".join(parts) or "1 GPU"


@dataclass(frozen=True, slots=True)
class Machine:
    """GPUs and the links between them. Rates are GB/s one way per GPU (the network: its share of the node's), latencies in s."""

    gpu: GpuSpec
    gpus_per_node: int
    nodes: int = 1
    domain: int = 8
    """GPUs that the fast link joins; 1 where there is none."""
    link_gb_s: float = 25.0
    link_latency_s: float = 10e-6
    slow_gb_s: float = 25.0
    """Rate between GPUs of one node that the fast link does not join (PCIe)."""
    slow_latency_s: float = 20e-6
    net_gb_s: float = 0.6
    net_latency_s: float = 50e-6
    rdma: bool = False
    link: str = "pcie"
    fabric: str = "unknown"

    @property
    def gpus(self) -> int:
        """All GPUs."""
        return self.gpus_per_node * self.nodes
