"""Money in a turn: caps a GPU-hour, an hour, a month, or in all; yen turned into dollars at a dated rate."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice

from advisor.answer import Fx
from advisor.planner.reading.lexicon import Rate
from advisor.planner.reading.phrases import says
from advisor.planner.reading.result import Quantity

_AMOUNT = re.compile(
    r"(?P<pre>us\$|usd\s?|\$|¥|jpy\s?)\s?(?P<n1>{n})(?:{to}[$¥]?(?P<h1>{n}))?(?P<u1>{unit})"
    r"|(?:(?P<n2>{n}){to})?(?P<h2>{n})(?P<u2>{unit})\s?(?P<post>円|ドル|usd|us\$|dollars?|bucks|yen|jpy|\$|cents?|セント)"
    r"|(?P<n3>{n})\s?(?P<u3>千万|百万|万)(?=\s?(?:以内|以下|まで|くらい|ぐらい|程度|ほど|の?予算|しか|で(?!す)|/|未満|前後|が上限|が限界|$|。|、))"
    r"|(?:(?<=budget )|(?<=budget of )|(?<=budget is )|(?<=budget: )|(?<=budget about )|(?<=budget around ))(?P<n4>{n})\s?(?P<u4>k|grand|m)?(?![a-z0-9.%])"
    r"|(?P<n5>{n})\s?(?P<u5>k|grand)(?= (?:total|all in|in total|budget|max|tops|or less))".replace(
        "{n}", r"\d{1,12}(?:\.\d{1,4})?"
    )
    .replace("{to}", r"\s?(?:-|~|to|から)\s?")
    .replace("{unit}", r"(?:\s?(?:k(?![a-z])|thousand|million|m(?![a-z])|千万|百万|十万|万|千|億))?")
)
_SCALE = {
    "k": 1e3,
    "grand": 1e3,
    "thousand": 1e3,
    "m": 1e6,
    "million": 1e6,
    "万": 1e4,
    "千": 1e3,
    "百万": 1e6,
    "十万": 1e5,
    "千万": 1e7,
    "億": 1e8,
}
_FIELDS = {
    "gpu_hour": "max_price_usd_gpu_hour",
    "hour": "max_price_usd_hour",
    "month": "budget_usd_month",
    "total": "budget_usd",
}
_RATE = re.compile(
    r"(?:為替(?:レート)?|レート|換算レート|1?ドル|\$1|1 ?usd|(?:1 |a )?(?:us )?dollar|usd ?/ ?jpy|exchange rate|fx)"
    r"(?:は|が|を|で|=|:|≒|\s|/|of|at|is|to|=)*(?:約)?¥?(?P<a>\d{2,3}(?:\.\d{1,4})?)\s?(?:円|yen|jpy)?"
    r"(?=\s?(?:円|yen|jpy|換算|で|と|$|[,.、。)?]))(?!\s?(?:円|yen|jpy)?(?:/|以下|以内|まで|未満|per|an? ))"
    r"|¥?(?P<b>\d{2,3}(?:\.\d{1,4})?)\s?(?:円|yen|jpy|¥)?\s?(?:/|per|to the|to a|to 1|to one|a|for a|=)\s?(?:the |1 |one |us )?(?:ドル|dollar|usd|\$1?)(?![a-z0-9])"
)
_LOWEST_RATE, _HIGHEST_RATE = 50.0, 400.0
"""Yen for a dollar; what lies outside is another number."""
STATED = "stated in the question"
"""Source of a rate that the person gave."""
_MOST_AMOUNTS = 30
_HOURLY_USD = 15.0
"""Dollars a GPU up to which a sum without a scope is a price an hour: dearer ones are not rented by the hour."""
HOURS_A_DAY = 24
HOURS_A_MONTH = 730
_MONTHS = {"week": 168 / HOURS_A_MONTH, "year": 12.0}
"""Months that a sum for such a span is for."""


@dataclass(frozen=True)
class Money:
    """What the turn says about money: constraint fields in dollars, the rate used, and what was read."""

    fields: dict[str, float]
    fx: Fx | None
    quantities: tuple[Quantity, ...]


def read_money(
    text: str,
    rate: Rate | None,
    gpu_count: int | None,
    names_gpu: bool,
    usual: str | None = None,
    *,
    listing: bool = False,
) -> Money:
    """Caps and budgets of the normalised text. `gpu_count` and `names_gpu` tell a price for one GPU from one for a machine.

    `usual` is the field that the conversation has spoken of so far; an amount with no scope of its own ("100円なら") is of it.
    `listing`: GPUs are asked for and neither a job nor a time, so that a small sum is the price of an hour.
    """
    fields: dict[str, float] = {}
    read: list[Quantity] = []
    told = [m for m in _RATE.finditer(text) if _LOWEST_RATE <= _told(m) <= _HIGHEST_RATE]
    if told:
        rate = Rate(_told(told[0]), "", STATED)
    fx = _fx(rate) if rate is not None and (told or says("yen", text)) else None
    for match in islice(_AMOUNT.finditer(text), _MOST_AMOUNTS):
        value, currency = _value(match)
        before = text[max(0, match.start() - 44) : match.start()]
        after = text[match.end() : match.end() + 34]
        if (match["n4"] or match["n5"]) and says("not_money_after", after):
            continue
        if value < 0 or _quoted(text, match, before, after) or _is_rate(match, told):
            continue
        if not match["pre"] and re.match(r"[a-z]", text[max(0, match.start() - 1) : match.start()]):
            continue  # the digits end a name ("H100 円で")
        if match["n3"] and says("not_money_before", before):
            continue
        if currency == "jpy":
            if rate is None:
                continue
            value /= rate.rate
        scope = _scope(before, after, text)
        if listing and usual is None and value <= _HOURLY_USD * (gpu_count or 1) and not _of_a_total(scope, before):
            scope = "hour"
        if scope == "day":
            scope, value = "hour", value / HOURS_A_DAY
        elif scope in _MONTHS:
            scope, value = "month", value / _MONTHS[scope]
        if scope == "hour":
            scope = _hour_scope(value, text, gpu_count, names_gpu)
        field = _FIELDS.get(scope) or usual or "budget_usd"
        fields[field] = min(value, fields.get(field, value))
        read.append(
            Quantity(text=match.group(0).strip(), meaning=field, value=value, start=match.start(), end=match.end())
        )
    if not fields and says("free", text):
        fields["budget_usd"] = 0.0
    if gpu_count == 1 and "max_price_usd_hour" in fields:
        fields.setdefault("max_price_usd_gpu_hour", fields["max_price_usd_hour"])
    return Money(fields, fx, tuple(read))


def _value(match: re.Match[str]) -> tuple[float, str]:
    """(amount, currency); of a range the higher end."""
    part = match.groupdict(default="")
    plain = part["n4"] or part["n5"]
    number = part["h1"] or part["n1"] or part["h2"] or part["n3"] or plain
    unit = (part["u1"] or part["u2"] or part["u3"] or part["u4"] or part["u5"]).strip()
    mark = (part["pre"] or part["post"] or ("$" if plain else "円")).strip()
    value = float(number) * _SCALE.get(unit, 1.0)
    if mark in ("cent", "cents", "セント"):
        value /= 100
    return value, "jpy" if mark in ("円", "¥", "jpy", "yen") else "usd"


def _quoted(text: str, match: re.Match[str], before: str, after: str) -> bool:
    """Whether the amount is a price somebody told, or a floor, and no cap."""
    if says("cap_before", before) or says("cap_after", after):
        return False
    return says("quoted_before", before) or says("quoted_after", after)


def _of_a_total(scope: str, before: str) -> bool:
    """Whether the words tell what the sum is for; "for under $10" does not."""
    return scope != "unsaid" and not (scope == "total" and re.search(r"(?<![a-z])for(?: \S+){0,4} ?$", before))


def _scope(before: str, after: str, text: str) -> str:
    near = says
    if near("per_card_before", before) and near("per_hour_after", after):
        return "gpu_hour"
    if near("per_gpu_hour_after", after) or near("per_gpu_hour_before", before):
        return "gpu_hour"
    if near("per_hour_after", after) or near("per_hour_before", before):
        return "hour"
    if near("per_month_after", after) or near("per_month_before", before):
        return "month"
    for span in ("week", "year", "day"):
        if near(f"per_{span}_after", after) or near(f"per_{span}_before", before):
            return span
    if near("total_before", before) or near("total_after", after):
        return "total"
    if near("per_gpu_hour_any", text):
        return "gpu_hour"
    return "unsaid"


def _hour_scope(value: float, text: str, gpu_count: int | None, names_gpu: bool) -> str:
    """A price an hour is for the machine where the turn says so or the sum is too high for a card, else for one GPU."""
    if says("whole_machine", text) or gpu_count == 1:
        return "hour"
    if gpu_count and gpu_count > 1:
        return "gpu_hour" if value / gpu_count < 0.35 else "hour"
    return "gpu_hour" if names_gpu and value <= 15 else "hour"


def _told(match: re.Match[str]) -> float:
    return float(match["a"] or match["b"])


def _is_rate(match: re.Match[str], told: list[re.Match[str]]) -> bool:
    """Whether an amount is part of a rate of exchange ("1ドル145円で計算", "at 145 yen per dollar")."""
    return any(m.start() < match.end() and match.start() < m.end() for m in told)


def _fx(rate: Rate) -> Fx:
    return Fx(pair="USD/JPY", rate=rate.rate, as_of=rate.as_of, source=rate.source)
