"""When nothing matches: unknown names, near names, and which condition to loosen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from advisor.messages import catalogue, text
from advisor.planner.writing.figures import usd
from knowledge.places import country_name

MOST_PLACES = 3
"""Names of one kind in a sentence."""


def nothing_matches(reading: Any, results: Any, lang: str) -> list[str]:
    """What is unknown, else that no row matches, and the near misses with their counts."""
    parts = unknown_names(reading, results, lang)
    if not parts:
        asked = asked_words(reading.constraints, lang)
        parts = [text("writing.no_match.of", lang, asked=asked) if asked else text("writing.no_match", lang)]
    if results.page is not None:
        counts: dict[str, int] = {}
        for miss in results.page.near_misses:
            words = constraint_words(miss.field, lang)
            counts[words] = max(miss.count, counts.get(words, 0))
        lines = [text("writing.no_match.near", lang, what=what, count=count) for what, count in counts.items()]
        parts += [f"- {line}" for line in lines[:3]]
    return parts


def asked_words(c: Any, lang: str) -> str:
    """The conditions of a list as the person gave them, in a few words each."""
    places = [country_name(code, lang) for code in c.countries[:MOST_PLACES]] if not c.regions else list(c.regions)
    items = [*c.providers[:MOST_PLACES], *c.instance_types[:MOST_PLACES], *c.gpus[:MOST_PLACES]]
    if c.gpu_count or c.gpus_per_node:
        items.append(text("writing.asked.gpus", lang, n=c.gpu_count or c.gpus_per_node))
    if c.nodes and c.nodes > 1:
        items.append(text("writing.asked.nodes", lang, n=c.nodes))
    items += [*places, *(["NVLink"] if c.nvlink else [])]
    if c.internode:
        items.append("InfiniBand" if c.internode == "infiniband" else "RDMA")
    for key, value in (("hour", c.max_price_usd_hour), ("gpu_hour", c.max_price_usd_gpu_hour)):
        if value is not None:
            items.append(text(f"writing.asked.{key}", lang, price=usd(value)))
    if c.min_gpu_memory_gb:
        items.append(text("writing.asked.memory", lang, gb=f"{c.min_gpu_memory_gb:g}"))
    if c.spot:
        items.append(text("writing.spot", lang))
    return text("writing.join.and", lang).join(items) if len(items) > 1 else ""


def unknown_names(reading: Any, results: Any, lang: str) -> list[str]:
    """A sentence for each GPU or instance type that nobody here has heard of."""
    mentions = reading.mentions
    near = {m.text: m.nearest for m in mentions.gpus if not m.known}
    parts = []
    for name in mentions.unknown_gpus:
        close = next(
            (n for shown, n in near.items() if name.lower() in shown.lower() or shown.lower() in name.lower()), ()
        )
        close = alike(name, close)
        words = text("writing.unknown_gpu.near", lang, names=", ".join(close)) if close else ""
        parts.append(text("writing.unknown_gpu", lang, name=name, near=words))
    near_types = {row["name"]: row["near"] for row in results.links if row["kind"] == "near"}
    for name in mentions.unknown_instance_types:
        parts.append(text("writing.unknown_type", lang, name=name))
        if near_types.get(name):
            items = text("writing.join", lang).join(near_types[name])
            parts.append(text("writing.unknown_type.near", lang, names=items))
    return parts


def alike(name: str, close: Sequence[str]) -> list[str]:
    """Of the names that are close in spelling those that begin with the same letters ("H150": H100, not GTX 1650)."""
    letters = re.match(r"[a-z ]*", name.lower())
    head = letters.group(0).strip() if letters else ""
    return [n for n in close if not head or n.lower().startswith(head)]


def constraint_words(name: str, lang: str) -> str:
    """A constraint's name in words."""
    key = f"writing.constraint.{name}"
    return text(key, lang) if key in catalogue() else name


def loosened_words(names: Sequence[str], lang: str) -> str:
    """Several constraints in words."""
    return text("writing.join", lang).join(dict.fromkeys(constraint_words(name, lang) for name in names))
