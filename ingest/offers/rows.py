"""The one form that every reader brings its rows to, and the steps from there to Offers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ingest.report import Report
from knowledge.fx import usd_jpy
from knowledge.gpu_names import ResolvedGpu, gpu_table, nearest, resolve_gpu
from knowledge.links import board_form, named_gpu
from knowledge.offer_model import Offer
from knowledge.offer_table import make_offer
from knowledge.places import locate
from knowledge.price_bands import known_outlier, outside_band, price_bands
from knowledge.providers import provider_table, resolve_provider

SPOT_ABOVE = 2.0
"""A spot price at twice the on-demand price or more is a placeholder; smaller excesses are real and are told."""
RAM_IS_GPU_MEMORY_FROM_GB = 80
"""From this size of card on, a machine whose RAM equals its GPU memory to the GB lists the GPU memory twice."""
_FORM_IN_NAME = re.compile(r"(?<![a-z])(sxm\d?|hgx|dgx|pcie?|nvl)(?![a-z])")


@dataclass
class CatalogueRow:
    """One offer as a catalogue lists it. `names` are the GPU names it gives, the most telling first; prices are those of the
    whole instance, in `currency`; `memory_gb` is that of one GPU where the reader could tell."""

    label: str
    line: int
    provider: str
    instance_type: str
    source: str
    names: tuple[str, ...] = ()
    broker: str | None = None
    count: float | None = None
    memory_gb: float | None = None
    memory_doubtful: bool = False
    variant: str | None = None
    vcpus: float | None = None
    ram_gb: float | None = None
    price: float | None = None
    spot_price: float | None = None
    currency: str = "USD"
    region: str = "unknown"
    country: str | None = None
    city: str | None = None
    as_of: str = "unknown"
    catalogue: str = "table"
    notes: list[str] = field(default_factory=list)
    link_type: str | None = None
    """The maker's own name of the instance type, where a broker gives it."""
    links: dict[str, Any] = field(default_factory=dict)


def to_offers(rows: Iterable[CatalogueRow], report: Report) -> list[Offer]:
    """Offers of these rows, on-demand and spot apart, each offer once (the lowest price where it is listed several times).

    What cannot be an offer is in the report with its line, field, value and reason.
    """
    found: dict[str, Offer] = {}
    highest: dict[str, float] = {}
    for row in rows:
        made = _offers_of(row, report)
        _count(report, row, "rows_in_offers" if made else "rows_without_offer")
        for offer in made:
            before = found.get(offer.offer_id)
            if before is None:
                found[offer.offer_id] = offer
                highest[offer.offer_id] = offer.price_usd_hour or 0.0
                continue
            report.merged += 1
            highest[offer.offer_id] = max(highest[offer.offer_id], offer.price_usd_hour or 0.0)
            found[offer.offer_id] = _cheaper(before, offer)
    offers = [_noted(offer, highest[offer.offer_id]) for offer in found.values()]
    _watch_prices(offers, report)
    return offers


def _watch_prices(offers: list[Offer], report: Report) -> None:
    """Say which prices lie outside the usual band of their GPU; they go in, for a price may be right and unusual."""
    odd: dict[tuple[str, str], list[Offer]] = {}
    for offer in offers:
        explained = known_outlier(offer.provider, offer.instance_type, offer.spot)
        if outside_band(offer.gpu, offer.price_usd_gpu_hour) and not explained:
            odd.setdefault((offer.provider, offer.gpu), []).append(offer)
    for (provider, gpu), found in odd.items():
        one = min(found, key=lambda offer: offer.price_usd_gpu_hour or 0.0)
        low, high = price_bands()[gpu]
        report.warn(
            f"{provider}: {len(found)} prices of {gpu} lie outside {low:g} to {high:g} USD a GPU-hour, "
            f"for instance {one.instance_type} in {one.region} at {one.price_usd_gpu_hour:g}"
        )


def _count(report: Report, row: CatalogueRow, what: str) -> None:
    counts = report.details.setdefault(row.broker or row.provider, {})
    counts[what] = counts.get(what, 0) + 1


def _cheaper(one: Offer, other: Offer) -> Offer:
    """The one with the lower price; a price wins over none."""
    known = [offer for offer in (one, other) if offer.price_usd_hour is not None]
    return min(known, key=lambda offer: offer.price_usd_hour or 0.0) if known else one


def _noted(offer: Offer, highest: float) -> Offer:
    if offer.price_usd_hour and highest > offer.price_usd_hour * 1.01:
        note = f"Lowest of several listings, up to {highest:.6g} USD/h."
        return offer.model_copy(update={"price_note": f"{offer.price_note} {note}" if offer.price_note else note})
    return offer


def _offers_of(row: CatalogueRow, report: Report) -> list[Offer]:
    gpu = _gpu(row, report)
    if gpu is None:
        return []
    count = row.count
    if count is None or count <= 0:
        report.reject(row.label, "the number of GPUs is not given", row=row.line, field="gpu_count", value=row.count)
        return []
    price, spot = _prices(row, report)
    if price is None and spot is None and row.price is None and row.spot_price is None:
        if row.catalogue.startswith("table"):
            return [_offer(row, gpu, count, None, spot=False)]
        report.reject(
            row.label, "neither a price nor a spot price", row=row.line, field="price", value=row.instance_type
        )
        return []
    made = []
    if price is not None:
        made.append(_offer(row, gpu, count, price, spot=False))
    if spot is not None:
        made.append(_offer(row, gpu, count, spot, spot=True))
    return made


# ---------------------------------------------------------------------- prices


def _prices(row: CatalogueRow, report: Report) -> tuple[float | None, float | None]:
    price, spot = row.price, row.spot_price
    if price is not None and price <= 0:
        report.reject(row.label, "a price of zero is no price", row=row.line, field="price", value=price)
        price = None
    if spot is not None and spot <= 0:
        spot = None
    if spot is not None and price is not None:
        if spot == price:
            counts = report.details.setdefault(row.broker or row.provider, {})
            counts["spot_equal_to_price"] = counts.get("spot_equal_to_price", 0) + 1
            spot = None
        elif spot >= SPOT_ABOVE * price:
            report.reject(row.label, "spot price far above the on-demand price", row=row.line, field="spot", value=spot)
            spot = None
        elif spot > price:
            row.notes.append("Spot price above the on-demand price in the source.")
    return price, spot


def in_dollars(price: float, currency: str) -> tuple[float | None, str | None]:
    """The price in US dollars and a note, or None where the currency is not certain or has no dated rate."""
    if currency == "USD":
        return price, None
    if currency == "JPY":
        rate = usd_jpy()
        return round(price / rate.rate, 4), f"{price:g} JPY/h at {rate.rate:g} JPY/USD ({rate.as_of})"
    if currency.endswith("?"):
        likely = currency.rstrip("?")
        return None, f"The catalogue does not state the currency; {likely} is likely, so no dollar price is given."
    return None, f"Priced in {currency}, for which no rate is known."


# ---------------------------------------------------------------------- GPU


def _gpu(row: CatalogueRow, report: Report) -> ResolvedGpu | None:
    """The canonical GPU; a name that no model fits is kept as written and reported with the nearest known ones."""
    if not any(row.names):
        report.reject(row.label, "no GPU is named", row=row.line, field="gpu", value=row.instance_type)
        return None
    memory = row.memory_gb if (row.count or 1) >= 1 else None
    found = [gpu for name in row.names if name and (gpu := resolve_gpu(name, memory))]
    if not found:
        name = next(name for name in row.names if name)
        near = nearest(name)
        hint = f" (nearest known: {', '.join(near)})" if near else ""
        report.warn(f"{row.label}: the GPU {name!r} is not known and is kept as written{hint}")
        return ResolvedGpu(name, row.variant or "unknown", row.memory_gb)
    first = found[0]
    same = [gpu for gpu in found if gpu.gpu == first.gpu]
    size = next((gpu.memory_gb for gpu in same if gpu.memory_gb), None)
    if row.memory_doubtful:
        size = None
    elif row.count is not None and row.count < 1:
        size = row.memory_gb or (round(size * row.count, 1) if size else None)
    elif row.memory_gb and size is None:
        size = row.memory_gb
    elif size and size not in gpu_table()[first.gpu].memory_gb:
        sizes = ", ".join(f"{known:g}" for known in gpu_table()[first.gpu].memory_gb)
        report.warn(f"{row.label}: {size:g} GB is no size of the {first.gpu} ({sizes} GB); it is kept as written")
    return ResolvedGpu(first.gpu, _variant(row, first.gpu, same, report), size)


def _variant(row: CatalogueRow, gpu: str, found: list[ResolvedGpu], report: Report) -> str:
    known = gpu_table()[gpu].variants
    if len(known) == 1:
        return known[0]
    if row.variant in known:
        return str(row.variant)
    named, form = named_gpu(row.provider, row.instance_type)
    if named in (None, gpu) and form in known:
        return str(form)
    said = list(dict.fromkeys(one.variant for one in found if one.variant != "unknown"))
    words = _FORM_IN_NAME.findall(f"{row.instance_type} {row.link_type or ''}".lower())
    hints = [*said, *({"pcie": "PCIe", "pci": "PCIe", "nvl": "NVL"}.get(word, "SXM") for word in words)]
    agreed = list(dict.fromkeys(hint for hint in hints if hint in known))
    if len(agreed) > 1:
        report.warn(
            f"{row.label}: {row.instance_type} is called {' and '.join(agreed)} at once; its board form is left unknown"
        )
        return "unknown"
    if agreed:
        return agreed[0]
    names = [name for name in (row.link_type, row.instance_type) if name]
    forms = (board_form(row.provider, name, gpu, row.count or 1, row.region, row.broker) for name in names)
    return next((form for form in forms if form), "unknown")


# ---------------------------------------------------------------------- offer


def _offer(row: CatalogueRow, gpu: ResolvedGpu, count: float, price: float | None, *, spot: bool) -> Offer:
    dollars, note = (None, None) if price is None else in_dollars(price, row.currency)
    ram = row.ram_gb
    if ram and gpu.memory_gb and gpu.memory_gb >= RAM_IS_GPU_MEMORY_FROM_GB and ram == gpu.memory_gb * count:
        ram = None
    notes = [*row.notes, *([note] if note else [])]
    place = locate(row.region, row.provider)
    return make_offer(
        provider=row.provider,
        broker=row.broker,
        instance_type=row.instance_type,
        gpu=gpu.gpu,
        gpu_variant=gpu.variant,
        gpu_count=count,
        gpu_memory_gb=gpu.memory_gb,
        vcpus=row.vcpus,
        ram_gb=ram,
        region=row.region,
        country=place.country or row.country,
        city=row.city,
        spot=spot,
        price_usd_hour=dollars,
        currency=row.currency,
        price_original_hour=None if row.currency == "USD" else price,
        price_note=" ".join(notes) or None,
        as_of=row.as_of,
        source=row.source,
        catalogue=row.catalogue,
        link_type=row.link_type,
        **row.links,
    )


def seller_and_maker(seller: str, instance_type: str) -> tuple[str, str | None]:
    """(provider, broker): whose machine an instance type of a seller is. Brokers put the maker's name in front of theirs."""
    known = provider_table().get(seller)
    if known is None or known.kind != "broker":
        return seller, None
    prefix = re.match(r"([A-Za-z0-9\-]+?)_{1,2}(?=\S)", instance_type)
    maker = resolve_provider(prefix[1]) if prefix else None
    return (maker, seller) if maker and maker != seller else (seller, None)
