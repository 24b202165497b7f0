"""Where passages disagree: two sentences or rows about one thing that give different values with one unit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from knowledge.tokens import tokens

if TYPE_CHECKING:
    from knowledge.passages import Hit

_QUANTITY = re.compile(
    r"(?<![\w.])(\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?)\s?(Tbps|Gbps|Mbps|Tbit/s|Gbit/s|Tb/s|Gb/s|Tb/秒|Gb/秒|TB/s|GB/s|MB/s|TBps|GBps|"
    r"TiB|GiB|MiB|TB|GB|MB|TFLOPS|PFLOPS|NICs?|GPUs?|vCPUs?|cores|nodes|ports|links|W|kW|GHz|MHz|ms|us|µs|%|枚|台|基|個|コア|ノード)(?![A-Za-z])"
)
_SAME_UNIT = {
    "Tbit/s": "Tbps",
    "Tb/s": "Tbps",
    "Tb/秒": "Tbps",
    "Gbit/s": "Gbps",
    "Gb/s": "Gbps",
    "Gb/秒": "Gbps",
    "TBps": "TB/s",
    "GBps": "GB/s",
    "NICs": "NIC",
    "GPUs": "GPU",
    "vCPUs": "vCPU",
    "枚": "個",
    "基": "個",
    "台": "個",
}
_IN_BASE = {"Tbps": ("Gbps", 1000.0), "TB/s": ("GB/s", 1000.0), "PFLOPS": ("TFLOPS", 1000.0)}
_SENTENCE = re.compile(r"(?<=[。！？])|(?<=[.!?])\s+|\n")
_LIKE = 0.8
_NAME = re.compile(r"^(?=.*[a-z])(?=.*\d)")
_MIN_SHARED = 4


class Statement(BaseModel):
    """One side of a disagreement: the value as written, the sentence or row it stands in, and where that is from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    value: str
    quote: str
    passage_id: str
    source: str
    title: str
    as_of: str | None


class Disagreement(BaseModel):
    """Two statements about one thing with different values; `newer` tells which has the later date, 0 where that is unknown."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    first: Statement
    second: Statement
    newer: int


def _names(words: frozenset[str] | set[str]) -> set[str]:
    """The words that name a thing, such as h100: statements on other things cannot disagree."""
    return {word for word in words if _NAME.search(word)}


def find_disagreements(hits: Sequence[Hit], limit: int = 5) -> list[Disagreement]:
    """Pairs of statements from different documents that say the same with other numbers, the most alike first.

    Two statements are about one thing where the shorter shares half of its words with the other, a name such as h100 among
    them; names in the document's title count as part of each. Values are compared with b and B apart, and tera with giga. It is a pointer for the reader, not a proof.
    """
    found: list[tuple[float, Disagreement]] = []
    statements = [
        (*one, _names(one[1]))
        for hit in hits
        for one in _statements(hit.passage_id, hit.source, hit.title, hit.section, hit.text, hit.as_of)
    ]
    for place, (first, words, values, names) in enumerate(statements):
        for second, other_words, other_values, other_names in statements[place + 1 :]:
            if names != other_names or first.source == second.source:
                continue
            shared = words & other_words
            likeness = len(shared) / max(1, min(len(words), len(other_words)))
            if len(shared) < _MIN_SHARED or likeness < _LIKE or not any(_NAME.search(token) for token in shared):
                continue
            for unit in values.keys() & other_values.keys():
                mine, theirs = values[unit], other_values[unit]
                if mine.keys() & theirs.keys():
                    continue
                one = first.model_copy(update={"value": next(iter(mine.values()))})
                two = second.model_copy(update={"value": next(iter(theirs.values()))})
                found.append((likeness, Disagreement(first=one, second=two, newer=_newer(one, two))))
    found.sort(key=lambda item: -item[0])
    return [disagreement for _, disagreement in found[:limit]]


@lru_cache(maxsize=512)
def _statements(
    passage_id: str, source: str, title: str, section: str, text: str, as_of: str | None
) -> tuple[tuple[Statement, frozenset[str], dict[str, dict[float, str]]], ...]:
    """The sentences of a passage that give a quantity, each with its words and its values by unit."""
    heading = frozenset(tokens(f"{title} {section}", stop=True))
    names = frozenset(token for token in heading if re.search(r"\d", token))
    found = []
    for raw in _SENTENCE.split(text):
        sentence = raw.strip().lstrip("-*+ ").strip()
        values = _values(sentence)
        if not values or len(sentence) > 500:
            continue
        bare = _QUANTITY.sub(" ", sentence)
        own = frozenset(token for token in tokens(bare, stop=True) if not token.isdigit())
        if len(own) >= 2:
            statement = Statement(
                value="", quote=sentence, passage_id=passage_id, source=source, title=title, as_of=as_of
            )
            found.append((statement, own | names, values))
    return tuple(found)


def _values(sentence: str) -> dict[str, dict[float, str]]:
    """Values by unit: the number in the unit's base, and how it is written."""
    out: dict[str, dict[float, str]] = {}
    for match in _QUANTITY.finditer(sentence):
        number = float(match.group(1).replace(",", ""))
        unit = _SAME_UNIT.get(match.group(2), match.group(2))
        unit, factor = _IN_BASE.get(unit, (unit, 1.0))
        out.setdefault(unit, {})[round(number * factor, 6)] = match.group().strip()
    return out


def _newer(first: Statement, second: Statement) -> int:
    if not first.as_of or not second.as_of or first.as_of == second.as_of:
        return 0
    return 1 if first.as_of > second.as_of else 2
