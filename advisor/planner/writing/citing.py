"""Citations: which parts of the passages answer the question, and a numbered list that holds only what the text uses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from advisor.answer import Citation

_SENTENCE = re.compile(r"[^。！？]+[。！？]?")
_SENTENCE_EN = re.compile(r"(?<=[.!?])\s+(?=[A-Z`*(\d\u3040-\u30ff\u4e00-\u9fff])")
_MARK = re.compile(r"\[(\d{1,2})\]")
MAX_QUOTE = 300


def blocks_of(hit: Any) -> list[str]:
    """The passage's paragraphs, lists, tables and code blocks, without its headings and the title it repeats."""
    blocks: list[str] = []
    current: list[str] = []
    fenced = False
    for line in hit.text.splitlines():
        if line.lstrip().startswith("```"):
            fenced = not fenced
        if not fenced and not line.strip():
            if current:
                blocks.append("\n".join(current))
            current = []
            continue
        current.append(line)
    if current:
        blocks.append("\n".join(current))
    skip = {hit.title.strip(), hit.section.strip()}
    kept = []
    for block in blocks:
        lines = [line for line in block.splitlines() if not line.startswith("#") and line.strip() not in skip]
        if lines and any(line.strip() for line in lines):
            kept.append("\n".join(lines))
    return kept


def is_prose(block: str) -> bool:
    """A paragraph of sentences, not a list, table or code."""
    return not block.lstrip().startswith(("|", "-", "*", "```", "1.", ">"))


def sentences(block: str) -> list[str]:
    """The sentences of a paragraph, Japanese or English, each a verbatim part of it."""
    pieces = [piece for line in block.splitlines() for piece in _SENTENCE_EN.split(line)]
    return [s.strip() for piece in pieces for s in _SENTENCE.findall(piece) if s.strip()]


def overlap(text: str, query_tokens: Iterable[str]) -> float:
    """How much of the question a text takes up: matched tokens, identifiers counting double."""
    from knowledge.tokens import tokens

    have = set(tokens(text, stop=True))
    return sum(2.0 if any(c.isdigit() for c in token) else 1.0 for token in set(query_tokens) if token in have)


def best_blocks(hit: Any, query_tokens: Sequence[str], limit_chars: int) -> list[str]:
    """The first paragraph and the blocks nearest to the question, in the order of the passage, within a length."""
    blocks = blocks_of(hit)
    if not blocks:
        return []
    chosen = {0}
    used = len(blocks[0])
    ranked = sorted(range(1, len(blocks)), key=lambda n: (-overlap(blocks[n], query_tokens), n))
    for n in ranked:
        if used + len(blocks[n]) > limit_chars:
            continue
        chosen.add(n)
        used += len(blocks[n])
    return [blocks[n] for n in sorted(chosen)]


class Citations:
    """Gives passages their numbers in the order they are first used."""

    def __init__(self) -> None:
        self._rows: list[Citation] = []
        self._by_passage: dict[str, int] = {}

    def mark(self, hit: Any, quote: str) -> str:
        """The mark, such as [1], for a passage; `quote` must stand verbatim in it (its first line is taken)."""
        known = self._by_passage.get(hit.passage_id)
        if known is not None:
            return f"[{known}]"
        line = next((part.strip() for part in quote.splitlines() if part.strip()), "")
        short = line if len(line) <= MAX_QUOTE else line[:MAX_QUOTE].rsplit(" ", 1)[0]
        if not short or short not in hit.text:
            short = hit.text.strip()[:MAX_QUOTE]
        n = len(self._rows) + 1
        self._by_passage[hit.passage_id] = n
        self._rows.append(
            Citation(
                n=n,
                title=hit.title,
                section=hit.section,
                source=hit.source,
                url=hit.url,
                lang=hit.lang,
                quote=short,
                as_of=hit.as_of or "unknown",
                passage_id=hit.passage_id,
            )
        )
        return f"[{n}]"

    def rows(self) -> tuple[Citation, ...]:
        """All citations given out."""
        return tuple(self._rows)


def marks_in(text: str) -> set[int]:
    """The citation numbers that a text uses."""
    return {int(n) for n in _MARK.findall(text)}
