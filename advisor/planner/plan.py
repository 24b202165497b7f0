"""From a reading to the tool calls of the turn: a table of cases, no state."""

from __future__ import annotations

from typing import Any

from advisor.answer import Workload
from advisor.planner.reading import Reading
from advisor.planner.reading.phrases import says
from advisor.planner.sizing import Call, size_calls
from advisor.selection import offer_filter

EXPLAIN_K = 20
"""Passages fetched for an explanation; the writer orders them by the questions that they answer."""
LISTED = 400
MAX_NAMES = 8
ABOUT_THE_JOB = frozenset({"why", "follow_up", "summarize", "count_scaling_question", "more_detail", "edited"})


def promised_board(reading: Reading) -> str | None:
    """The one card that the question names beside pasted output, with its board where that is said ("A100-SXM")."""
    named = {mention.gpu: mention.variant for mention in reading.mentions.gpus if mention.gpu and mention.known}
    if len(named) != 1:
        return None
    gpu, variant = next(iter(named.items()))
    variant = variant or next(iter(reading.constraints.gpu_variants), None)
    variant = variant or ("SXM" if says("sxm_board", reading.text.lower()) else None)
    return f"{gpu}-{variant}" if variant else gpu


def asks_of_its_job(reading: Reading) -> bool:
    """Whether an explanation is asked for a job of known size: then what the links give is worked out for that job."""
    job = reading.workload
    sized = job is not None and (job.params_b is not None or job.memory_gb is not None)
    if "network_enough" in reading.acts:  # of nodes that the picks need not be
        return False
    return sized and reading.intent == "explain" and bool(reading.acts & {"about_links", "does_it"})


def on_named_gpus(reading: Reading) -> Reading:
    """The reading with the cards that its question names as a condition: "does one H100 with InfiniBand …" is about an H100."""
    named = tuple(dict.fromkeys(m.gpu for m in reading.mentions.gpus if m.gpu and m.known))
    if reading.constraints.gpus or not named:
        return reading
    limits: dict[str, Any] = {"gpus": named}
    counted = [m for m in reading.mentions.gpus if m.gpu and m.known and m.total]
    if len(named) == 1 and len(counted) == 1 and not (reading.constraints.gpu_count or reading.constraints.min_gpus):
        limits |= {"gpu_count": counted[0].total, "nodes": reading.constraints.nodes or counted[0].nodes}
    return reading.model_copy(update={"constraints": reading.constraints.model_copy(update=limits)})


def next_calls(reading: Reading) -> list[Call]:
    """The calls that answer the turn, all of which can run at once; none for a refusal or a question back."""
    calls: list[Call] = []
    if reading.pasted:
        instance = next(iter(reading.mentions.instance_types), None)
        args = {"text": reading.pasted, "instance_type": instance, "lang": reading.answer_lang}
        if board := promised_board(reading):
            args["gpu"] = board
        calls.append(("diagnose", args))
    if reading.intent in ("refuse", "clarify"):
        return calls
    if reading.intent in ("picks", "no_match", "infeasible"):
        calls.append(recommend_call(reading) if is_sized(reading) else list_call(reading))
        calls += [] if fleet_size(reading) else size_calls(reading)
        calls += search_calls(reading, k=4)
    else:
        calls += size_calls(reading) if reading.alternatives and reading.intent == "explain" else []
        calls += search_calls(reading, k=EXPLAIN_K)
        if is_sized(reading) and reading.turn > 1 and reading.acts & ABOUT_THE_JOB:
            calls.append(recommend_call(reading))
        elif is_sized(reading) and asks_of_its_job(reading):
            calls.append(recommend_call(on_named_gpus(reading)))
    names = named_hardware(reading)
    if names:
        calls.append(("compare_links", {"names": names}))
    return calls


def is_sized(reading: Reading) -> bool:
    """Is there a job to size, or only a list to filter?"""
    return reading.workload is not None and "list" not in reading.acts


def recommend_call(reading: Reading) -> Call:
    """Size the job and pick offers."""
    workload = rented_for(reading)
    ran_out = {"min_total_gpu_memory_gb": more_than_ran_out(reading), "ran_out_gpu_memory_gb": ran_out_on(reading)}
    constraints = reading.constraints.model_copy(update=ran_out)
    fleet = fleet_size(reading)
    if fleet and not (constraints.gpu_count or constraints.min_gpus):
        measured = measured_gpu(reading)
        limits = {"gpu_count": fleet, "gpus_per_node": 1}
        constraints = constraints.model_copy(
            update={**limits, "gpus": constraints.gpus or ((measured,) if measured else ()), "sort": "price"}
        )
    return (
        "recommend",
        {
            "workload": workload.model_dump(mode="json", exclude_defaults=True) | {"kind": workload.kind},
            "constraints": constraints.model_dump(mode="json", exclude_defaults=True),
            "lang": reading.answer_lang,
        },
    )


def rented_for(reading: Reading) -> Workload:
    """The job, with the time of rental as the time that it has, where nothing else was said of it."""
    workload, hours = reading.workload, reading.constraints.rent_hours
    assert workload is not None
    if hours is None or workload.deadline_hours is not None:
        return workload
    sources = {**workload.sources, "deadline_hours": "stated"}
    return workload.model_copy(update={"deadline_hours": hours, "sources": sources})


def capacity(reading: Reading) -> float | None:
    """Streams that one GPU carried, as the person measured it."""
    return next((q.value for q in reading.quantities if q.meaning == "capacity_per_gpu" and q.value > 0), None)


def fleet_size(reading: Reading) -> int | None:
    """GPUs for the streams at the peak, at the capacity that the person measured; None where either is not said."""
    each, peak = capacity(reading), reading.workload.concurrency if reading.workload else None
    return -(-peak // max(1, int(each))) if each and peak and peak > each else None


def measured_gpu(reading: Reading) -> str | None:
    """The GPU on which the person measured, where just one is named before the measurement."""
    at = next((q.start for q in reading.quantities if q.meaning == "capacity_per_gpu"), None)
    if at is None:
        return None
    names = {m.gpu for m in (*reading.current, *reading.candidates, *reading.mentions.gpus) if m.gpu and m.known}
    return names.pop() if len(names) == 1 else None


def more_than_ran_out(reading: Reading) -> float | None:
    """GB that must be exceeded where one GPU ran out of memory; several GPUs can run out by their plan, not their size."""
    if "oom" not in reading.acts:
        return reading.constraints.min_total_gpu_memory_gb
    failed = [m.memory_gb for m in reading.current if (m.total or 1) == 1 and m.memory_gb]
    return max(failed) * 1.05 if failed else reading.constraints.min_total_gpu_memory_gb


def ran_out_on(reading: Reading) -> float | None:
    """GB of the largest card that ran out of memory, where the person says so and its size is known."""
    return max((m.memory_gb for m in reading.current if m.memory_gb), default=None) if "oom" in reading.acts else None


def list_call(reading: Reading) -> Call:
    """List offers that meet the constraints; for a GPU that nobody knows, those with as much memory."""
    constraints = reading.constraints
    if reading.mentions.unknown_gpus:
        memory = max((m.memory_gb for m in reading.mentions.gpus if not m.known and m.memory_gb), default=None)
        known = tuple(g for g in constraints.gpus if g not in reading.mentions.unknown_gpus)
        constraints = constraints.model_copy(
            update={"gpus": known, "min_gpu_memory_gb": constraints.min_gpu_memory_gb or (memory and 0.95 * memory)}
        )
    wanted = offer_filter(constraints, limit=LISTED)
    return "filter_offers", wanted.model_dump(mode="json", exclude_defaults=True)


def search_calls(reading: Reading, k: int) -> list[Call]:
    """Passages in the language of the answer, and the best of any language or document."""
    query = (reading.search_query or reading.text).strip()[:1000]
    if not query:
        return []
    return [("search_guides", {"query": query, "k": k, "lang": reading.answer_lang, "others": 4})]


def named_hardware(reading: Reading) -> list[str]:
    """GPU models and instance types that the turn names, in the order of the text."""
    names = [
        m.gpu if not m.variant or m.variant == "unknown" else f"{m.gpu} {m.variant}"
        for m in reading.mentions.gpus
        if m.known and m.gpu
    ]
    sellers = [p.subject for p in reading.premises if p.subject in reading.mentions.providers]
    if "networks" in reading.acts:
        sellers = list(reading.mentions.providers)
    types = (*reading.mentions.instance_types, *reading.mentions.unknown_instance_types)
    if reading.turn > 1 and not names and not types:
        fabrics = reading.mentions.fabrics
        names += reading.constraints.gpus if "nvlink" in fabrics else ()
        sellers += reading.constraints.providers if "infiniband" in fabrics else ()
    return list(dict.fromkeys([*names, *types, *sellers]))[:MAX_NAMES]
