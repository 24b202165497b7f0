"""The kind of job and how it is run: method, precision, sharding, optimizer, engines."""

from __future__ import annotations

from typing import Any

from advisor.planner.reading.models import ModelMention
from advisor.planner.reading.phrases import Found, hits, negated, says

LONG_CONTEXT_TOKENS = 32_000
"""Training at this length or more is held to be about activations first (a 7B model's exceed its states on one GPU there)."""

_TRAINING = {
    "full_ft",
    "continued_pretrain",
    "pretrain",
    "moe_train",
    "long_context_train",
    "diffusion_train",
    "lora",
    "qlora",
    "rlhf",
}
_MODEL_KINDS = {
    "diffusion_video": "video",
    "embedding": "embeddings",
    "reranker": "embeddings",
    "asr": "inference",
    "tts": "inference",
}


def is_training(kind: str | None) -> bool:
    """Whether a workload kind trains weights."""
    return kind in _TRAINING


def read_kind(text: str, model: ModelMention | None, seq_len: float | None, previous: str | None) -> str | None:
    """The workload kind of the normalised text, or None where it names no job. Ruled-out methods do not count."""
    found = [hit for hit in hits("kind", text) if not negated(text, hit.start, hit.end)]
    if not found:
        return _kind_of_model(model)
    best = max(found, key=lambda hit: hit.weight)
    kinds = {hit.value for hit in found}
    kind = best.value
    moe = says("moe", text) or _is_moe(model)
    if kind in ("lora", "qlora", "diffusion_train") and says("both", text) and says("video_job", text):
        return "video"
    if kind == "pretrain" and "diffusion_train" in kinds:
        kind = "diffusion_train"
    if kind == "diffusion_train" and kinds & {"lora", "qlora"}:
        kind = "lora"
    if kind == "video" and _is_video(model) and kinds & {"train", "full_ft"} and not says("both", text):
        return "diffusion_train"
    image = model is not None and model.model is not None and model.model.kind in ("diffusion_image", "diffusion_video")
    trains = bool(kinds & {"train", "full_ft"})
    if (
        kind in ("lora", "qlora")
        and "full_ft" in kinds
        and _later(found, "full_ft", ("lora", "qlora"))
        and says("instead", text)
    ):
        kind = "full_ft"
    if kind == "inference" and trains and _is_training_first(found):
        kind = "train"
    if kind in ("train", "full_ft"):
        if _is_video(model) and "video" in kinds:
            return "video"
        if image:
            return "diffusion_train"
        if previous in ("pretrain", "continued_pretrain", "rlhf", "lora", "qlora") and kind == "train":
            return previous
        if moe:
            return "moe_train"
        return "long_context_train" if seq_len and seq_len >= LONG_CONTEXT_TOKENS else "full_ft"
    if kind == "inference":
        if model is not None and model.model is not None and model.model.kind in _MODEL_KINDS:
            return _MODEL_KINDS[model.model.kind]
        if previous in ("batch_inference", "video", "embeddings", "render") and not says("serving_words", text):
            return previous
        return "moe_inference" if moe else "inference"
    return kind


def _kind_of_model(model: ModelMention | None) -> str | None:
    if model is None or model.model is None:
        return None
    return (
        _MODEL_KINDS.get(model.model.kind) if model.model.kind in ("diffusion_video", "embedding", "reranker") else None
    )


def _is_moe(model: ModelMention | None) -> bool:
    if model is None:
        return False
    active = model.active_params_b
    return bool(active and model.params_b and active < 0.8 * model.params_b) or (
        model.model is not None and model.model.kind == "moe_lm"
    )


def _is_video(model: ModelMention | None) -> bool:
    return model is not None and model.model is not None and model.model.kind == "diffusion_video"


def _later(found: list[Found], kind: str, others: tuple[str, ...]) -> bool:
    mine = max((hit.start for hit in found if hit.value == kind), default=-1)
    return mine > max((hit.start for hit in found if hit.value in others), default=-1)


def _is_training_first(found: list[Found]) -> bool:
    """Training outranks serving where it is named first ("train a chatbot"), unless serving stands alone."""
    train = min(hit.start for hit in found if hit.value in ("train", "full_ft"))
    serve = min(hit.start for hit in found if hit.value == "inference")
    strong = [hit for hit in found if hit.value == "inference" and says("strong_inference", hit.text)]
    return train < serve or not strong


def read_method(text: str, kind: str | None) -> dict[str, Any]:
    """Workload fields that words (not numbers) state: precision, sharding, optimizer, checkpointing, offload, priority."""
    fields: dict[str, Any] = {}
    for topic in ("precision", "optimizer", "sharding", "priority"):
        stated = [hit for hit in hits(topic, text) if not negated(text, hit.start, hit.end)]
        if stated:
            exact = [hit for hit in stated if hit.value != "fp32"] if topic == "precision" else stated
            fields[topic] = (exact or stated)[0].value
    if "precision" not in fields and not is_training(kind) and says("quantized", text):
        fields["precision"] = "int4"
    if kind == "rlhf" and (method := next(iter(hits("rlhf_method", text)), None)):
        fields["rlhf_method"] = method.value
    if not is_training(kind):
        fields.pop("optimizer", None)
        fields.pop("sharding", None)
    if says("fp64", text):
        fields["fp64"] = True
    if says("checkpointing_off", text):
        fields["activation_checkpointing"] = False
    elif says("checkpointing_on", text):
        fields["activation_checkpointing"] = True
    if says("offload_off", text):
        fields["offload"] = False
    elif says("offload_on", text):
        fields["offload"] = True
    return fields


def read_engines(text: str) -> tuple[str, ...]:
    """Software named in the text, canonical."""
    return tuple(dict.fromkeys(hit.value for hit in hits("engine", text)))
