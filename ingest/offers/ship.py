"""Make the table of offers that the package ships from lists of price facts that the maintainer gives.

    python -m ingest.offers.ship --facts offers_facts.csv [--japan japan.csv] [--catalogues FOLDER --country JP] [--out …]

`--facts` has one row a provider, instance type and region with an on-demand and a spot price; `--japan` prices in yen;
`--catalogues` a folder of SkyPilot catalogues whose offers in one country are added where the facts have none. Only figures
are taken; ids, places and links are joined when the table is built.
"""

from __future__ import annotations

import argparse
import csv
import re
from collections.abc import Iterator
from pathlib import Path

from ingest.offers.inputs import find_files
from ingest.offers.japan import japan_rows
from ingest.offers.rows import seller_and_maker
from ingest.offers.run import read_file
from ingest.offers.skypilot import UUID, gpu_in_type
from ingest.report import Report
from knowledge.gpu_names import gpu_table, resolve_gpu
from knowledge.links import board_form, named_gpu
from knowledge.offer_table import LISTED_EVERYWHERE, SHIPPED
from knowledge.places import locate
from knowledge.providers import provider_table, resolve_provider

COLUMNS = [
    "provider",
    "broker",
    "instance_type",
    "gpu",
    "gpu_variant",
    "gpu_count",
    "gpu_memory_gb",
    "vcpus",
    "ram_gb",
    "region",
    "country",
    "city",
    "spot",
    "price_usd_hour",
    "currency",
    "price_original_hour",
    "price_note",
    "catalogue",
    "source",
    "as_of",
    "detail",
]
Row = dict[str, str]


def main() -> None:
    """Read the arguments, write the table and print what was left out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--facts", type=Path, required=True)
    parser.add_argument("--japan", type=Path)
    parser.add_argument("--catalogues", type=Path)
    parser.add_argument("--country", default="JP")
    parser.add_argument("--out", type=Path, default=SHIPPED)
    asked = parser.parse_args()
    report = Report()
    rows = list(facts_rows(asked.facts, report))
    if asked.japan:
        rows += japan_rows(asked.japan, report)
    if asked.catalogues:
        rows += catalogue_rows(asked.catalogues, asked.country, rows, report)
    rows = list(_once(rows, report))
    with asked.out.open("w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, COLUMNS, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print(f"{len(rows)} offers of {len({row['provider'] for row in rows})} providers in {asked.out}")
    for reason, count in report.reasons().items():
        print(f"{count:6d} left out: {reason}")
    for warning in report.warnings:
        print(f"note: {warning}")


def facts_rows(path: Path, report: Report) -> Iterator[Row]:
    """The rows of a list of price facts, on-demand and spot apart, with canonical names."""
    with path.open(encoding="utf-8-sig", newline="") as handle:
        for number, fact in enumerate(csv.DictReader(handle), start=2):
            report.rows_in += 1
            base = _canonical(fact, path.name, number, report)
            if base is None:
                continue
            price, spot = _number(fact["price_usd_hour"]), _number(fact["spot_usd_hour"])
            if price is None and spot is None:
                report.reject(path.name, "no price", row=number)
            if price is not None:
                yield _priced(base, price, fact["currency"], spot=False)
            if spot is not None and spot != price:
                row = _priced(base, spot, fact["currency"], spot=True)
                if price is not None and spot > price:
                    row["price_note"] = "Spot price above the on-demand price in the source."
                yield row


def catalogue_rows(folder: Path, country: str, rows: list[Row], report: Report) -> list[Row]:
    """The offers of a country in SkyPilot catalogues that no row has yet, with the source and date of the provider's rows."""
    have = {(row["provider"], row["instance_type"], row["region"].lower()) for row in rows}
    origin = {row["broker"] or row["provider"]: row for row in rows if row["catalogue"] == "skypilot"}
    found: list[Row] = []
    for file in find_files(folder, "skypilot", None, report):
        for offer in read_file(file, Report()):
            base = origin.get(offer.broker or offer.provider)
            if (
                offer.country != country
                or base is None
                or (offer.provider, offer.instance_type, offer.region.lower()) in have
            ):
                continue
            values = {name: getattr(offer, name, None) for name in COLUMNS}
            values |= {"source": base["source"], "as_of": base["as_of"], "country": None, "city": None}
            values["price_note"] = (offer.price_note or "").replace(LISTED_EVERYWHERE, "").strip()
            found.append({name: _shown(value) for name, value in values.items()})
    return found


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else f"{value:.10g}" if isinstance(value, float) else str(value)


def _canonical(fact: Row, name: str, number: int, report: Report) -> Row | None:
    seller, _, machine = fact["provider"].partition("/")
    provider, broker = seller_and_maker(resolve_provider(seller) or seller, fact["instance_type"])
    provider = (resolve_provider(machine) if machine else resolve_provider(provider)) or ""
    broker = broker or (resolve_provider(seller) if machine else None)
    if not provider:
        report.reject(name, "provider not in providers.csv", row=number, field="provider", value=fact["provider"])
        return None
    memory = _number(fact["gpu_memory_gb"])
    count = float(fact["gpu_count"])
    model = gpu_in_type(fact["instance_type"], fact["gpu_model"]) or fact["gpu_model"]
    gpu = resolve_gpu(f"{model} {fact['gpu_variant']}", memory if count >= 1 else None)
    if gpu is None:
        report.reject(name, "GPU not in gpu_names.csv", row=number, field="gpu_model", value=fact["gpu_model"])
        return None
    variant = gpu.variant
    forms = gpu_table()[gpu.gpu].variants
    named, form = named_gpu(provider, fact["instance_type"])
    told = form if named in (None, gpu.gpu) else None
    told = told or board_form(provider, fact["instance_type"], gpu.gpu, count, fact["region"], broker)
    said = resolve_gpu(gpu.gpu + " " + " ".join(re.findall(r"sxm\d?|pcie|nvl(?![a-z])", fact["instance_type"].lower())))
    if told in forms or told == "unknown":
        variant = str(told)
    elif len(forms) > 1 and said and said.variant != "unknown":
        variant = said.variant
    place = locate(fact["region"], provider)
    source, page, tier = _source(fact["source"])
    note = {
        "marketplace": "Lowest price seen on a marketplace.",
        "community": "Price of community hosts.",
        "prototyping": "Price of the prototyping mode.",
    }
    return {
        "provider": provider,
        "broker": broker or "",
        "instance_type": fact["instance_type"],
        "gpu": gpu.gpu,
        "gpu_variant": variant,
        "gpu_count": f"{count:g}",
        "gpu_memory_gb": f"{gpu.memory_gb if count >= 1 else memory:g}" if (gpu.memory_gb or memory) else "",
        "vcpus": fact["vcpus"],
        "ram_gb": fact["ram_gb"],
        "region": fact["country"] if UUID.match(fact["region"]) else fact["region"] or "unknown",
        "country": "" if place.country else fact["country"],
        "price_note": note.get(tier, ""),
        "catalogue": "price-page" if page else "skypilot",
        "source": source,
        "as_of": fact["as_of"] or "unknown",
    }


def _source(text: str) -> tuple[str, bool, str]:
    """The source as shown, whether it is a price page, and the price tier that a page names."""
    found = re.match(r"(?P<set>\S+) \[(?P<tier>[^\]]+)\] (?P<url>https?://\S+)", text)
    if found is None:
        return re.sub(r"^skypilot-catalog v(\d+) (\S+?)@", r"skypilot-catalog v\1/\2@", text), False, ""
    return f"{found['url']} ({found['set']})", True, found["tier"]


def _priced(base: Row, price: float, currency: str, *, spot: bool) -> Row:
    row = {**base, "spot": "true" if spot else "false"}
    stated = (
        "USD"
        if currency == "USD" and not provider_table()[base["provider"]].catalogue_currency.endswith("?")
        else "EUR?"
    )
    if stated == "USD" or base["broker"]:
        return {**row, "price_usd_hour": f"{round(price, 6):.10g}", "currency": "USD"}
    note = "The catalogue does not state the currency; euros are likely, so no dollar price is given."
    return {**row, "currency": "EUR?", "price_original_hour": f"{round(price, 6):.10g}", "price_note": note}


def _once(rows: list[Row], report: Report) -> Iterator[Row]:
    """Each offer once, at its lowest price where the source lists it several times."""
    names = ("provider", "broker", "instance_type", "gpu", "gpu_count", "gpu_memory_gb", "region", "spot")
    chosen: dict[tuple[str, ...], Row] = {}
    for row in rows:
        key = tuple(row.get(name, "") for name in names)
        if key in chosen:
            report.reject(
                str(row["source"]), "the same offer twice: the lower price is kept", value=row["instance_type"]
            )
        if key not in chosen or _price(row) < _price(chosen[key]):
            chosen[key] = row
    yield from chosen.values()


def _price(row: Row) -> float:
    return float(row.get("price_usd_hour") or row.get("price_original_hour") or "inf")


def _number(text: str) -> float | None:
    return float(text) if text.strip() else None


if __name__ == "__main__":
    main()
