"""The machines that the person named, a line each: memory, time, price, and the same as values of the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from advisor.answer import NamedMachine
from advisor.messages import text
from advisor.planner.writing.figures import hours, network, number, usd
from knowledge.offers import Offer


def assessed_lines(assessments: Sequence[dict[str, Any]], deadline_hours: float | None, lang: str) -> list[str]:
    """Where several machines were named: does the job fit each, in time, and at what price?"""
    rows = [row for row in assessments if row.get("need_gb") is not None]
    return [assessed_line(row, deadline_hours, lang) for row in rows] if len(rows) > 1 else []


def assessed_line(row: dict[str, Any], deadline_hours: float | None, lang: str) -> str:
    """One machine in a line."""
    key = "fits" if row["fits"] else "tight" if row["need_gb"] <= row["have_gb"] else "not"
    plan = text("writing.assess.plan", lang, plan=row["plan"]) if row.get("plan") and row["gpus"] > 1 else ""
    values = {"gpus": row["label"], "need": number(row["need_gb"]), "have": number(row["have_gb"]), "extra": plan}
    parts = [text(f"writing.assess.{key}", lang, **values)]
    if row.get("hours") is not None:
        parts.append(_time(row["hours"], deadline_hours, lang))
    return _join([*parts, *further(row, lang)], lang)


def further(row: dict[str, Any], lang: str) -> list[str]:
    """What a machine that holds the job has left, and what it costs."""
    if not row["fits"]:
        return []
    parts = between_nodes(row, lang)
    left = row["have_gb"] - row["need_gb"]
    if row.get("requests"):
        values = {"n": number(row["requests"]), "context": number(row["context"] or 0)}
        parts.append(text("writing.assess.requests" + (".one" if row["requests"] == 1 else ""), lang, **values))
    elif left >= 1 and row.get("serves"):
        parts.append(text("writing.assess.room", lang, left=number(left)))
    price = row.get("usd_hour")
    if price is not None:
        cost, per_million = _costs(row)
        values = {"price": usd(price), "seller": row["seller"]}
        if cost is not None:
            amounts = {"cost": usd(cost), "n": number(row["hours"] * row["gpus"])}
            parts.append(text("writing.assess.price.job", lang, **values, **amounts))
        elif per_million is not None:
            rates = {"cost": usd(per_million), "rate": number(row["tokens_per_s"])}
            parts.append(text("writing.assess.price.tokens", lang, **values, **rates))
        else:
            parts.append(text("writing.assess.price", lang, **values))
    return parts


def between_nodes(row: dict[str, Any], lang: str) -> list[str]:
    """Of several nodes: the network that was counted with, and that it is assumed where no offer states one."""
    if row["nodes"] <= 1 or "as_offer" not in row:
        return []
    if row.get("network_assumed"):
        return [text("writing.assess.network", lang)]
    return [text("writing.assess.network.sold", lang, network=network(Offer.model_validate(row["as_offer"]), lang))]


def judged(assessments: Sequence[dict[str, Any]]) -> tuple[NamedMachine, ...]:
    """The same as values."""
    rows = []
    for row in assessments:
        if row.get("need_gb") is None and row.get("usd_hour") is None:
            continue
        cost, per_million = _costs(row)
        rows.append(
            NamedMachine(
                label=row["label"],
                gpus=row["gpus"],
                nodes=row["nodes"],
                need_gb=row["need_gb"],
                have_gb=row["have_gb"],
                fits=row["fits"],
                plan=row.get("plan") or "",
                tokens_per_s=row.get("tokens_per_s"),
                hours=row.get("hours"),
                usd_hour=row.get("usd_hour"),
                cost_usd=None if cost is None else round(cost, 2),
                usd_per_million_tokens=None if per_million is None else round(per_million, 4),
                usd_per_100_fp32_tflops_hour=None if (peak := fp32_price(row)) is None else round(peak, 4),
                seller=row.get("seller"),
                instance_type=row.get("seller_type"),
            )
        )
    return tuple(rows)


def _costs(row: dict[str, Any]) -> tuple[float | None, float | None]:
    """(dollars for the whole job, dollars for a million tokens); None where not known."""
    price = row.get("usd_hour")
    if price is None or not row["fits"]:
        return None, None
    if row.get("hours"):
        return price * row["hours"], None
    if row.get("tokens_per_s"):
        return None, price / row["tokens_per_s"] / 3600 * 1e6
    return None, None


def fp32_price(row: dict[str, Any]) -> float | None:
    """Dollars an hour for 100 TFLOPS of FP32 peak, where the job's speed follows it and is not modelled."""
    price, peak = row.get("usd_hour"), row.get("fp32_tflops")
    return None if price is None or not peak else float(price / peak / row["gpus"] * 100)


def _time(needed: float, deadline: float | None, lang: str) -> str:
    """How long the job takes there, and whether that meets the deadline."""
    if deadline is None:
        return text("writing.assess.time", lang, time=hours(needed, lang))
    key = "late" if needed > deadline else "close" if needed > 0.8 * deadline else "in_time"
    return text(f"writing.assess.{key}", lang, time=hours(needed, lang), deadline=hours(deadline, lang))


def _join(parts: Sequence[str], lang: str) -> str:
    return (" " if lang == "en" else "").join(part for part in parts if part)
