"""What a loader gives: a page as a list of blocks, of whatever format it was."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Heading:
    """A heading; `level` 1 is the page's own title."""

    level: int
    text: str


@dataclass
class Text:
    """A paragraph, list item, quotation or note, as plain text without mark-up that says nothing."""

    text: str


@dataclass
class Code:
    """A fenced or literal block, kept as it is."""

    text: str
    language: str = ""


@dataclass
class Table:
    """A table: the header's cells (empty where it has none), the rows, and what names it (tab title, caption)."""

    header: list[str]
    rows: list[list[str]]
    caption: str = ""


Block = Heading | Text | Code | Table


@dataclass
class Page:
    """One loaded document. `lang`, `as_of`, `url` are None where the file does not say; `notes` are warnings for the report."""

    blocks: list[Block]
    title: str = ""
    lang: str | None = None
    as_of: str | None = None
    url: str | None = None
    edition: str | None = None
    meta: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    redirect: str | None = None


class Unreadable(Exception):
    """A file that a loader cannot make sense of; the message is for the report."""
