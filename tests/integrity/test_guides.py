"""The guides: complete in both languages, sourced, and in agreement with the data tables."""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
GUIDES = ROOT / "knowledge" / "guides"
GPUS = ROOT / "knowledge" / "data" / "gpus.csv"

LANGUAGES = ("en", "ja")
AREAS = {
    "concept", "gpu", "fabric", "workload", "glossary", "disagreement",
    "provider", "trouble", "after-renting", "before-renting", "cost",
}  # fmt: skip
REQUIRED = ("id", "area", "question", "also", "keywords", "as_of", "sources")
SHARED = ("id", "area", "as_of", "sources", "keywords", "facts")
LENGTH = {"en": (90, 260), "ja": (220, 1000)}
"""Bounds of a body: words in English, characters without blanks in Japanese."""

KANA = re.compile(r"[\u3040-\u30ff]")
NUMBER = r"(\d+(?:\.\d+)?)"
UNITS = "GB/s|Gb/s|TB/s|Tb/s|TFLOPS|PFLOPS|GiB|GB|µs"
MEASURE = re.compile(rf"{NUMBER}(?:[–〜-]{NUMBER})? ?(?:{UNITS})")


class Guide(NamedTuple):
    """One entry in one language: its front matter and its text."""

    path: Path
    lang: str
    meta: dict[str, Any]
    body: str


def load(path: Path) -> Guide:
    """Read one guide; a file without front matter has no entry and fails here."""
    text = path.read_text(encoding="utf-8")
    match = re.match(r"---\n(.*?)\n---\n(.*)\Z", text, re.S)
    assert match, f"{path.name}: no front matter"
    return Guide(path, path.parent.name, yaml.safe_load(match[1]), match[2].strip())


def all_guides() -> list[Guide]:
    """Every guide, by language and name."""
    return [load(path) for lang in LANGUAGES for path in sorted((GUIDES / lang).glob("*.md"))]


ALL = all_guides()
BY_NAME = {lang: {g.path.stem: g for g in ALL if g.lang == lang} for lang in LANGUAGES}
each = pytest.mark.parametrize("guide", ALL, ids=lambda g: f"{g.lang}/{g.path.stem}")
each_pair = pytest.mark.parametrize("name", sorted(set(BY_NAME["en"]) & set(BY_NAME["ja"])))


def plain_numbers(text: str) -> str:
    """The text without inline code and without thousands separators."""
    return re.sub(r"(?<=\d),(?=\d{3})", "", re.sub(r"`[^`]*`", " ", text))


def numbers(text: str) -> set[str]:
    """Every number of a text, as written."""
    return set(re.findall(NUMBER, plain_numbers(text)))


def measured(text: str) -> set[str]:
    """The numbers of a text that carry a unit of rate, size or time."""
    found = {n for pair in MEASURE.findall(plain_numbers(text)) for n in pair if n}
    return found - {"1"}


def same_number(cell: str, value: object) -> bool:
    """Whether a table cell and a stated value are one number."""
    return bool(cell) and float(cell) == float(str(value))


def test_there_are_two_hundred_entries() -> None:
    assert len(BY_NAME["en"]) >= 200


def test_every_entry_exists_in_both_languages() -> None:
    assert set(BY_NAME["en"]) == set(BY_NAME["ja"])


@each
def test_front_matter_is_complete(guide: Guide) -> None:
    missing = [key for key in REQUIRED if not guide.meta.get(key)]
    assert not missing
    assert guide.meta["id"] == guide.path.stem
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", guide.meta["id"])
    assert guide.meta["area"] in AREAS
    assert re.fullmatch(r"\d{4}-\d{2}", guide.meta["as_of"])
    assert 1 <= len(guide.meta["also"]) <= 6
    assert len(guide.meta["keywords"]) >= 3
    texts = [*guide.meta["also"], *guide.meta["keywords"], guide.meta["question"]]
    assert all(isinstance(text, str) and text.strip() == text for text in texts)


@each
def test_every_source_is_a_dated_url(guide: Guide) -> None:
    for source in guide.meta["sources"]:
        assert re.fullmatch(r"https://[\w.-]+(/\S*)?", source["url"])
        assert source["title"].strip()
        assert isinstance(source["as_of"], str) and source["as_of"].strip()
    urls = [source["url"] for source in guide.meta["sources"]]
    assert len(set(urls)) == len(urls)


@each
def test_question_ends_as_a_question_and_is_in_the_language(guide: Guide) -> None:
    question = guide.meta["question"]
    assert question.endswith(("?", "？", "ください。") if guide.lang == "ja" else "?")
    assert bool(KANA.search(question)) == (guide.lang == "ja")


@each
def test_body_is_a_heading_then_an_answer(guide: Guide) -> None:
    prose = re.sub(r"```.*?```", "", guide.body, flags=re.S)
    lines = prose.split("\n")
    assert re.match(r"# \S", lines[0])
    assert sum(line.startswith("# ") for line in lines) == 1
    answer = prose.split("\n\n")[1]
    assert not re.match(r"#|\||- |\* |\d+\. ", answer)
    assert answer.rstrip(" )）").endswith((".", "。", ":", "："))


@each
def test_body_has_the_right_length_and_language(guide: Guide) -> None:
    text = guide.body.split("\n", 1)[1]
    japanese = len(KANA.findall(text))
    letters = len(re.sub(r"\s", "", text))
    length = letters if guide.lang == "ja" else len(text.split())
    low, high = LENGTH[guide.lang]
    assert low <= length <= high
    assert japanese > letters * 0.08 if guide.lang == "ja" else japanese < letters * 0.1


@each
def test_units_are_written_in_full(guide: Guide) -> None:
    assert not re.search(r"\d ?(?:GBps|MBps|gb/s|gbps|GByte/s)\b", guide.body)


@each_pair
def test_both_languages_share_their_facts(name: str) -> None:
    en, ja = BY_NAME["en"][name], BY_NAME["ja"][name]
    for key in SHARED:
        assert en.meta.get(key) == ja.meta.get(key), key
    assert measured(en.body) <= numbers(ja.body)
    assert measured(ja.body) <= numbers(en.body)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_no_title_or_question_twice(lang: str) -> None:
    guides = BY_NAME[lang].values()
    titles = Counter(guide.body.split("\n", 1)[0] for guide in guides)
    questions = Counter(guide.meta["question"] for guide in guides)
    assert [t for t, n in titles.items() if n > 1] == []
    assert [q for q, n in questions.items() if n > 1] == []


@pytest.mark.parametrize("lang", LANGUAGES)
def test_no_sentence_is_repeated_across_entries(lang: str) -> None:
    """Entries carry no boilerplate: a long sentence belongs to one entry."""
    seen: dict[str, str] = {}
    repeated = []
    for guide in BY_NAME[lang].values():
        prose = "\n".join(line for line in guide.body.split("\n") if not line.startswith("|"))
        for sentence in re.split(r"(?<=[.。?？])\s*\n?|\n", prose):
            if len(sentence) < 50:
                continue
            other = seen.setdefault(sentence, guide.path.stem)
            if other != guide.path.stem:
                repeated.append((other, guide.path.stem, sentence))
    assert repeated == []


def stated_facts() -> list[tuple[str, dict[str, Any]]]:
    """The figures that entries declare in `facts`, once per entry."""
    return [(name, fact) for name, guide in BY_NAME["en"].items() for fact in guide.meta.get("facts") or []]


@pytest.mark.parametrize(("name", "fact"), stated_facts(), ids=lambda x: x if isinstance(x, str) else x["field"])
def test_stated_figures_agree_with_the_gpu_table(name: str, fact: dict[str, Any]) -> None:
    assert set(fact) == {"gpu", "gpu_variant", "field", "value"}
    shown = f"{fact['value']:g}"
    for lang in LANGUAGES:
        assert shown in numbers(BY_NAME[lang][name].body), lang
    with GPUS.open(encoding="utf-8", newline="") as table:
        rows = [r for r in csv.DictReader(table) if (r["gpu"], r["gpu_variant"]) == (fact["gpu"], fact["gpu_variant"])]
    if not rows:
        pytest.skip("the table has no such card")
    assert fact["field"] in rows[0]
    assert any(same_number(row[fact["field"]], fact["value"]) for row in rows)


def test_gpu_entries_declare_figures() -> None:
    """Enough of the GPU entries take part in the comparison for it to mean something."""
    assert len(stated_facts()) >= 50
    assert len({name for name, _ in stated_facts()}) >= 20
