"""Questions back: at most two, only about what the answer turns on."""

from __future__ import annotations

from advisor.planner.reading.methods import is_training
from advisor.planner.reading.result import Reading

_NEEDS_SIZE = {
    "full_ft",
    "lora",
    "qlora",
    "rlhf",
    "moe_train",
    "long_context_train",
    "inference",
    "moe_inference",
    "batch_inference",
}
_SEQUENCES = {"full_ft", "lora", "qlora", "rlhf", "moe_train"}
_LANGUAGE_B = 1.0
"""Below a billion parameters the length hardly changes which machine is right."""
_MOST = 2


def questions_back(reading: Reading) -> tuple[str, ...]:
    """Keys ("workload", "model_size", "tokens", "concurrency", "memory") of `reading.ask.*` texts, most telling first."""
    job = reading.workload
    if reading.intent == "clarify":
        if reading.acts & {"greeting", "thanks"}:
            return ()
        return ("workload", "budget") if job is None else ("model_size",) if job.params_b is None else ()
    if reading.intent != "picks" or job is None:
        return ()
    keys: list[str] = []
    if (
        job.params_b is None
        and job.memory_gb is None
        and job.kind in _NEEDS_SIZE
        and "ComfyUI" not in reading.mentions.engines
    ):
        keys.append("model_size")
    if job.kind in ("pretrain", "continued_pretrain") and job.tokens is None:
        keys.append("tokens")
    if job.kind in ("render", "hpc") and job.memory_gb is None:
        keys.append("memory")
    if job.kind in ("inference", "moe_inference") and job.concurrency is None and job.requests_per_s is None:
        keys.append("concurrency")
    if is_training(job.kind) and job.seq_len is None and (job.params_b or 0) >= _LANGUAGE_B and job.kind in _SEQUENCES:
        keys.append("seq_len")
    return tuple(keys[:_MOST])
