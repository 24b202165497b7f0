"""Step time of training: compute, the traffic that it cannot hide, the pipeline bubble, the optimizer.

T = m·(T_micro + exposed TP, EP, CP, gathers)·(1 + (p-1)/(m·v)) + exposed gradient exchange + optimizer, with m micro-batches on p
stages of v chunks (Narayanan, arXiv 2104.04473); volumes as in ZeRO (arXiv 1910.02054) and Megatron (arXiv 1909.08053).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log2

from advisor.reasoning.communication import all_reduce_s, expert_exchange_s, point_to_point_s, scatter_gather_s
from advisor.reasoning.compute import Constants, compute, flops_per_token
from advisor.reasoning.job import Job, Machine, Plan


@dataclass(frozen=True, slots=True)
class StepTime:
    """One optimizer step. `seconds` is the whole; the others are its parts; tokens are of the whole job."""

    seconds: float
    tokens: float
    compute_s: float
    tensor_s: float
    expert_s: float
    context_s: float
    gather_s: float
    stage_s: float
    gradient_s: float
    bubble_s: float
    optimizer_s: float
    micro_batches: float
    tflops_per_gpu: float
    mfu: float

    @property
    def comm_share(self) -> float:
        """Part of the step that waits for traffic."""
        return (
            self.tensor_s + self.expert_s + self.context_s + self.gather_s + self.stage_s + self.gradient_s
        ) / self.seconds


def exposed(traffic: float, hiding: float, k: Constants) -> float:
    """Seconds that traffic adds beside compute able to hide `hiding` seconds of it; hidden traffic still slows compute a little."""
    return max(0.0, traffic - hiding) + k["interference"] * min(traffic, hiding)


def local_params(job: Job, plan: Plan) -> tuple[float, float]:
    """(dense, expert) parameters of one GPU before data-parallel sharding."""
    shape = job.shape
    dense = (shape.params - shape.routed) / (plan.tp * plan.pp)
    return dense, shape.routed / (plan.pp * max(plan.ep, 1) * (plan.tp if plan.ep == 1 else 1))


def micro_batches(job: Job, plan: Plan) -> float:
    """Micro-batches a step and rank. Unknown global batch: one without a pipeline, enough to fill it otherwise."""
    if job.global_batch_seqs:
        return max(1.0, job.global_batch_seqs / (plan.dp * job.micro_batch))
    return 1.0 if plan.pp == 1 else 8.0 * plan.pp


def step_time(job: Job, plan: Plan, machine: Machine, k: Constants) -> StepTime:
    """The step of `job` cut by `plan` on `machine` (which must have plan.gpus GPUs)."""
    shape = job.shape
    micro = compute(job, plan, machine.gpu, k)
    count = micro_batches(job, plan)
    tokens = job.micro_batch * job.seq_len / plan.cp
    again = 1.0 if job.recompute == "full" else 0.0
    layers = shape.layers / plan.pp
    hidden_bytes = tokens * shape.hidden * 2.0
    congestion = k["congestion"]
    base = micro.total

    tensor = 0.0
    if plan.tp > 1:
        raw = layers * (4.0 + 2.0 * again) * all_reduce_s(machine, hidden_bytes, plan.tp, 1, congestion)
        tensor = raw * (1.0 - k["overlap_tensor_async" if plan.tp_overlap else "overlap_tensor"])
    expert = 0.0
    if plan.ep > 1 and shape.moe_layers:
        sent = tokens * shape.moe_width * 2.0 * shape.topk / plan.tp
        exchange = expert_exchange_s(machine, sent, plan.ep, shape.topk, congestion)
        raw = shape.moe_layers / plan.pp * (4.0 + 2.0 * again) * exchange
        expert = raw * (1.0 - k["overlap_expert"])
    context = 0.0
    if plan.cp > 1:
        sent = 2.0 * tokens * shape.kv_heads * shape.head_dim * 2.0 / plan.tp
        far = plan.tp * plan.cp > machine.domain
        ring = layers * 3.0 * (plan.cp - 1) * point_to_point_s(machine, sent, far)
        context = exposed(ring, 0.8 * micro.attention, k)

    dense, routed = local_params(job, plan)
    held = dense + routed
    stride = plan.tp
    ranks = plan.dp * plan.cp
    frozen = job.method in ("lora", "qlora")
    weight_bytes = 0.55 if job.method == "qlora" else 2.0
    gather = 0.0
    if plan.sharding in ("zero3", "hsdp") and ranks > 1:
        group = plan.shard_group or ranks
        one = scatter_gather_s(machine, held * weight_bytes, group, stride, congestion)
        back = 0.0 if frozen else scatter_gather_s(machine, held * 2.0, group, stride, congestion)
        traffic = 2.0 * one + back
        gather = exposed(traffic, k["overlap_sharded"] * base, k) + 2.0 * one / shape.layers

    stages = 0.0
    if plan.pp > 1:  # activations forward, gradients back; most of it hides behind the next micro-batch
        far = machine.nodes > 1 and plan.gpus > machine.domain
        # scatter and gather over the tensor ranks come with the interleaved schedule (Narayanan 2104.04473, section 4.1)
        sent = hidden_bytes / plan.tp if plan.virtual > 1 else hidden_bytes
        stages = (1.0 - k["overlap_stages"]) * 2.0 * plan.virtual * point_to_point_s(machine, sent, far)

    bubble_share = (plan.pp - 1) / (count * plan.virtual)
    work = count * (base + tensor + expert + context + gather + stages)
    bubble = bubble_share * count * (base + tensor + expert + context + stages)

    gradient = 0.0
    trained = job.adapter_params / (plan.tp * plan.pp) if frozen else held
    if ranks > 1 and plan.sharding != "zero3":
        group = plan.shard_group if plan.shard_group and plan.shard_group < ranks else 0
        if plan.sharding == "hsdp" and group:
            raw = all_reduce_s(machine, trained * job.grad_bytes / group, ranks // group, stride * group, congestion)
        elif group:  # states sharded inside a group, gradients reduced over all ranks
            raw = all_reduce_s(machine, trained * 2.0, ranks, stride, congestion)
        else:
            raw = scatter_gather_s(machine, trained * job.grad_bytes, ranks, stride, congestion)
            raw += scatter_gather_s(machine, trained * 2.0, ranks, stride, congestion)
        if routed and not frozen and plan.ep > 1:
            raw *= (dense + routed * max(1.0, ranks / plan.ep) / ranks) / held
        gradient = exposed(raw, k["overlap_gradients"] * base * (2.0 / 3.0), k)

    shard = 1.0 if plan.sharding == "ddp" else float(plan.shard_group or ranks)
    memory = machine.gpu.memory_bandwidth_gb_s * 1e9 * k["memory_efficiency"]
    optimizer = trained / shard * k["optimizer_traffic"] / memory
    if job.offload_optimizer:  # states live in host memory: gradients down, weights up, Adam on the CPU
        optimizer += trained / shard * (4.0 / 12e9 + k["optimizer_traffic"] / 60e9)
    seconds = (work + bubble + gradient + optimizer) * (1.0 + k["straggler"] * log2(max(1, machine.nodes)))
    step_tokens = count * job.micro_batch * job.seq_len * plan.dp
    per_gpu = step_tokens / seconds / plan.gpus * flops_per_token(job) / 1e12
    peak = machine.gpu.bf16_dense_tflops or machine.gpu.fp16_dense_tflops or machine.gpu.fp32_tflops or 1.0
    if job.precision in ("fp8", "fp4") and machine.gpu.fp8_dense_tflops:
        peak = machine.gpu.fp8_dense_tflops
    return StepTime(
        seconds=seconds,
        tokens=step_tokens,
        compute_s=count * base,
        tensor_s=count * tensor,
        expert_s=count * expert,
        context_s=count * context,
        gather_s=count * gather,
        stage_s=count * stages,
        gradient_s=gradient,
        bubble_s=bubble,
        optimizer_s=optimizer,
        micro_batches=count,
        tflops_per_gpu=per_gpu,
        mfu=per_gpu / peak,
    )
