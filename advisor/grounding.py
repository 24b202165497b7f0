"""The check that guards every language model: no figure, name, link claim or citation that no tool result supports.

The text is taken apart into lines and sentences. A sentence that holds an unsupported money figure or instance name, or a
link claim that a fact contradicts, is removed and counted; a citation mark without a passage is dropped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from advisor.answer import Answer, Citation
from advisor.messages import text as words
from advisor.planner.writing.citing import sentences

MONEY = re.compile(
    r"(?:US\$|USD\s?|\$|[¥￥])\s?(?P<a>\d[\d,]*(?:\.\d+)?)\s?(?P<au>[kKmM万億]?)"
    r"|(?P<b>\d[\d,]*(?:\.\d+)?)\s?(?P<bu>[万億]?)\s?(?:円|ドル|USD|JPY|yen|dollars?)"
)
UNIT = {"k": 1e3, "K": 1e3, "m": 1e6, "M": 1e6, "万": 1e4, "億": 1e8, "": 1.0}
INSTANCE = re.compile(
    r"(?<![A-Za-z0-9_./-])(?:[a-z]{1,2}\d+[a-z0-9]*(?:-[a-z0-9]+)?\.(?:metal|\d*x?large)[a-z0-9-]*|Standard_[A-Za-z0-9_]+|a[234]x?-[a-z0-9]+-\d+g(?:-[a-z0-9]+)?|"
    r"(?:BM|VM)\.GPU[A-Za-z0-9_.-]*|gpu_\d+x_[a-z0-9_]+|g2-standard-\d+)(?![A-Za-z0-9_])"
)
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
NEGATION = re.compile(
    r"\b(?:no|not|without|lacks?|never|none|neither|isn't|doesn't|don't|cannot)\b|n't\b|なし|無し|ない|ません|ではなく|非対応|不要",
    re.IGNORECASE,
)
HOURS = (24, 168, 720, 730, 744)
TOLERANCE = 0.02


@dataclass(frozen=True)
class Grounded:
    """The text that may be shown, the citations it uses, and notes on what was removed."""

    text: str
    citations: tuple[Citation, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class LinkFact:
    """What is known of one name: "yes", "partial", "no" or "unknown" for NVLink, and the kind of network."""

    nvlink: str
    fabric: str = "unknown"


def ground(
    text: str, answer: Answer, results: Any, question: str, facts: Mapping[str, LinkFact] | None = None
) -> Grounded:
    """Check a language model's text against the turn's results; `answer` is the planner's own for the same results."""
    support = _support(answer, results, question)
    figures = _figures(answer, results, question)
    known = {**(facts or {}), **_link_facts(results, answer)}
    kept: list[str] = []
    removed: list[str] = []
    for line in text.splitlines():
        units = [line] if line.lstrip().startswith(("|", "```")) else (sentences(line) or [line])
        good = []
        for unit in units:
            reason = _unsupported(unit, figures, support, known)
            if reason:
                removed.append(reason)
            else:
                good.append(unit)
        if good or not line.strip():
            lead = line[: len(line) - len(line.lstrip())]
            joined = (" " if not re.search(r"[\u3040-\u30ff]", line) else "").join(part.strip() for part in good)
            kept.append(lead + joined if len(units) > 1 else (good[0] if good else ""))
    body, citations = _citations("\n".join(kept).strip(), results)
    if not re.search(r"\w{3}", body):
        body, citations = answer.text, answer.citations
    if removed:
        body += "\n\n> " + words("writing.removed", answer.lang, count=len(removed))
    return Grounded(body, citations, tuple(removed))


def gpu_link_facts(gpus: Iterable[Any]) -> dict[str, LinkFact]:
    """The GPU models, lower case, that have no NVLink in any board form."""
    linked = {spec.gpu.lower() for spec in gpus if spec.nvlink_gb_s or spec.gpu_variant == "superchip"}
    return {spec.gpu.lower(): LinkFact("no") for spec in gpus if spec.gpu.lower() not in linked}


def _unsupported(unit: str, figures: list[float], support: str, known: Mapping[str, LinkFact]) -> str | None:
    for match in MONEY.finditer(unit):
        value = _value(match)
        if value and not any(abs(value - f) <= max(TOLERANCE * abs(f), 0.006) for f in figures):
            return f"money: {match.group(0).strip()}"
    for match in INSTANCE.finditer(unit):
        if match.group(0).lower() not in support:
            return f"instance: {match.group(0)}"
    return _contradicted(unit, known)


def _contradicted(unit: str, known: Mapping[str, LinkFact]) -> str | None:
    lower = unit.lower()
    negated = bool(NEGATION.search(unit))
    for name, fact in known.items():
        if not re.search(rf"(?<![a-z0-9.-]){re.escape(name)}(?![a-z0-9-])", lower):
            continue
        if "nvlink" in lower and (
            (fact.nvlink == "no" and not negated) or (fact.nvlink == "yes" and _denies(lower, "nvlink"))
        ):
            return f"link: {name} NVLink"
        wrong_fabric = fact.fabric not in ("unknown", "infiniband")
        if "infiniband" in lower and not negated and wrong_fabric:
            return f"link: {name} InfiniBand"
    return None


def _denies(lower: str, link: str) -> bool:
    return bool(
        re.search(rf"(?:no|lacks|without|not have) {link}|{link}(?:は|が|も)?(?:なし|無し|ない|ありません)", lower)
    )


def _value(match: re.Match[str]) -> float:
    digits = match.group("a") or match.group("b")
    unit = match.group("au") if match.group("a") else match.group("bu")
    return float(digits.replace(",", "")) * UNIT[unit or ""]


def _figures(answer: Answer, results: Any, question: str) -> list[float]:
    found: list[float] = []
    dumped = answer.model_dump(mode="json", exclude={"text", "ms", "tool_calls", "charts", "citations"})
    for value in (dumped, *_artifacts(results)):
        found += _numbers(value)
    found += [float(n.replace(",", "")) for n in NUMBER.findall(question)]
    for hit in results.hits:
        found += [_value(m) for m in MONEY.finditer(hit.text)]
    rate = answer.fx.rate if answer.fx else None
    if rate:
        found += [f * rate for f in found] + [f / rate for f in found]
    return found + [f * h for f in found for h in HOURS]


def _numbers(value: Any) -> Iterable[float]:
    if isinstance(value, bool) or value is None:
        return []
    if isinstance(value, int | float):
        return [float(value)]
    if isinstance(value, dict):
        return [n for item in value.values() for n in _numbers(item)]
    if isinstance(value, list | tuple):
        return [n for item in value for n in _numbers(item)]
    return [_value(m) for m in MONEY.finditer(value)] if isinstance(value, str) else []


def _artifacts(results: Any) -> list[Any]:
    parts: list[Any] = [list(results.links), list(results.assessments)]
    if results.page is not None:
        parts.append(results.page.model_dump(mode="json"))
    if results.recommendation is not None:
        parts.append(results.recommendation.model_dump(mode="json", by_alias=True, exclude={"charts"}))
    return parts


def _support(answer: Answer, results: Any, question: str) -> str:
    parts = [question, json.dumps(_artifacts(results), default=str), *(hit.text for hit in results.hits)]
    parts += [p.instance_type for p in (*answer.picks, *answer.alternatives)]
    return "\n".join(parts).lower()


def _link_facts(results: Any, answer: Answer) -> dict[str, LinkFact]:
    found: dict[str, LinkFact] = {}
    offers = [*answer.picks, *answer.alternatives, *(results.page.offers if results.page is not None else [])]
    for offer in offers:
        found[offer.instance_type.lower()] = LinkFact(offer.nvlink, offer.internode_fabric)
    for row in results.links:
        if row["kind"] == "type":
            found[row["name"].lower()] = LinkFact(row["offer"]["nvlink"], row["offer"]["internode_fabric"])
    return found


def _citations(text: str, results: Any) -> tuple[str, tuple[Citation, ...]]:
    from advisor.planner.writing.citing import Citations

    hits = results.numbered
    given = Citations()

    def renumber(match: re.Match[str]) -> str:
        hit = hits.get(int(match.group(1)))
        return "" if hit is None else given.mark(hit, hit.text)

    def with_space(match: re.Match[str]) -> str:
        mark = renumber(match)
        return (" " if match.group(0)[0] == " " else "") + mark if mark else ""

    return re.sub(r"\s?\[(\d{1,3})\](?!\()", with_space, text), given.rows()
