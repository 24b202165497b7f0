"""Time one GPU computes for one micro-batch of one pipeline stage: matrix products, attention, element-wise work, loss, host.

Floating-point operations a token: 2 a parameter forward, 4 backward (PaLM, arXiv 2204.02311, appendix B); frozen weights have no
weight gradient (2 forward, 2 backward); full recomputation repeats the forward pass (Korthikanti, arXiv 2205.05198). Causal flash
attention: 2·s·width forward a token and layer, 2.5 times that backward (FlashAttention-2, arXiv 2307.08691).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from advisor.reasoning.job import Job, Plan
from knowledge.facts import GpuSpec

Constants = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Compute:
    """Seconds a micro-batch and stage."""

    matmul: float
    attention: float
    elementwise: float
    loss: float
    host: float

    @property
    def total(self) -> float:
        """All of it."""
        return self.matmul + self.attention + self.elementwise + self.loss + self.host


def family(gpu: GpuSpec) -> str:
    """The architecture family whose efficiencies apply: ampere, hopper, blackwell or other."""
    name = gpu.architecture.lower()
    if name == "hopper":
        return "hopper"
    if name.startswith("blackwell") and gpu.gpu_variant in ("SXM", "superchip"):
        return "blackwell"
    if name == "ampere" and gpu.gpu in ("A100", "A800", "A30"):
        return "ampere"
    return "other"


FULL_POWER_W = {"ampere": 400.0, "hopper": 700.0, "blackwell": 1000.0}
"""Board power at which the efficiencies of a family were measured (SXM boards)."""


def power_factor(gpu: GpuSpec, k: Constants) -> float:
    """Rate of a power-limited board over that of the full board of its family: clocks fall with the power allowed."""
    full = FULL_POWER_W.get(family(gpu))
    return min(1.0, gpu.tdp_w / full) ** k["power_exponent"] if full and gpu.tdp_w else 1.0


def matmul_tflops(gpu: GpuSpec, precision: str, k: Constants) -> float:
    """Achievable TFLOPS of large matrix products; 0 where the card has no rate for it."""
    half = gpu.bf16_dense_tflops or gpu.fp16_dense_tflops or (gpu.fp32_tflops or 0.0)
    power = power_factor(gpu, k)
    if precision in ("fp8", "fp4") and gpu.fp8_dense_tflops:
        return gpu.fp8_dense_tflops * k["fp8_matmul_efficiency"] * power
    if precision == "fp32":
        return (gpu.fp32_tflops or half / 8) * 0.8
    rate = half * k[f"matmul_efficiency_{family(gpu)}"] * power
    return rate / 2 if precision == "tf32" else rate


def flops_per_token(job: Job) -> float:
    """Model floating-point operations a token (recomputation not counted): 6·N_active, 4·N for adapters, and causal-full attention."""
    shape = job.shape
    per_param = 6.0 if job.method == "full" else 4.0
    return per_param * shape.matmul_active + 12.0 * shape.kv_layers * job.seq_len * shape.attention_width


def attention_reach(job: Job) -> float:
    """Layers x mean causal context a query sees: full layers see s/2 on average, window layers at most the window."""
    shape = job.shape
    full = job.seq_len / 2
    local = min(full, float(shape.window)) if shape.window else full
    return shape.global_layers * full + (shape.kv_layers - shape.global_layers) * local


def stage_share(layers: int, plan: Plan) -> float:
    """Part of the layers that the fullest pipeline stage holds: layers do not divide evenly over stages and chunks."""
    chunks = plan.pp * plan.virtual
    return -(-layers // chunks) * plan.virtual / layers if plan.pp > 1 and layers > chunks else 1.0 / plan.pp


def compute(job: Job, plan: Plan, gpu: GpuSpec, k: Constants) -> Compute:
    """Seconds one GPU of the stage computes for one micro-batch."""
    shape = job.shape
    tokens = job.micro_batch * job.seq_len / plan.cp
    share = stage_share(shape.layers, plan) / plan.tp
    again = 1.0 if job.recompute == "full" else 0.0
    adapters = job.method in ("lora", "qlora")
    passes = (2.0 if adapters else 3.0) + again
    rate = matmul_tflops(gpu, job.precision, k) * 1e12
    half_rate = (gpu.bf16_dense_tflops or gpu.fp16_dense_tflops or gpu.fp32_tflops or 1.0) * 1e12
    width = shape.hidden / plan.tp
    penalty = k["misaligned_factor"] if width % 64 and plan.tp > 1 else 1.0
    half = k["matmul_half_width"]
    routed = shape.routed * shape.topk / shape.experts if shape.experts else 0.0
    work = (shape.matmul_active - routed) * penalty * (1.0 + half / tokens) * (1.0 + half / width)
    if routed:
        each = tokens * plan.ep * shape.topk / shape.experts
        work += routed * (1.0 + half / each) * (1.0 + half / max(1.0, shape.moe_ffn))
    matmul = passes * 2.0 * work * tokens * share / rate
    attention_flops = (3.5 + again) * 4.0 * attention_reach(job) * shape.attention_width * tokens * share
    attention = attention_flops / (half_rate * k[f"attention_efficiency_{family(gpu)}"] * power_factor(gpu, k))
    memory = gpu.memory_bandwidth_gb_s * 1e9 * k["memory_efficiency"]
    more = 1.0 + again / 3.0
    dense = shape.layers * k["elementwise_passes"] * shape.hidden
    routed = shape.moe_layers * k["moe_passes"] * shape.topk * (shape.moe_width + shape.moe_ffn)
    low_rank = shape.layers * k["adapter_passes"] * shape.hidden if adapters else 0.0
    elementwise = (dense + routed + low_rank) * 2.0 * more * tokens * share / memory
    if job.method == "qlora":  # weights are widened to 16 bits on each pass
        elementwise += passes * shape.params * 2.5 * share / memory
    loss = 0.0 if job.fused_loss else k["loss_bytes"] * shape.vocab * tokens * share / memory
    layers = shape.layers / plan.pp
    host = more * (
        (layers - shape.moe_layers / plan.pp) * k["host_layer_s"] + shape.moe_layers / plan.pp * k["host_moe_layer_s"]
    )
    if adapters:
        host += more * layers * k["host_adapter_layer_s"]
    return Compute(matmul, attention, elementwise, loss, host)
