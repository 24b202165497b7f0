"""What a question asks for, as groups of tokens: each word with its translation, its identifier parts, its near spellings."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from knowledge.glossary import load_glossary
from knowledge.groups import Group
from knowledge.tokens import STOP_STEMS, detect_language, katakana_of, normalize, runs, spans, stem

PART_WEIGHT = 0.5
CONCEPT_SHARE = 0.9


def index_terms(text: str) -> list[str]:
    """The tokens under which a text is found: its own, katakana for English words, and the concepts of the glossary."""
    normalized = normalize(text)
    out: list[str] = []
    for run in runs(normalized):
        out += _terms_of_run(run)
    out.extend(match.concept for match in load_glossary().find(normalized))
    return out


@lru_cache(maxsize=50_000)
def _terms_of_run(run: str) -> tuple[str, ...]:
    out: list[str] = []
    for span in spans(run):
        out.append(span.token)
        if not span.part and span.end - span.start >= 4 and span.token[0].isascii():
            kana = katakana_of(run[span.start : span.end])
            if kana:
                out.append(kana)
    return tuple(out)


def _names(text: str, lang: str) -> set[str]:
    """The tokens of words that look like names: Latin words in Japanese, words with capitals after the first letter in English."""
    words = re.findall(r"[A-Za-z][A-Za-z0-9]{2,}", unicodedata.normalize("NFKC", text))
    return {stem(word.lower()) for word in words if lang == "ja" or any(letter.isupper() for letter in word[1:])}


def query_groups(text: str) -> list[Group]:
    """The groups of tokens that a question asks for; words that say nothing are left out."""
    normalized = normalize(text)
    names = _names(text, detect_language(text))
    matches = load_glossary().find(normalized)
    groups: dict[tuple[tuple[str, float], ...], Group] = {}

    def add(forms: list[tuple[str, float]], weight: float, content: bool = True) -> None:
        key = tuple(dict.fromkeys(forms))
        if key not in groups or groups[key].weight < weight:
            groups[key] = Group(key, weight, content, any(token in names for token, _ in key))

    for match in matches:
        inside = [
            span for span in spans(normalized) if span.start == match.start and span.end == match.end and not span.part
        ]
        forms = [(span.token, 1.0) for span in inside]
        add([*forms, (match.concept, CONCEPT_SHARE if forms else 1.0)], 1.0)
    for span in spans(normalized):
        if span.token in STOP_STEMS or (len(span.token) == 1 and span.token.isascii() and not span.token.isdigit()):
            continue
        cover = [match for match in matches if match.start <= span.start and span.end <= match.end]
        if any(match.start == span.start and match.end == span.end and not span.part for match in cover):
            continue
        forms = [(span.token, 1.0)]
        if not span.part and span.token[0].isascii():
            kana = katakana_of(normalized[span.start : span.end])
            if kana:
                forms.append((kana, CONCEPT_SHARE))
        add(forms, PART_WEIGHT if span.part or cover else 1.0, not span.part)
    return list(groups.values())
