"""Tokens for the lexical leg: identifiers kept whole and in parts, English stems, Sudachi normalized forms.

A token is a short string. English words are stemmed; an identifier such as `NCCL_P2P_LEVEL`, `p5.48xlarge` or
`Standard_ND96isr_H100_v5` gives itself and its parts; Japanese text gives Sudachi's normalized forms of its content words,
long units and their short parts. Katakana words lose their closing long-vowel mark, so サーバ and サーバー are one token.
"""

from __future__ import annotations

import csv
import re
import threading
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

TOKENS_VERSION = 5
"""Raised when a change here makes stored tokens out of date; the index is then built anew."""

_LATIN_RUN = re.compile(r"[a-z0-9]+(?:[._\-/+:@=#][a-z0-9]+)*")
_PART = re.compile(r"[a-z0-9]+")
_ALPHA_DIGIT = re.compile(r"[a-z]+|\d+")
_JAPANESE = re.compile(r"[\u3005\u3006\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_KATAKANA = re.compile(r"^[\u30a1-\u30fa\u30fc\u30fb]+$")
_NUMBER_GROUP = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_CONTENT = {"名詞", "動詞", "形容詞", "形状詞", "副詞", "接頭辞"}
_QUESTION_COUNT = re.compile(r"^(?:何|幾)[\u4e00-\u9fff\u30a1-\u30fa]{0,2}$")
_MAX_SUDACHI_CHARS = 10_000


STOP_WORDS = Path(__file__).parent / "data" / "stop_words.csv"


def _stop_words(lang: str) -> frozenset[str]:
    with STOP_WORDS.open(encoding="utf-8", newline="") as file:
        return frozenset(row["word"] for row in csv.DictReader(file) if row["lang"] == lang)


STOP_EN = _stop_words("en")
STOP_JA = _stop_words("ja")

_local = threading.local()


def normalize(text: str) -> str:
    """NFKC, lower case, thousands separators inside numbers removed, dashes and times signs made plain."""
    text = unicodedata.normalize("NFKC", text).lower()
    text = text.translate(_PLAIN)
    return _NUMBER_GROUP.sub("", text)


_PLAIN = str.maketrans({"‐": "-", "‑": "-", "–": "-", "—": "-", "−": "-", "×": " ", "’": "'", "™": " ", "®": " "})


@lru_cache(maxsize=1)
def _dictionary() -> Any:
    import sudachipy

    return sudachipy.Dictionary(dict="core")


def _sudachi() -> tuple[Any, Any]:
    """The tokenizer of this thread (Sudachi's are not shared between threads) and its short split mode."""
    import sudachipy

    if not hasattr(_local, "sudachi"):
        dictionary = _dictionary()
        make = getattr(dictionary, "tokenizer", None) or dictionary.create
        _local.sudachi = make(mode=sudachipy.SplitMode.C)
    return _local.sudachi, sudachipy.SplitMode.A


def _stemmer() -> Any:
    """The stemmer of this thread: one keeps the word it works on in itself."""
    if not hasattr(_local, "stemmer"):
        import snowballstemmer

        _local.stemmer = snowballstemmer.stemmer("english")
    return _local.stemmer


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """The English stem of a lower-case word; words with digits and very short words stay as they are."""
    if len(word) < 4 or not word.isalpha():
        return word
    return str(_stemmer().stemWord(word))


def fold_katakana(word: str) -> str:
    """A katakana word without its closing long-vowel mark and middle dots."""
    if _KATAKANA.match(word):
        word = word.replace("・", "")
        if len(word) > 3:
            word = word.rstrip("ー")
    return word


@lru_cache(maxsize=50_000)
def katakana_of(word: str) -> str | None:
    """The katakana form Sudachi knows for an English word (cluster → クラスタ), or None."""
    if len(word) < 4 or not word.isalpha():
        return None
    tokenizer, _ = _sudachi()
    for candidate in (word, word[:-1] if word.endswith("s") else word):
        morphemes = tokenizer.tokenize(candidate)
        if len(morphemes) == 1:
            form = morphemes[0].normalized_form()
            if _KATAKANA.match(form):
                return fold_katakana(form)
    return None


@dataclass(frozen=True, slots=True)
class Span:
    """One token and where in the normalized text it stands; `part` marks a piece of a longer token at the same place."""

    token: str
    start: int
    end: int
    part: bool = False


@lru_cache(maxsize=50_000)
def _latin(run: str) -> tuple[Span, ...]:
    parts = list(_PART.finditer(run))
    if len(parts) == 1:
        return (Span(stem(run), 0, len(run)),)
    inner = (Span(stem(part.group()), part.start(), part.end(), part=True) for part in parts)
    return (Span(run, 0, len(run)), *inner)


@lru_cache(maxsize=20_000)
def _japanese(run: str) -> tuple[Span, ...]:
    tokenizer, short = _sudachi()
    out: list[Span] = []
    for base in range(0, len(run), _MAX_SUDACHI_CHARS):
        for morpheme in tokenizer.tokenize(run[base : base + _MAX_SUDACHI_CHARS]):
            if morpheme.part_of_speech()[0] not in _CONTENT:
                continue
            form = fold_katakana(morpheme.normalized_form().lower())
            if form in STOP_JA or _QUESTION_COUNT.match(form):
                continue
            begin, end = morpheme.begin(), morpheme.end()
            out.append(Span(form, base + begin, base + end))
            if end - begin >= 3:
                parts = morpheme.split(short)
                for part in parts if len(parts) > 1 else ():
                    short_form = fold_katakana(part.normalized_form().lower())
                    if short_form not in STOP_JA:
                        out.append(Span(short_form, base + part.begin(), base + part.end(), part=True))
    return tuple(out)


def runs(normalized: str) -> list[str]:
    """The stretches of Latin or of Japanese characters in a text that went through `normalize`, in order; each has its own tokens."""
    return [latin or japanese for latin, japanese in _RUN.findall(normalized)]


def spans(normalized: str) -> Iterator[Span]:
    """The tokens of a text that went through `normalize`, with their places, in order."""
    for match in _RUN.finditer(normalized):
        make = _latin if match.lastgroup == "latin" else _japanese
        start = match.start()
        for span in make(match.group()):
            yield Span(span.token, span.start + start, span.end + start, span.part) if start else span


def tokens(text: str, *, stop: bool = False) -> list[str]:
    """The tokens of a text, in order, Latin and Japanese; with `stop` without English words that say nothing.

    >>> tokens("p5.48xlarge")
    ['p5.48xlarge', 'p5', '48xlarge']
    """
    found = _of_short(text) if len(text) <= SHORT_CHARS else _of(text)
    return [token for token in found if not (stop and token in STOP_STEMS)]


SHORT_CHARS = 600
"""Texts up to this length (sentences, titles, paragraphs of guides) come again and again; their tokens are remembered."""


def _of(text: str) -> tuple[str, ...]:
    return tuple(span.token for span in spans(normalize(text)))


_of_short = lru_cache(maxsize=4096)(_of)


STOP_STEMS = STOP_EN | {stem(word) for word in STOP_EN}
"""Stop words and their stems."""

_RUN = re.compile(rf"(?P<latin>{_LATIN_RUN.pattern})|(?P<ja>{_JAPANESE.pattern})")


def detect_language(text: str) -> str:
    """`ja` where the text has kana or a fair share of Japanese characters, else `en`."""
    sample = text[:20_000]
    japanese = sum(len(run) for run in _JAPANESE.findall(sample))
    letters = sum(character.isalpha() for character in sample) or 1
    return "ja" if japanese and japanese / letters > 0.12 else "en"
