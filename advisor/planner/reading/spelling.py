"""Slips of the pen in the words that carry meaning: "udner", "NVLnik", "Infinibad", "chepest", "RunPdo"."""

from __future__ import annotations

import re
from functools import lru_cache

from advisor.planner.reading.lexicon import Lexicon
from advisor.planner.reading.phrases import FOLDER

_WORD = re.compile(r"(?<![a-z0-9._/])[a-z]{4,16}(?![a-z0-9_/]|\.[a-z0-9])")

_SHORT_WORD = 4
"""In a word as short as this only two swapped letters are a slip ("huor"); another letter makes another word."""
_SHORT_KANA = 3
"""A kana spelling as short as this must not end a longer word: わかりやすい is not 安い."""


def correct(text: str, lexicon: Lexicon) -> str:
    """The normalised text with each misspelt term put right; words that are right or ordinary are not touched."""
    terms, ordinary = _terms(), _ordinary()
    for kana, term in _kana().items():
        text = re.sub((r"(?<![\u3041-\u3096])" if len(kana) <= _SHORT_KANA else "") + kana, term, text)
    return _WORD.sub(lambda m: _fixed(m.group(0), terms, ordinary), text)


@lru_cache(maxsize=1)
def _terms() -> frozenset[str]:
    return frozenset(_lines("spelling_terms.csv"))


@lru_cache(maxsize=1)
def _kana() -> dict[str, str]:
    """Terms spelt out in kana ("えぬぶいりんく", "とうきょう"), the longest first."""
    pairs = dict(line.split(",", 1) for line in _lines("spelling_kana.csv"))
    return dict(sorted(pairs.items(), key=lambda item: -len(item[0])))


@lru_cache(maxsize=1)
def _ordinary() -> frozenset[str]:
    return frozenset(_lines("spelling_ordinary.csv"))


def _lines(name: str) -> list[str]:
    with (FOLDER / name).open(encoding="utf-8") as file:
        return [line.strip() for line in file if line.strip()][1:]


def _fixed(word: str, terms: frozenset[str], ordinary: frozenset[str]) -> str:
    if word in terms or word in ordinary:
        return word
    return _nearest(word) or word


@lru_cache(maxsize=4096)
def _nearest(word: str) -> str | None:
    """The one term within an edit (two from nine letters on) of `word` that starts alike; None where none or several are."""
    found = []
    for term in _terms():
        if len(term) <= _SHORT_WORD or len(word) <= _SHORT_WORD:
            if (
                len(term) == len(word)
                and term[0] == word[0]
                and sorted(term) == sorted(word)
                and distance(word, term, 1) == 1
            ):
                found.append((1, term))
            continue
        room = 2 if len(term) >= 9 else 1
        if term[0] != word[0] or abs(len(term) - len(word)) > room:
            continue
        gap = distance(word, term, room)
        if gap <= room and not _inflected(word, term):
            found.append((gap, term))
    found.sort()
    if not found or (len(found) > 1 and found[0][0] == found[1][0]):
        return None
    return found[0][1]


def _inflected(word: str, term: str) -> bool:
    """Whether the two differ only in how they end (rents, rented), which is grammar and no slip."""
    if word[-1] == term[-1]:
        return False
    shared = next((i for i, (a, b) in enumerate(zip(word, term, strict=False)) if a != b), min(len(word), len(term)))
    return shared >= min(len(word), len(term)) - 1 and sorted(word) != sorted(term)


def distance(a: str, b: str, most: int) -> int:
    """Edits between two short words, a swap of neighbours counting one; `most` + 1 where there are more."""
    if abs(len(a) - len(b)) > most:
        return most + 1
    rows = [list(range(len(b) + 1))]
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            cost = min(rows[-1][j] + 1, row[j - 1] + 1, rows[-1][j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, rows[-2][j - 2] + 1)
            row.append(cost)
        rows.append(row)
    return rows[-1][-1]
