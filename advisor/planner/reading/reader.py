"""Reading a turn: every part in order, then the merge with the turns before."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

from advisor.answer import Constraints, ValueSource, Workload
from advisor.planner.reading import language, pasted
from advisor.planner.reading.changes import merge_constraints, merge_workload
from advisor.planner.reading.gpus import read_gpus
from advisor.planner.reading.hardware import count_fields, gpu_fields
from advisor.planner.reading.intent import Guess, Signals, guess
from advisor.planner.reading.lexicon import Lexicon, load_lexicon
from advisor.planner.reading.links import link_fields, read_fabrics, read_premises
from advisor.planner.reading.methods import read_engines, read_kind, read_method
from advisor.planner.reading.models import ModelMention, active_params, job_model, read_models
from advisor.planner.reading.models import quantities as size_quantities
from advisor.planner.reading.money import read_money
from advisor.planner.reading.normalize import clip, normalize, squash
from advisor.planner.reading.phrases import hits, says
from advisor.planner.reading.places import place_fields, read_places
from advisor.planner.reading.providers import (
    provider_fields,
    read_instance_types,
    read_providers,
    read_unknown_providers,
)
from advisor.planner.reading.quantities import deadline_hours, read_numbers
from advisor.planner.reading.questions import questions_back
from advisor.planner.reading.result import GpuMention, Mentions, Quantity, Reading
from advisor.planner.reading.search import search_query
from advisor.planner.reading.spelling import correct

_NUMBER_FIELDS = (
    "seq_len", "micro_batch", "global_batch_seqs", "tokens", "images", "concurrency", "tensor_parallel", "pipeline_parallel",
    "expert_parallel", "context_parallel", "lora_rank", "input_tokens", "output_tokens", "requests_per_s",
)  # fmt: skip
_CHANGING = {
    *_NUMBER_FIELDS,
    "deadline_hours",
    "users",
    "min_gpu_memory_gb",
    "job_memory_gb",
    "jobs",
    "frames",
    "limit",
}
_WHOLE = {
    "seq_len", "micro_batch", "global_batch_seqs", "concurrency", "tensor_parallel", "pipeline_parallel", "expert_parallel",
    "context_parallel", "lora_rank", "input_tokens", "output_tokens",
}  # fmt: skip
USERS_AT_ONCE = 0.1
"""Share of named users held to be waiting for an answer at one time, where no concurrency is stated."""


def read(text: str, previous: Reading | None = None, *, lexicon: Lexicon | None = None) -> Reading:
    """Read one turn; `previous` is the reading of the turn before, whose job and conditions stay unless this one changes them.

    Pure and never raises for any text. Money is in US dollars at the lexicon's dated rate; `quantities` tell what was read
    where. An empty turn is `clarify` and keeps what was said before.
    """
    lexicon = lexicon or load_lexicon()
    if not any(c.isalnum() for c in text):
        return _empty(text, previous)
    question, log = pasted.split(text)
    norm = correct(normalize(clip(question)), lexicon)
    lang = language.detect(norm)
    if lang == "unknown" and previous is not None:
        lang = previous.answer_lang
    fresh = previous is None or says("new_topic", norm)
    before = None if fresh else previous
    return _read(text, norm, log, lang, before, lexicon, 1 if previous is None else previous.turn + 1)


def _empty(text: str, previous: Reading | None) -> Reading:
    if previous is None:
        return Reading(text=text, lang="unknown", answer_lang="ja", intent="clarify", acts=frozenset({"empty"}))
    kept = {
        "intent": "clarify",
        "acts": frozenset({"empty"}),
        "text": text,
        "changed": (),
        "pasted": None,
        "lang": "unknown",
    }
    return previous.model_copy(
        update={**kept, "turn": previous.turn + 1, "quantities": (), "premises": (), "search_query": ""}
    )


def _read(
    text: str, norm: str, log: str | None, lang: Any, before: Reading | None, lexicon: Lexicon, turn: int
) -> Reading:
    gpus = read_gpus(norm, lexicon)
    models = read_models(norm, lexicon)
    model = job_model(norm, models, before is not None)
    numbers = read_numbers(norm)
    providers = read_providers(norm, lexicon)
    known_types, unknown_types = read_instance_types(norm, lexicon)
    fabrics = read_fabrics(norm)
    engines = read_engines(norm)
    wanted = [g for g in gpus if g.role == "wanted"]
    old_kind = before.workload.kind if before and before.workload else None
    seq_len = next((q.value for q in numbers if q.meaning == "seq_len"), None)
    model = _same_family(norm, model, before, lexicon)
    guessed = _default(model, lexicon)
    kind = read_kind(norm, model, seq_len, old_kind)
    if kind in (None, "inference") and any(q.meaning == "audio_hours" for q in numbers):
        kind = "batch_inference"
    hard = gpu_fields(gpus)
    counts = count_fields(norm, gpus, lang) or _bare_count(norm, before)
    money = read_money(norm, lexicon.rate, counts.get("gpu_count"), any(g.gpu for g in gpus), _usual_money(before))
    places = place_fields(norm, lexicon, lang)
    spot = False if says("spot_no", norm) else True if says("spot_yes", norm) else None
    sort = next((hit.value for hit in hits("sort", norm)), None)
    job_here = kind is not None or model is not None
    numbered = _numbered(numbers, gpus)
    limits = bool(places or spot is not None or provider_fields(providers) or known_types)
    method = read_method(norm, kind or old_kind)
    signals = Signals(
        has_job=job_here,
        has_hardware=bool(wanted or known_types or unknown_types),
        has_limits=limits,
        price_cap=bool(money.fields),
        hourly_cap=bool(money.fields.keys() & {"max_price_usd_hour", "max_price_usd_gpu_hour"}),
        changed=any(q.meaning in _CHANGING for q in numbers)
        or _clears(norm)
        or bool(kind or model or money.fields or places or spot is not None or sort or counts or method or wanted),
        follows=before is not None,
        pasted=log is not None,
        counted=bool(numbered or counts),
        numbers=len(numbers),
        names=len(gpus)
        + len(providers)
        + len(models)
        + len(known_types)
        + len(unknown_types)
        + len(fabrics)
        + len(engines),
    )
    found = guess(norm, signals)
    if found.intent == "picks" and sum(g.role == "candidate" for g in gpus) > 1:
        found = replace(found, acts=found.acts | {"compare"})
    workload_fields, sources = _workload_fields(norm, guessed or model, numbers, method, kind or old_kind, before)
    if guessed is not None and {"model", "params_b"} & sources.keys():
        sources |= {"model": "assumed", "params_b": "assumed"}
    workload, job_changes = _merge_job(before, workload_fields, kind, sources, found, norm)
    conditions: dict[str, Any] = {**provider_fields(providers), **places}
    if found.intent not in ("explain", "troubleshoot"):
        conditions |= {**hard, **counts, **money.fields, **link_fields(norm), **numbered}
        conditions |= {"spot": spot} if spot is not None else {}
        conditions |= {"sort": sort} if sort else {}
        conditions |= {"instance_types": known_types} if known_types else {}
    job_changed = bool({"kind", "params_b"} & set(job_changes)) and before is not None
    constraints, changes = _merge_conditions(before, norm, found, conditions, job_changed=job_changed)
    if "list" in found.acts and workload is not None and _is_told(workload) and not says("explicit_list", norm):
        found = replace(found, acts=found.acts - {"list"})
    answer_lang = language.asked_for(norm) or ("en" if lang == "en" else "ja")
    gpus = _by_intent(gpus, found.intent)
    current = tuple(g for g in gpus if g.role == "current")
    candidates = tuple(g for g in gpus if g.role in ("candidate", "topic"))
    unknown_gpus = tuple(dict.fromkeys(g.gpu for g in gpus if not g.known and g.gpu))
    mentions = Mentions(
        gpus=gpus,
        providers=tuple(dict.fromkeys(p.provider for p in providers)),
        models=tuple(dict.fromkeys(m.name for m in models)),
        places=tuple(dict.fromkeys(p.place.code for p in read_places(norm, lexicon))),
        instance_types=known_types,
        fabrics=fabrics,
        engines=engines,
        unknown_gpus=unknown_gpus,
        unknown_instance_types=unknown_types,
        unknown_providers=read_unknown_providers(norm, lexicon),
    )
    reading = Reading(
        text=text,
        lang=lang,
        answer_lang=answer_lang,
        intent=found.intent,
        acts=found.acts,
        workload=workload,
        constraints=constraints,
        mentions=mentions,
        candidates=candidates or (before.candidates if before and not job_changes else ()),
        current=current or (before.current if before else ()),
        premises=read_premises(norm, gpus, tuple((p.provider, p.start) for p in providers)),
        quantities=_quantities(numbers, models, norm, money.quantities, gpus),
        fx=money.fx or (before.fx if before else None),
        search_query=search_query(norm, found, before, workload),
        pasted=log,
        topic_relevance=found.relevance,
        changed=tuple(dict.fromkeys([*job_changes, *changes])) if before is not None else (),
        turn=turn,
    )
    return reading.model_copy(update={"questions_back": questions_back(reading)})


def _same_family(
    norm: str, model: ModelMention | None, before: Reading | None, lexicon: Lexicon
) -> ModelMention | None:
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


_BARE_COUNT = re.compile(
    r"^\W*(?:ok|and|or|so|then|what about|how about|what if|with|make it|じゃあ|では)?,?\s*(\d{1,5})"
    r"(?:\s?(?:instead|then|だと|なら|にしたら|にして))?[\s?.!。]*$"
)


def _bare_count(norm: str, before: Reading | None) -> dict[str, int]:
    """ "128 instead" after a number of GPUs is another number of GPUs."""
    match = _BARE_COUNT.match(norm)
    if match is None or before is None or before.constraints.gpu_count is None or int(match.group(1)) < 1:
        return {}
    return {"gpu_count": int(match.group(1))}


def _usual_money(before: Reading | None) -> str | None:
    """The one money limit that the conversation has, or None."""
    if before is None:
        return None
    names = ("max_price_usd_gpu_hour", "max_price_usd_hour", "budget_usd_month", "budget_usd")
    present = [name for name in names if getattr(before.constraints, name) is not None]
    return present[0] if len(present) == 1 else None


def _default(model: ModelMention | None, lexicon: Lexicon) -> ModelMention | None:
    """The model that a family's bare name mostly stands for, or None."""
    if model is None or model.model is not None or model.params_b is not None:
        return None
    found = lexicon.defaults.get(squash(model.name))
    if found is None:
        return None
    return ModelMention(found, found.name, found.params_b, found.active_params_b, model.start, model.end)


def _workload_fields(
    norm: str,
    model: ModelMention | None,
    numbers: tuple[Quantity, ...],
    method: dict[str, Any],
    kind: str | None,
    before: Reading | None,
) -> tuple[dict[str, Any], dict[str, ValueSource]]:
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
    for name in _NUMBER_FIELDS:
        values = [q.value for q in numbers if q.meaning == name]
        value = max(values) if name == "concurrency" and values else next(iter(values), None)
        if value is not None:
            fields[name] = int(min(value, 10**9)) if name in _WHOLE else value
            sources[name] = "stated"
    if found := deadline_hours(norm, numbers):
        fields["deadline_hours"] = found[0]
        sources["deadline_hours"] = "stated"
    jobs = next((q.value for q in numbers if q.meaning in ("jobs", "frames")), None)
    if jobs is not None and kind in ("render", "hpc", "video", "other", None):
        fields["independent_jobs"] = int(min(jobs, 10**9))
        sources["independent_jobs"] = "stated"
    needs = next((q.value for q in numbers if q.meaning == "job_memory_gb"), None)
    if needs is not None:
        fields["memory_gb"] = needs
        sources["memory_gb"] = "stated"
    users = next((q.value for q in numbers if q.meaning == "users"), None)
    if users is not None and "concurrency" not in fields and kind in ("inference", "moe_inference"):
        fields["concurrency"] = max(1, math.ceil(min(users, 10**9) * USERS_AT_ONCE))
        sources["concurrency"] = "assumed"
    return fields, sources


def _merge_job(
    before: Reading | None,
    fields: dict[str, Any],
    kind: str | None,
    sources: dict[str, ValueSource],
    found: Guess,
    norm: str,
) -> tuple[Workload | None, list[str]]:
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


def _numbered(numbers: tuple[Quantity, ...], gpus: tuple[GpuMention, ...]) -> dict[str, Any]:
    value = next((q.value for q in numbers if q.meaning == "min_gpu_memory_gb"), None)
    bare = next((g.memory_gb for g in gpus if g.gpu is None and g.role == "wanted"), None)
    best = max(filter(None, (value, bare)), default=None)
    fields: dict[str, Any] = {"min_gpu_memory_gb": best} if best and best <= 2000 else {}
    for name in ("min_total_gpu_memory_gb", "max_gpu_memory_gb"):
        limit = next((q.value for q in numbers if q.meaning == name), None)
        if limit is not None and limit <= 1e6:
            fields[name] = limit
    rows = next((q.value for q in numbers if q.meaning == "limit"), None)
    if rows is not None and 1 <= rows <= 100:
        fields["limit"] = int(rows)
    per_node = next((q.value for q in numbers if q.meaning == "gpus_per_node"), None)
    if per_node and 1 <= per_node <= 1000:
        fields["gpus_per_node"] = int(per_node)
    return fields


def _is_told(job: Workload) -> bool:
    """Whether a job is known well enough to be sized rather than only listed for."""
    return any(value is not None for value in (job.params_b, job.memory_gb, job.independent_jobs, job.images))


def _by_intent(gpus: tuple[GpuMention, ...], intent: str) -> tuple[GpuMention, ...]:
    """An explanation only speaks of hardware, and trouble is with hardware in use: neither asks for it."""
    role = {"explain": "topic", "troubleshoot": "current"}.get(intent)
    if role is None:
        return gpus
    return tuple(g.model_copy(update={"role": role}) if g.role == "wanted" else g for g in gpus)


_CLEARING = {
    "clear_places": {"regions", "countries", "not_countries"},
    "clear_providers": {"providers", "not_providers"},
    "clear_gpus": {"gpus", "gpu_variants", "not_gpus"},
    "clear_budget": {"budget_usd", "budget_usd_month", "max_price_usd_hour", "max_price_usd_gpu_hour"},
    "clear_count": {"gpu_count", "min_gpus", "max_gpus", "nodes", "max_nodes", "gpus_per_node"},
}


def _clears(norm: str) -> bool:
    return any(says(topic, norm) for topic in _CLEARING)


def _merge_conditions(
    before: Reading | None, norm: str, found: Guess, fields: dict[str, Any], *, job_changed: bool
) -> tuple[Constraints, list[str]]:
    old = before.constraints if before else Constraints()
    if found.intent == "refuse" or (before is not None and found.intent in ("explain", "troubleshoot")):
        return old, []
    cleared = {name for topic, names in _CLEARING.items() if says(topic, norm) for name in names}
    if "regions" in cleared:
        fields = {name: value for name, value in fields.items() if name not in ("regions", "countries")}
    return merge_constraints(
        old, fields, cleared, added=before is not None and says("add_to", norm), job_changed=job_changed
    )


def _quantities(
    numbers: tuple[Quantity, ...],
    models: list[ModelMention],
    norm: str,
    money: tuple[Quantity, ...],
    gpus: tuple[GpuMention, ...],
) -> tuple[Quantity, ...]:
    counts = [
        Quantity(text=g.text, meaning="gpu_count", value=float(g.total or 0), start=g.start, end=g.end)
        for g in gpus
        if g.total
    ]
    spans = [(q.start, q.end) for q in money] + [(m.start, m.end) for m in models]
    kept = [
        q for q in numbers if not any(a < q.end and q.start < b and q.meaning in ("users", "jobs") for a, b in spans)
    ]
    return tuple(sorted([*kept, *size_quantities(models, norm), *money, *counts], key=lambda q: (q.start, q.meaning)))
