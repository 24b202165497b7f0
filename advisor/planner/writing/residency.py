"""Where the machines stand, who runs them, and what a price list cannot say about where data stays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from advisor.messages import text
from advisor.planner.writing.topics import topics_of
from knowledge.places import country_name
from knowledge.providers import provider_table


def residency_note(shown: Sequence[Any], reading: Any, lang: str) -> list[str]:
    """Where data must stay somewhere: the countries of the regions shown, and of the operators where they differ."""
    if "residency" not in topics_of(reading.text):
        return []
    countries = sorted({p.country for p in shown if p.country})
    if not countries:
        return []
    table = provider_table()
    foreign: dict[str, list[str]] = {}
    for p in shown:
        seller = table.get(p.provider)
        if seller and seller.country != "unknown" and seller.country not in countries:
            names = foreign.setdefault(seller.country, [])
            if seller.name not in names:
                names.append(seller.name)
    words = text("writing.join", lang).join(
        f"{', '.join(names)} ({country_name(country, lang)})" for country, names in foreign.items()
    )
    key = "foreign" if foreign else "same"
    values = {"countries": ", ".join(country_name(code, lang) for code in countries), "operators": words}
    return [text(f"writing.residency.{key}", lang, **values)]
