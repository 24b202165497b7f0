"""A turn laid over the turns before it: what it says wins, what it does not touch stays, what no longer applies goes."""

from __future__ import annotations

from typing import Any

from advisor.answer import Constraints, ValueSource, Workload
from advisor.planner.reading.methods import is_training

_TRAINING_ONLY = (
    "tokens", "deadline_hours", "micro_batch", "global_batch_seqs", "optimizer", "sharding", "lora_rank", "pipeline_parallel",
    "activation_checkpointing", "offload", "rlhf_method",
)  # fmt: skip
_SERVING_ONLY = ("concurrency", "input_tokens", "output_tokens", "requests_per_s", "priority")
_ADAPTERS = {"lora", "qlora"}
_COUNTS = ("gpu_count", "min_gpus", "max_gpus", "gpus_per_node", "nodes")


def merge_workload(
    old: Workload | None, fields: dict[str, Any], kind: str | None, sources: dict[str, ValueSource]
) -> tuple[Workload | None, list[str]]:
    """(the job, names of the fields that changed). None where neither this turn nor an earlier one names a job."""
    if old is None:
        if kind is None:
            return None, []
        job = Workload.model_validate({"kind": kind, **fields, "sources": {**sources, "kind": "stated"}})
        return job, ["kind", *fields]
    new_kind = kind or old.kind
    values = old.model_dump(exclude={"sources"}) | {"kind": new_kind}
    marks: dict[str, ValueSource] = dict(old.sources)
    dropped: list[str] = []
    if new_kind != old.kind:
        dropped += _dropped(old.kind, new_kind)
        marks["kind"] = "stated"
    if "params_b" in fields or "model" in fields:
        dropped += ["model", "params_b", "active_params_b", "memory_gb"]
        dropped += ["tensor_parallel", "pipeline_parallel", "expert_parallel"]
    for name in dropped:
        if name not in fields:
            values[name] = None
            marks.pop(name, None)
    values |= fields
    marks |= sources
    job = Workload.model_validate({**values, "sources": marks})
    before = old.model_dump()
    after = job.model_dump()
    return job, [name for name in after if name != "sources" and after[name] != before[name]]


def _dropped(old: str, new: str) -> list[str]:
    names: list[str] = []
    if is_training(old) and not is_training(new):
        names += _TRAINING_ONLY
    if not is_training(old) and is_training(new):
        names += _SERVING_ONLY
    if old in _ADAPTERS and new not in _ADAPTERS:
        names += ["lora_rank"]
    if new in _ADAPTERS and old not in _ADAPTERS:
        names += ["sharding", "tensor_parallel", "pipeline_parallel", "expert_parallel", "offload"]
    if {old, new} & {"render", "hpc", "video", "diffusion_train"}:
        names += ["memory_gb", "independent_jobs"]
    return names


def merge_constraints(
    old: Constraints, fields: dict[str, Any], cleared: set[str], *, added: bool, job_changed: bool
) -> tuple[Constraints, list[str]]:
    """(the conditions, names of those that changed). `added` joins lists instead of replacing them ("EUも含めて")."""
    values = old.model_dump()
    for name in cleared:
        values[name] = type(values[name])() if isinstance(values[name], tuple) else None
    if job_changed:
        for name in _COUNTS:
            values[name] = None
    if fields.keys() & {"gpu_count", "min_gpus", "max_gpus", "nodes", "gpus_per_node"}:
        for name in _COUNTS:
            values[name] = None
    if "nodes" in fields and fields["nodes"] and fields["nodes"] > 1:
        values["max_nodes"] = None
    if "gpus" in fields and "gpu_variants" not in fields and not added:
        values["gpu_variants"] = ()
    if "gpus" in fields and not added and "min_gpu_memory_gb" not in fields:
        values["min_gpu_memory_gb"] = None
    for name, value in fields.items():
        if added and isinstance(value, tuple) and values.get(name):
            value = tuple(dict.fromkeys([*values[name], *value]))
        values[name] = value
    _settle(values, fields)
    merged = Constraints.model_validate(values)
    before, after = old.model_dump(), merged.model_dump()
    return merged, [name for name in after if after[name] != before[name]]


def _settle(values: dict[str, Any], fields: dict[str, Any]) -> None:
    """What is wanted now is no longer ruled out, and the other way round."""
    for yes, no in (("providers", "not_providers"), ("gpus", "not_gpus"), ("countries", "not_countries")):
        if fields.get(yes):
            values[no] = tuple(item for item in values[no] if item not in values[yes])
        if fields.get(no):
            values[yes] = tuple(item for item in values[yes] if item not in values[no])
    if values.get("nodes") and values.get("max_nodes") and values["nodes"] > values["max_nodes"]:
        values["max_nodes"] = values["nodes"]
