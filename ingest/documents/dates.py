"""Dates that pages carry, as ISO text: year, year-month or day."""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import Any

_KEYS = (
    "ms.date",
    "as_of",
    "lastupdated",
    "last_updated",
    "last-updated",
    "last_update",
    "lastmod",
    "updated",
    "updated_at",
    "update",
    "modified",
    "revision_date",
    "validation",
    "date",
    "published_at",
    "published",
    "posted",
)
_ISO = re.compile(r"(20\d\d)[-/.](\d{1,2})(?:[-/.](\d{1,2}))?")
_US = re.compile(r"\b(\d{1,2})/(\d{1,2})/(20\d\d)\b")
_JAPANESE = re.compile(r"(20\d\d)年\s*(\d{1,2})月(?:\s*(\d{1,2})日)?")
_MONTHS = {
    name: number
    for number, name in enumerate(
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"], 1
    )
}
_WORDS = re.compile(
    r"\b(?:(\d{1,2})\s+)?(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s+(?:(\d{1,2})(?:st|nd|rd|th)?,?\s+)?(20\d\d)\b",
    re.IGNORECASE,
)
_VISIBLE = re.compile(
    r"(?:last\s+(?:updated|modified|generated|reviewed|validation)|updated\s+on|date\s+published|最終更新(?:日)?|更新日|公開日)"
    r"(?:\s+on)?\s*[:：]?\s*(?P<date>[^\n*<>{}]{6,30})",
    re.IGNORECASE,
)


def parse_date(value: Any) -> str | None:
    """A date as ISO text, or None where the value holds none that can exist."""
    if isinstance(value, datetime):
        return value.date().isoformat()
    if isinstance(value, date):
        return value.isoformat()
    text = str(value)
    if match := _US.search(text):
        return _iso(match.group(3), match.group(1), match.group(2))
    for pattern in (_ISO, _JAPANESE):
        if match := pattern.search(text):
            return _iso(*match.groups())
    if match := _WORDS.search(text):
        return _iso(match.group(4), str(_MONTHS[match.group(2).lower()[:3]]), match.group(1) or match.group(3))
    return None


def _iso(year: str, month: str, day: str | None) -> str | None:
    try:
        found = date(int(year), int(month), int(day or 1))
    except ValueError:
        return None
    return found.isoformat() if day else f"{found.year}-{found.month:02d}"


def date_of(meta: dict[str, Any]) -> str | None:
    """The date of a page by its front matter: when it was last changed or checked before when it was published."""
    flat: dict[str, Any] = {}
    for key, value in meta.items():
        if isinstance(value, dict):
            flat.update({str(inner).lower(): item for inner, item in value.items()})
        flat[str(key).lower()] = value
    for key in _KEYS:
        if key in flat and flat[key] and (found := parse_date(flat[key])):
            return found
    return None


def visible_date(text: str) -> str | None:
    """The date of a line such as "Last updated: 2026-02-12", or None."""
    for match in _VISIBLE.finditer(text):
        if found := parse_date(match.group("date")):
            return found
    return None
