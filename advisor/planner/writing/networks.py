"""The networks of two sellers, as they sell them: a verdict, then the nodes that both have beside each other."""

from __future__ import annotations

from typing import Any

from advisor.messages import text
from advisor.planner.writing.figures import FABRIC_NAMES
from knowledge.facts import load_facts
from knowledge.providers import provider_table

LEVEL = 0.15
"""Differences of the effective rate up to this are within what tuning and load make of a network."""
SHOWN = 5


def network_lines(reading: Any, rows: tuple[Any, ...], lang: str) -> list[str]:
    """Which of two sellers' networks carries more between 8-GPU nodes; empty where the turn weighs none."""
    if "networks" not in reading.acts:
        return []
    sides = [row for row in rows if row["kind"] == "provider"][:2]
    if len(sides) < 2:
        return []
    a, b = sides
    bare = [side for side in sides if not side["networks"]]
    if bare:
        return [text("writing.networks.unknown", lang, name=seller_name(bare[0]["name"]))]
    named = {mention.gpu for mention in reading.mentions.gpus if mention.gpu}
    of_a, of_b = (_of(side, set(reading.mentions.fabrics)) for side in sides)
    common = [gpu for gpu in of_a if gpu in of_b]
    asked = [gpu for gpu in common if gpu in named]
    pairs = [(of_a[gpu], of_b[gpu]) for gpu in asked or common] or [(a["networks"][0], b["networks"][0])]
    lacking = [_lacks(gpu, side, lang) for gpu in sorted(named) for side in sides if not asked and _without(side, gpu)]
    verdict = [*_verdict(a["name"], b["name"], pairs, lang), *_no_rdma(a["name"], b["name"], pairs, lang)]
    lacking += [_other_kind(side, reading, lang) for side in sides if _lacks_kind(side, reading)]
    parts = [(" " if lang == "en" else "").join([*lacking, *verdict]), _table(a["name"], b["name"], pairs, lang)]
    fabrics = list(dict.fromkeys(one["fabric"] for pair in pairs for one in pair))
    return [*parts, *figures(fabrics, lang)]


def _of(side: dict[str, Any], named: set[str]) -> dict[str, dict[str, Any]]:
    """A seller's networks by GPU: those of the kinds that the turn names, where the seller has one of them."""
    rows = [one for one in side["networks"] if one["fabric"] in named] or side["networks"]
    return {one["gpu"]: one for one in rows}


def _without(side: dict[str, Any], gpu: str) -> bool:
    return all(one["gpu"] != gpu for one in side["networks"])


def _lacks_kind(side: dict[str, Any], reading: Any) -> bool:
    """Whether the one network that the turn names is none of the seller's."""
    named = [name for name in reading.mentions.fabrics if name in FABRIC_NAMES and name != "ethernet"]
    return len(named) == 1 and all(one["fabric"] != named[0] for one in side["networks"])


def _other_kind(side: dict[str, Any], reading: Any, lang: str) -> str:
    named = next(name for name in reading.mentions.fabrics if name in FABRIC_NAMES and name != "ethernet")
    own = FABRIC_NAMES.get(side["networks"][0]["fabric"], side["networks"][0]["fabric"])
    return text(
        "writing.networks.other_kind", lang, name=seller_name(side["name"]), fabric=FABRIC_NAMES[named], own=own
    )


def _lacks(gpu: str, side: dict[str, Any], lang: str) -> str:
    return text("writing.networks.lacks", lang, name=seller_name(side["name"]), gpu=gpu)


def _verdict(a: str, b: str, pairs: list[tuple[dict[str, Any], dict[str, Any]]], lang: str) -> list[str]:
    """Level, or the one with the higher effective rate, on most of the nodes that both sell; then the nodes where it differs."""
    rated = [(x, y, effective(x) / effective(y)) for x, y in pairs if effective(x) and effective(y)]
    if not rated:
        return [text("writing.networks.rates", lang, a=seller_name(a), b=seller_name(b))]
    level = [one for one in rated if 1 / (1 + LEVEL) <= one[2] <= 1 + LEVEL]
    ahead = [one for one in rated if one[2] > 1 + LEVEL]
    behind = [one for one in rated if one[2] < 1 / (1 + LEVEL)]
    if len(level) >= len(ahead) + len(behind):
        x, y, _ = level[0]
        same = [one for one in level if one[0]["gbit_s"] == x["gbit_s"] and one[1]["gbit_s"] == y["gbit_s"]]
        values = _values(a, b, x, y) | {"gpu": _list([one[0]["gpu"] for one in same], lang)}
        said = [text("writing.networks.level", lang, **values)]
        said += [text("writing.networks.more", lang, factor=_times(r), **_values(a, b, x, y)) for x, y, r in ahead]
        return said + [
            text("writing.networks.more", lang, factor=_times(1 / r), **_values(b, a, y, x)) for x, y, r in behind
        ]
    first, others = (ahead, behind) if len(ahead) >= len(behind) else (behind, ahead)
    (x, y, ratio), turned = first[0], first is behind
    values = _values(b, a, y, x) if turned else _values(a, b, x, y)
    said = [text("writing.networks.ahead", lang, factor=_times(1 / ratio if turned else ratio), **values)]
    for key, rows in (("level_for", level), ("but", others)):
        if rows:
            said.append(text(f"writing.networks.{key}", lang, gpus=_list([one[0]["gpu"] for one in rows], lang)))
    return said


def _no_rdma(a: str, b: str, pairs: list[tuple[dict[str, Any], dict[str, Any]]], lang: str) -> list[str]:
    """For each seller the nodes whose network is no RDMA."""
    said = []
    for side, name in ((0, a), (1, b)):
        lacking = [pair[side] for pair in pairs if pair[side]["rdma"] == "no"]
        for fabric in dict.fromkeys(one["fabric"] for one in lacking):
            gpus = _list([one["gpu"] for one in lacking if one["fabric"] == fabric], lang)
            values = {"name": seller_name(name), "network": FABRIC_NAMES.get(fabric, fabric), "gpus": gpus}
            said.append(text("writing.networks.no_rdma", lang, **values))
    return said


def _times(ratio: float) -> str:
    return f"{ratio:.2g}"


def _list(names: list[str], lang: str) -> str:
    return ("、" if lang == "ja" else ", ").join(dict.fromkeys(names))


def effective(network: dict[str, Any]) -> float:
    """Gb/s a node that large collectives reach, as the estimates count it; 0 where no rate is known."""
    spec = load_facts().fabrics.get(network["fabric"])
    return (network["gbit_s"] or 0.0) * (spec.efficiency if spec else 0.0)


def _values(a: str, b: str, x: dict[str, Any], y: dict[str, Any]) -> dict[str, Any]:
    return {
        "a": seller_name(a),
        "b": seller_name(b),
        "fa": FABRIC_NAMES.get(x["fabric"], x["fabric"]),
        "fb": FABRIC_NAMES.get(y["fabric"], y["fabric"]),
        "x": f"{x['gbit_s']:,.0f}",
        "y": f"{y['gbit_s']:,.0f}",
        "gpu": x["gpu"] if x["gpu"] == y["gpu"] else f"{x['gpu']} / {y['gpu']}",
    }


def _table(a: str, b: str, pairs: list[tuple[dict[str, Any], dict[str, Any]]], lang: str) -> str:
    head = f"| {text('writing.networks.node', lang)} | {seller_name(a)} | {seller_name(b)} |\n| --- | --- | --- |"
    lines = [f"| {_node(x, y)} | {_cell(x, lang)} | {_cell(y, lang)} |" for x, y in pairs[:SHOWN]]
    return "\n".join([head, *lines])


def _node(x: dict[str, Any], y: dict[str, Any]) -> str:
    names = dict.fromkeys(f"{one['gpus']}× {one['gpu']}" for one in (x, y))
    return " / ".join(names)


def _cell(one: dict[str, Any], lang: str) -> str:
    rate = f" {one['gbit_s']:,.0f} Gb/s" if one["gbit_s"] else ""
    name = FABRIC_NAMES.get(one["fabric"], one["fabric"])
    return f"{name}{rate} {text('writing.rdma.' + one['rdma'], lang)} `{one['instance_type']}`"


def figures(names: list[str], lang: str) -> list[str]:
    """The share of the line rate that large collectives reach and the latency, of each network; nothing for fewer than two."""
    known = load_facts().fabrics
    sides = [known[name] for name in names if name in known]
    if len(sides) < 2:
        return []
    items = [
        text(
            "writing.fabric.figures",
            lang,
            name=FABRIC_NAMES.get(side.fabric, side.fabric),
            rdma=text(f"writing.rdma.{side.rdma}", lang).strip("()（）"),
            share=f"{side.efficiency:.0%}",
            latency=f"{side.latency_us:g}",
        )
        for side in sides
    ]
    return [text("writing.fabric.weighed", lang, items=text("writing.join", lang).join(items))]


def seller_name(name: str) -> str:
    """The seller's own name, where the table has it."""
    seller = provider_table().get(name)
    return seller.name if seller else name
