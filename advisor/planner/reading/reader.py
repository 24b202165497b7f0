"""Reading a turn: every part in order, then the merge with the turns before."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from advisor.planner.reading import language, pasted
from advisor.planner.reading.alternatives import kind_of_question, layouts, networks_weighed, read_alternatives
from advisor.planner.reading.conditions import (
    bare_count,
    bare_memory,
    clears,
    merged_conditions,
    numbered_fields,
    rate_in_use,
    together,
    usual_money,
)
from advisor.planner.reading.families import family_nodes, read_families
from advisor.planner.reading.followups import (
    again,
    board_change,
    memory_ones,
    moved_to,
    multiplied,
    same_elsewhere,
    span_only,
)
from advisor.planner.reading.gpus import read_gpus
from advisor.planner.reading.hardware import count_fields, gpu_fields
from advisor.planner.reading.intent import Signals, guess
from advisor.planner.reading.job import (
    NUMBER_FIELDS,
    family_default,
    is_told,
    job_fields,
    merge_job,
    only_spoken_of,
    same_family,
)
from advisor.planner.reading.lexicon import Lexicon, load_lexicon
from advisor.planner.reading.links import link_fields, read_fabrics, read_premises
from advisor.planner.reading.methods import read_engines, read_kind, read_method
from advisor.planner.reading.models import ModelMention, apart, job_model, read_models
from advisor.planner.reading.models import quantities as size_quantities
from advisor.planner.reading.money import read_money
from advisor.planner.reading.normalize import clip, normalize
from advisor.planner.reading.phrases import hits, relaxed, says
from advisor.planner.reading.places import place_fields, read_places
from advisor.planner.reading.providers import (
    ProviderMention,
    group_mentions,
    home_providers,
    inside_type,
    provider_fields,
    read_instance_types,
    read_providers,
    read_unknown_providers,
)
from advisor.planner.reading.quantities import deadline_hours, read_numbers
from advisor.planner.reading.questions import questions_back
from advisor.planner.reading.result import GpuMention, Mentions, Quantity, Reading
from advisor.planner.reading.search import search_query
from advisor.planner.reading.spans import rental_hours
from advisor.planner.reading.spelling import correct
from knowledge.gpu_names import vendor_of

_CHANGING = {
    *NUMBER_FIELDS,
    "deadline_hours",
    "users",
    "min_gpu_memory_gb",
    "job_memory_gb",
    "jobs",
    "frames",
    "limit",
}


def read(text: str, previous: Reading | None = None, *, lexicon: Lexicon | None = None) -> Reading:
    """Read one turn; `previous` is the reading of the turn before, whose job and conditions stay unless this one changes them.

    Pure and never raises for any text. Money is in US dollars at the lexicon's dated rate; `quantities` tell what was read
    where. An empty turn is `clarify` and keeps what was said before.
    """
    lexicon = lexicon or load_lexicon()
    if not any(c.isalnum() for c in text):
        return _empty(text, previous)
    question, log = pasted.split(text)
    written = normalize(clip(question))
    norm = apart(correct(written, lexicon), lexicon)
    lang = language.detect(written)
    lang = language.detect(question.lower()) if lang == "unknown" else lang
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
    providers = read_providers(norm, lexicon)
    families = read_families(norm, lexicon, providers)
    gpus = read_gpus(norm, lexicon, tuple((f.start, f.end) for f in families))
    gpus = same_elsewhere(norm, moved_to(norm, before, gpus))
    gpus = _one_machine_of_sellers(gpus, providers)
    models = read_models(norm, lexicon)
    model = job_model(norm, models, before is not None)
    numbers = read_numbers(norm)
    known_types, unknown_types = read_instance_types(norm, lexicon)
    typed = bool(known_types or unknown_types or (families and not providers))
    asked_types = tuple(dict.fromkeys([*known_types, *(t for f in families if not f.questioned for t in f.types)]))
    elsewhere = {p.provider for p in providers if p.role == "wanted"} - {f.cloud for f in families}
    if families and elsewhere and any(g.gpu for g in gpus):
        asked_types = known_types  # "AWS p5 or Lambda 8x H100" is no wish for p5 alone
    known_types = tuple(dict.fromkeys([*known_types, *(t for f in families for t in f.types)]))
    if len(known_types) + len(unknown_types) > 1:
        gpus = tuple(g.model_copy(update={"role": "topic"}) if inside_type(norm, g.start) else g for g in gpus)
    fabrics = read_fabrics(norm)
    engines = read_engines(norm)
    wanted = [g for g in gpus if g.role == "wanted"]
    old_kind = before.workload.kind if before and before.workload else None
    seq_len = next((q.value for q in numbers if q.meaning == "seq_len"), None)
    model = same_family(norm, model, before, lexicon)
    guessed = family_default(model, lexicon)
    kind = read_kind(norm, guessed or model, seq_len, old_kind)
    if kind in (None, "inference") and any(q.meaning == "audio_hours" for q in numbers):
        kind = "batch_inference"
    hard = gpu_fields(gpus)
    if any(g.gpu and relaxed(norm, g.start, g.end) for g in gpus):
        hard = {"gpus": (), "gpu_variants": (), **hard}
    counts = count_fields(norm, gpus, lang) or bare_count(norm, before) or family_nodes(families)
    counts = {} if layouts(norm) else counts
    timed = any(q.meaning in ("rent_hours", "deadline_hours") for q in numbers)
    listing = any(g.gpu for g in gpus) and not (kind or model or old_kind or timed)
    money = read_money(
        norm,
        rate_in_use(lexicon.rate, before),
        counts.get("gpu_count"),
        any(g.gpu for g in gpus),
        usual_money(before),
        listing=listing,
    )
    old = before.constraints if before else None
    named_places = read_places(norm, lexicon)
    places = place_fields(norm, lexicon, lang, old, named_places)
    of_providers = provider_fields(
        [*providers, *group_mentions(norm, lexicon)], old, soft=says("soft_provider", norm) and before is None
    )
    if "providers" not in of_providers and (at_home := home_providers(norm, lexicon)):
        of_providers |= {"providers": at_home}
    alternatives = read_alternatives(norm, gpus, families, known_types, providers)
    if sum(a.nodes is not None for a in alternatives) and len(alternatives) > 1:  # of a side, not of the wish
        counts = {name: n for name, n in counts.items() if name not in ("nodes", "max_nodes")}
    weighed = {a.name for a in alternatives if a.kind == "fabric"}
    links = (
        {}
        if weighed
        else link_fields(norm, beside=bool(counts))
        if before is not None or re.search(r"\w\W+\w", norm) or not norm.isascii()
        else {}
    )
    spot = False if says("spot_no", norm) else True if says("spot_yes", norm) else None
    spot = None if any(a.kind == "market" for a in alternatives) else spot
    sort = next((hit.value for hit in hits("sort", norm)), None)
    job_here = kind is not None or model is not None
    times = multiplied(norm, before) | memory_ones(norm, before) | board_change(norm, before)
    numbered = numbered_fields(norm, numbers, gpus)
    if any(a.kind == "layout" for a in alternatives):
        numbered.pop("gpus_per_node", None)
    if not (numbered or gpus or times or kind or model or known_types):
        numbered = bare_memory(norm)
    sides = any(a.kind in ("market", "layout") for a in alternatives)
    limits = bool(places or spot is not None or of_providers or known_types or sides)
    method = read_method(norm, kind or old_kind)
    told = deadline_hours(norm, numbers)
    deadline = told[0] if told else None
    rented = rental_hours(norm, numbers, deadline, job=job_here or old_kind is not None)
    signals = Signals(
        has_job=job_here,
        has_hardware=typed or bool(wanted),
        has_limits=limits,
        price_cap=bool(money.fields),
        hourly_cap=bool(money.fields.keys() & {"max_price_usd_hour", "max_price_usd_gpu_hour", "budget_usd_month"}),
        changed=any(q.meaning in _CHANGING for q in numbers)
        or clears(norm)
        or bool(
            kind
            or model
            or money.fields
            or places
            or of_providers
            or links
            or hard
            or spot is not None
            or sort
            or counts
            or method
            or wanted
            or times
            or rented
            or span_only(norm, before)
        ),
        follows=before is not None,
        link_wish=bool(links),
        links_compared=len(set(fabrics)) > 1
        and model is None
        and not (gpus or known_types or providers or (counts and not weighed)),
        sides=len(alternatives) > 1 and all(a.kind in ("gpu", "instance_type", "layout") for a in alternatives),
        has_model=model is not None,
        judged=any(g.role == "candidate" and g.gpu for g in gpus),
        networks_weighed=model is None
        and not (known_types or families or (any(g.count for g in gpus) and len(set(fabrics) - {"nvlink"}) < 2))
        and networks_weighed(norm, alternatives, providers),
        memory=any("memory" in name for name in numbered),
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
    asked_lang = language.asked_for(norm)
    if again(norm, before, other_language=asked_lang is not None and "summarize" not in found.acts):
        found = replace(found, intent="picks", acts=found.acts | {"recommend", "again"})
    if found.intent == "picks" and sum(g.role == "candidate" for g in gpus) > 1:
        found = replace(found, acts=found.acts | {"compare"})
    span = span_only(norm, before)
    workload_fields, sources = job_fields(norm, guessed or model, numbers, method, kind or old_kind, before)
    if span is not None and before and before.workload and before.workload.deadline_hours:
        workload_fields, sources = (
            workload_fields | {"deadline_hours": span},
            sources | {"deadline_hours": "stated"},
        )
    if guessed is not None and {"model", "params_b"} & sources.keys():
        sources |= {"model": "assumed", "params_b": "assumed"}
    workload, job_changes = merge_job(before, workload_fields, kind, sources, found, norm)
    if before is None and only_spoken_of(
        workload, found, sellers_named=bool(known_types or unknown_types or providers)
    ):
        workload, job_changes = None, []
    conditions: dict[str, Any] = {**of_providers, **places}
    if found.intent not in ("explain", "troubleshoot"):
        conditions |= {**hard, **counts, **money.fields, **links, **numbered, **times}
        conditions |= together(conditions)
        if span is not None and before and before.constraints.rent_hours:
            conditions["rent_hours"] = span
        elif rented is not None:
            conditions["rent_hours"] = rented
        conditions |= (
            {"spot": spot, "spot_only": True if spot and says("spot_only", norm) else None} if spot is not None else {}
        )
        others = any(g.gpu and g.role != "excluded" and vendor_of(g.gpu) == "amd" for g in gpus)
        conditions |= {"any_vendor": True} if others or says("any_vendor", norm) else {}
        conditions |= {"sort": sort} if sort else {}
        conditions |= {"instance_types": asked_types} if asked_types else {}
    job_changed = bool({"kind", "params_b"} & set(job_changes)) and before is not None
    constraints, changes = merged_conditions(before, norm, found, conditions, job_changed=job_changed)
    if "list" in found.acts and workload is not None and is_told(workload) and not says("explicit_list", norm):
        found = replace(found, acts=found.acts - {"list"})
    if says("monthly", norm):
        found = replace(found, acts=found.acts | {"monthly"})
    answer_lang = asked_lang or ("en" if lang == "en" else "ja")
    gpus = _by_intent(gpus, found.intent)
    current = tuple(g for g in gpus if g.role == "current")
    candidates = tuple(g for g in gpus if g.role in ("candidate", "topic"))
    unknown_gpus = tuple(dict.fromkeys(g.gpu for g in gpus if not g.known and g.gpu))
    mentions = Mentions(
        gpus=gpus,
        providers=tuple(dict.fromkeys(p.provider for p in providers)),
        models=tuple(dict.fromkeys(m.name for m in models)),
        places=tuple(dict.fromkeys(p.place.code for p in named_places)),
        instance_types=known_types,
        fabrics=fabrics,
        engines=engines,
        unknown_gpus=unknown_gpus,
        unknown_instance_types=unknown_types,
        unknown_providers=read_unknown_providers(norm, lexicon),
        other_currencies=tuple(dict.fromkeys(hit.text for hit in hits("other_currency", norm))),
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
        alternatives=alternatives,
        question_type=kind_of_question(norm, alternatives),
        current=current or (before.current if before else ()),
        premises=read_premises(norm, gpus, tuple((p.provider, p.start) for p in providers)),
        quantities=_quantities(numbers, models, norm, money.quantities, gpus),
        fx=None if says("in_dollars_again", norm) else money.fx or (before.fx if before else None),
        search_query=search_query(norm, found, before, workload),
        pasted=log,
        topic_relevance=found.relevance,
        changed=tuple(dict.fromkeys([*job_changes, *changes])) if before is not None else (),
        turn=turn,
    )
    return reading.model_copy(update={"questions_back": questions_back(reading)})


def _one_machine_of_sellers(gpus: tuple[GpuMention, ...], providers: list[ProviderMention]) -> tuple[GpuMention, ...]:
    """ "Lambda 8x H100 or RunPod 8x H100?" weighs sellers: the one machine that both are asked for is wanted."""
    weighed = [g for g in gpus if g.role == "candidate" and g.gpu]
    sizes = {(g.gpu, g.variant, g.memory_gb, g.count, g.nodes) for g in weighed}
    if len(weighed) < 2 or len(sizes) > 1 or len({p.provider for p in providers}) < 2:
        return gpus
    return tuple(g.model_copy(update={"role": "wanted"}) if g in weighed else g for g in gpus)


def _by_intent(gpus: tuple[GpuMention, ...], intent: str) -> tuple[GpuMention, ...]:
    """An explanation only speaks of hardware, and trouble is with hardware in use: neither asks for it."""
    role = {"explain": "topic", "troubleshoot": "current"}.get(intent)
    if role is None:
        return gpus
    return tuple(g.model_copy(update={"role": role}) if g.role == "wanted" else g for g in gpus)


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
