"""What the turn says of links: NVLink or RDMA as a condition, fabrics by name, and claims that facts can check."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

from advisor.planner.reading.phrases import hits, negated, says
from advisor.planner.reading.result import GpuMention, Premise

_SENTENCE = re.compile(r"[^。!！?？\n]+[。!！?？\n]?")


_ALONE = re.compile(
    r"(?<![a-z0-9])(?P<link>nvlink|infiniband|rdma)"
    r"(?=\s*(?:$|[,、。;]|\d{1,4}\s?(?:x|枚|基|台|ノード|nodes?|gpus?)|cheap|under |below |in |for |on |most |最安|安い|東京|国内|日本))"
)
_MOST_CHARS = 120


def link_fields(text: str, *, beside: bool = False) -> dict[str, Any]:
    """`nvlink`, `internode`, `fabrics` as conditions of a request for machines.

    `beside`: hardware is named, so that a link that merely stands beside it ("H100 8枚 InfiniBand 2ノード") is asked for.
    """
    fields: dict[str, Any] = {}
    if says("nvlink_no", text):
        fields["nvlink"] = None
    elif _wants(text, "nvlink_yes"):
        fields["nvlink"] = True
    if says("ib_no", text):
        fields["internode"], fields["fabrics"] = None, ()
    elif _wants(text, "rdma_yes"):
        fields["internode"], fields["fabrics"] = "rdma", ()
    elif _wants(text, "ib_yes"):
        several = _either_rdma(text)
        fields["internode"] = "rdma" if several else "infiniband"
        fields["fabrics"] = () if several else ("infiniband",)
    return fields or (_listed_beside(text) if beside and len(text) <= _MOST_CHARS else {})


_EITHER = re.compile(r"(?<![a-z])or(?![a-z])|または|もしくは|か(?!つ|ら)|/")


def _either_rdma(text: str) -> bool:
    """Whether one of several RDMA networks is asked for ("InfiniBand on Azure or EFA on AWS")."""
    found = sorted((h for h in hits("fabric", text) if h.value in _RDMA), key=lambda hit: hit.start)
    return any(
        a.value != b.value and _EITHER.search(text[a.end : b.start]) and not negated(text, b.start, b.end)
        for a, b in pairwise(found)
    )


_RDMA = frozenset({"infiniband", "efa", "roce"})


def _listed_beside(text: str) -> dict[str, Any]:
    """The one link of a short turn that lists what is wanted; nothing where it asks, doubts or tells of trouble."""
    found = list(_ALONE.finditer(text))
    if len(found) != 1 or says("question", text) or says("link_doubt", text) or says("current", text):
        return {}
    troubled = any(hit.value.split(":")[0] in ("troubleshoot", "explain") for hit in hits("act", text))
    if troubled or negated(text, found[0].start(), found[0].end()):
        return {}
    link = found[0].group("link")
    if link == "nvlink":
        return {"nvlink": True}
    return {"internode": link, "fabrics": ("infiniband",) if link == "infiniband" else ()}


def _wants(text: str, topic: str) -> bool:
    """A phrase that asks for the link, in a sentence that does not question it or report a filter or a failure."""
    for hit in hits(topic, text):
        if negated(text, hit.start, hit.end):
            continue
        if says("link_ones", text):
            return True
        left = max(text.rfind(mark, 0, hit.start) for mark in "。.!！?？\n") + 1
        right = min((i for i in (text.find(mark, hit.end) for mark in "。!！?？\n") if i >= 0), default=len(text))
        sentence = _without_let_go(text[left : right + 1])
        if not says("link_doubt", sentence) and not says("current", sentence):
            return True
    return False


def _without_let_go(sentence: str) -> str:
    """A sentence without the words that let another link go ("InfiniBandは不要、NVLinkだけ")."""
    for topic in ("ib_no", "nvlink_no"):
        for hit in hits(topic, sentence):
            sentence = sentence.replace(hit.text, " ")
    return sentence


def read_fabrics(text: str) -> tuple[str, ...]:
    """Links named in the text: "nvlink", "infiniband", "efa", "roce", "tcpx", "tcpxo", "ethernet"."""
    return tuple(dict.fromkeys(hit.value for hit in hits("fabric", text)))


def read_premises(
    text: str, gpus: tuple[GpuMention, ...], providers: tuple[tuple[str, int], ...]
) -> tuple[Premise, ...]:
    """Claims that a GPU or a provider has or lacks a link, and that two links are the same; at most eight."""
    found: list[Premise] = []
    for match in _SENTENCE.finditer(text):
        sentence, start, end = match.group(0).strip(), match.start(), match.end()
        links = sorted(hits("fabric", text[start:end]), key=lambda hit: hit.start)
        if not links or len(sentence) > 400:
            continue
        asked = bool(re.search(r"[?？]", sentence)) or says("asked", sentence)
        subjects = [(g.gpu, g.start) for g in gpus if g.gpu and start <= g.start < end]
        subjects += [(name, at) for name, at in providers if start <= at < end]
        names = dict.fromkeys(link.value for link in links)
        if len(names) >= 2 and says("same_as", sentence):
            first, second = list(names)[:2]
            found.append(Premise(subject=first, relation="same_as", object=second, text=sentence[:200], asked=asked))
        for subject, at in subjects:
            link = min(links, key=lambda hit: abs(hit.start + start - at))
            relation = _relation(sentence, text, at, link.start + start)
            if relation:
                found.append(
                    Premise(subject=subject, relation=relation, object=link.value, text=sentence[:200], asked=asked)
                )
    return tuple(dict.fromkeys(found))[:8]


def _relation(sentence: str, text: str, subject: int, link: int) -> Any:
    """ "has" or "lacks" where words between or after the two say so; None where the sentence only names both."""
    near = text[min(subject, link) : max(subject, link) + 40]
    if says("lacks", near):
        return "lacks"
    return "has" if says("has", near) else None
