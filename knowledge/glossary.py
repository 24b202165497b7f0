"""The field's terms in English and Japanese: a row a concept, so that a question in one language reaches text in the other."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from knowledge.errors import DataError
from knowledge.tokens import normalize, stem

PATH = Path(__file__).parent / "data" / "glossary.csv"
PROVIDERS = Path(__file__).parent / "data" / "providers.csv"
MARK = "§"
_WORD = re.compile(r"[A-Za-z0-9]+")
PROVIDER = "provider-"
_PLAIN_WORDS = frozenset(
    [
        "together",
        "prime",
        "foundry",
        "packet",
        "modal",
        "thunder",
        "genesis",
        "lambda",
        "latitude",
        "foundry",
        "高火力",
        "バスト",
    ]
)


@dataclass(frozen=True)
class Match:
    """A term found in a normalized text: where, and the token of its concept."""

    start: int
    end: int
    concept: str


class Glossary:
    """Finds the terms of a table of concepts in normalized text; the longest term at a place wins."""

    def __init__(self, rows: list[dict[str, str]]) -> None:
        self._latin: dict[str, list[tuple[tuple[str, ...], str]]] = {}
        self._japanese: dict[str, str] = {}
        for row in rows:
            concept = MARK + row["concept"].strip()
            for term in row["en"].split("|") + row["ja"].split("|"):
                term = normalize(term.strip())
                if not term:
                    continue
                if term.isascii():
                    words = tuple(_stem_words(term))
                    if not words:
                        continue
                    self._latin.setdefault(words[0], []).append((words, concept))
                else:
                    self._japanese[term] = concept
        for terms in self._latin.values():
            terms.sort(key=lambda item: -len(item[0]))
        self._lengths: dict[str, list[int]] = {}
        for term in self._japanese:
            self._lengths.setdefault(term[:2], []).append(len(term))
        for start, lengths in self._lengths.items():
            self._lengths[start] = sorted({*lengths, *self._lengths.get(start[0], ())}, reverse=True)
        self._starts = re.compile("|".join(_pairs(self._japanese)) or r"(?!)")

    def find(self, text: str) -> list[Match]:
        """All terms in a normalized text, left to right, none inside another."""
        return sorted([*self._find_latin(text), *self._find_japanese(text)], key=lambda match: match.start)

    def _find_latin(self, text: str) -> Iterator[Match]:
        stems = [stem(word) for word in _WORD.findall(text)]
        known = self._latin
        hits = [at for at, word in enumerate(stems) if word in known]
        if not hits:
            return
        places = [found.span() for found in _WORD.finditer(text)]
        after = 0
        for at in hits:
            if at < after:
                continue
            for term, concept in known[stems[at]]:
                end = at + len(term)
                if len(term) == 1 or (tuple(stems[at:end]) == term and _together(text, places[at:end])):
                    yield Match(places[at][0], places[end - 1][1], concept)
                    after = end
                    break

    def _find_japanese(self, text: str) -> Iterator[Match]:
        if text.isascii():
            return
        after = 0
        lengths, terms = self._lengths, self._japanese
        for found in self._starts.finditer(text):
            at = found.start()
            if at < after:
                continue
            for length in lengths.get(text[at : at + 2], lengths.get(text[at], [])):
                concept = terms.get(text[at : at + length])
                if concept and at + length <= len(text) and not _inside_katakana(text, at, at + length):
                    yield Match(at, at + length, concept)
                    after = at + length
                    break


def _pairs(terms: Collection[str]) -> Iterator[str]:
    """Patterns of where a term can start: any of the Japanese first characters, or a Latin one before a fitting second."""
    firsts = {term[0] for term in terms}
    japanese = {first for first in firsts if not first.isascii()}
    if japanese:
        yield f"[{re.escape(''.join(sorted(japanese)))}]"
    latin = sorted(firsts - japanese)
    if latin:
        seconds = sorted({term[1:2] for term in terms if term[0].isascii()})
        yield f"[{re.escape(''.join(latin))}](?=[{re.escape(''.join(seconds))}])"


def _together(text: str, places: Sequence[tuple[int, int]]) -> bool:
    """Whether nothing but marks and blanks stands between words: in 1台にはどのGPU the words 1 and GPU are no term."""
    return not any(
        character.isalpha() for first, second in pairwise(places) for character in text[first[1] : second[0]]
    )


def _inside_katakana(text: str, start: int, end: int) -> bool:
    """A katakana term inside a longer katakana word is another word (レール in トレールズ)."""
    return (_kana(text[start]) and start > 0 and _kana(text[start - 1])) or (
        _kana(text[end - 1]) and end < len(text) and _kana(text[end]) and text[end] != "ー"
    )


def _kana(character: str) -> bool:
    return "\u30a1" <= character <= "\u30fa" or character == "ー"


def _stem_words(term: str) -> list[str]:
    return [stem(word) for word in _WORD.findall(term)]


@lru_cache(maxsize=4)
def load_glossary(path: Path = PATH) -> Glossary:
    """The shipped glossary: columns concept, en, ja; ways of writing divided by `|`. Raises DataError where a column is missing."""
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        missing = {"concept", "en", "ja"} - set(reader.fieldnames or ())
        if missing:
            raise DataError(f"{path.name} lacks the columns {sorted(missing)}.")
        return Glossary([*reader, *_providers()])


def _providers() -> list[dict[str, str]]:
    """The providers as concepts, by the names in their own table; names that are plain words or too short are left out."""
    if not PROVIDERS.is_file():
        return []
    rows = []
    with PROVIDERS.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            names = [row["provider"], re.sub(r"\s*[(（].*", "", row["name"]), re.sub(r"\s*[(（].*", "", row["name_ja"])]
            names += row["aliases"].split("|")
            kept = [
                name.strip() for name in names if len(name.strip()) > 2 and name.strip().lower() not in _PLAIN_WORDS
            ]
            latin = [name for name in kept if name.isascii()]
            rows.append(
                {
                    "concept": PROVIDER + row["provider"],
                    "en": "|".join(latin),
                    "ja": "|".join(name for name in kept if not name.isascii()),
                }
            )
    return rows
