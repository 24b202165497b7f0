"""Tokens for the lexical leg: identifiers kept whole and in parts, English stems, Sudachi normalized forms.

A token is a short string. English words are stemmed; an identifier such as `NCCL_P2P_LEVEL`, `p5.48xlarge` or
`Standard_ND96isr_H100_v5` gives itself and its parts; Japanese text gives Sudachi's normalized forms of its content words,
long units and their short parts. Katakana words lose their closing long-vowel mark, so サーバ and サーバー are one token.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

TOKENS_VERSION = 4
"""Raised when a change here makes stored tokens out of date; the index is then built anew."""

_LATIN_RUN = re.compile(r"[a-z0-9]+(?:[._\-/+:@=#][a-z0-9]+)*")
_PART = re.compile(r"[a-z0-9]+")
_ALPHA_DIGIT = re.compile(r"[a-z]+|\d+")
_JAPANESE = re.compile(r"[\u3005\u3006\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_KATAKANA = re.compile(r"^[\u30a1-\u30fa\u30fc\u30fb]+$")
_NUMBER_GROUP = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_CONTENT = {"名詞", "動詞", "形容詞", "形状詞", "副詞", "接頭辞"}
_MAX_SUDACHI_CHARS = 10_000

STOP_EN = frozenset(
    "a an the is are was were be been being am do does did done doing have has had having i me my we our us you your he she it its "
    "they them their this that these those there here what which who whom whose when where why how and or but nor so if then than "
    "as of at by for with about against between into through during before after to from in on off over under again once can could "
    "will would shall should may might must not no s t don just only very too also any some all each both such own same other more "
    "most much many one get got let use using used want need tell please say says said give gives given make makes".split()
)
STOP_JA = frozenset(
    "為る 居る 有る 成る 事 物 時 所 為 訳 様 其の 此の 其れ 此れ 何の 何れ 何 どう 何処 何故 幾ら 幾つ 何時 無い 良い 言う 出来る 教える 行く "
    "遣る 場合 方 人 的 等 達 つ 下さる 頂く 呉れる 知る 思う 欲しい くらい ぐらい 位 程 使う 御 以 其処 此処 見る".split()
)

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


@lru_cache(maxsize=1)
def _stemmer() -> Any:
    import snowballstemmer

    return snowballstemmer.stemmer("english")


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


@dataclass(frozen=True)
class Span:
    """One token and where in the normalized text it stands; `part` marks a piece of a longer token at the same place."""

    token: str
    start: int
    end: int
    part: bool = False


def _latin(run: str, offset: int) -> Iterator[Span]:
    parts = list(_PART.finditer(run))
    if len(parts) == 1:
        yield Span(stem(run), offset, offset + len(run))
        return
    yield Span(run, offset, offset + len(run))
    for part in parts:
        yield Span(stem(part.group()), offset + part.start(), offset + part.end(), part=True)


def _japanese(run: str, offset: int) -> Iterator[Span]:
    tokenizer, short = _sudachi()
    for start in range(0, len(run), _MAX_SUDACHI_CHARS):
        base = offset + start
        for morpheme in tokenizer.tokenize(run[start : start + _MAX_SUDACHI_CHARS]):
            if morpheme.part_of_speech()[0] not in _CONTENT:
                continue
            form = fold_katakana(morpheme.normalized_form().lower())
            if form in STOP_JA:
                continue
            begin, end = morpheme.begin(), morpheme.end()
            yield Span(form, base + begin, base + end)
            if end - begin >= 3:
                parts = morpheme.split(short)
                if len(parts) > 1:
                    for part in parts:
                        yield Span(
                            fold_katakana(part.normalized_form().lower()),
                            base + part.begin(),
                            base + part.end(),
                            part=True,
                        )


def spans(normalized: str) -> Iterator[Span]:
    """The tokens of a text that went through `normalize`, with their places, in order."""
    for match in _RUN.finditer(normalized):
        make = _latin if match.lastgroup == "latin" else _japanese
        yield from make(match.group(), match.start())


def tokens(text: str, *, stop: bool = False) -> list[str]:
    """The tokens of a text, in order, Latin and Japanese; with `stop` without English words that say nothing.

    >>> tokens("p5.48xlarge")
    ['p5.48xlarge', 'p5', '48xlarge']
    """
    found = [span.token for span in spans(normalize(text))]
    return [token for token in found if token not in STOP_STEMS] if stop else found


STOP_STEMS = STOP_EN | {stem(word) for word in STOP_EN}
"""Stop words and their stems."""

_RUN = re.compile(rf"(?P<latin>{_LATIN_RUN.pattern})|(?P<ja>{_JAPANESE.pattern})")


def detect_language(text: str) -> str:
    """`ja` where the text has kana or a fair share of Japanese characters, else `en`."""
    sample = text[:20_000]
    japanese = sum(len(run) for run in _JAPANESE.findall(sample))
    letters = sum(character.isalpha() for character in sample) or 1
    return "ja" if japanese and japanese / letters > 0.12 else "en"
