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
_OTHER_MODELS = {"video", "render", "hpc", "embeddings"}
"""Jobs of these kinds run no model of the job before."""
_MOST_IN_A_BOX = 8
"""GPUs of a usual machine: a larger number before was for several."""
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
    if kind is None and "params_b" in fields:
        values["kind"] = _dense_or_not(new_kind, values)
    job = Workload.model_validate({**values, "sources": marks})
    before = old.model_dump()
    after = job.model_dump()
    return job, [name for name in after if name != "sources" and after[name] != before[name]]


def _dense_or_not(kind: str, values: dict[str, Any]) -> str:
    """A mixture of experts replaced by a dense model, or the other way round, is served and trained as what it is."""
    sparse = (values.get("active_params_b") or values["params_b"]) < 0.8 * values["params_b"]
    if sparse:
        return {"inference": "moe_inference", "full_ft": "moe_train"}.get(kind, kind)
    return {"moe_inference": "inference", "moe_train": "full_ft"}.get(kind, kind)


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
    if new in _OTHER_MODELS or old in _OTHER_MODELS:
        names += ["model", "params_b", "active_params_b"]
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
    fields = _with_nodes(old, fields)
    if fields.keys() & set(_COUNTS):
        for name in _COUNTS:
            values[name] = None
    if "nodes" in fields and fields["nodes"] and fields["nodes"] > 1:
        values["max_nodes"] = None
    if "gpus" in fields and "gpu_variants" not in fields and not added:
        values["gpu_variants"] = ()
    if "gpus" in fields and not added and "min_gpu_memory_gb" not in fields:
        values["min_gpu_memory_gb"] = None
    if added:
        fields = _places_together(values, fields)
    for name, value in fields.items():
        if added and isinstance(value, tuple) and value and values.get(name) and not name.startswith("not_"):
            value = tuple(dict.fromkeys([*values[name], *value]))
        values[name] = value
    _settle(values, fields)
    merged = Constraints.model_validate(values)
    before, after = old.model_dump(), merged.model_dump()
    return merged, [name for name in after if after[name] != before[name]]


def _with_nodes(old: Constraints, fields: dict[str, Any]) -> dict[str, Any]:
    """ "two nodes" after "8x H100" is two machines of eight."""
    nodes, each = fields.get("nodes"), old.gpus_per_node or (old.gpu_count if not old.nodes else None)
    if each and each > _MOST_IN_A_BOX and not old.gpus_per_node:
        each = _MOST_IN_A_BOX if each % _MOST_IN_A_BOX == 0 else None
    if not nodes or not each or "gpu_count" in fields:
        return fields
    return {**fields, "gpus_per_node": each, "gpu_count": each * nodes}


def _places_together(values: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    """Countries and groups of countries stand in one list where they are alternatives ("Japan, and Europe is fine too")."""
    if not (fields.get("regions") or fields.get("countries")):
        return fields
    old = (*values["regions"], *values["countries"])
    new = (*fields.get("regions", ()), *fields.get("countries", ()))
    if not values["regions"] and not fields.get("regions"):
        return fields
    values["regions"], values["countries"] = (), ()
    return {**fields, "regions": tuple(dict.fromkeys([*old, *new])), "countries": ()}


def _settle(values: dict[str, Any], fields: dict[str, Any]) -> None:
    """What is wanted now is no longer ruled out, and the other way round."""
    for yes, no in (("providers", "not_providers"), ("gpus", "not_gpus"), ("countries", "not_countries")):
        if fields.get(yes):
            values[no] = tuple(item for item in values[no] if item not in values[yes])
        if fields.get(no):
            values[yes] = tuple(item for item in values[yes] if item not in values[no])
    if values.get("nodes") and values.get("max_nodes") and values["nodes"] > values["max_nodes"]:
        values["max_nodes"] = values["nodes"]
