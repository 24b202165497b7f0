"""Complete a workload: model facts from the registry, and stated defaults for what the question left out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from advisor.answer import Constraints, ValueSource, Workload
from advisor.reasoning.fields import adapter_size
from advisor.reasoning.job import Job, Method
from advisor.reasoning.shape import Shape, shape_of, with_size
from knowledge.facts import Facts, ModelSpec, NativePrecision

TRAINING = frozenset(
    {"full_ft", "lora", "qlora", "pretrain", "continued_pretrain", "rlhf", "moe_train", "long_context_train"}
)
SERVING = frozenset({"inference", "moe_inference", "batch_inference", "embeddings"})
DIFFUSION = frozenset({"diffusion_image", "diffusion_video"})
LANGUAGE = frozenset({"dense_lm", "moe_lm", "vlm", "embedding", "reranker"})
Mode = Literal["train", "serve", "memory"]


@dataclass(frozen=True, slots=True)
class Sizing:
    """A completed workload in the terms of the formulas.

    `mode` train uses `job`; serve uses shape, precision, context and streams; memory knows only what one job needs of a card.
    """

    workload: Workload
    mode: Mode
    shape: Shape | None = None
    model: ModelSpec | None = None
    job: Job | None = None
    context: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    streams: int = 1
    card_gb: float = 0.0
    speed_modelled: bool = True
    generates: bool = False
    """The job also generates (PPO, GRPO): part of each card is kept for the engine that does."""
    usual_tokens: float | None = None
    """Tokens that stand in for an amount that nobody gave, to order the rows; None where it was given or there is no end."""
    joint: bool = False
    """In mode memory: one job over all the cards that were asked for, which talk to each other at every step."""
    lean: bool = False
    """Nothing on offer holds the usual assumptions, so the least that still is the job was assumed instead."""
    borrowed_shape: str | None = None
    """The public model whose layers and width are used where only a size is known."""


def complete(workload: Workload, facts: Facts) -> Sizing:
    """Fill in what the question left out. A field filled here is marked registry or assumed in `sources`."""
    values: dict[str, Any] = {}
    sources: dict[str, ValueSource] = dict(workload.sources)
    model = facts.find_model(workload.model) if workload.model else None

    def put(name: str, value: Any, source: ValueSource) -> Any:
        stated = getattr(workload, name)
        if stated is not None:
            sources.setdefault(name, "stated")
            return stated
        values[name] = value
        sources[name] = source
        return value

    params = workload.params_b
    if model and model.params_b:
        params = put("params_b", model.params_b, "registry")
        if model.active_params_b and model.active_params_b < 0.95 * model.params_b:
            put("active_params_b", model.active_params_b, "registry")
    kind = workload.kind
    non_language = model is not None and model.kind not in LANGUAGE
    if _spread_training(kind, model, params):
        return _large_training(workload, values, sources, model, params or 0.0, facts, put)
    if (
        kind in ("render", "hpc", "video", "other", "diffusion_train")
        or non_language
        or (not params and kind not in TRAINING)
    ):
        return _by_memory(workload, values, sources, model, params, facts)
    if not params:
        params = put("params_b", 7.0, "assumed")
    spec = model or facts.shape_for_size(params, _active(workload, params))
    active = _active_of(model, params) if model else _active(workload, params)
    shape = shape_of(spec, facts.shape_for_size(params, active))
    if kind in SERVING:
        native = facts.native_precision(workload.model, model) if workload.model else None
        sizing = _serving(workload, values, sources, shape, model, put, native)
    else:
        sizing = _training(workload, values, sources, shape, model, put)
    return replace(sizing, borrowed_shape=spec.stated_shape, usual_tokens=_usual_tokens(sizing, facts))


SERVICES = frozenset({"inference", "moe_inference"})
"""Kinds that run without end: an hour costs the same however much is asked of it."""


def _usual_tokens(sizing: Sizing, facts: Facts) -> float | None:
    workload = sizing.workload
    if workload.tokens or sizing.mode == "memory":
        return None
    if sizing.mode == "train":
        return facts.values["usual_tokens_training"]
    serves = workload.kind in SERVICES and workload.priority != "throughput"
    return None if serves else facts.values["usual_tokens_batch"]


LEAN_CONTEXT = {"serve": 2048, "train": 1024}
"""Tokens of a sequence that are assumed where the usual length does not fit."""


def leaner(workload: Workload, sizing: Sizing, facts: Facts) -> Sizing | None:
    """The same job with the least assumed: one request of a short context, or short sequences. None where all was stated."""
    if sizing.mode == "memory":
        return None
    free = {"seq_len": LEAN_CONTEXT[sizing.mode]}
    if sizing.mode == "serve":
        free["concurrency"] = 1
    free = {name: value for name, value in free.items() if sizing.workload.sources.get(name) == "assumed"}
    free = {name: value for name, value in free.items() if value < (getattr(sizing.workload, name) or 0)}
    if not free or workload.requests_per_s:
        return None
    sources: dict[str, ValueSource] = {**workload.sources, **dict.fromkeys(free, "assumed")}
    return replace(complete(workload.model_copy(update={**free, "sources": sources}), facts), lean=True)


def frugal(workload: Workload, constraints: Constraints, facts: Facts) -> Workload:
    """The job in 8 bits where it makes videos, no precision was said and the money is limited: half the card for the same clip."""
    model = facts.find_model(workload.model) if workload.model else None
    limits = (constraints.budget_usd, constraints.budget_usd_month, constraints.max_price_usd_hour)
    limited = constraints.sort == "price" or any(limit is not None for limit in limits)
    if model is None or model.kind != "diffusion_video" or workload.precision is not None or not limited:
        return workload
    if workload.kind in TRAINING or workload.kind == "diffusion_train":
        return workload
    sources: dict[str, ValueSource] = {**workload.sources, "precision": "assumed"}
    return workload.model_copy(update={"precision": "fp8", "sources": sources})


def _active_of(model: ModelSpec, params: float) -> float | None:
    """Active parameters (billions) of a named mixture of experts whose size was perhaps told in round figures; else None."""
    active = model.active_params_b
    if not active or (model.params_b and active >= 0.95 * model.params_b):
        return None
    return min(active, params)


def _active(workload: Workload, params: float) -> float | None:
    active = workload.active_params_b
    if active is None and workload.kind in ("moe_train", "moe_inference"):
        active = params / 10.0
    return active if active and active < params else None


def _done(workload: Workload, values: dict[str, Any], sources: dict[str, ValueSource]) -> Workload:
    return workload.model_copy(update={**values, "sources": sources})


def _by_memory(
    workload: Workload,
    values: dict[str, Any],
    sources: dict[str, ValueSource],
    model: ModelSpec | None,
    params: float | None,
    facts: Facts,
) -> Sizing:
    """Jobs whose speed is not modelled: one card must hold one scene, system or pipeline."""
    need = workload.memory_gb
    table = facts.model_memory.get(model.kind) if model is not None else None
    if need is None:
        if table is not None:
            need = table.need_gb(params, trains=workload.kind in TRAINING)
        elif workload.kind == "diffusion_train" and params:
            need = 4.0 + 5.0 * params if params < 8 else 4.0 + 3.0 * params
        elif params and workload.kind == "other":
            need = 2.0 * params * 1.2
        elif params:  # weights beside text encoder and latents, which take turns on the card
            video = model is not None and model.kind == "diffusion_video" and workload.kind not in ("lora", "qlora")
            if workload.precision is None:
                values["precision"] = "bf16" if video else "fp8"
                sources["precision"] = "assumed"
            wide = (workload.precision or values["precision"]) in ("bf16", "fp16", "fp32", "tf32")
            need = max(12.0, 2.0 * params + 12.0 if wide and video else (2.0 if wide else 1.1) * params + 8.0)
        else:
            need = {"render": 24.0, "video": 24.0, "hpc": 16.0, "diffusion_train": 24.0, "batch_inference": 24.0}.get(
                workload.kind, 16.0
            )
        values["memory_gb"] = round(need, 1)
        sources["memory_gb"] = "assumed"
    return Sizing(
        workload=_done(workload, values, sources), mode="memory", model=model, card_gb=need, speed_modelled=False
    )


SPREAD_FROM_B = 1.0
"""Billions of parameters from which the states of a full training of any network fill a card, so that it is cut over several."""
SPREAD_SEQ = {"diffusion_video": 32768, "diffusion_image": 4096}
"""Tokens of one sample in the network: a few seconds of video, one picture of a megapixel; 512 for other networks."""
SPREAD_BATCH = 64


def _spread_training(kind: str, model: ModelSpec | None, params: float | None) -> bool:
    """Whether a full training of a network that is no language model is sized by its states, as any large network is."""
    if model is None or model.kind in LANGUAGE or not params or params < SPREAD_FROM_B:
        return False
    if model.kind == "diffusion_image" and params < IMAGE_SPREAD_FROM_B:
        return False
    return kind == "diffusion_train" or (kind in TRAINING and kind not in ("lora", "qlora"))


IMAGE_SPREAD_FROM_B = 8.0
"""Smaller image models are trained on single cards, with text encoders and latents computed before."""


def _large_training(
    workload: Workload,
    values: dict[str, Any],
    sources: dict[str, ValueSource],
    model: ModelSpec | None,
    params: float,
    facts: Facts,
    put: Any,
) -> Sizing:
    """Full training of a large network of another kind: states by parameters, layers as of a language model of that size."""
    assert model is not None
    seq = put("seq_len", SPREAD_SEQ.get(model.kind, 512), "assumed")
    precision = put("precision", "bf16", "assumed")
    batch = put("global_batch_seqs", SPREAD_BATCH, "assumed")
    spec = facts.shape_for_size(params, None)
    job = Job(
        shape=with_size(replace(shape_of(spec, spec), vocab=1, tied=True), params * 1e9),
        precision="fp32" if precision == "fp32" else "bf16",
        seq_len=seq,
        micro_batch=workload.micro_batch or 1,
        global_batch_seqs=batch,
        offload_optimizer=bool(workload.offload),
    )
    return Sizing(
        workload=_done(workload, values, sources),
        mode="train",
        shape=job.shape,
        model=model,
        job=job,
        speed_modelled=False,
        borrowed_shape=spec.stated_shape,
        usual_tokens=facts.values["usual_tokens_training"],
    )


def _serving(
    workload: Workload,
    values: dict[str, Any],
    sources: dict[str, ValueSource],
    shape: Shape,
    model: ModelSpec | None,
    put: Any,
    native: NativePrecision | None,
) -> Sizing:
    if native is None:
        put("precision", "bf16", "assumed")
    else:
        put("precision", native.precision, "registry")
    longest = (model.max_context if model else None) or 131072
    context = put("seq_len", min(8192, longest), "assumed")
    if workload.kind == "embeddings":
        context = min(context, 512) if workload.seq_len is None else context
        inputs, outputs = put("input_tokens", context, "assumed"), 1
    else:
        outputs = put("output_tokens", max(1, min(512, context // 4)), "assumed")
        inputs = put("input_tokens", max(1, min(context - outputs, 2048)), "assumed")
    if workload.kind in ("batch_inference", "embeddings"):
        streams = put("concurrency", 64, "assumed")
    elif workload.concurrency is None and workload.requests_per_s:
        streams = put("concurrency", max(1, round(workload.requests_per_s * (outputs / 25.0 + 1.0))), "assumed")
    else:
        streams = put("concurrency", 8, "assumed")
    return Sizing(
        workload=_done(workload, values, sources),
        mode="serve",
        shape=shape,
        model=model,
        context=context,
        input_tokens=inputs,
        output_tokens=outputs,
        streams=streams,
    )


def _training(
    workload: Workload,
    values: dict[str, Any],
    sources: dict[str, ValueSource],
    shape: Shape,
    model: ModelSpec | None,
    put: Any,
) -> Sizing:
    kind = workload.kind
    method: Method = "lora" if kind == "lora" else "qlora" if kind == "qlora" else "full"
    if kind in ("rlhf", "long_context_train", "moe_train") and workload.lora_rank:
        method = "lora"
    default_seq = 32768 if kind == "long_context_train" else 2048 if method != "full" else 4096
    seq = put("seq_len", default_seq, "assumed")
    precision = put("precision", "bf16", "assumed")
    rank = put("lora_rank", 16, "assumed") if method != "full" else 0
    if kind == "pretrain" and workload.tokens is None:
        put("tokens", 20.0 * shape.active, "assumed")
    pretraining = kind in ("pretrain", "continued_pretrain", "moe_train")
    batch_tokens = (1_000_000 if shape.params < 2e10 else 4_000_000) if pretraining else 131_072
    batch = put("global_batch_seqs", max(1, round(batch_tokens / seq)), "assumed")
    optimizer = (workload.optimizer or "").lower()
    optimizer_bytes = 12.0
    if "8bit" in optimizer or "8-bit" in optimizer:
        optimizer_bytes = 6.0 if method != "full" else 2.0
    elif "sgd" in optimizer or "adafactor" in optimizer or "lion" in optimizer:
        optimizer_bytes = 8.0
    trained, frozen = 1.0, 0.0
    if kind == "rlhf":
        trained, frozen = {"dpo": (1.0, 1.0), "grpo": (1.0, 2.0)}.get(
            getattr(workload, "rlhf_method", None) or "ppo", (2.0, 2.0)
        )
        if method != "full":
            trained, frozen = 1.0, 0.0
    job = Job(
        shape=shape,
        method=method,
        precision="fp8" if precision == "fp8" else "fp32" if precision == "fp32" else "bf16",
        seq_len=seq,
        micro_batch=workload.micro_batch or 1,
        global_batch_seqs=batch,
        optimizer_bytes=optimizer_bytes,
        adapter_params=adapter_size(shape, float(rank)) if method != "full" else 0.0,
        offload_optimizer=bool(workload.offload),
        trained_copies=trained,
        frozen_copies=frozen,
        fused_loss=kind != "rlhf",  # policy losses need the log-probabilities of every token
    )
    return Sizing(
        workload=_done(workload, values, sources),
        mode="train",
        shape=shape,
        model=model,
        job=job,
        speed_modelled=kind != "rlhf",
        generates=kind == "rlhf" and workload.rlhf_method != "dpo",
    )
