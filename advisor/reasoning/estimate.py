"""`advisor estimate`: memory, throughput and scaling of a described run, with a range and what was assumed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import exp
from typing import Any

from advisor.errors import AdvisorError, BadRequest
from advisor.reasoning.compute import Constants
from advisor.reasoning.fields import adapter_size
from advisor.reasoning.inference import inference_memory
from advisor.reasoning.job import Job, Method, Recompute
from advisor.reasoning.memory import Memory, train_memory
from advisor.reasoning.request import Asked, read
from advisor.reasoning.steptime import StepTime, step_time
from knowledge.facts import Facts

GIB = 1.0737
"""Cards are sold in GiB: a "24 GB" card has 25.8e9 bytes."""
FREE = 0.95
"""Of it that one process can allocate, beside the driver's and its own context."""
MARGIN = 1.25
"""A plan within a quarter of the card counts as possible when a run that happened is read: that is the error of the estimate."""


SHORT_TOKENS = 8192
"""Adapters on a micro-batch up to this many tokens commonly keep all activations: there is room."""


def settle(asked: Asked, facts: Facts) -> Memory:
    """Fill in what was not stated, from the fact that the run happened: method and recomputation.

    Full training unless its states alone exceed the card; then adapters, over 4-bit weights where 16-bit ones do not fit.
    Adapters recompute activations by default, as fine-tuning tools do; other runs only where they would not fit otherwise.
    A run that states its degrees of parallelism is taken as tuned: attention alone is recomputed, at next to no cost.
    Several cards that do not say how they share are sharded where a copy each does not fit.
    """
    k = facts.values
    card = asked.card_gb or 80.0
    job, plan = asked.job, asked.plan
    if not asked.stated_method:
        for method in ("full", "lora", "qlora"):
            job = as_method(asked.job, method)
            memory = train_memory(replace(job, recompute="full"), plan, k)
            states = memory.states + memory.gathered
            if states <= card and (method == "full" or memory.total <= card):
                break
        asked.assumed["method"] = job.method
    if not asked.stated_recompute:
        job = replace(job, recompute=usual_recompute(asked, job, card, k))
        asked.assumed["activation_checkpointing"] = job.recompute
    memory = train_memory(job, plan, k)
    alone = memory.weights if job.method != "full" else memory.total
    if plan.gpus > 1 and not (asked.stated_sharding or asked.stated_plan) and alone > card:
        asked.plan = plan = replace(plan, sharding="zero3")
        asked.assumed["parallelism"] = "FSDP"
        memory = train_memory(job, plan, k)
    if plan.gpus == 1 and job.method == "full" and memory.states > card and not asked.stated_optimizer:
        job = replace(job, optimizer_bytes=2.0)
        asked.assumed["optimizer"] = "8-bit AdamW"
        memory = train_memory(job, plan, k)
    asked.job = job
    return memory


def usual_recompute(asked: Asked, job: Job, card: float, k: Constants) -> Recompute:
    """What a run of this kind does with activations when it does not say."""
    if asked.plan.tp * asked.plan.pp * asked.plan.ep * asked.plan.cp > 1 or asked.stated_plan:
        return "none"
    if job.method != "full":
        tools = "hf" in asked.method_text or "fa2" in asked.method_text or "unsloth" in asked.method_text
        short = asked.stated_tokens and job.micro_batch * job.seq_len <= SHORT_TOKENS
        if not (asked.stated_method and short) or tools:
            return "full"
        whole = train_memory(replace(job, recompute="none"), asked.plan, k).total <= card * MARGIN
        return "none" if whole or asked.plan.gpus == 1 else "full"
    fits = train_memory(replace(job, recompute="none"), asked.plan, k).total <= card * MARGIN
    return "none" if fits else "full"


def as_method(job: Job, method: Method) -> Job:
    """The job with another training method, adapters of rank 16 where it is one."""
    if method == job.method:
        return job
    return replace(job, method=method, adapter_params=adapter_size(job.shape, 16.0) if method != "full" else 0.0)


def memory_answer(asked: Asked, facts: Facts) -> dict[str, Any]:
    """The memory task's answer."""
    k = facts.values
    if asked.inference:
        total, parts = inference_memory(asked.job, asked.plan, asked.method_text, k)
    else:
        memory = settle(asked, facts)
        total, parts = memory.total, memory.parts()
    fits = None if asked.card_gb is None else bool(total <= asked.card_gb * GIB * FREE)
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
    gain = exp(k["software_gain_per_year"] * asked.software_years)
    rate = step.tokens / step.seconds / asked.plan.gpus * gain
    spread = k["speed_spread"]
    return {
        "tokens_per_s_per_gpu": round(rate, 3),
        "tflops_per_gpu": round(step.tflops_per_gpu * gain, 2),
        "mfu": round(step.mfu * gain, 4),
        "comm_share": round(step.comm_share, 4),
        "step_s": round(step.seconds / gain, 5),
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
