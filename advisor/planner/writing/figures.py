"""Figures and names as engineers write them: money, memory, rates, durations, rows of the picks table."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

from advisor.answer import Fx, Pick
from advisor.messages import text

HOURS_A_MONTH = 730


def usd(value: float | None, digits: int | None = None) -> str:
    """US dollars: cents below 1,000, whole dollars from there, two significant digits below ten cents."""
    if value is None:
        return "–"
    if digits is None and 0 < abs(value) < 0.1:
        return f"${value:.2g}"
    if digits is None:
        digits = 2 if abs(value) < 1000 else 0
    return f"${value:,.{digits}f}"


def yen(value_usd: float | None, fx: Fx) -> str:
    """Yen at the given rate, three or more significant digits."""
    if value_usd is None:
        return "–"
    amount = value_usd * fx.rate
    return f"¥{amount:,.0f}" if amount >= 100 else f"¥{amount:,.1f}"


def money(value_usd: float | None, fx: Fx | None) -> str:
    """Dollars, with yen beside them where the person speaks yen."""
    return usd(value_usd) if fx is None or value_usd is None else f"{usd(value_usd)} ({yen(value_usd, fx)})"


def rate_note(fx: Fx, lang: str) -> str:
    """The exchange rate used, with its date, or that the person gave it."""
    if not fx.as_of:
        return text("writing.fx.told", lang, rate=fx.rate)
    return text("writing.fx", lang, rate=fx.rate, as_of=fx.as_of)


def number(value: float) -> str:
    """Up to three significant digits, thousands separated, no trailing zeros."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{float(f'{value:.3g}'):g}"


def gpus(pick: Pick | Any) -> str:
    """For instance "8× H100 SXM 80 GB"."""
    variant = (
        "" if pick.gpu_variant in ("unknown", "board", "") or pick.gpu_variant in pick.gpu else f" {pick.gpu_variant}"
    )
    memory = "" if pick.gpu_memory_gb is None else f" {pick.gpu_memory_gb:g} GB"
    return f"{pick.gpu_count:g}× {pick.gpu}{variant}{memory}"


def nvlink(pick: Pick | Any, lang: str) -> str:
    """The link inside the node in a few words."""
    rate = (
        f" {pick.nvlink_gb_s_per_gpu:g} GB/s" if pick.nvlink_gb_s_per_gpu and pick.nvlink in ("yes", "partial") else ""
    )
    return text(f"writing.nvlink.{pick.nvlink}", lang) + rate


FABRIC_NAMES = {
    "infiniband": "InfiniBand",
    "efa": "EFA",
    "roce": "RoCE",
    "tcpxo": "GPUDirect-TCPXO",
    "tcpx": "GPUDirect-TCPX",
    "ethernet": "Ethernet",
}


def network(pick: Pick | Any, lang: str) -> str:
    """The network between nodes in a few words, with whether it is RDMA."""
    if pick.internode_fabric in ("unknown", "none"):
        return text(f"writing.fabric.{pick.internode_fabric}", lang)
    name = FABRIC_NAMES[pick.internode_fabric]
    rate = f" {pick.internode_gbit_s_per_node:,.0f} Gb/s" if pick.internode_gbit_s_per_node else ""
    return name + rate + " " + text(f"writing.rdma.{pick.internode_rdma}", lang)


def hours(value: float, lang: str) -> str:
    """A duration: minutes, hours or days."""
    if value < 1:
        return text("writing.minutes", lang, n=number(value * 60))
    if value < 72:
        return text("writing.hours", lang, n=number(value))
    return text("writing.days", lang, n=number(value / 24))


def age_days(as_of: str, today: date | None = None) -> int | None:
    """Days since a date such as 2026-05-20; None where it is no date."""
    try:
        return ((today or date.today()) - date.fromisoformat(as_of[:10])).days
    except ValueError:
        return None


def table(picks: tuple[Pick, ...], lang: str, fx: Fx | None) -> str:
    """The picks as a Markdown table."""
    from advisor.planner.writing.prices import an_hour

    nodes = any(p.nodes > 1 for p in picks)
    estimated = any(p.estimate and (p.estimate.hours or p.estimate.tokens_per_s) for p in picks)
    roles = any(p.role != "match" for p in picks)
    head = [text("writing.col.role", lang)] if roles else []
    head += [
        text(f"writing.col.{key}", lang) for key in ("offer", "gpus", "nvlink", "network", "region", "hour", "gpu_hour")
    ]
    head += [text("writing.col.estimate", lang)] if estimated else []
    head += [text("writing.col.as_of", lang)]
    rows = [head, ["---"] * len(head)]
    for p in picks:
        spot = f" ({text('writing.spot', lang)})" if p.spot else ""
        cells = [text(f"writing.role.{p.role}", lang)] if roles else []
        size = f"{p.nodes} × ({gpus(p)})" if nodes else gpus(p)
        cells += [f"{p.provider} `{p.instance_type}`{spot}", size, nvlink(p, lang), network(p, lang)]
        cells += [place(p, lang), an_hour(p, fx, lang, nodes=p.nodes)]
        cells += [an_hour(p, fx, lang, share=1 / p.gpu_count)]
        cells += [_estimate(p, lang, fx)] if estimated else []
        cells += [p.as_of if p.as_of != "unknown" else text("writing.unknown", lang)]
        rows.append([cell.replace("|", "\\|").replace("\n", " ") for cell in cells])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def place(pick: Pick | Any, lang: str) -> str:
    """The region as the seller names it, without empty parts; the country where the region tells nothing."""
    parts = [part.strip() for part in pick.region.split(",") if part.strip()]
    if parts in (["unknown"], ["default"], []):
        return pick.country or text("writing.unknown", lang)
    return ", ".join(parts)


def _estimate(pick: Pick, lang: str, fx: Fx | None) -> str:
    e = pick.estimate
    if e is None:
        return ""
    parts = []
    if e.hours is not None:
        parts.append(hours(e.hours, lang))
    if e.cost_usd is not None:
        parts.append(money(e.cost_usd, fx))
    if e.hours is None and e.tokens_per_s is not None:
        parts.append(f"{number(e.tokens_per_s)} tokens/s")
    return ", ".join(parts)


def provider_label(pick: Pick | Any) -> str:
    """Provider and type as one name."""
    return f"{pick.provider} `{pick.instance_type}`"


def amd_only(picks: Sequence[Any]) -> bool:
    """Whether every card is AMD's: those are joined by Infinity Fabric, never by NVLink."""
    from knowledge.gpu_names import vendor_of

    return bool(picks) and all(vendor_of(pick.gpu) == "amd" for pick in picks)
