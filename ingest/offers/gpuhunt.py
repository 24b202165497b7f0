"""gpuhunt catalogues: `{provider}.csv` as published (a folder of them, the zip, or the published address), or asked live.

The provider is the file's name. On-demand and spot are rows of their own; memory is in GB of one GPU. A row with a flag is
hidden by gpuhunt unless its reader allows the flag, so it is skipped here too unless allowed.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ingest.offers.rows import CatalogueRow
from ingest.report import Report
from knowledge.errors import StoreUnavailable

NEEDED = ("instance_name", "location", "price", "gpu_count", "gpu_name", "spot")
BASE_URL = "https://dstack-gpu-pricing.s3.eu-west-1.amazonaws.com/v3"


def read_gpuhunt(
    text: str,
    provider: str,
    label: str,
    source: str,
    report: Report,
    as_of: str = "unknown",
    allow_flags: Collection[str] = (),
) -> list[CatalogueRow]:
    """The GPU offers of one provider's file."""
    reader = csv.DictReader(io.StringIO(text, newline=""))
    rows = []
    for cells in reader:
        report.rows_in += 1
        row = _row(cells, reader.line_num, provider, label, source, as_of, allow_flags, report)
        if row:
            rows.append(row)
    return rows


def _row(
    cells: Mapping[str, Any],
    line: int,
    provider: str,
    label: str,
    source: str,
    as_of: str,
    allow_flags: Collection[str],
    report: Report,
) -> CatalogueRow | None:
    flags = [flag for flag in (cells.get("flags") or "").split() if flag not in allow_flags]
    if flags:
        report.skip(f"flag {flags[0]}")
        return None
    numbers: dict[str, float | None] = {}
    for name in ("price", "cpu", "memory", "gpu_count", "gpu_memory"):
        text = (cells.get(name) or "").strip()
        try:
            numbers[name] = float(text) if text else None
        except ValueError:
            report.reject(label, "not a number", row=line, field=name, value=text)
            return None
    for name in ("instance_name", "location", "price", "gpu_count", "spot"):
        if not (cells.get(name) or "").strip():
            report.reject(label, "a required field is empty", row=line, field=name)
            return None
    if not numbers["gpu_count"]:
        report.skip("no GPU")
        return None
    spot = str(cells["spot"]).strip().lower()
    if spot not in ("true", "false"):
        report.reject(label, "neither True nor False", row=line, field="spot", value=cells["spot"])
        return None
    name = cells.get("gpu_name") or ""
    vendor = (cells.get("gpu_vendor") or "").lower()
    if vendor == "google" and not name.lower().startswith("tpu"):
        name = f"tpu-{name}"
    return CatalogueRow(
        label=label,
        line=line,
        provider=provider,
        instance_type=cells["instance_name"],
        source=source,
        names=(name, cells["instance_name"]),
        count=numbers["gpu_count"],
        memory_gb=numbers["gpu_memory"],
        vcpus=numbers["cpu"],
        ram_gb=numbers["memory"],
        price=numbers["price"] if spot == "false" else None,
        spot_price=numbers["price"] if spot == "true" else None,
        region=cells["location"],
        as_of=as_of,
        catalogue="gpuhunt",
    )


def version_date(version: str) -> str:
    """The date in a published version ("20260818-42"), or "unknown"."""
    day = version.strip().split("-")[0]
    return f"{day[:4]}-{day[4:6]}-{day[6:8]}" if len(day) == 8 and day.isdigit() else "unknown"


def live_csv(provider: str) -> str:
    """Ask a provider through the gpuhunt package now; its offers as text in the same form as the published files.

    Needs the extra `gpuhunt`, and for some providers their key in the environment. Errors: StoreUnavailable.
    """
    try:
        import gpuhunt
    except ImportError as error:
        raise StoreUnavailable(
            "Live queries need the gpuhunt package: pip install 'interconnect-advisor[gpuhunt]'."
        ) from error
    try:
        items = gpuhunt.query(provider=provider)
    except (OSError, ValueError, RuntimeError) as error:
        raise StoreUnavailable(f"gpuhunt cannot ask {provider}: {error}.") from error
    return items_to_csv(items)


def items_to_csv(items: Iterable[Any]) -> str:
    """Catalogue items of the gpuhunt package in the published columns."""
    columns = [
        "instance_name",
        "location",
        "price",
        "cpu",
        "memory",
        "gpu_count",
        "gpu_name",
        "gpu_memory",
        "spot",
        "gpu_vendor",
        "flags",
    ]
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(columns)
    for item in items:
        vendor = getattr(item.gpu_vendor, "value", item.gpu_vendor)
        values = {**vars(item), "gpu_vendor": vendor, "flags": " ".join(getattr(item, "flags", ()) or ())}
        writer.writerow(["" if values.get(name) is None else values[name] for name in columns])
    return out.getvalue()
