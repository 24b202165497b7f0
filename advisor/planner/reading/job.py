"""The job of a turn: model, method and numbers put together, and merged with the job that was spoken of before."""

from __future__ import annotations

import math
import re
from typing import Any

from advisor.answer import ValueSource, Workload
from advisor.planner.reading.changes import merge_workload
from advisor.planner.reading.intent import Guess
from advisor.planner.reading.lexicon import Lexicon
from advisor.planner.reading.models import ModelMention, active_params
from advisor.planner.reading.normalize import squash
from advisor.planner.reading.phrases import says
from advisor.planner.reading.quantities import deadline_hours
from advisor.planner.reading.result import Quantity, Reading

NUMBER_FIELDS = (
    "seq_len", "micro_batch", "global_batch_seqs", "tokens", "images", "concurrency", "tensor_parallel", "pipeline_parallel",
    "expert_parallel", "context_parallel", "lora_rank", "input_tokens", "output_tokens", "requests_per_s",
)  # fmt: skip
_WHOLE = {
    "seq_len", "micro_batch", "global_batch_seqs", "concurrency", "tensor_parallel", "pipeline_parallel", "expert_parallel",
    "context_parallel", "lora_rank", "input_tokens", "output_tokens",
}  # fmt: skip
_GENERAL_KINDS = {"full_ft", "inference"}
USERS_AT_ONCE = 0.1
"""Share of named users held to be waiting for an answer at one time, where no concurrency is stated."""


def same_family(norm: str, model: ModelMention | None, before: Reading | None, lexicon: Lexicon) -> ModelMention | None:
    """A bare size after a named model is that family's model of the size ("what about the 8B instead?")."""
    if (
        model is None
        or model.model is not None
        or before is None
        or before.workload is None
        or not before.workload.model
    ):
        return model
    if not re.fullmatch(r"[\d.]+B", model.name):
        return model
    stem = re.sub(r"\s*\d+(?:\.\d+)?B.*$", "", before.workload.model)
    found = lexicon.models.get(squash(f"{stem}{model.name}"))
    if found is None:
        return model
    return ModelMention(found, found.name, found.params_b, found.active_params_b, model.start, model.end)


def family_default(model: ModelMention | None, lexicon: Lexicon) -> ModelMention | None:
    """The model that a family's bare name mostly stands for, or None."""
    if model is None or model.model is not None or model.params_b is not None:
        return None
    found = lexicon.defaults.get(squash(model.name))
    if found is None:
        return None
    return ModelMention(found, found.name, found.params_b, found.active_params_b, model.start, model.end)


def job_fields(
    norm: str,
    model: ModelMention | None,
    numbers: tuple[Quantity, ...],
    method: dict[str, Any],
    kind: str | None,
    before: Reading | None,
) -> tuple[dict[str, Any], dict[str, ValueSource]]:
    """(fields of the job that the turn states, where each comes from)."""
    fields: dict[str, Any] = dict(method)
    sources: dict[str, ValueSource] = dict.fromkeys(method, "stated")
    if model is not None and (model.params_b is not None or model.model is not None):
        named = model.model is not None
        fields["model"] = model.name if named else None if re.fullmatch(r"[\d.]+B", model.name) else model.name
        fields["params_b"] = model.params_b
        sources["params_b"] = "registry" if named else "stated"
        active = model.active_params_b if model.active_params_b != model.params_b else None
        active = active if active is not None else active_params(norm)
        if active is not None:
            fields["active_params_b"] = active
            sources["active_params_b"] = "registry" if named else "stated"
        if fields["model"] is not None:
            sources["model"] = "stated"
        fields = {name: value for name, value in fields.items() if value is not None or name == "model"}
    for name in NUMBER_FIELDS:
        values = [q.value for q in numbers if q.meaning == name]
        value = max(values) if name == "concurrency" and values else next(iter(values), None)
        if value is not None:
            fields[name] = int(min(value, 10**9)) if name in _WHOLE else value
            sources[name] = "stated"
    if found := deadline_hours(norm, numbers):
        fields["deadline_hours"] = found[0]
        sources["deadline_hours"] = "stated"
    jobs = next((q.value for q in numbers if q.meaning in ("jobs", "frames")), None)
    if jobs is not None and (kind in ("render", "hpc", "video", "other", None) or says("independent", norm)):
        fields["independent_jobs"] = int(min(jobs, 10**9))
        sources["independent_jobs"] = "stated"
    needs = next((q.value for q in numbers if q.meaning == "job_memory_gb"), None)
    if needs is not None:
        fields["memory_gb"] = needs
        sources["memory_gb"] = "stated"
    users = next((q.value for q in numbers if q.meaning == "users"), None)
    if users is not None and "concurrency" not in fields and kind in ("inference", "moe_inference", None):
        fields["concurrency"] = max(1, math.ceil(min(users, 10**9) * USERS_AT_ONCE))
        sources["concurrency"] = "assumed"
    return fields, sources


def merge_job(
    before: Reading | None,
    fields: dict[str, Any],
    kind: str | None,
    sources: dict[str, ValueSource],
    found: Guess,
    norm: str,
) -> tuple[Workload | None, list[str]]:
    """(the job after this turn, names of the fields that changed). A model without a kind is assumed to be served."""
    old = before.workload if before else None
    if found.intent == "refuse":
        return old, []
    if old is not None and found.intent in ("explain", "troubleshoot"):
        return old, []
    if old is None and kind is None and fields.get("params_b") is not None:
        trains = bool({"sharding", "optimizer", "lora_rank", "tokens"} & fields.keys())
        kind = "full_ft" if trains else "moe_inference" if fields.get("active_params_b") else "inference"
        sources = {**sources, "kind": "assumed"}
    job, changed = merge_workload(old, fields, kind, sources)
    return job, changed


def only_spoken_of(job: Workload | None, found: Guess, *, sellers_named: bool) -> bool:
    """Whether a first turn merely touches training or serving and states no job of its own: no model, size, amount or method.

    "What network does X use for training clusters?" and "p5 or ND H100 v5 for multi-node training?" ask of machines, "さくらかGMOで学習したい" of what they rent out.
    """
    if job is None or job.kind not in _GENERAL_KINDS:
        return False
    stated = job.model_dump(exclude={"kind", "sources"}, exclude_none=True)
    if any(value not in ((), False) for value in stated.values()):
        return False
    return found.intent in ("explain", "troubleshoot") or sellers_named


def is_told(job: Workload) -> bool:
    """Whether a job is known well enough to be sized rather than only listed for."""
    return any(value is not None for value in (job.params_b, job.memory_gb, job.independent_jobs, job.images))
