"""Figures as engineers write them. Unknown (None) is a dash, never 0."""

from __future__ import annotations

import math
import re
import unicodedata
from datetime import date

from advisor.web.words import Refused

DASH = "–"


def money(value: float | None) -> str:
    """US dollars: cents below 1,000 (four decimals below ten cents), whole dollars above."""
    if value is None:
        return DASH
    if value >= 1000:
        return f"${value:,.0f}"
    return f"${value:,.4f}" if 0 < value < 0.1 else f"${value:,.2f}"


def signed_money(value: float | None) -> str:
    """A difference in US dollars with its sign."""
    if value is None:
        return DASH
    return ("−" if value < 0 else "+") + money(abs(value))


def number(value: float | None, digits: int = 3) -> str:
    """About `digits` significant figures with thousands separated; whole numbers stay whole."""
    if value is None:
        return DASH
    if abs(value) >= 10 ** (digits - 1) or value == int(value):
        return f"{value:,.0f}"
    return f"{value:,.{digits}g}"


def big(value: float | None) -> str:
    """1234567 → 1.23M; the steps are k, M, B, T."""
    if value is None:
        return DASH
    for step, sign in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= step:
            return f"{value / step:.3g}{sign}"
    return number(value)


def percent(share: float | None) -> str:
    """0.123 → 12%; below one percent one decimal."""
    if share is None:
        return DASH
    return f"{share * 100:.1f}%" if 0 < share < 0.01 else f"{share * 100:.0f}%"


def hours(value: float | None, lang: str) -> str:
    """A duration: minutes below 1 hour, hours to 4 days, then days."""
    if value is None:
        return DASH
    units = {"en": (" min", " h", " days"), "ja": (" 分", " 時間", " 日")}[lang]
    if value < 1:
        return f"{number(value * 60, 2)}{units[0]}"
    return f"{number(value)}{units[1]}" if value < 96 else f"{number(value / 24)}{units[2]}"


_AMOUNT = re.compile(r"\s*[$¥]?\s*([0-9][0-9,]*\.?[0-9]*|\.[0-9]+)\s*([kmbt]?)\s*", re.I)
_STEPS = {"": 1.0, "k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12}


def parse_amount(raw: object) -> float | None:
    """An amount typed by a person: `3,000`, `１２`, `$2.5`, `1.5k`; None where the field is empty.

    Raises Refused where it is no amount of zero or more.
    """
    if raw is None or isinstance(raw, bool):
        return None
    if isinstance(raw, int | float):
        if math.isfinite(raw) and raw >= 0:
            return float(raw)
        raise Refused("error.no_amount", value=str(raw))
    text = unicodedata.normalize("NFKC", str(raw)).strip()
    if not text:
        return None
    found = _AMOUNT.fullmatch(text)
    if not found:
        raise Refused("error.no_amount", value=text[:40])
    return float(found.group(1).replace(",", "")) * _STEPS[found.group(2).lower()]


def amount_text(value: float | None) -> str:
    """An amount as a field shows it: no thousands separators, nothing where it is unknown."""
    return "" if value is None else f"{value:.10f}".rstrip("0").rstrip(".")


def age_days(as_of: str, today: date | None = None) -> int | None:
    """Days since an ISO date; None where the text is no date."""
    try:
        return ((today or date.today()) - date.fromisoformat(as_of[:10])).days
    except ValueError:
        return None
