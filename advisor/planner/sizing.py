"""From a reading to the calls that judge machines: those named beside a job, those weighed against each other, one with and
without its link.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from advisor.planner.reading import Reading
from advisor.planner.reading.alternatives import WITHOUT
from advisor.planner.reading.job import is_told
from advisor.planner.reading.result import Alternative, GpuMention

Call = tuple[str, dict[str, Any]]
MAX_SIZED = 4
NODE_GPUS = 8
REFERENCE_JOBS = ({"kind": "full_ft", "params_b": 8.0}, {"kind": "full_ft", "params_b": 30.0})
"""Jobs that show what a link is worth where none is named: a smaller and a larger full fine-tune."""
NO_JOB = {"kind": "other"}
"""Machines are weighed by what they are where no job is named."""


def size_calls(reading: Reading) -> list[Call]:
    """The machines that the turn names or weighs, each judged for the job, or by what it is where no job is told."""
    job = job_of(reading)
    if contrasted := link_contrast(reading):
        jobs = [job] if job else REFERENCE_JOBS
        return [_call(reading, one, machine) for one in jobs for machine in _with_and_without(reading, contrasted)]
    machines = list(_machines(reading, job is not None))
    if job is None:
        sides = {side.kind for side in reading.alternatives} & {"gpu", "layout", "instance_type"}
        return [_call(reading, NO_JOB, m) for m in machines] if sides and len(machines) > 1 else []
    return [_call(reading, job, machine) for machine in machines]


def job_of(reading: Reading) -> dict[str, Any] | None:
    """The job as the tools take it; None where there is none to size."""
    if reading.workload is None or "list" in reading.acts:
        return None
    sides = {side.kind for side in reading.alternatives}
    if reading.intent == "explain" and sides & {"gpu", "layout"} and not is_told(reading.workload):
        return None  # "how much faster does an H200 infer than an H100?" names no job of its own
    return reading.workload.model_dump(mode="json", exclude_defaults=True) | {"kind": reading.workload.kind}


def _call(reading: Reading, job: dict[str, Any], machine: dict[str, Any]) -> Call:
    limits = {"constraints": places_of(reading), "lang": reading.answer_lang}
    return "size_workload", {"workload": job, **machine, **limits}


def _machines(reading: Reading, for_a_job: bool) -> Iterator[dict[str, Any]]:
    """Each machine once: layouts of the one card named, types and families that are weighed, cards with their number."""
    typed = {side.name for side in reading.alternatives if side.kind == "instance_type"}
    mentions = tuple(m for m in (*reading.current, *reading.candidates) if not (typed and m.role == "topic"))
    cards = list(dict.fromkeys(gpu for m in (*mentions, *reading.mentions.gpus) if (gpu := sized_gpu(m))))
    layouts = [side for side in reading.alternatives if side.kind == "layout"]
    seen: set[tuple[Any, ...]] = set()
    for machine in (
        *(_layout(cards[0], side) for side in layouts if len(cards) == 1),
        *(_type(side) for side in reading.alternatives if side.kind == "instance_type"),
        *(_card(m, gpu, mentions) for m in (() if layouts and len(cards) == 1 else mentions) if (gpu := sized_gpu(m))),
    ):
        key = (machine["gpu"], machine["gpus"], machine["nodes"])
        if key not in seen and len(seen) < MAX_SIZED:
            seen.add(key)
            yield machine if for_a_job else {name: value for name, value in machine.items() if name != "grow"}


def _card(mention: GpuMention, gpu: str, beside: tuple[GpuMention, ...]) -> dict[str, Any]:
    """A card with its number; "H100 or A100" without any is as many as the job takes."""
    named = [m for m in beside if m.gpu]
    uncounted = len({m.gpu for m in named}) > 1 and all(m.total is None for m in named)
    nodes = mention.nodes or 1
    each = {"gpu": gpu, "gpus": mention.total or nodes, "nodes": nodes}
    return each | ({"grow": True} if uncounted else {})


def _layout(gpu: str, side: Alternative) -> dict[str, Any]:
    nodes = side.nodes or 1
    return {"gpu": gpu, "gpus": (side.count or 1) * nodes, "nodes": nodes}


def _type(side: Alternative) -> dict[str, Any]:
    return {"gpu": "|".join(side.types or (side.name,)), "gpus": 1, "nodes": side.nodes or 1}


def link_contrast(reading: Reading) -> Alternative | None:
    """The link that the turn wants to see with and without, where it also names the machine."""
    sides = [side for side in reading.alternatives if side.kind == "fabric"]
    if len(sides) != 2 or sides[1].name != WITHOUT:
        return None
    named = reading.mentions.instance_types or any(sized_gpu(m) for m in reading.mentions.gpus)
    return sides[0] if named and not (sides[0].name != "nvlink" and sides[0].nodes == 1) else None


def _with_and_without(reading: Reading, link: Alternative) -> list[dict[str, Any]]:
    """The one machine that is named, with the link and without it."""
    types = reading.mentions.instance_types
    card = next((m for m in reading.mentions.gpus if sized_gpu(m)), None)
    inside = link.name == "nvlink"
    nodes = (link.nodes or (card.nodes if card else None) or 1) if inside else max(2, link.nodes or 2)
    if types or card is None:
        machine = {"gpu": "|".join(types), "gpus": nodes, "nodes": nodes}
        return [{**machine, "network": network} for network in ("as_sold", "none")]
    each = card.count or link.count or NODE_GPUS
    machine = {"gpu": sized_gpu(card), "gpus": each * nodes, "nodes": nodes}
    if inside:
        return [{**machine, "nvlink": nvlink} for nvlink in ("yes", "no")]
    return [{**machine, "network": network} for network in ("rdma", "none")]


PLACES = {"providers", "not_providers", "regions", "countries", "not_countries", "spot"}


def places_of(reading: Reading) -> dict[str, Any]:
    """The limits on sellers and places, for the price of a machine that the person names."""
    return reading.constraints.model_dump(mode="json", exclude_defaults=True, include=PLACES)


CLASS_WIDTH = 0.03
"""How far a stated size may be from a class of cards."""


@cache
def memory_classes() -> tuple[tuple[float, str], ...]:
    """(GB, a common GPU of that memory): what "a 24 GB card" is sized as."""
    with (Path(__file__).parent / "memory_classes.csv").open(encoding="utf-8", newline="") as file:
        return tuple((float(row["memory_gb"]), row["gpu"]) for row in csv.DictReader(file))


def sized_gpu(mention: GpuMention) -> str | None:
    """The name under which a mention is sized; for a bare size a common card of it; None where nothing is known."""
    if mention.gpu is None and mention.memory_gb:
        near = [(abs(size - mention.memory_gb), gpu) for size, gpu in memory_classes()]
        gap, gpu = min(near)
        return gpu if gap <= CLASS_WIDTH * mention.memory_gb else None
    if not mention.known or mention.gpu is None:
        return None
    memory = f"{mention.memory_gb:g}GB" if mention.memory_gb else None
    parts = (mention.gpu, mention.variant, memory)
    return " ".join(part for part in parts if part and part != "unknown")
