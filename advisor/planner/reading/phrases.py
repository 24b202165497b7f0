"""Phrase tables: what people write, in both languages, and the meaning it carries.

A table is a CSV file in this folder with the columns `topic`, `value`, `weight`, `lang`, `pattern`. A pattern is a regular
expression on normalised text; English ones match whole words, Japanese ones anywhere. `weight` is empty where it means nothing.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Phrase:
    """One row of a table."""

    topic: str
    value: str
    weight: float
    pattern: re.Pattern[str]


@dataclass(frozen=True)
class Found:
    """A phrase that stands in a text."""

    value: str
    weight: float
    start: int
    end: int
    text: str


@cache
def table() -> dict[str, tuple[Phrase, ...]]:
    """Topic → its phrases, those of one meaning and weight joined, in file order. Raises ValueError for a broken row."""
    joined: dict[tuple[str, str, str, str], list[str]] = {}
    for path in sorted(FOLDER.glob("phrases_*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                try:
                    re.compile(row["pattern"])
                except re.error as error:
                    raise ValueError(f"{path.name}: {row['pattern']!r} is not a regular expression: {error}") from error
                key = (row["topic"], row["value"], row["weight"], row["lang"])
                joined.setdefault(key, []).append(row["pattern"])
    found: dict[str, list[Phrase]] = {}
    for (topic, value, weight, lang), patterns in joined.items():
        pattern = compile_phrase("|".join(patterns), lang)
        found.setdefault(topic, []).append(Phrase(topic, value, float(weight or 1), pattern))
    return {topic: tuple(rows) for topic, rows in found.items()}


def compile_phrase(pattern: str, lang: str) -> re.Pattern[str]:
    """English patterns match whole words (letters and digits); Japanese ones match anywhere."""
    if lang == "en":
        pattern = rf"(?<![a-z0-9])(?:{pattern})(?![a-z0-9])"
    return re.compile(pattern)


def hits(topic: str, text: str) -> Iterator[Found]:
    """Every place of `text` where a phrase of the topic stands, in table order."""
    for phrase in table().get(topic, ()):
        for match in phrase.pattern.finditer(text):
            yield Found(phrase.value, phrase.weight, match.start(), match.end(), match.group(0))


def first(topic: str, text: str) -> Found | None:
    """The first phrase of the table that stands in `text`, or None."""
    return next(hits(topic, text), None)


def says(topic: str, text: str) -> bool:
    """Whether a phrase of the topic stands in `text`."""
    return any(p.pattern.search(text) for p in table().get(topic, ()))


def negated(text: str, start: int, end: int) -> bool:
    """Whether the words just before or after [start, end) rule out what stands there ("not AWS", "AWS以外")."""
    before, after = text[max(0, start - 28) : start], text[end : end + 16]
    return any(p.pattern.search(before) for p in table()["negation_before"]) or any(
        p.pattern.match(after) for p in table()["negation_after"]
    )


def relaxed(text: str, start: int, end: int) -> bool:
    """Whether the words around [start, end) say that it need no longer be so ("日本じゃなくてもいい", "need not be AWS")."""
    return says("relaxed_after", text[end : end + 24]) or says("relaxed_before", text[max(0, start - 40) : start])


def too(text: str, end: int) -> bool:
    """Whether what stands before `end` is let in beside others ("AWSでもいい", "AWS is fine too"), so it is no wish for it."""
    return any(hit.value == "too" for hit in hits("allowed_after", text[end : end + 24]))


def allowed(text: str, start: int, end: int) -> bool:
    """Whether the words around [start, end) let it in again ("やっぱりAWSもOK", "AWS is fine after all")."""
    return says("allowed_after", text[end : end + 24]) or says("allowed_before", text[max(0, start - 30) : start])
