"""How long a machine is rented for: hours in all, from spans ("3 days"), words ("半年") and hours of a day."""

from __future__ import annotations

from advisor.planner.reading.phrases import first, says
from advisor.planner.reading.result import Quantity

_HOURS_A_DAY = 24.0
_LONGEST = 10 * 8760.0


def rental_hours(
    text: str, numbers: tuple[Quantity, ...], deadline: float | None = None, *, job: bool = False
) -> float | None:
    """Hours of rental that the turn states. None where nothing is said.

    Where there is a `job`, a `deadline` is the time that it has; else it is how long the machine is needed.

    "8 hours a day for a month" is 8 of every 24 hours of the span.
    """
    span = next((q.value for q in numbers if q.meaning == "rent_hours"), None)
    if span is None and not (job and deadline) and (found := first("rent_span", text)):
        span = float(found.value)
    if span is None and deadline is not None and not job and not says("job_deadline", text):
        span = deadline
    if span is None or span == 1.0:
        return None  # "1時間の料金" asks for the rate
    a_day = next((q.value for q in numbers if q.meaning == "hours_per_day"), None)
    if a_day is not None and 0 < a_day < _HOURS_A_DAY and span > _HOURS_A_DAY:
        span *= a_day / _HOURS_A_DAY
    return span if 0 < span <= _LONGEST else None
