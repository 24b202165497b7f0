"""The diagnosis itself: read once, judge, find problems, word them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from advisor.messages import catalogue
from advisor.messages import text as say

from . import bandwidth, lines, picture, sold, tables, verdict
from .dispatch import Dispatcher
from .facts import Reading
from .lines import Place
from .model import Diagnosis, Evidence, Lang, Problem, Severity
from .rules import RULES, Finding
from .rules.network import uses_rdma

Texts = Mapping[str, str] | Iterable[tuple[str, Iterable[str]]]
"""Either name → whole text, or (name, lines) pairs that are read as they come."""

_ORDER: dict[Severity, int] = {"error": 0, "warning": 1, "info": 2}
MAX_LINE = 20_000
"""Characters of a line that are read; a longer one (a binary, a JSON dump) is cut here before any pattern sees it."""


def read(texts: Texts) -> Reading:
    """One pass over all texts. Memory does not grow with their size beyond what is found in them."""
    reading = Reading()
    dispatcher = Dispatcher(reading)
    place = Place()
    pairs = texts.items() if isinstance(texts, Mapping) else texts
    for name, body in pairs:
        place.file, place.number = lines.sound(name), 0
        dispatcher.begin()
        for raw in lines.split(lines.sound(body)) if isinstance(body, str) else body:
            place.number += 1
            place.raw = raw if len(raw) <= MAX_LINE else raw[:MAX_LINE]
            dispatcher.feed(lines.plain(raw) if "\x1b" in raw else place.raw, place)
        dispatcher.end()
    return reading


def diagnose(
    texts: Texts,
    *,
    lang: Lang = "en",
    instance_type: str | None = None,
    offers_lookup: Callable[[str], Any] | None = None,
    gpu: str | None = None,
) -> Diagnosis:
    """Say what pasted outputs show about the links of a machine.

    `texts`: name → text, or (name, lines) pairs for large files. `instance_type`: what was ordered; without it a name
    that stands in the text is taken. `offers_lookup`: instance type → its row (an object or mapping with the link fields
    of an offer) or None. `gpu`: the card and board that was promised ("A100-SXM"), for text that names none. Never raises
    on odd text. Evidence is verbatim: store only `Diagnosis.masked()`.
    """
    reading = read(texts)
    promised_only = bool(gpu) and not reading.gpu_names
    if gpu and promised_only:
        reading.gpu_names[gpu] = Evidence(file="", line=0, text=gpu)
    found = verdict.judge(reading)
    promise = sold.compare(reading, found, instance_type, offers_lookup, lang)
    measured = bandwidth.judge_rows(reading, found, lang)
    findings = [finding for rule in RULES for finding in rule(reading, found)]
    findings += bandwidth.findings(reading, found, lang)
    findings += sold.findings(promise, reading)
    if promised_only:
        reading.gpu_names.clear()
    problems = sorted((_problem(f, lang) for f in findings if f.evidence.text), key=lambda p: _ORDER[p.severity])
    return Diagnosis(
        lang=lang,
        kinds=tuple(reading.kinds),
        nvlink=found.nvlink,
        nvlink_pairs=found.nvlink_pairs,
        transport=found.transport,
        rdma=uses_rdma(found),  # type: ignore[arg-type]
        gpudirect=found.gpudirect,
        problems=tuple(problems),
        summary=_summary(reading, found, problems, lang),
        seen=_seen(reading, found),
        sold=promise,
        bandwidth=measured,
        topology=picture.topology_of(reading),
    )


def _wording(code: str, part: str, variant: str) -> str:
    key = f"diagnose.{code}.{part}.{variant}"
    return key if variant and key in catalogue() else f"diagnose.{code}.{part}"


def _problem(finding: Finding, lang: Lang) -> Problem:
    row = tables.codes()[finding.code]
    values = finding.values
    return Problem(
        code=finding.code,
        severity=finding.severity or row["severity"],  # type: ignore[arg-type]
        title=say(f"diagnose.{finding.code}.title", lang, **values),
        evidence=finding.evidence,
        explanation=say(_wording(finding.code, "meaning", finding.variant), lang, **values),
        action=say(_wording(finding.code, "action", finding.variant), lang, **values),
        source=row["source"] or None,
    )


def _summary(reading: Reading, found: verdict.Verdict, problems: list[Problem], lang: Lang) -> str:
    if not reading.kinds and not problems:
        return say("diagnose.summary.nothing", lang)
    real = [p for p in problems if p.severity != "info"]
    parts = [
        say(f"diagnose.summary.nvlink.{found.nvlink}", lang),
        say(f"diagnose.summary.transport.{found.transport}", lang),
    ]
    if found.gpudirect != "unknown":
        parts.append(say(f"diagnose.summary.gpudirect.{found.gpudirect}", lang))
    if verdict.over_xgmi(reading):
        parts[0] = say("diagnose.summary.xgmi", lang)
        parts.append(say("diagnose.summary.xgmi_pair", lang))
    mesh = picture.direct_mesh_links(reading)
    if mesh:
        parts.append(say("diagnose.summary.direct_mesh", lang, links=mesh))
    if real:
        titles = ("、" if lang == "ja" else "; ").join(dict.fromkeys(p.title for p in real))
        parts.insert(0, say("diagnose.summary.problems", lang, count=len(real), titles=titles))
        parts = [part for part in parts if part.rstrip("。.") not in {p.title.rstrip("。.") for p in real}]
    else:
        parts.append(say("diagnose.summary.clean", lang))
    return ("" if lang == "ja" else " ").join(parts)


def _seen(reading: Reading, found: verdict.Verdict) -> dict[str, str | int | float | list[str]]:
    seen: dict[str, str | int | float | list[str]] = {"nodes": found.nodes}
    if reading.gpu_names:
        seen["gpu_names"] = list(reading.gpu_names)
    if reading.hosts:
        seen["hosts"] = list(reading.hosts)[:64]
    if reading.nranks:
        seen["ranks"] = reading.nranks
    for name in ("NCCL", "RCCL"):
        if name in reading.versions:
            seen[f"{name.lower()}_version"] = reading.versions[name]
    if reading.domains:
        seen["fabric_devices"] = list(reading.domains)
    devices = sorted({device for found_devices in reading.hcas.values() for device in found_devices})
    if devices:
        seen["rdma_devices"] = devices
    if reading.settings:
        seen["settings"] = [f"{s.name}={s.value}" for s in reading.settings[:64]]
    return seen
