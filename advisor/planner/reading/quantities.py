"""Numbers of the job: sequence length, tokens, images, users, requests, batch, memory, deadlines, machine counts."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from advisor.planner.reading.phrases import compile_phrase, says
from advisor.planner.reading.result import Quantity

_FILE = Path(__file__).parent / "number_patterns.csv"
_SCALE = {
    "k": 1e3, "thousand": 1e3, "千": 1e3, "万": 1e4, "百万": 1e6, "千万": 1e7, "m": 1e6, "million": 1e6, "mil": 1e6,
    "億": 1e8, "十億": 1e9, "b": 1e9, "bn": 1e9, "billion": 1e9, "兆": 1e12, "t": 1e12, "trillion": 1e12, "": 1.0,
}  # fmt: skip
_OF_PEOPLE = frozenset({"concurrency", "users", "requests_per_s", "micro_batch", "jobs"})
"""Amounts that no billion counts: the number before is a model's ("32B 同時10人")."""
_BINARY = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512}
HOURS = {
    "minute": 1 / 60, "min": 1 / 60, "分": 1 / 60, "分間": 1 / 60, "year": 8760, "yr": 8760, "年": 8760, "年間": 8760, "か月間": 730, "ヶ月間": 730,
    "ヵ月間": 730, "カ月間": 730, "ケ月間": 730, "hour": 1, "hr": 1, "h": 1, "時間": 1, "day": 24, "日": 24, "日間": 24, "week": 168, "週間": 168,
    "週": 168, "month": 730, "か月": 730, "ヶ月": 730, "ヵ月": 730, "カ月": 730, "ケ月": 730,
}  # fmt: skip


@dataclass(frozen=True)
class NumberPattern:
    """A row of `number_patterns.csv`: what a number beside these words means. `{n}` stands for a number with its scale."""

    meaning: str
    unit: str
    pattern: re.Pattern[str]


_N = r"(?<![\d.])(?P<n>\d{1,12}(?:\.\d{1,4})?)(?:\s?(?:-|~|to|から|or)\s?(?P<high>\d{1,12}(?:\.\d{1,4})?))?\s?-?(?P<scale>thousand|million|billion|trillion|mil|bn|千万|百万|十億|k|m|b|t|万|億|千|兆)?"


@cache
def number_patterns() -> tuple[NumberPattern, ...]:
    """All rows, in file order: the first that matches a place in the text takes it."""
    with _FILE.open(encoding="utf-8", newline="") as file:
        return tuple(
            NumberPattern(row["meaning"], row["unit"], compile_phrase(row["pattern"].replace("{n}", _N), row["lang"]))
            for row in csv.DictReader(file)
        )


def read_numbers(text: str) -> tuple[Quantity, ...]:
    """Every number whose meaning the words beside it tell. Of a range the higher end counts. Values in the unit of the meaning."""
    found: list[Quantity] = []
    taken: list[tuple[int, int]] = []
    for row in number_patterns():
        for match in row.pattern.finditer(text):
            start, end = match.start("n"), match.end("n")
            if any(a < end and start < b for a, b in taken):
                continue
            value = _value(match, row)
            if value is None:
                continue
            taken.append((start, end))
            found.append(
                Quantity(
                    text=match.group(0).strip(), meaning=row.meaning, value=value, start=match.start(), end=match.end()
                )
            )
    return tuple(sorted(found, key=lambda q: q.start))


def _value(match: re.Match[str], row: NumberPattern) -> float | None:
    number = float(match.group("high") or match.group("n"))
    scale = match.group("scale") or ""
    if row.unit == "tokens" and scale == "k":
        return number * (1024 if number in _BINARY else 1000)
    if row.unit == "tokens" and scale == "m" and number in (1, 2, 4, 10):
        return number * 2**20 if number in (1, 2, 4) else number * 1e6
    if row.unit == "duration":
        unit = match.group("u").rstrip("s") if match.group("u") not in ("hrs",) else "hr"
        return number * HOURS.get(unit, 1.0)
    if (row.meaning in _OF_PEOPLE or row.unit == "tokens") and scale in ("b", "bn", "t"):
        return None
    value = number * _SCALE[scale]
    if row.unit == "per_minute":
        value /= 60
    elif row.unit == "per_hour":
        value /= 3600
    elif row.unit == "per_day":
        value /= 86400
    elif row.unit == "per_month":
        value /= 86400 * 30
    elif row.unit == "tb":
        value *= 1000
    return value if 0 < value < 1e18 else None


def deadline_hours(text: str, numbers: tuple[Quantity, ...]) -> tuple[float, str] | None:
    """(hours, words) of the deadline: a stated span, or a phrase such as "by tonight" or "来週まで"; None where there is none."""
    from advisor.planner.reading.phrases import first

    spans = [q for q in numbers if q.meaning == "deadline_hours"]
    if spans:
        return spans[0].value, spans[0].text
    if found := first("deadline", text):
        return float(found.value), found.text
    if any(q.meaning in ("tokens", "images") for q in numbers) and not says("renting_span", text):
        bare = _BARE_SPAN.search(text)
        if bare is not None:
            return float(bare.group("n")) * HOURS[bare.group("u").rstrip("s")], bare.group(0).strip()
    return None


_BARE_SPAN = re.compile(
    r"(?:(?<=[、,。;.])|(?<=\s)|^)\s?(?:約|around |about )?(?P<n>\d{1,3})[ -]?"
    r"(?P<u>時間|日間|日|週間|か月|ヶ月|ヵ月|カ月|ケ月|(?:hour|day|week|month)s?(?![a-z]))(?:で|くらい|ほど|程度)?\s?(?=[、,。;.]|$)"
)
""" "7Bを1000億トークン、3ヶ月": beside an amount to train on, a span that stands alone is the time there is."""


def single_node(text: str) -> bool:
    """Whether the turn wants everything in one machine."""
    return says("one_node", text)
