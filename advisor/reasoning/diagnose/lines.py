"""Lines of pasted text: splitting without a copy, colours, and the evidence a finding rests on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .model import Evidence

_COLOUR = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_BREAKS = re.compile(r"[\r\n\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
EVIDENCE_CHARS = 400
"""Longest evidence kept; a longer line is cut around what was found."""


def split(text: str) -> Iterator[str]:
    """The lines of `text`, ends removed. Unlike `str.splitlines` it builds no list: logs of 50 MB are usual."""
    start, size = 0, len(text)
    while start < size:
        end = text.find("\n", start)
        if end < 0:
            end = size
        line = text[start:end]
        start = end + 1
        if "\r" in line:
            yield from line.rstrip("\r").split("\r")
        else:
            yield line


def sound(text: str) -> str:
    """`text` with lone surrogates replaced: JSON escapes and file names can hold them, and no output may."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def plain(raw: str) -> str:
    """The line without terminal colours and cursor codes."""
    return _COLOUR.sub("", raw) if "\x1b" in raw else raw


@dataclass(slots=True)
class Place:
    """Where the reading stands; one object is moved along a file, so a line costs no allocation."""

    file: str = ""
    number: int = 0
    raw: str = ""

    def evidence(self, needle: str = "") -> Evidence:
        """The current line as evidence: a verbatim, stripped part of it that holds `needle` where the line is long."""
        return Evidence.model_construct(file=self.file, line=self.number, text=cut(self.raw, needle))


def cut(raw: str, needle: str = "") -> str:
    """A verbatim part of `raw`, without colour codes and odd line breaks, at most `EVIDENCE_CHARS` long."""
    if len(raw) <= EVIDENCE_CHARS and "\x1b" not in raw and not _BREAKS.search(raw):
        return raw.strip()
    parts: Iterable[str] = _COLOUR.split(raw) if "\x1b" in raw else (raw,)
    pieces = [piece.strip() for part in parts for piece in _BREAKS.split(part)]
    holding = [piece for piece in pieces if needle and needle in piece]
    best = max(holding or pieces, key=len, default="")
    if len(best) <= EVIDENCE_CHARS:
        return best
    at = max(best.find(needle), 0) if needle else 0
    start = max(0, min(at - 60, len(best) - EVIDENCE_CHARS))
    return best[start : start + EVIDENCE_CHARS].strip()
