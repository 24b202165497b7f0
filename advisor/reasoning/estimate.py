"""`advisor estimate`: memory, throughput and scaling of a described run, with a range and what was assumed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from advisor.errors import AdvisorError, BadRequest
from advisor.reasoning.inference import inference_memory
from advisor.reasoning.job import Job, Method, Recompute
from advisor.reasoning.memory import Memory, train_memory
from advisor.reasoning.request import Asked, adapter_size, read
from advisor.reasoning.steptime import StepTime, step_time
from knowledge.facts import Facts


def settle(asked: Asked, facts: Facts) -> Memory:
    """Fill in what decides whether the job fits and was not stated (method, recomputation): the first choice that fits.

    A run that happened did fit its card: full before LoRA before QLoRA, no recomputation before full recomputation.
    """
    k = facts.values
    room = (asked.card_gb or 80.0) * k["usable_memory"]
    methods: tuple[Method, ...] = (asked.job.method,) if asked.stated_method else ("full", "lora", "qlora")
    first: Job | None = None
    for method in methods:
        base = asked.job
        if method != base.method:
            rank = 16.0
            base = replace(
                base, method=method, adapter_params=adapter_size(base.shape, rank) if method != "full" else 0.0
            )
        recomputes: tuple[Recompute, ...] = (base.recompute,) if asked.stated_recompute else ("none", "full")
        for recompute in recomputes:
            job = replace(base, recompute=recompute)
            first = first or job
            memory = train_memory(job, asked.plan, k)
            if memory.total <= room:
                asked.job = job
                if not asked.stated_recompute:
                    asked.assumed["activation_checkpointing"] = recompute
                if not asked.stated_method:
                    asked.assumed["method"] = method
                return memory
    if not asked.stated_method:
        asked.job = first or asked.job
        asked.assumed["method"] = asked.job.method
    elif not asked.stated_recompute:
        asked.job = replace(asked.job, recompute="full")
        asked.assumed["activation_checkpointing"] = "full"
    return train_memory(asked.job, asked.plan, k)


def memory_answer(asked: Asked, facts: Facts) -> dict[str, Any]:
    """The memory task's answer."""
    k = facts.values
    if asked.inference:
        total, parts = inference_memory(asked.job, asked.plan, asked.method_text, k)
    else:
        memory = settle(asked, facts)
        total, parts = memory.total, memory.parts()
    fits = None if asked.card_gb is None else bool(total <= asked.card_gb * 1.0737 * 0.99)
    return {
        "memory_gb_per_gpu": round(total, 3),
        "breakdown_gb": parts,
        "fits": fits,
        "low": round(total / k["memory_spread"], 3),
        "high": round(total * k["memory_spread"], 3),
        "assumed": asked.assumed,
    }


def throughput_answer(asked: Asked, facts: Facts) -> dict[str, Any]:
    """The throughput task's answer. Raises BadRequest where no known card is named."""
    k = facts.values
    if asked.machine is None:
        raise BadRequest("gpu_model is missing or not known; name a listed GPU such as 'H100 SXM 80GB'.")
    memory = settle(asked, facts)
    step: StepTime = step_time(asked.job, asked.plan, asked.machine, k)
    rate = step.tokens / step.seconds / asked.plan.gpus
    spread = k["speed_spread"]
    return {
        "tokens_per_s_per_gpu": round(rate, 3),
        "tflops_per_gpu": round(step.tflops_per_gpu, 2),
        "mfu": round(step.mfu, 4),
        "comm_share": round(step.comm_share, 4),
        "step_s": round(step.seconds, 5),
        "memory_gb_per_gpu": round(memory.total, 2),
        "fits": None if asked.card_gb is None else memory.total <= asked.card_gb,
        "low": round(rate / spread, 3),
        "high": round(rate * spread, 3),
        "assumed": asked.assumed,
    }


def estimate(request: Mapping[str, Any], facts: Facts) -> dict[str, Any]:
    """Answer one request of `advisor estimate`: `task` memory, throughput or scaling (`a` and `b` are two configurations).

    Raises BadRequest for a request that is not understood. The measured fields of a published row are never read.
    """
    if not isinstance(request, Mapping):
        raise BadRequest(f"a request is a JSON object; this is {type(request).__name__}.")
    task = str(request.get("task") or "throughput").lower()
    out: dict[str, Any] = {"id": request.get("id")} if "id" in request else {}
    if task == "scaling":
        sides = {}
        for name in ("a", "b"):
            side = request.get(name)
            if not isinstance(side, Mapping):
                raise BadRequest(f"{name}={side!r}: scaling needs two configurations, a and b, as objects.")
            shared = {key: value for key, value in request.items() if key not in ("a", "b", "id")}
            sides[name] = throughput_answer(read({**shared, **side, "task": "throughput"}, facts), facts)
        ratio = sides["a"]["tokens_per_s_per_gpu"] / sides["b"]["tokens_per_s_per_gpu"]
        return {**out, "ratio_a_over_b": round(ratio, 4), **sides}
    if task == "memory":
        return {**out, **memory_answer(read(request, facts), facts)}
    if task == "throughput":
        return {**out, **throughput_answer(read(request, facts), facts)}
    raise BadRequest(f"task={task!r} is not one of memory, throughput, scaling; choose one.")


def estimate_or_error(request: Any, facts: Facts) -> dict[str, Any]:
    """As `estimate`, but a request that fails yields {"id", "error": {"code", "message"}}."""
    try:
        return estimate(request, facts)
    except AdvisorError as error:
        name = request.get("id") if isinstance(request, Mapping) else None
        return {"id": name, "error": {"code": error.code, "message": str(error)}}
