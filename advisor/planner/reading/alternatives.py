"""What a turn weighs against each other ("2x H200 or 4x H100", "AWSとLambda", "spot or on-demand"), and what kind of question it is."""

from __future__ import annotations

import re
from itertools import pairwise

from advisor.planner.reading.families import FamilyMention
from advisor.planner.reading.phrases import first, hits, says
from advisor.planner.reading.providers import ProviderMention
from advisor.planner.reading.result import Alternative, GpuMention, QuestionType

_MOST = 4
WITHOUT = "without"
"""The second side of a link that is weighed against its absence."""
_OR = re.compile(r"(?<![a-z])(?:or|vs\.?|versus)(?![a-z])|それとも|または|か[、\s]|か$")
_SENTENCE = re.compile(r"[^。.!！?？\n]+(?:\.\d[^。.!！?？\n]*)*[。.!！?？]*")
_LAYOUTS = (
    (re.compile(r"(?<![\d.$])(\d{1,3})[ -]?(?:nodes?|machines?|box(?:es)?|servers?|hosts?) (?:of|with|x|at|each with|holding) (\d{1,3})(?!\d|b|k|\.)"), (1, 2)),
    (re.compile(r"(?<![\d.])(\d{1,3})\s?(?:ノード|台)\s?(?:x|に|で|の)?\s?(?:各|それぞれ)?\s?(\d{1,3})\s?(?:枚|基|gpu)"), (1, 2)),
    (re.compile(r"(?<![\d.])(\d{1,3})\s?(?:枚|基|gpus?|cards?)\s?(?:x|の|を|on|in)?\s?(\d{1,3})\s?(?:ノード|台|nodes?|machines?)"), (2, 1)),
)  # fmt: skip


def layouts(text: str) -> list[Alternative]:
    """Ways of spreading GPUs over machines where the turn weighs several ("1 node of 8 or 2 nodes of 4"); else none."""
    found: dict[tuple[int, int], Alternative] = {}
    for pattern, (nodes_at, each_at) in _LAYOUTS:
        for match in pattern.finditer(text):
            nodes, each = int(match.group(nodes_at)), int(match.group(each_at))
            taken = any(a.start < match.end() and match.start() < a.end for a in found.values())
            if nodes > 0 and each > 0 and not taken:
                found.setdefault(
                    (nodes, each),
                    Alternative(
                        kind="layout",
                        name=f"{nodes}x{each}",
                        nodes=nodes,
                        count=each,
                        start=match.start(),
                        end=match.end(),
                    ),
                )
    between = text[min(a.end for a in found.values()) : max(a.start for a in found.values())] if len(found) > 1 else ""
    weighed = len(found) > 1 and (weighs(text) or _OR.search(between) is not None)
    return sorted(found.values(), key=lambda a: a.start)[:_MOST] if weighed else []


def with_and_without(text: str, families: list[FamilyMention]) -> tuple[Alternative, ...]:
    """A link and its absence, where the turn asks what the difference is ("p5 with and without EFA, 2 nodes, how many times faster?")."""
    hit = first("with_without", text)
    if hit is None:
        return ()
    links = sorted([*hits("fabric", text), *hits("rdma_word", text)], key=lambda link: link.start)
    if not links:
        return ()
    link = next((one for one in links if one.value in MEANT), links[0])
    nodes = next((f.nodes for f in families if f.nodes), None)
    if nodes is None and (counted := _NODES_APART.search(text)):
        nodes = int(counted.group(1) or counted.group(2))
    side = {"kind": "fabric", "start": link.start, "end": link.end, "nodes": nodes}
    return tuple(Alternative.model_validate({**side, "name": name}) for name in (link.value, WITHOUT))


MEANT = frozenset({"nvlink", "infiniband", "efa", "roce", "tcpx", "tcpxo", "rdma"})
"""Links that a person can have or leave; Ethernet is what is left."""
_NODES_APART = re.compile(
    r"(?<![\d.$])(\d{1,3})\s?-?(?:nodes?|ノード|台|box(?:es)?|machines?|servers?|hosts?|instances?|vms?)(?![a-z目])"
    r"|(?<![a-z0-9])x\s?(\d{1,3})(?= (?:with|and|$))"
)


def weighs(text: str) -> bool:
    """Whether the turn asks to choose between things."""
    return says("choose", text) or says("either_or", text)


def read_alternatives(
    text: str,
    gpus: tuple[GpuMention, ...],
    families: list[FamilyMention],
    types: tuple[str, ...],
    providers: list[ProviderMention],
) -> tuple[Alternative, ...]:
    """Two to four sides of one kind that the turn weighs, in the order of the text; empty where it weighs nothing."""
    one_machine = len({g.gpu for g in gpus if g.gpu}) <= 1  # "slower on L40S without NVLink than on H100" weighs cards
    if one_machine and (pair := with_and_without(text, families)):
        return pair
    if sides := layouts(text):
        return tuple(sides)
    if says("indifferent", text):
        return ()
    cards = [g for g in gpus if g.role in ("candidate", "topic", "wanted") and (g.gpu or g.memory_gb)]
    joined = any(_OR.search(text[a.end : b.start]) for a, b in pairwise(cards))
    different = len({(g.gpu, g.variant, g.memory_gb, g.count, g.nodes) for g in cards}) > 1
    if different and (weighs(text) or joined or sum(g.role == "candidate" for g in cards) > 1):
        return tuple(_card(g) for g in cards[:_MOST])
    clouds = list({p.provider: p for p in providers if p.role in ("wanted", "allowed", "either")}.values())
    named = [
        Alternative(kind="instance_type", name=f.types[0], types=f.types, nodes=f.nodes, start=f.start, end=f.end)
        for f in families
    ]
    at = {t: text.find(t.removeprefix("standard_")) for t in types}
    named += [
        Alternative(
            kind="instance_type",
            name=t,
            types=(t,),
            start=max(0, at[t]),
            end=max(0, at[t]) + len(t.removeprefix("standard_")),
        )
        for t in types
        if not any(t in f.types for f in families)
    ]
    named.sort(key=lambda a: a.start)
    if len(named) > 1 and (weighs(text) or any(_OR.search(text[a.end : b.start]) for a, b in pairwise(named))):
        return tuple(named[:_MOST])
    if not weighs(text):
        return ()
    if len(clouds) > 1:
        return tuple(Alternative(kind="provider", name=p.provider, start=p.start, end=p.end) for p in clouds[:_MOST])
    for kind, topic in (("fabric", "fabric"), ("market", "market"), ("method", "method_named")):
        sides = _named_once(kind, topic, text)
        if len(sides) > 1:
            return tuple(sides[:_MOST])
    return ()


def networks_weighed(text: str, sides: tuple[Alternative, ...], providers: list[ProviderMention]) -> bool:
    """Whether the networks of two sellers are weighed ("RoCE on OCI vs InfiniBand on Azure"), not machines, jobs or prices."""
    clouds = {p.provider for p in providers if p.role != "excluded"}
    if len(clouds) < 2 or any(side.kind not in ("provider", "fabric") for side in sides):
        return False
    links = {hit.value for topic in ("fabric", "rdma_word", "network_word") for hit in hits(topic, text)}
    return bool(links & NETWORKS) and (weighs(text) or says("compares", text))


NETWORKS = MEANT - {"nvlink"} | {"network", "ethernet"}


def _named_once(kind: str, topic: str, text: str) -> list[Alternative]:
    found: dict[str, Alternative] = {}
    for hit in sorted(hits(topic, text), key=lambda hit: hit.start):
        side = Alternative.model_validate({"kind": kind, "name": hit.value, "start": hit.start, "end": hit.end})
        found.setdefault(hit.value, side)
    return list(found.values())


def _card(gpu: GpuMention) -> Alternative:
    return Alternative(
        kind="gpu",
        name=gpu.gpu or f"{gpu.memory_gb:g} GB",
        gpu=gpu.gpu,
        variant=gpu.variant,
        memory_gb=gpu.memory_gb,
        count=gpu.count,
        nodes=gpu.nodes,
        start=gpu.start,
        end=gpu.end,
    )


def kind_of_question(text: str, sides: tuple[Alternative, ...] = ()) -> QuestionType:
    """What the first sentence that asks wants to know; "none" where the turn asks nothing in words and weighs no `sides`."""
    for match in _SENTENCE.finditer(text[:4000]):
        sentence = match.group(0)
        found = next((hit.value for hit in hits("question_type", sentence)), None)
        if found is not None:
            return found  # type: ignore[return-value]
    return "which" if sides else "none"
