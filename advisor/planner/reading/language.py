"""Language of a turn, and the language that the answer is wanted in."""

from __future__ import annotations

import re
from typing import Literal

from advisor.answer import Lang
from advisor.planner.reading.phrases import first

_KANA = re.compile(r"[\u3041-\u30ff]")
_HAN = re.compile(r"[\u4e00-\u9fff]")
_WORD = re.compile(r"[a-z]{2,}")
_HIRAGANA = re.compile(r"[\u3041-\u3096]")
_QUOTED = re.compile(r"[\"「『'(（][^\"」』')）]{1,40}[\"」』')）]")
_ENGLISH = re.compile(
    r"(?<![a-z0-9-])(?:the|is|are|was|what|which|does|do|did|how|why|my|your|our|i|we|you|it|this|that|should|would|can|could|will"
    r"|of|to|a|an|in|on|from|have|has|need|want|mean|means|please|if|when|where|who|there)(?![a-z0-9-])"
)
_SENTENCE_WORDS = 3
"""Small English words from which a turn that also holds kana may be an English sentence that quotes a Japanese one."""
_JA_SHARE = 0.12
"""Kana a Latin letter from which a turn is Japanese: "H100 8枚いくら" is, an English question that quotes one word is not."""


def detect(text: str) -> Literal["ja", "en", "unknown"]:
    """Language of normalised text without pasted logs; "unknown" where it holds no letters of either."""
    own = _QUOTED.sub(" ", text)
    hiragana = len(_HIRAGANA.findall(own))
    if hiragana and len(_ENGLISH.findall(own)) < _SENTENCE_WORDS:
        return "ja"
    kana, han = len(_KANA.findall(text)), len(_HAN.findall(text))
    latin = sum(len(word) for word in _WORD.findall(text))
    if not kana and not han:
        return "en" if latin or re.search(r"[a-z]", text) else "unknown"
    ends_ja = bool(re.search(r"[\u3041-\u30ff\u4e00-\u9fff][\s。?!?…ー~.]*$", text))
    if han and not kana and not _ENGLISH.search(own):
        return "ja"
    if kana + han >= 2 and (kana + 0.5 * han) >= _JA_SHARE * latin:
        return "ja"
    return "ja" if ends_ja and kana else "en" if latin >= 3 else "ja"


def asked_for(text: str) -> Lang | None:
    """The language that the turn asks the answer to be in ("summarize in English", "日本語で"), or None."""
    found = first("answer_language", text)
    if found is None:
        return None
    return "ja" if found.value == "ja" else "en"
