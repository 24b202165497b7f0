"""Read one `advisor estimate` request: free-text fields of published tables into Job, Plan and Machine.

Nothing measured is read: only what describes the run. What the request leaves out is filled in and listed in `assumed`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from advisor.errors import BadRequest
from advisor.reasoning.fields import (
    adapter_size,
    number,
    rank_in,
    read_gpu,
    read_method,
    read_optimizer,
    read_plan,
    read_precision,
    read_recompute,
    read_release,
    text_of,
)
from advisor.reasoning.job import Job, Machine, Plan
from advisor.reasoning.machine import machine_for
from advisor.reasoning.shape import Shape, shape_of, with_size
from knowledge.facts import Facts, size_of


@dataclass(slots=True)
class Asked:
    """A request, read. `machine` is None where no card is named; `card_gb` is then the card size, if one was given."""

    job: Job
    plan: Plan
    machine: Machine | None
    card_gb: float | None
    method_text: str
    gpus: int
    assumed: dict[str, Any] = field(default_factory=dict)
    stated_recompute: bool = False
    stated_method: bool = False
    stated_plan: bool = False
    stated_sharding: bool = False
    stated_optimizer: bool = False
    stated_tokens: bool = False
    inference: bool = False
    software_years: float = 0.0
    """Age of the stated software release, in years after the one that the constants were chosen on."""


def read_shape(request: Mapping[str, Any], facts: Facts, assumed: dict[str, Any]) -> Shape:
    """The model of the request: by name, by stated widths, or by size alone. Raises BadRequest where it cannot be known."""
    params = number(request, "params") or (number(request, "params_b") or 0.0) * 1e9 or None
    active = number(request, "active_params") or (number(request, "active_params_b") or 0.0) * 1e9 or None
    name = str(request.get("model") or "")
    spec = facts.find_model(name) if name else None
    if spec and params and spec.params_b and not 0.75 < params / (spec.params_b * 1e9) < 1.33:
        spec = None
    if spec is None and params is None and (sized := size_of(name)):
        params, active = sized[0] * 1e9, active or (sized[1] * 1e9 if sized[1] else None)
        assumed["params"] = params
    if spec is None and params is None:
        raise BadRequest(
            f"model={name!r} is not known and no params were given; name a listed model or give params or params_b."
            if name
            else "no model, params or params_b was given; name a model or give its size."
        )
    size = (params or 0.0) / 1e9 or (spec.params_b if spec else None)
    if not size:
        raise BadRequest(f"model={name!r} has no known size; give params or params_b.")
    try:
        own = spec.active_params_b if spec and spec.experts else None
        fallback = facts.shape_for_size(size, active / 1e9 if active else (own and min(own, size)))
    except ValueError as error:
        raise BadRequest(f"params={size}e9, active={active}: {error}; correct the size.") from None
    if spec is None:
        assumed["shape"] = fallback.stated_shape
    shape = with_size(shape_of(spec or fallback, fallback), params, active)
    widths = {
        "layers": number(request, "layers"),
        "hidden": number(request, "hidden"),
        "heads": number(request, "heads"),
    }
    if any(widths.values()):
        hidden = int(widths["hidden"] or shape.hidden)
        layers = widths["layers"] or (shape.params / (12 * hidden * hidden) if spec is None else shape.layers)
        stages = int(found[1]) if (found := re.search(r"pp\s*=?\s*(\d+)", text_of(request, "parallelism"))) else 1
        # layers that were not stated are taken to divide over the stages
        count = max(1, round(layers) if widths["layers"] else round(layers / stages) * stages)
        heads = int(widths["heads"] or max(1, hidden // 128))
        same = hidden == shape.hidden
        shape = replace(
            shape,
            hidden=hidden,
            layers=count,
            kv_layers=count,
            global_layers=count,
            heads=heads,
            head_dim=shape.head_dim if same and heads == shape.heads else max(1, hidden // heads),
            kv_heads=shape.kv_heads if same else heads,
            ffn=shape.ffn if same else 4.0 * hidden,
            gated=shape.gated if same else False,
        )
    return shape


def card_gb_hint(request: Mapping[str, Any], facts: Facts) -> float:
    """GB of the named card, 0 where none is known."""
    gpu = read_gpu(text_of(request, "gpu_model"), facts)
    return gpu.memory_gb if gpu else 0.0


def read(request: Mapping[str, Any], facts: Facts) -> Asked:
    """Everything that the formulas need of one request. Raises BadRequest naming the field, its value and the remedy."""
    assumed: dict[str, Any] = {}
    shape = read_shape(request, facts, assumed)
    gpus = int(number(request, "n_gpus", "gpus") or 0)
    nodes = int(number(request, "nodes") or 0)
    parallel = text_of(request, "parallelism")
    optimizer_text = text_of(request, "optimizer")
    method_text = text_of(request, "method")
    precision_text = text_of(request, "precision")
    method, stated = read_method(method_text + (" nf4" if "nf4" in precision_text else ""))
    if not gpus:
        gpus = 1
        for name in ("dp", "tp", "pp", "cp"):
            if found := re.search(rf"(?<![a-z]){name}\s*=?\s*(\d+)", parallel):
                gpus *= int(found[1])
        if gpus == 1 and card_gb_hint(request, facts) and not re.search(r"lora|adapter|infer", method_text):
            # nobody runs a model on fewer cards than hold its states: twice the fewest, in whole nodes
            need = 2.0 * 16.0 * shape.params / 1e9 / card_gb_hint(request, facts)
            gpus = 1 if need <= 2 else 8 * max(1, -(-int(need) // 8))
            parallel = parallel or ("fsdp" if gpus > 1 else "")
        assumed["gpus"] = gpus
    plan = read_plan(f"{parallel} {method_text} {optimizer_text}", gpus, shape.is_moe)
    seq = number(request, "seq_len")
    if seq is None:
        seq = 1024.0 if method == "inference" else 2048.0
        assumed["seq_len"] = int(seq)
    micro = number(request, "micro_batch", "batch")
    if micro is None:
        micro = 1.0
        assumed["micro_batch"] = 1
    batch = number(request, "global_batch_seqs")
    accumulation = number(request, "grad_accum")
    if batch is None and accumulation:
        batch = micro * accumulation * plan.dp
    if plan.pp > 1 and batch and batch <= micro * plan.dp * 1.01 and micro > 1:
        # one micro-batch cannot fill a pipeline: the stated batch is cut for the stages
        micro = max(1.0, micro / plan.pp)
    elif plan.pp > 1 and not batch and micro >= plan.pp:
        micro /= plan.pp
    recompute, stated_recompute = read_recompute(request.get("activation_checkpointing"))
    optimizer_bytes, offload = read_optimizer(optimizer_text, method)
    offload = offload or read_optimizer(f"{parallel} {method_text}", method)[1]
    plain_half = method == "full" and re.fullmatch(r"bf16|fp16", precision_text) and "pretrain" not in method_text
    if plain_half and "fine" in method_text and optimizer_bytes == 12.0 and plan.sharding in ("ddp", "zero1", "zero3"):
        # fine-tuning tools that do not say "mixed" load 16-bit weights and keep the states in the same type
        optimizer_bytes = 4.0
        assumed["optimizer"] = "states in 16 bits"
    everything = f"{parallel} {method_text} {optimizer_text}"
    megatron = plan.tp > 1 or plan.pp > 1
    job = Job(
        shape=shape,
        method=method,
        precision=read_precision(precision_text),
        seq_len=int(seq),
        micro_batch=max(1, round(micro)),
        global_batch_seqs=int(batch) if batch else None,
        recompute=recompute,
        grad_bytes=2.0 if not megatron else 4.0,
        optimizer_bytes=optimizer_bytes,
        adapter_params=adapter_size(shape, number(request, "lora_rank") or rank_in(method_text))
        if method in ("lora", "qlora")
        else 0.0,
        offload_optimizer=offload,
        offload_params=offload
        and ("param" in method_text or method != "full" or (gpus > 1 and not re.search("zero", everything))),
        compiled="compile" in parallel,
        weight_bytes=4.0 if precision_text.startswith("fp32") and method == "lora" else 2.0,
        fused_loss="unsloth" in method_text,
        offload_activations="unsloth" in method_text,
        states_only="states only" in method_text,
    )
    if "no sequence parallel" in text_of(request, "activation_checkpointing"):
        # the terms of Korthikanti's table: dropout masks and attention scores are kept
        plan = replace(plan, sequence_parallel=False)
        job = replace(job, flash_attention=False, dense_mask=True)
    card_text = text_of(request, "gpu_model")
    gpu = read_gpu(card_text, facts) if card_text else None
    if (
        gpu is not None
        and gpu.architecture == "Ampere"
        and "sequence parallel" not in str(request.get("activation_checkpointing"))
    ):
        # Megatron's sequence parallelism came after most A100 runs (May 2022)
        plan = replace(plan, sequence_parallel=False)
    card = number(request, "gpu_memory_gb")
    if card is None and gpu is None and (found := re.search(r"(\d+(?:\.\d+)?)\s*g(?:i?b)", card_text)):
        card = float(found[1])
    machine = None
    if gpu:
        machine = machine_for(
            gpu,
            gpus=gpus,
            nodes=nodes,
            domain=int(number(request, "nvlink_domain") or 0),
            intra=text_of(request, "intra_fabric"),
            inter=text_of(request, "inter_fabric"),
            gbit_s_per_node=number(request, "inter_gbps_per_node"),
            facts=facts,
            assumed=assumed,
        )
    return Asked(
        job=job,
        plan=plan,
        machine=machine,
        card_gb=card or (gpu.memory_gb if gpu else None),
        method_text=method_text,
        gpus=gpus,
        assumed=assumed,
        stated_recompute=stated_recompute,
        stated_method=stated,
        stated_plan=bool(re.search(r"tp\s*=?\d|pp\s*=?\d|cp\s*=?\d|ep\s*=?\d", parallel)),
        stated_tokens="seq_len" not in assumed and "micro_batch" not in assumed,
        stated_optimizer=bool(re.search(r"8-?bit|adam|sgd|adafactor|lion|cpu|offload|fp32", optimizer_text)),
        stated_sharding=bool(re.search(r"zero|fsdp|ddp|shard|\bdp\d", everything)),
        inference=method == "inference",
        software_years=read_release(text_of(request, "release")),
    )
