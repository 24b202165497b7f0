"""How old the prices are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from advisor.messages import text
from advisor.planner.writing.figures import age_days


def age_note(picks: Sequence[Any], lang: str, stale_days: int) -> str:
    """The age of the oldest price and the sellers without a date, in one sentence."""
    dated = sorted({p.as_of for p in picks if age_days(p.as_of) is not None})
    undated = list(dict.fromkeys(p.provider for p in picks if age_days(p.as_of) is None))
    parts = []
    if dated:
        days = age_days(dated[0]) or 0
        names = ", ".join(dict.fromkeys(p.provider for p in picks if p.as_of == dated[0]))
        key = "writing.age.stale" if days > stale_days else "writing.age.dated"
        parts.append(text(key, lang, date=dated[0], days=days, names=names))
    if undated:
        parts.append(text("writing.age.unknown", lang, names=", ".join(undated)))
    return (" " if lang == "en" else "").join(parts)
