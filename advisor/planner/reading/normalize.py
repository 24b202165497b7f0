"""One plain form of a turn: width, case, dashes, kanji numerals and number words made even before anything is read."""

from __future__ import annotations

import re
import unicodedata

READ_CHARS = 6_000
"""Characters of a turn that are read; of a longer one, its beginning and its end."""

_PLAIN = str.maketrans(
    {
        **dict.fromkeys("‐‑‒–—―−﹣", "-"),
        **dict.fromkeys("×✕✖⨯", "x"),
        **dict.fromkeys("〜～∼", "~"),
        **dict.fromkeys("’‘´`", "'"),
        **dict.fromkeys("“”„", '"'),
        **dict.fromkeys("™®©\u200b\u200c\u200d\u2060\ufeff\u00ad\u20e3\ufe0e\ufe0f", None),
    }
)
_TAG = re.compile(r"</?[a-z][^<>]{0,300}>|<!--[^<>]{0,300}-->")
_GROUPED = re.compile(r"(?<![\d.,])(\d{1,3}(?:,\d{3}){1,5})(?![\d,])")
_JOINT = re.compile(r"(?<=[\u3040-\u30ff\u4e00-\u9fff]) (?=[a-z0-9])|(?<=[a-z0-9]) (?=[\u3040-\u30ff\u4e00-\u9fff])")
"""A space between Japanese and Latin letters is typography ("GCP で" and "GCPで" are one)."""
_GIGS = re.compile(r"(?<=\d)( ?)(?:gigs?|gbs|gigabytes?|ギガ(?:バイト)?)(?![a-z])")
_TEN_THOUSANDS = re.compile(r"(?<![\d.])(\d{1,4})万(?=枚|台|基|gpu|ノード)")
_GLUED = re.compile(
    r"(?<![a-z0-9])([abhv][1-3]00|l40s?|l4|a10g?|t4|a6000|rtx ?[3-5]0[5-9]0|(?<!\d)[3-5]0[5-9]0)(\d{1,2}(?:枚|基|台)|(?:40|80)gb)"
)
"""A count written without a space after a name that ends in digits ("H1008枚")."""
_TOO_LONG = re.compile(r"\d{16,}|(\S)\1{60,}")
"""Digits that are no number a person means, and one mark held down: they carry nothing and slow every pattern."""
_SPACES = re.compile(r"[^\S\n]{1,}")
_KANA_MACHINES = re.compile(r"(?<=\d)\s?だい(?=[のをでとに、。\s]|$)")
_KANA_COUNT = re.compile(
    r"(?<=\d)\s?(?:まい(?![\u3041-\u3096])|まい(?=で|の|と|を|だと|なら|くらい|ほど|いり|ほし|かり)|マイ(?![\u30a1-\u30fa]))"
)

_DIGITS = {c: i for i, c in enumerate("〇一二三四五六七八九")}
_UNITS = {"十": 10, "百": 100, "千": 1000}
_KANJI_NUMBER = re.compile(
    r"(?<![一二三四五六七八九十百千唯均統単同万])([一二三四五六七八九十百千]{1,7})"
    r"(?=(?:枚|台(?!目)|基|ノード|週間|日間|日以内|時間|か月|ヶ月|ヵ月|カ月|箇月|億|万|兆|円|本|人|パラメータ|gpu|gb))"
)
_WORD_NUMBERS = {
    "one": 1, "single": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "twelve": 12, "sixteen": 16, "twenty": 20, "thirty": 30, "thirty-two": 32, "fifty": 50, "sixty-four": 64, "hundred": 100,
}  # fmt: skip
_COUNTED = (
    r"gpus?|cards?|nodes?|box(?:es)?|machines?|servers?|hosts?|weeks?|days?|hours?|months?|minutes?|replicas?|instances?|"
    r"(?:nvidia |rtx |geforce |tesla |amd )?(?:\d{1,2}x ?)?(?:[a-z]{1,3}\d{1,4}[a-z]{0,2}|\d{4})s?|\d{2,3}[ -]?gb"
)
_WORD_NUMBER = re.compile(
    rf"(?<![a-z0-9-])({'|'.join(sorted(_WORD_NUMBERS, key=len, reverse=True))})[ -](?={_COUNTED}(?![a-z0-9]))"
)
_WORD_ALONE = re.compile(
    rf"(?<![a-z0-9-])({'|'.join(sorted(_WORD_NUMBERS, key=len, reverse=True))})(?= (?:of (?:them|these|those)|ok(?:ay)?|enough|"
    r"sufficient|plenty|fine|suffice)(?![a-z]))"
)
""" "are four OK", "two of them": a number of what was named before."""
_COUPLE = re.compile(
    r"(?<![a-z])a couple of (?=[a-z0-9])|(?<![a-z])a pair of (?=[a-z0-9])|(?<![a-z])dual(?=[ -][a-z0-9])"
)
_MANY = {"octo": 8, "octa": 8, "quad": 4, "triple": 3, "twin": 2}
_MANY_OF = re.compile(
    r"(?<![a-z0-9])(?:(octo|octa|quad|triple|twin)|(\d{1,2})-way)[ -](?=gpu|(?:nvidia |rtx |geforce |tesla |amd )?[a-z]{0,3}\d{2,4})"
)
_HALF_DOZEN = re.compile(r"(?<![a-z])half a dozen (?=[a-z])")


def clip(text: str) -> str:
    """The part of `text` that is read: all of it, or its beginning and end where it is very long."""
    if len(text) <= READ_CHARS:
        return text
    head = READ_CHARS * 2 // 3
    return text[:head] + "\n" + text[-(READ_CHARS - head) :]


def normalize(text: str) -> str:
    """NFKC, lower case, no tags, plain dashes and times signs, grouped digits joined, counted words as digits."""
    text = unicodedata.normalize("NFKC", text).translate(_PLAIN).lower()
    text = "".join(c if c == "\n" or unicodedata.category(c)[0] != "C" else " " for c in text)
    text = _TOO_LONG.sub(" ", text)
    text = _TAG.sub(" ", text)
    text = _GROUPED.sub(lambda m: m.group(1).replace(",", ""), text)
    text = _JOINT.sub("", _SPACES.sub(" ", text))
    text = _KANJI_NUMBER.sub(
        lambda m: (
            (" " if re.match(r"[a-z0-9]", text[max(0, m.start() - 1) : m.start()]) else "") + str(_kanji(m.group(1)))
        ),
        text,
    )
    text = _KANA_MACHINES.sub("台", _KANA_COUNT.sub("枚", text))
    text = _GIGS.sub(r"\1gb", text)
    text = _TEN_THOUSANDS.sub(lambda m: str(int(m.group(1)) * 10_000), text)
    text = _GLUED.sub(r"\1 \2", text)
    text = _COUPLE.sub("2 ", text)
    text = _HALF_DOZEN.sub("6 ", text)
    text = _MANY_OF.sub(lambda m: f"{_MANY[m.group(1)] if m.group(1) else m.group(2)}x ", text)
    text = _WORD_NUMBER.sub(lambda m: f"{_WORD_NUMBERS[m.group(1)]} ", text)
    text = _WORD_ALONE.sub(lambda m: str(_WORD_NUMBERS[m.group(1)]), text)
    return _SPACES.sub(" ", text).strip()


def _kanji(text: str) -> int:
    total = digit = 0
    for char in text:
        if char in _DIGITS:
            digit = digit * 10 + _DIGITS[char]
        else:
            total += max(1, digit) * _UNITS[char]
            digit = 0
    return total + digit


def squash(text: str) -> str:
    """Only letters, digits and points, for comparing names: "Llama-3.1 8B" and "llama3.1_8b" are one."""
    return re.sub(r"[^a-z0-9.\u3040-\u30ff\u4e00-\u9fff]", "", text.lower())
