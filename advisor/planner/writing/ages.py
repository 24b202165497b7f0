"""How old the prices are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from advisor.messages import text
from advisor.planner.writing.figures import age_days


def age_note(picks: Sequence[Any], lang: str, stale_days: int) -> str:
    """The oldest date with its age, a warning past `stale_days`, and the rows that have no date."""
    dated = sorted({p.as_of for p in picks if age_days(p.as_of) is not None})
    notes = []
    if dated:
        days = age_days(dated[0]) or 0
        warn = text("writing.age.stale", lang) if days > stale_days else ""
        notes.append(text("writing.age.dated", lang, date=dated[0], days=days, warn=warn))
    undated = list(dict.fromkeys(p.provider for p in picks if age_days(p.as_of) is None))
    if undated:
        notes.append(text("writing.age.unknown", lang, names=", ".join(undated)))
    return " ".join(notes)
