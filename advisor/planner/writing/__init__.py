"""From what was read and found to the answer: which case it is, then one writer a case."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.answer import Answer

if TYPE_CHECKING:
    from advisor.planner.reading import Reading
    from advisor.results import Results

STALE_DAYS = 30


def write(reading: Reading, results: Results, *, stale_days: int = STALE_DAYS) -> Answer:
    """The answer of one turn. Never raises for anything that a question or a tool result can hold."""
    from advisor.planner.writing import diagnosing, explaining, listing, picking, short

    if results.diagnosis is not None:
        return diagnosing.write(reading, results)
    if reading.intent == "refuse":
        return short.refuse(reading)
    if reading.intent == "clarify":
        return short.clarify(reading)
    if reading.intent in ("explain", "troubleshoot"):
        return explaining.write(reading, results)
    if results.recommendation is not None:
        return picking.write(reading, results, stale_days)
    if results.page is not None:
        return listing.write(reading, results, stale_days)
    return explaining.write(reading, results)
