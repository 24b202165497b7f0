"""Yen prices of providers in Japan → rows of the shipped table: converted at the dated rate, tax and billing unit told."""

from __future__ import annotations

import csv
import re
from pathlib import Path

from ingest.report import Report
from knowledge.fx import usd_jpy
from knowledge.gpu_names import resolve_gpu
from knowledge.links import board_form
from knowledge.providers import provider_table, resolve_provider

_CLOSED = re.compile(r"academic|development acceleration", re.IGNORECASE)
"""Rates that only some projects get; shown as offers they would be the cheapest of all and open to almost nobody."""


def japan_rows(path: Path, report: Report) -> list[dict[str, str]]:
    """The products of Japanese providers with a GPU and a count; prices by the month stay in yen (no hour price is made up)."""
    rows: list[dict[str, str]] = []
    with path.open(encoding="utf-8-sig", newline="") as handle:
        for number, fact in enumerate(csv.DictReader(handle), start=2):
            if fact["product"] in ("region catalogue", "VPC GPU"):
                continue
            report.rows_in += 1
            row = _row(fact, number, path.name, report)
            if row:
                rows.append(row)
    return rows


def _row(fact: dict[str, str], number: int, name: str, report: Report) -> dict[str, str] | None:
    provider = resolve_provider(fact["provider"].split(" (")[0]) or resolve_provider(fact["provider"])
    counts = fact["gpu_count"]
    gpu = resolve_gpu(f"{fact['gpu_model']} {fact['gpu_variant']}", _number(fact["gpu_memory_gb"]))
    if provider is None or gpu is None or not counts.isdigit():
        report.reject(name, "no provider, GPU or count to make an offer of", row=number, value=fact["product"])
        return None
    if _CLOSED.search(f"{fact['product']} {fact['instance_type']}"):
        report.reject(name, "a rate of a closed programme is no offer", row=number, value=fact["instance_type"])
        return None
    hour, month = _number(fact["price_jpy_hour"]), _number(fact["price_jpy_month"])
    dollars = _number(fact["price_usd_hour"])
    instance_type = f"{fact['product']} {fact['instance_type']}"
    form = gpu.variant
    if form == "unknown":
        form = board_form(provider, instance_type, gpu.gpu, float(counts)) or "unknown"
    region = re.split(r"[,(]", fact["region"])[0].strip() if "not tied" not in fact["region"] else ""
    city = next((c for c in ("Ishikari", "Tokyo", "Osaka", "Fukuoka", "Kashiwa") if c in fact["region"]), "")
    if not city and fact["provider"].startswith("AIST"):
        city = "Kashiwa"
    notes: list[str] = []
    price = None
    if hour is not None:
        rate = usd_jpy()
        price = hour / rate.rate
        notes.append(f"{hour:g} JPY/h at {rate.rate:g} JPY/USD ({rate.as_of})")
    elif dollars is not None:
        price = dollars
    if month is not None:
        notes.append(f"{month:,.0f} JPY a month" + (" at most" if "caps" in fact["billing_unit"] else ""))
    if fact["tax"] and (hour or month):
        tax = fact["tax"].split(" (")[0]
        stated = (
            f"10 % consumption tax {tax}" if tax in ("included", "excluded") else "consumption tax (10 %) not stated"
        )
        notes.append(stated)
    if fact["billing_unit"]:
        notes.append(f"billed by: {fact['billing_unit']}")
    if len(fact["as_of"].split(" (")[0]) == 7:
        notes.append(f"as of {fact['as_of'].split(' (')[0]}")
    if provider_table()[provider].kind == "academic":
        notes.append("use is by application")
    if not price and not month:
        notes.append("price on request or not published")
    return {
        "provider": provider,
        "instance_type": instance_type,
        "gpu": gpu.gpu,
        "gpu_variant": form,
        "gpu_count": counts,
        "gpu_memory_gb": f"{gpu.memory_gb:g}" if gpu.memory_gb else "",
        "vcpus": fact["vcpus"],
        "ram_gb": fact["ram_gb"],
        "region": region or "unknown",
        "country": "" if "not tied" in fact["region"] else "JP",
        "city": city,
        "spot": "false",
        "price_usd_hour": f"{price:.4f}" if price else "",
        "currency": "JPY" if hour or month else "USD",
        "price_original_hour": f"{hour:g}" if hour else "",
        "price_note": "; ".join(notes),
        "catalogue": "price-page",
        "source": fact["source_url"].split(" ; ")[0] or "unknown",
        "as_of": _date(fact["as_of"]),
    }


def _date(text: str) -> str:
    """A whole date, the first day of a month that is all the source gives, or "unknown"."""
    first = text.split(" (")[0].strip()
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", first):
        return first
    return f"{first}-01" if re.fullmatch(r"\d{4}-\d{2}", first) else "unknown"


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
