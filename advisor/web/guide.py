"""The shipped guide as the page browses it: entries by area, and their text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

import knowledge

AREAS = (
    "concept",
    "workload",
    "before-renting",
    "gpu",
    "fabric",
    "provider",
    "cost",
    "after-renting",
    "trouble",
    "disagreement",
    "glossary",
)
"""Areas in reading order; an area that is not here comes last."""


@dataclass(frozen=True)
class Entry:
    """One guide entry in one language."""

    entry_id: str
    area: str
    question: str
    text: str
    as_of: str
    sources: tuple[dict[str, Any], ...]


@cache
def entries(lang: str) -> tuple[Entry, ...]:
    """The entries in `lang`, by area and then by question. A file without front matter is left out: it is no entry."""
    folder = Path(knowledge.__file__).parent / "guides" / lang
    found = [entry for path in sorted(folder.glob("*.md")) if (entry := _read(path))]
    return tuple(
        sorted(found, key=lambda e: (AREAS.index(e.area) if e.area in AREAS else len(AREAS), e.area, e.question))
    )


def _read(path: Path) -> Entry | None:
    parts = path.read_text(encoding="utf-8").split("---\n", 2)
    if len(parts) != 3 or parts[0].strip():
        return None
    meta = yaml.safe_load(parts[1]) or {}
    sources = tuple(source for source in meta.get("sources") or () if isinstance(source, dict))
    return Entry(
        entry_id=str(meta.get("id", path.stem)),
        area=str(meta.get("area", "other")),
        question=str(meta.get("question", path.stem)),
        text=parts[2].strip(),
        as_of=str(meta.get("as_of", "unknown")),
        sources=sources,
    )


def entry(entry_id: str, lang: str) -> Entry | None:
    """One entry, or None where there is none of that name in `lang`."""
    return next((item for item in entries(lang) if item.entry_id == entry_id), None)


def entry_of(source: str) -> str | None:
    """The entry that a passage of the file `guides/<language>/<entry>.md` belongs to; None for other documents."""
    found = re.fullmatch(r"guides/(ja|en)/([\w.-]+)\.md", source)
    return found.group(2) if found and entry(found.group(2), found.group(1)) else None


def by_area(lang: str) -> list[tuple[str, list[Entry]]]:
    """(area, entries) in reading order."""
    groups: dict[str, list[Entry]] = {}
    for item in entries(lang):
        groups.setdefault(item.area, []).append(item)
    return list(groups.items())
