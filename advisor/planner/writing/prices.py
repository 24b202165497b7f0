"""Prices as the seller prints them: yen where the list is in yen, dollars beside them, monthly amounts that are known."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from advisor.answer import Fx
from advisor.messages import text
from advisor.planner.writing.figures import HOURS_A_MONTH, usd, yen

_MONTH = re.compile(r"([\d,]+) JPY a month")
_RATE = re.compile(r"at ([\d.]+) JPY/USD \((\d{4}-\d{2}-\d{2})\)")
_TAX_IN = "consumption tax included"
_TAX_UNKNOWN = "consumption tax (10 %) not stated"


def in_yen(pick: Any) -> bool:
    """Does the seller print yen?"""
    return pick.currency == "JPY"


def yen_amount(value: float) -> str:
    """Yen as printed in lists."""
    return f"¥{value:,.0f}" if value >= 100 or value == round(value) else f"¥{value:,.1f}"


def yen_a_month(pick: Any) -> float | None:
    """Yen a month of one machine as printed: a monthly plan, or the monthly maximum of an hourly one."""
    found = _MONTH.search(pick.price_note or "")
    return float(found[1].replace(",", "")) if found and in_yen(pick) else None


def an_hour(pick: Any, fx: Fx | None, lang: str, *, nodes: int = 1, share: float = 1.0) -> str:
    """The price of `nodes` machines an hour (or of a `share` of one): the printed currency first, dollars beside it."""
    dollars = None if pick.price_usd_hour is None else pick.price_usd_hour * nodes * share
    if in_yen(pick) and pick.price_original_hour is not None:
        printed = yen_amount(pick.price_original_hour * nodes * share)
        return printed if dollars is None else f"{printed} ({usd(dollars)})"
    if dollars is None:
        month = yen_a_month(pick)
        if month is None or share != 1.0:
            return "–"
        return text("writing.price.month", lang, price=yen_amount(month * nodes))
    return usd(dollars) if fx is None else f"{usd(dollars)} ({yen(dollars, fx)})"


def a_month(pick: Any, fx: Fx | None) -> str | None:
    """The price of all machines of a pick for 730 hours, or the printed monthly amount; None where no price is known."""
    printed = yen_a_month(pick)
    hourly = pick.total_usd_hour
    if in_yen(pick) and (printed is not None or pick.price_original_hour is not None):
        running = None if pick.price_original_hour is None else pick.price_original_hour * HOURS_A_MONTH
        return yen_amount(min(v for v in (printed, running) if v is not None) * pick.nodes)
    if hourly is None:
        return None
    return usd(hourly * HOURS_A_MONTH) + (f" ({yen(hourly * HOURS_A_MONTH, fx)})" if fx else "")


def month_note(picks: Iterable[Any], fx: Fx | None, lang: str) -> str:
    """What each row costs a month; empty where no price is known."""
    items = [f"{p.provider} `{p.instance_type}` {month}" for p in picks if (month := a_month(p, fx))]
    return text("writing.month", lang, items=text("writing.join", lang).join(items)) if items else ""


def list_note(picks: Sequence[Any], lang: str) -> str:
    """Whose prices are printed in yen, with tax or not, and the rate behind the dollars beside them."""
    rows = [p for p in picks if in_yen(p) and (p.price_original_hour is not None or yen_a_month(p))]
    notes = []
    for key, mark in (("in", _TAX_IN), ("unknown", _TAX_UNKNOWN), ("", "")):
        names = list(dict.fromkeys(p.provider for p in rows if _tax(p) == mark))
        if names:
            tax = text(f"writing.price.tax.{key}", lang) if key else ""
            notes.append(text("writing.price.list", lang, names=", ".join(names), tax=tax))
    rate = next((found for p in rows if (found := _RATE.search(p.price_note or ""))), None)
    if rate:
        notes.append(text("writing.price.rate", lang, rate=rate[1], as_of=rate[2]))
    return (" " if lang == "en" else "").join(notes)


def _tax(pick: Any) -> str:
    note = pick.price_note or ""
    return next((mark for mark in (_TAX_IN, _TAX_UNKNOWN) if mark in note), "")
