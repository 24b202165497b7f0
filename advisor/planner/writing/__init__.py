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
    from advisor.planner.writing.bold import shown

    answer = _write(reading, results, stale_days)
    return answer.model_copy(update={"text": shown(answer.text)})


def _write(reading: Reading, results: Results, stale_days: int) -> Answer:
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
    if results.page is not None and not asks_nothing(reading):
        return listing.write(reading, results, stale_days)
    answer = explaining.write(reading, results)
    if results.failed.keys() & {"recommend", "filter_offers"}:
        from advisor.messages import text

        note = text("writing.tool_failed", answer.lang)
        return answer.model_copy(update={"text": f"> {note}\n\n{answer.text}"})
    return answer


LIST_ACTS = frozenset({"list", "sort_price", "price_query", "cheaper", "edited"})


def asks_nothing(reading: Reading) -> bool:
    """Would the list be of every offer there is? Then the question is about something else, and passages answer it."""
    from advisor.answer import Constraints

    limits = reading.constraints.model_copy(update=dict.fromkeys(("sort", "limit", "spot", "nodes", "max_nodes")))
    named = reading.mentions.unknown_gpus or reading.mentions.unknown_instance_types
    return limits == Constraints() and not named and not reading.acts & LIST_ACTS
