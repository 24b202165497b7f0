"""Free-text fields of published tables: cards, plans, methods, precisions, optimizers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from advisor.errors import BadRequest
from advisor.reasoning.job import Method, Plan, Recompute, Sharding
from advisor.reasoning.shape import Shape
from knowledge.facts import Facts, GpuSpec


def number(request: Mapping[str, Any], *names: str) -> float | None:
    """The first of the named fields that is there, as a positive number. Raises BadRequest for anything else."""
    for name in names:
        value = request.get(name)
        if value is None or value == "":
            continue
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            raise BadRequest(f"{name}={value!r} is no number; give a positive number or leave it out.")
        try:
            found = float(value)
        except ValueError:
            raise BadRequest(f"{name}={value!r} is no number; give a positive number or leave it out.") from None
        if not 0 < found < 1e18:
            raise BadRequest(f"{name}={value!r} must be greater than 0; correct it or leave it out.")
        return found
    return None


def text_of(request: Mapping[str, Any], *names: str) -> str:
    """The named fields that are there, joined, in lower case."""
    return " ".join(str(request[name]) for name in names if request.get(name) not in (None, "")).lower()


def read_gpu(text: str, facts: Facts) -> GpuSpec | None:
    """The board that a free text names ("H100 SXM 80GB", "GB300 NVL72", "8x A100 40GB"); None where it names none."""
    memory = re.search(r"(\d+(?:\.\d+)?)\s*g(?:i?b)\b", text, re.I)
    variant = next((form for form in ("SXM", "PCIe", "NVL", "OAM") if re.search(rf"\b{form}\d?\b", text, re.I)), None)
    words = " " + re.sub(r"[\s\-_]+", " ", text.lower()) + " "
    names = sorted({row.gpu for row in facts.gpus}, key=len, reverse=True)
    for name in names:
        plain = name.lower()
        short = plain.removeprefix("rtx ")
        if re.search(rf"(?<![a-z0-9]){re.escape(plain)}(?![0-9])", words) or (
            short != plain and len(short) > 3 and re.search(rf"(?<![a-z0-9]){re.escape(short)}(?![0-9a-z])", words)
        ):
            spec = facts.gpu(name, variant, float(memory[1]) if memory else None)
            if spec and variant is None and spec.gpu in ("H100", "H200", "A100") and spec.gpu_variant != "SXM":
                return facts.gpu(name, "SXM", float(memory[1]) if memory else None)
            return spec
    return None


def read_plan(text: str, gpus: int, moe: bool) -> Plan:
    """Degrees and sharding from a free text: "DP4 TP8 PP12 ZeRO-1", "FSDP32 TP8", "tp1 pp3 fsdp=False", "FSDP FULL_SHARD"."""
    text = text.lower()

    def degree(name: str) -> int | None:
        found = re.search(rf"(?<![a-z]){name}\s*[=:]?\s*(\d+)(?![a-z])", text)
        return int(found[1]) if found and int(found[1]) > 0 else None

    tp, pp, cp = degree("tp") or 1, degree("pp") or 1, degree("cp") or degree("sp") or 1
    virtual = degree("vp") or degree("v") or (2 if "interleaved" in text else 1)
    ep = degree("ep") or 1
    dp = max(1, gpus // (tp * pp * cp))
    zero = re.search(r"zero[\s\-_]*(?:stage)?[\s\-_]*([123])", text)
    stated = degree("fsdp") or degree("hsdp")
    fsdp = bool(re.search(r"\bfsdp\b(?!\s*=\s*false)|full_shard|\bfsdp[1-9]", text)) and "fsdp=false" not in text
    sharding: Sharding = "zero1" if dp * cp > 1 else "ddp"
    group = 0
    if "hsdp" in text or "hybrid_shard" in text:
        sharding, group = "hsdp", min(dp * cp, stated or 8)
    elif "shard_grad_op" in text or (zero and zero[1] == "2"):
        sharding = "zero2"
    elif fsdp or (zero and zero[1] == "3"):
        sharding = "zero3"
    elif zero:
        sharding = "zero1"
        if within := re.search(r"within\s+(\d+)", text):
            group = min(dp * cp, int(within[1]))
    elif re.search(r"\bddp\b", text):
        sharding = "ddp"
    return Plan(
        dp=dp,
        tp=tp,
        pp=pp,
        cp=cp,
        ep=min(ep, max(1, dp * cp * tp)) if moe else 1,
        virtual=virtual,
        sharding=sharding,
        shard_group=group,
        tp_overlap="async" in text,
    )


def read_method(text: str) -> tuple[Method, bool]:
    """(method, whether it was stated)."""
    if re.search(r"q[\s\-]?lora|qoft|(?:lora|adapter)\b.*\b(?:nf4|4-?bit|int4|bnb)", text):
        return "qlora", True
    if re.search(r"lora|adapter|dora|\boft\b|galore|freeze", text):
        return "lora", True
    if re.search(r"infer|serv|kv cache|generat", text):
        return "inference", True
    return "full", bool(re.search(r"full|pretrain|sft|fine-?tune|zero|fsdp|dpo|ppo", text))


def read_recompute(value: object) -> tuple[Recompute, bool]:
    """(recompute, whether it was stated) from a flag or a text."""
    if value is None or value == "":
        return "none", False
    if isinstance(value, bool):
        return ("full" if value else "none"), True
    text = str(value).lower()
    if "no recompute" in text or text in ("none", "no", "off", "false"):
        return "none", True
    if "selective" in text:
        return "selective", True
    return "full", True


def read_precision(text: str) -> str:
    """bf16, fp8, fp4, fp32 or tf32; adapters over 4-bit weights compute in 16 bits."""
    if "nvfp4" in text or "mxfp4" in text:
        return "fp4"
    if "fp8" in text:
        return "fp8"
    if "tf32" in text:
        return "tf32"
    if "fp32" in text and "bf16" not in text and "fp16" not in text:
        return "fp32"
    return "bf16"


REFERENCE_RELEASE = 26.0 + 3.0 / 12.0
"""April 2026: the middle of the releases that the constants of routed models were chosen on."""


def read_release(text: str) -> float:
    """Years after the reference release from a "YY.MM" in the text, at most one and a half either way; 0 where none is stated."""
    found = re.search(r"\b(2\d)\.(0[1-9]|1[0-2])\b", text)
    if not found:
        return 0.0
    return max(-1.5, min(1.5, float(found[1]) + (float(found[2]) - 1.0) / 12.0 - REFERENCE_RELEASE))


def adapter_size(shape: Shape, rank: float) -> float:
    """Parameters of low-rank adapters on all linear layers of the dense part: r·(in + out) a matrix."""
    q = shape.attention_width
    kv = shape.kv_heads * shape.head_dim
    attention = 2 * (shape.hidden + q) + 2 * (shape.hidden + kv)
    mlp = (3 if shape.gated else 2) * (shape.hidden + shape.ffn)
    return rank * shape.layers * (attention + mlp)


def rank_in(text: str) -> float:
    """The rank that a text such as "LoRA r=8" states, else 16."""
    found = re.search(r"\b(?:r|rank)\s*=?\s*(\d+)\b", text)
    return float(found[1]) if found else 16.0


def read_optimizer(text: str, method: Method) -> tuple[float, bool]:
    """(bytes a parameter beside weight and gradient, states on the CPU)."""
    offload = bool(re.search(r"cpu|offload", re.sub(r"(?:nothing|not|no) offload\w*", "", text)))
    if "8-bit" in text or "8bit" in text:
        return (2.0 if method == "full" else 6.0), offload
    if "sgd" in text:
        return 4.0 + 4.0, offload
    if "adafactor" in text or "lion" in text:
        return 8.0, offload
    return 12.0, offload
