"""Conditions of a turn: limits that numbers name, limits that are lifted, and the merge with those of the turns before."""

from __future__ import annotations

import re
from typing import Any

from advisor.answer import Constraints
from advisor.planner.reading.changes import merge_constraints
from advisor.planner.reading.intent import Guess
from advisor.planner.reading.lexicon import Rate
from advisor.planner.reading.money import STATED
from advisor.planner.reading.phrases import says
from advisor.planner.reading.result import GpuMention, Quantity, Reading
from advisor.planner.reading.roles import clause

_BARE_COUNT = re.compile(
    r"^\W*(?:(?:ok|and|or|so|then|what about|how about|what if|if|with|on|make it|what would|for|just|only|try|i use|we use|じゃあ|では|なら|もし)[, ]*)*\s*(\d{1,5})"
    r"\s?(?P<unit>枚|基|台|ノード|x(?![a-z0-9])|gpus?|cards?|nodes?|machines?)?(?:を|で|に|の|は)?"
    r"(?:\s?(?:instead|then|of them|cost|だと|なら|だったら|の場合|場合|にしたら|にして|する|した|と|は|どう|いくら|料金|価格|月額|合計|で|です|でしょう|ください|お願い|します|か))*[\s?.!。、]*$"
)
_MACHINES = ("台", "ノード", "node", "nodes", "machine", "machines")


def bare_count(norm: str, before: Reading | None) -> dict[str, int]:
    """ "128 instead" after a number of GPUs is another number of GPUs; so is "2枚なら?", after any turn about GPUs."""
    match = _BARE_COUNT.match(norm)
    if match is None or before is None or int(match.group(1)) < 1:
        return {}
    unit, old = match.group("unit"), before.constraints
    if unit in _MACHINES:
        return {"nodes": int(match.group(1))} if old.gpu_count or old.gpus or old.instance_types else {}
    if old.gpu_count is None and not (unit and (old.gpus or old.instance_types)):
        return {}
    return {"gpu_count": int(match.group(1))}


def usual_money(before: Reading | None) -> str | None:
    """The one money limit that the conversation has, or None."""
    if before is None:
        return None
    names = ("max_price_usd_gpu_hour", "max_price_usd_hour", "budget_usd_month", "budget_usd")
    present = [name for name in names if getattr(before.constraints, name) is not None]
    return present[0] if len(present) == 1 else None


def rate_in_use(rate: Rate | None, before: Reading | None) -> Rate | None:
    """The rate that the person told in an earlier turn, else the lexicon's."""
    if before is not None and before.fx is not None and before.fx.source == STATED:
        return Rate(before.fx.rate, before.fx.as_of, before.fx.source)
    return rate


def together(fields: dict[str, Any]) -> dict[str, int]:
    """ "8 GPUs a node, 4 nodes" is 32 GPUs."""
    each, nodes, count = fields.get("gpus_per_node"), fields.get("nodes"), fields.get("gpu_count")
    return {"gpu_count": each * nodes} if each and nodes and count in (None, each) else {}


_BARE_MEMORY = re.compile(
    r"(?<![\d.$¥x])(\d{2,3})\s?gb(?![a-z])(?!\s?(?:/|ps|ram(?![a-z])|disk|ssd|nvme|storage|of (?:data|disk|storage|ram)|dataset|data|の?(?:データ|ディスク|ストレージ|ファイル|ram)))"
)
_CARD_SIZES = (10.0, 300.0)


def bare_memory(norm: str) -> dict[str, Any]:
    """ "48GB under $0.5/hr": in a turn that names no GPU, model or job, a size is that of a card."""
    match = _BARE_MEMORY.search(norm)
    if match is None or says("sufficiency", norm):
        return {}
    size = float(match.group(1))
    return {"min_gpu_memory_gb": size} if _CARD_SIZES[0] <= size <= _CARD_SIZES[1] else {}


MEMORY_CLASS = 1.2
""" "80 GB cards" are those of that size: 80 to 96 GB, not every larger one."""


def numbered_fields(norm: str, numbers: tuple[Quantity, ...], gpus: tuple[GpuMention, ...]) -> dict[str, Any]:
    """Limits that plain numbers set: memory of a card and in all (GB), GPUs a machine, rows wanted.

    A class of cards that the turn asks about ("is one 24 GB card enough?") is no limit.
    """
    value = next((q.value for q in numbers if q.meaning == "min_gpu_memory_gb"), None)
    bare = next((g.memory_gb for g in gpus if g.gpu is None and g.role == "wanted"), None)
    best = max(filter(None, (value, bare)), default=None)
    fields: dict[str, Any] = {"min_gpu_memory_gb": best} if best and best <= 2000 else {}
    classes = (q for q in numbers if q.meaning == "gpu_memory_class_gb")
    named = next((q.value for q in classes if not says("sufficiency", clause(norm, q.start, q.end))), None)
    if named and named <= 2000:
        fields |= {"min_gpu_memory_gb": named, "max_gpu_memory_gb": MEMORY_CLASS * named}
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


_CLEARING = {
    "clear_places": {"regions", "countries", "not_countries"},
    "clear_providers": {"providers", "not_providers"},
    "other_providers": {"providers"},
    "clear_gpus": {"gpus", "gpu_variants", "not_gpus"},
    "clear_budget": {"budget_usd", "budget_usd_month", "max_price_usd_hour", "max_price_usd_gpu_hour"},
    "clear_count": {"gpu_count", "min_gpus", "max_gpus", "nodes", "max_nodes", "gpus_per_node"},
}


def clears(norm: str) -> bool:
    """Whether the turn lifts a limit ("location doesn't matter", "予算は気にしない")."""
    return any(says(topic, norm) for topic in _CLEARING)


def merged_conditions(
    before: Reading | None, norm: str, found: Guess, fields: dict[str, Any], *, job_changed: bool
) -> tuple[Constraints, list[str]]:
    """(conditions of the conversation after this turn, names of those that it changed). Explanations change none."""
    old = before.constraints if before else Constraints()
    if found.intent == "refuse" or (before is not None and found.intent in ("explain", "troubleshoot")):
        return old, []
    cleared = {name for topic, names in _CLEARING.items() if says(topic, norm) for name in names}
    if "regions" in cleared:
        fields = {name: value for name, value in fields.items() if name not in ("regions", "countries")}
    return merge_constraints(
        old, fields, cleared, added=before is not None and says("add_to", norm), job_changed=job_changed
    )
