"""Memory of one GPU in training: states, activations, logits, gathered blocks, runtime.

States as in ZeRO (arXiv 1910.02054); activations as in Korthikanti (arXiv 2205.05198) with the terms of gated MLPs, grouped
attention and routed experts written out; flash attention drops the quadratic term. All figures are GB (1e9 bytes).
"""

from __future__ import annotations

from dataclasses import dataclass

from advisor.reasoning.compute import Constants
from advisor.reasoning.job import Job, Plan
from advisor.reasoning.steptime import local_params, micro_batches

GB = 1e9
CHUNKED_FROM = 24e9
"""Bytes of logits from which a chunked loss is taken for granted (a quarter of an 80 to 96 GB card)."""


@dataclass(frozen=True, slots=True)
class Memory:
    """GB on the fullest GPU."""

    weights: float
    gradients: float
    optimizer: float
    gathered: float
    activations: float
    logits: float
    runtime: float
    slack: float

    @property
    def total(self) -> float:
        """What the card must hold."""
        return (
            self.weights
            + self.gradients
            + self.optimizer
            + self.gathered
            + self.activations
            + self.logits
            + self.runtime
            + self.slack
        )

    @property
    def states(self) -> float:
        """Weights, gradients and optimizer."""
        return self.weights + self.gradients + self.optimizer

    def parts(self) -> dict[str, float]:
        """Named parts, GB, without those that are nothing."""
        names = ("weights", "gradients", "optimizer", "gathered", "activations", "logits", "runtime", "slack")
        return {name: round(getattr(self, name), 3) for name in names if getattr(self, name) > 0.0005}


def layer_bytes_per_token(job: Job, plan: Plan) -> float:
    """Bytes that one token leaves in one layer for the backward pass on one GPU (average over dense and routed layers)."""
    shape = job.shape
    h = float(shape.hidden)
    q = float(shape.attention_width)
    kv = float(shape.kv_heads * shape.head_dim)
    inputs = 4 * h * 2  # inputs of two norms, their outputs (16 bits)
    if job.dense_mask:
        inputs += 2 * h  # dropout masks, one byte each
    attention = 2 * (2 * q + 2 * kv)
    if not job.flash_attention and job.recompute == "none":
        attention += 5 * shape.heads * job.seq_len
    width = shape.ffn * (4 if shape.gated else 2)
    mlp = 2 * width
    if shape.is_moe and shape.layers:
        routed_share = shape.moe_layers / shape.layers
        routed = 2 * shape.topk * (2 * shape.moe_width + shape.moe_ffn * (4 if shape.gated else 2))
        mlp = mlp * (1 - routed_share) + routed * routed_share
    if job.method in ("lora", "qlora") and not shape.gated:
        inputs = 2 * h  # fused LayerNorm before frozen matrices: its output is needed by no gradient
    residual = 0.0 if job.dense_mask else 2 * h  # rotary and 32-bit copies, which the paper's GPT does not have
    if plan.tp > 1 and not plan.sequence_parallel:
        return inputs + residual + (attention + mlp) / plan.tp
    return (inputs + residual + attention + mlp) / plan.tp


def train_memory(job: Job, plan: Plan, k: Constants) -> Memory:
    """Memory of the fullest GPU (first pipeline stage) for `job` cut by `plan`."""
    shape = job.shape
    dense, routed = local_params(job, plan)
    if plan.pp > 1:  # the first or last stage also holds the vocabulary table
        table = shape.embedding / plan.tp
        dense = max(dense, (shape.params - shape.routed - 2 * shape.embedding) / (plan.tp * plan.pp) + table)
    held = dense + routed
    ranks = float(plan.dp * plan.cp)
    shard = float(plan.shard_group or ranks)
    expert_shard = max(1.0, shard / plan.ep) if routed else 1.0
    frozen = job.method in ("lora", "qlora")
    zero3 = plan.sharding in ("zero3", "hsdp")

    def spread(per_param: float) -> float:
        return per_param * (dense / shard + routed / expert_shard)

    gathered = 0.0
    if frozen:
        table = shape.embedding * (1 if shape.tied else 2) / (plan.tp * plan.pp)
        quantised = job.method == "qlora"
        base = k["qlora_bytes"] * max(0.0, held - table) + 2.0 * table if quantised else job.weight_bytes * held
        weights = base / shard if zero3 else base
        adapters = job.adapter_params / (plan.tp * plan.pp)
        weights += 2.0 * adapters
        gradients = job.grad_bytes * adapters
        optimizer = job.optimizer_bytes * adapters / (shard if plan.sharding != "ddp" else 1.0)
    elif zero3:
        weights, gradients, optimizer = spread(job.weight_bytes), spread(job.grad_bytes), spread(job.optimizer_bytes)
    else:
        weights = job.weight_bytes * held
        gradients = spread(job.grad_bytes) if plan.sharding == "zero2" else job.grad_bytes * held
        optimizer = job.optimizer_bytes * held if plan.sharding == "ddp" else spread(job.optimizer_bytes)
    per_stage = max(1.0, shape.layers / plan.pp)
    if zero3 and shard > 1:
        block = max(2.0 * held / per_stage, shape.embedding / plan.tp)
        gathered = 2.0 * block + (0.0 if frozen else block)
        if plan.pp > 1 and not frozen:  # weights stay gathered and gradients whole between the micro-batches of a step
            gathered = 2.0 * held + 4.0 * held
    if job.offload_optimizer:
        optimizer = 0.0
        gradients = min(gradients, 2.0 * held / per_stage)
    if job.offload_params:
        weights = min(weights, 2.0 * held / per_stage)
    scale = job.trained_copies
    weights, gradients, optimizer = weights * scale, gradients * scale, optimizer * scale
    if job.frozen_copies:
        weights += job.frozen_copies * 2.0 * held / (shard if zero3 else 1.0)

    tokens = job.micro_batch * job.seq_len / plan.cp
    layers = shape.layers / plan.pp
    in_flight = min(float(plan.pp), micro_batches(job, plan))
    if plan.pp > 1 and plan.virtual > 1:
        in_flight *= 1.0 + (plan.pp - 1) / (plan.pp * plan.virtual)
    per_layer = layer_bytes_per_token(job, plan)
    width = plan.tp if plan.sequence_parallel else 1
    kept = 0.0 if job.offload_activations else 2.0 * shape.hidden / width
    share = k["selective_share"] if job.recompute == "selective" and job.flash_attention else 1.0

    def held_activations(flight: float) -> float:
        if job.recompute == "full":
            return tokens * (layers * flight * kept + k["working_layers"] * per_layer)
        return tokens * layers * flight * per_layer * share

    logits = 0.0 if job.fused_loss else k["logits_bytes"] * tokens * shape.vocab / plan.tp
    if logits > CHUNKED_FROM:  # nobody keeps this much: the loss is computed in chunks
        logits = 0.0
    activations = held_activations(in_flight)
    if plan.pp > 1:  # the first stage holds the most micro-batches, the last one the logits
        last = held_activations(1.0) + logits
        activations, logits = (activations, 0.0) if activations >= last else (last - logits, logits)
    live = weights + gradients + optimizer + gathered + activations + logits
    if job.states_only:  # as the estimators of DeepSpeed count them: ZeRO-2 4 + 16/n, ZeRO-3 18/n, the rest on the host
        activations = logits = gathered = live = 0.0
        if not job.offload_optimizer:
            optimizer = (14.0 if zero3 else 16.0 - job.grad_bytes) * held / shard
            gradients = 2.0 * held / shard if zero3 else 2.0 * held + job.grad_bytes * held / shard
        else:
            gradients = 0.0
    groups = sum(
        degree > 1 for degree in (plan.dp * plan.cp, plan.tp, plan.pp, plan.ep)
    )  # each communicator has its own
    buffers = k["collective_buffers_gb"] * groups
    runtime = 0.0 if job.states_only else k["runtime_gb"] + buffers
    return Memory(
        weights=weights / GB,
        gradients=gradients / GB,
        optimizer=optimizer / GB,
        gathered=gathered / GB,
        activations=activations / GB,
        logits=logits / GB,
        runtime=runtime,
        slack=k["allocator_slack"] * live / GB,
    )
