"""What a loader gives: a page as a list of blocks, of whatever format it was."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Heading:
    """A heading; `level` 1 is the page's own title. An empty text ends the section of that level without opening one.

    `anchor` holds words of the page's own anchors, often English in a translated page: for the search, not for the reader.
    """

    level: int
    text: str
    anchor: str = ""


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


@dataclass
class Scope:
    """Blocks under a label that is no heading of the page: a tab, a fold, a titled note. It ends where its blocks end."""

    label: str
    blocks: list[Block]


Block = Heading | Text | Code | Table | Scope


@dataclass
class Page:
    """One loaded document. `lang`, `as_of`, `url` are None where the file does not say; `notes` are warnings
    for the report; `includes` the files it names as parts of itself."""

    blocks: list[Block]
    title: str = ""
    lang: str | None = None
    as_of: str | None = None
    url: str | None = None
    edition: str | None = None
    meta: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    redirect: str | None = None
    includes: list[str] = field(default_factory=list)


class Unreadable(Exception):
    """A file that a loader cannot make sense of; the message is for the report."""
