"""Machine families of clouds ("A3 Mega", "p5en", "ND H100 v5", "高火力 PHY") with their instance types, and how many machines."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice

from advisor.planner.reading.lexicon import Lexicon
from advisor.planner.reading.phrases import says
from advisor.planner.reading.providers import ProviderMention
from advisor.planner.reading.roles import clause

_FAMILY = re.compile(
    r"(?<![a-z0-9.\-_])(?:(?P<aws>p[3-6][a-z]{0,3}|g[4-7][a-z]{0,3})"
    r"|(?P<gcp>a[2-4]x?|g[24])(?:[ -](?P<sub>mega|ultra|high|edge|max)(?:gpu)?)?)(?![a-z0-9_.]|-[a-z0-9])"
)
_FAMILY_AFTER = re.compile(
    r"\s?の?(?:インスタンス|マシン|シリーズ|ファミリー?|vm|instances?|machines?|series|family|nodes?)(?![a-z])"
)
_ANOTHER_NAME = re.compile(r"(?:nvidia|rtx|tesla)\s?$")
_MACHINES_AFTER = re.compile(
    r"\s?(?:instances?|nodes?|vms?|machines?|インスタンス|ノード)?[をがのは]?\s?"
    r"(?:x\s?(?P<times>\d{1,3})(?![\d.]|\s?(?:gb|gpu|h100|a100))|(?P<counted>\d{1,3})\s?(?:台|ノード|nodes?|instances?|machines?|vms?)(?![a-z]))"
)
_MACHINES_BEFORE = re.compile(r"(?<![\d.$¥])(\d{1,3})\s?(?:x|-?nodes?(?: of)?|台の|ノードの)?\s?$")
_MOST_MENTIONS = 24
_MOST_MACHINES = 500


@dataclass(frozen=True)
class FamilyMention:
    """A cloud's machine family ("A3 Mega", "p5") with its types."""

    start: int
    end: int
    types: tuple[str, ...]
    questioned: bool = False
    """It stands in a question about its link, so it is spoken of rather than asked for."""
    cloud: str = ""
    nodes: int | None = None


def read_families(text: str, lexicon: Lexicon, providers: list[ProviderMention]) -> list[FamilyMention]:
    """Machine families, where the cloud is named, a second word makes it one ("A3 Mega"), or "instances" follows.

    Families of `lexicon.named_families` that no other thing is called like need none of these.
    """
    named = {m.provider for m in providers if m.role != "excluded"}
    found: list[FamilyMention] = []
    for family in sorted(lexicon.named_families, key=lambda family: not family.alone):
        for match in islice(family.pattern.finditer(text), _MOST_MENTIONS):
            beside = any(other.cloud == family.cloud for other in found)  # "g6e or g5" is of one cloud
            said = family.alone or beside or family.cloud in named or bool(_FAMILY_AFTER.match(text, match.end()))
            if said and not _taken(found, match.start(), match.end()):
                found.append(_mention(text, match.start(), match.end(), family.types, family.cloud))
    on_topic = bool(found) or says("on_topic", text)
    for match in islice(_FAMILY.finditer(text), _MOST_MENTIONS):
        cloud = "aws" if match.group("aws") else "gcp"
        key = match.group("aws") or " ".join(filter(None, (match.group("gcp"), match.group("sub"))))
        types = lexicon.machine_families.get((cloud, key), ())
        said = cloud in named or bool(match.group("sub")) or bool(_FAMILY_AFTER.match(text, match.end()))
        said = said or (on_topic and cloud == "aws" and key.startswith("p"))  # "p5" beside GPUs is Amazon's
        if not types or not said or _ANOTHER_NAME.search(text[: match.start()][-10:]):
            continue
        if not _taken(found, match.start(), match.end()):
            found.append(_mention(text, match.start(), match.end(), types, cloud))
    return sorted(found, key=lambda family: family.start)


def _taken(found: list[FamilyMention], start: int, end: int) -> bool:
    return any(start < family.end and family.start < end for family in found)


def _mention(text: str, start: int, end: int, types: tuple[str, ...], cloud: str) -> FamilyMention:
    words = clause(text, start, end)
    questioned = says("link_word", words) and says("question", words)
    nodes = None
    if match := _MACHINES_AFTER.match(text, end):
        nodes = int(match.group("times") or match.group("counted"))
    elif match := _MACHINES_BEFORE.search(text[max(0, start - 12) : start]):
        nodes = int(match.group(1))
    return FamilyMention(start, end, types, questioned, cloud, nodes if nodes and 0 < nodes <= _MOST_MACHINES else None)


def family_nodes(families: list[FamilyMention]) -> dict[str, int]:
    """`nodes` where one family is asked for with a number of machines ("p5 x 4", "ND H100 v5を4台")."""
    counted = [f.nodes for f in families if f.nodes and not f.questioned]
    if len(counted) != 1 or counted[0] is None:
        return {}
    return {"nodes": counted[0]} if counted[0] > 1 else {"max_nodes": 1}
