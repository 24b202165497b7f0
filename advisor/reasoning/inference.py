"""Inference: memory (weights, KV cache, work space) and speed (prefill, decode) of one replica cut by tensor parallelism.

Decode is bound by the memory rate until the batch is large (roofline; Pope, arXiv 2211.05102); prefill by compute.
"""

from __future__ import annotations

from dataclasses import dataclass

from advisor.reasoning.communication import small_all_reduce_s
from advisor.reasoning.compute import Constants, matmul_tflops
from advisor.reasoning.job import Job, Machine, Plan
from advisor.reasoning.shape import Shape

WEIGHT_BYTES = {"fp32": 4.0, "tf32": 4.0, "bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "int8": 1.0, "int4": 0.55, "fp4": 0.56}
GB = 1e9


@dataclass(frozen=True, slots=True)
class Serving:
    """Speed of one replica: tokens/s of all its streams, seconds to the first token, seconds a token of one stream."""

    tokens_per_s: float
    ttft_s: float
    token_s: float
    comm_share: float
    streams: int


def weight_gb(shape: Shape, precision: str) -> float:
    """GB of all weights (every expert counts); embedding and head stay in 16 bits under 4-bit formats."""
    per = WEIGHT_BYTES.get(precision, 2.0)
    if precision in ("int4", "fp4"):
        table = shape.embedding * (1 if shape.tied else 2)
        return (per * max(0.0, shape.params - table) + 2.0 * table) / GB
    return per * shape.params / GB


def kv_gb(shape: Shape, context: int, streams: float, element_bytes: float = 2.0) -> float:
    """GB of KV cache for `streams` sequences of `context` tokens."""
    return shape.kv_bytes_per_token(element_bytes, context) * context * streams / GB


def serving_memory(
    shape: Shape, precision: str, context: int, streams: float, tp: int, k: Constants, kv_bytes: float = 2.0
) -> dict[str, float]:
    """GB a GPU, by part, for a replica over `tp` GPUs (KV heads are replicated where tp exceeds them)."""
    kv_split = min(tp, max(1, shape.kv_heads)) if not shape.mla_dim else 1
    work = 2.0 * min(8192, max(context, 1)) * (4 * shape.hidden + 2 * shape.ffn) / tp / GB + k["serving_workspace_gb"]
    return {
        "weights": weight_gb(shape, precision) / tp,
        "kv_cache": kv_gb(shape, context, streams, kv_bytes) / kv_split,
        "activations": work,
        "runtime": k["runtime_gb"] + (k["collective_buffers_gb"] if tp > 1 else 0.0),
    }


def serve(
    shape: Shape,
    precision: str,
    machine: Machine,
    tp: int,
    streams: int,
    input_tokens: int,
    output_tokens: int,
    k: Constants,
) -> Serving:
    """Speed of a replica over `tp` GPUs with `streams` sequences in flight (their contexts half grown)."""
    gpu = machine.gpu
    context = input_tokens + output_tokens // 2
    memory_rate = gpu.memory_bandwidth_gb_s * 1e9 * k["decode_memory_efficiency"] * tp
    low = "fp8" if precision == "fp8" else "bf16"
    flops = matmul_tflops(gpu, low, k) * 1e12 * tp
    touched = shape.active
    if shape.is_moe:  # experts touched by the batch
        share = 1.0 - (1.0 - shape.topk / shape.experts) ** max(1, streams)
        touched = shape.params - shape.routed + shape.routed * share
    weight_bytes = weight_gb(shape, precision) * GB * touched / shape.params
    kv_bytes = shape.kv_bytes_per_token(2.0, max(1, context)) * context * streams
    read_s = (weight_bytes + kv_bytes) / memory_rate
    compute_s = 2.0 * shape.active * streams / flops
    reduce_s = 2.0 * shape.layers * small_all_reduce_s(machine, 2.0 * streams * shape.hidden, tp)
    host_s = k["decode_host_s"] + shape.layers * k["decode_layer_s"]
    step = max(read_s, compute_s) + reduce_s + host_s
    prefill_flops = 2.0 * shape.active * input_tokens + 2.0 * shape.kv_layers * shape.attention_width * input_tokens**2
    prefill_reduce = 2.0 * shape.layers * small_all_reduce_s(machine, 2.0 * input_tokens * shape.hidden, tp)
    prefill = prefill_flops / (flops * k["prefill_efficiency"]) + prefill_reduce + host_s
    total = output_tokens * step + streams * prefill
    rate = streams * output_tokens / total if total else 0.0
    comm = (output_tokens * reduce_s + streams * prefill_reduce) / total if total else 0.0
    return Serving(rate, prefill, step, comm, streams)


def inference_memory(job: Job, plan: Plan, method_text: str, k: Constants) -> tuple[float, dict[str, float]]:
    """(GB a GPU, parts) for an inference request; "weights only" and "KV cache only" answer just that."""
    precision = job.precision
    if "nf4" in method_text or "4-bit" in method_text or "int4" in method_text:
        precision = "int4"
    split = max(1, plan.tp * plan.pp)
    if "kv cache only" in method_text:
        kv = kv_gb(job.shape, job.seq_len, job.micro_batch)
        return kv, {"kv_cache": kv}
    if "weights only" in method_text:
        weights = WEIGHT_BYTES.get(precision, 2.0) * job.shape.params / GB / split
        return weights, {"weights": weights}
    parts = {
        "weights": weight_gb(job.shape, precision) / split,
        "kv_cache": kv_gb(job.shape, job.seq_len, job.micro_batch) / split,
    }
    parts["runtime"] = 0.02 * sum(parts.values())
    return sum(parts.values()), {name: round(value, 3) for name, value in parts.items()}
