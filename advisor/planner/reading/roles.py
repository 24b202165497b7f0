"""In what role a GPU is mentioned: asked for, weighed, in use, ruled out or only spoken of."""

from __future__ import annotations

import re

from advisor.planner.reading.phrases import negated, relaxed, says
from advisor.planner.reading.result import GpuMention, Role


def roles_of(text: str, mentions: list[GpuMention]) -> list[Role]:
    """Reads each mention's clause; in "A, B or C?" every one is a candidate."""
    roles: list[Role] = [_role(text, mention, mentions) for mention in mentions]
    choosing = says("choose", text) or _or_between(text, mentions)
    for i in range(len(mentions) - 1):
        if roles[i] == roles[i + 1] == "wanted" and _joined(text, mentions, i):
            between = text[mentions[i].end : mentions[i + 1].start]
            if _OR.search(between) and (
                _counts_differ(mentions[i], mentions[i + 1]) or _one_beside(text, mentions[i], mentions[i + 1])
            ):
                roles[i] = roles[i + 1] = "candidate"
            elif _INSTEAD.search(between):
                asked = says("question", clause(text, mentions[i].start, mentions[i].end))
                roles[i], roles[i + 1] = ("candidate", "candidate") if asked else ("wanted", "topic")
    for i, mention in enumerate(mentions):
        if roles[i] != "wanted":
            continue
        near = [j for j in (i - 1, i + 1) if 0 <= j < len(mentions) and _joined(text, mentions, min(i, j))]
        if near and choosing:
            roles[i] = "candidate"
        elif any(roles[j] in ("excluded", "current") and _listed(text, mentions, min(i, j)) for j in near):
            roles[i] = next(roles[j] for j in near if roles[j] in ("excluded", "current"))
        elif mention.start > 0 and roles.count("wanted") > 1 and choosing:
            roles[i] = "candidate"
    return roles


_OR = re.compile(r"(?<![a-z])(?:or|vs\.?|versus)(?![a-z])|それとも|または|か、?\s?$|vs|^と$")
_INSTEAD = re.compile(
    r"(?<![a-z])(?:instead of|rather than|over|in place of)(?![a-z])|の?代わりに|ではなく|じゃなくて?"
)


def _counts_differ(a: GpuMention, b: GpuMention) -> bool:
    """Whether two mentions ask for different numbers or sizes, so that they can be no list of equals."""
    return _size(a) != _size(b)


def _one_beside(text: str, a: GpuMention, b: GpuMention) -> bool:
    """ "MI300X or one H200": the number before the second name alone makes each a machine of its own."""
    return a.count is None and b.count is not None and text[b.start : b.start + 1].isdigit()


def _size(mention: GpuMention) -> tuple[int, int, float | None]:
    return mention.count or 1, mention.nodes or 1, None if mention.gpu else mention.memory_gb


def _or_between(text: str, mentions: list[GpuMention]) -> bool:
    """ "L4 or A10 for this?": two mentions joined by "or" in a question."""
    for i in range(len(mentions) - 1):
        between = text[mentions[i].end : mentions[i + 1].start]
        if re.search(r"(?<![a-z])or(?![a-z])|それとも|か", between) and _joined(text, mentions, i):
            rest = text[mentions[i + 1].end : mentions[i + 1].end + 120]
            if re.match(r"[^.!。！]*[?？]", rest) and not re.search(r"(?:under|below|less than|以下|以内|未満)", rest):
                return True
    return False


def _joined(text: str, mentions: list[GpuMention], i: int) -> bool:
    between = text[mentions[i].end : mentions[i + 1].start]
    return len(between) <= 26 and not re.search(r"[.。!！?？\n]", between)


def _listed(text: str, mentions: list[GpuMention], i: int) -> bool:
    between = text[mentions[i].end : mentions[i + 1].start]
    return bool(re.fullmatch(r"\s?(?:,|、|/|・|or|and|nor|と|や|か|&)\s?(?:a |an )?", between))


def clause(text: str, start: int, end: int) -> str:
    """The sentence or clause around [start, end), at most 200 characters to each side."""
    left, right = max(0, start - 200), min(len(text), end + 200)
    breaks = [
        m.end() + left
        for m in re.finditer(
            r"[。!！?？;\n…]|\.\s|(?:,|、)\s?(?:but|but then|or should|or do|でも|だが|それとも)", text[left:start]
        )
    ]
    begin = breaks[-1] if breaks else left
    match = re.search(r"[。!！?？;\n…]|\.(?:\s|$)|(?:,|、)\s?(?:but|or should|or do|でも|それとも)", text[end:right])
    return text[begin : end + match.end() if match else right]


def _role(text: str, mention: GpuMention, mentions: list[GpuMention]) -> Role:
    if relaxed(text, mention.start, mention.end):
        return "topic"
    if negated(text, mention.start, mention.end):
        return "excluded"
    words = clause(text, mention.start, mention.end)
    if mention.asked_apart:
        return "candidate"
    if says("current", words):
        return "current"
    others = any(m is not mention and m.text in words for m in mentions)
    if says("sufficiency", words) or (others and says("choose", words)):
        return "candidate"
    before = text[max(0, mention.start - 40) : mention.start]
    if says("candidate_before", before):
        return "candidate"
    if says("failed", text) and not says("request", words):
        return "current"
    return "wanted"
