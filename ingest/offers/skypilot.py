"""SkyPilot catalogues: a provider's `vms.csv`, wherever it lies. Columns differ by provider; the header is the only key."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ingest.offers import gcp
from ingest.offers.gpuinfo import GpuInfo, MemoryMode, memory_mode, memory_of_one, parse_gpu_info
from ingest.offers.rows import CatalogueRow, seller_and_maker
from ingest.offers.shapes import shape_of
from ingest.report import Report
from knowledge.gpu_names import parse_gpu
from knowledge.places import locate
from knowledge.providers import provider_table

NEEDED = ("InstanceType", "AcceleratorName", "AcceleratorCount", "Price", "Region")
_NOT_COUNTED = ("", "0", "0.0")
_LOCAL_ZONE = re.compile(r"([a-z]{3,4}\d-[a-z]{3}\d+)-az\d+$")
_MEMORY_IN_NAME = re.compile(r"[_-]?(?<!\d)\d{2,3}GB?(?![a-z0-9])", re.IGNORECASE)
_GPU_IN_TYPE = re.compile(r"\d+x-([A-Za-z0-9_]+?)-\d+-\d+$")
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")


@dataclass
class Line:
    """One line of the file: its number, its cells by column name, and what its GpuInfo says."""

    number: int
    cells: dict[str, str]
    info: GpuInfo | None = None
    count: float | None = None


def read_skypilot(
    text: str, provider: str, label: str, source: str, report: Report, as_of: str = "unknown"
) -> list[CatalogueRow]:
    """The GPU offers of one catalogue file. Rows of machines without a GPU are counted as skipped."""
    lines = list(_lines(text, label, report))
    if provider == "gcp":
        lines = gcp.add_hosts(lines, label, report)
    kept: list[Line] = []
    for line in lines:
        if _is_gpu(line, provider, label, report):
            kept.append(line)
    mode = memory_mode((line.cells["AcceleratorName"], line.count, line.info) for line in kept)
    stating = {_stem(line.cells["InstanceType"]) for line in kept if _memory_in(line.cells["InstanceType"])}
    rows = [_row(line, provider, label, source, mode, stating, as_of) for line in kept]
    return _without_flat_prices(rows, label, report)


def _lines(text: str, label: str, report: Report) -> Iterator[Line]:
    """The lines that hold one value a column. Values beyond the last column belong to it (unquoted lists); too few refuse it."""
    reader = csv.reader(io.StringIO(text, newline=""))
    header = [name.strip().lstrip("\ufeff") for name in next(reader, [])]
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            report.rows_in += 1
            report.reject(label, f"the line is no CSV: {error}", row=reader.line_num)
            continue
        if not cells:
            continue
        report.rows_in += 1
        if len(cells) < len(header):
            report.reject(
                label, f"{len(cells)} values under {len(header)} columns", row=reader.line_num, value=",".join(cells)
            )
            continue
        if len(cells) > len(header):
            cells = [*cells[: len(header) - 1], ",".join(cells[len(header) - 1 :])]
        yield Line(reader.line_num, {name: cell.strip() for name, cell in zip(header, cells, strict=True)})


def _is_gpu(line: Line, provider: str, label: str, report: Report) -> bool:
    cells = line.cells
    try:
        line.info = parse_gpu_info(cells.get("GpuInfo", ""))
    except ValueError as error:
        report.reject(label, f"GpuInfo is {error}", row=line.number, field="GpuInfo", value=cells["GpuInfo"])
    shape = shape_of(provider, cells["InstanceType"])
    count = _number(cells["AcceleratorCount"])
    if shape and (not cells["AcceleratorName"] or shape.partial):
        cells["AcceleratorName"], count = shape.gpu, shape.count
    if count is None and cells["AcceleratorCount"] not in _NOT_COUNTED:
        report.reject(label, "not a number", row=line.number, field="AcceleratorCount", value=cells["AcceleratorCount"])
        return False
    if not cells["AcceleratorName"]:
        if line.info and line.info.name and (line.info.count or 0) > 0:
            cells["AcceleratorName"], count = line.info.name, count or line.info.count
        else:
            report.skip("no GPU")
            return False
    line.count = count or (line.info.count if line.info else None)
    for name in ("Price", "SpotPrice"):
        if cells.get(name) and _number(cells[name]) is None:
            report.reject(label, "not a number", row=line.number, field=name, value=cells[name])
            cells[name] = ""
    return True


def _row(
    line: Line, seller: str, label: str, source: str, mode: MemoryMode, stating: set[str], as_of: str
) -> CatalogueRow:
    cells = line.cells
    instance_type = cells["InstanceType"].removesuffix("__SPOT")
    provider, broker = seller_and_maker(seller, instance_type)
    region, country, city = _region(cells, provider)
    accelerator = cells["AcceleratorName"]
    shape = shape_of(provider, instance_type)
    memory = shape.memory_gb if shape else memory_of_one(accelerator, line.count, line.info, mode)
    info_name = line.info.name if line.info and line.info.name else ""
    upstream = cells.get("UpstreamCloudId", "")
    return CatalogueRow(
        label=label,
        line=line.number,
        provider=provider,
        broker=broker,
        instance_type=instance_type,
        source=source,
        names=(gpu_in_type(instance_type, accelerator) or accelerator, accelerator, info_name),
        count=line.count,
        memory_gb=memory,
        memory_doubtful=_memory_in(accelerator) and not _memory_in(instance_type) and _stem(instance_type) in stating,
        vcpus=_number(cells.get("vCPUs", "")),
        ram_gb=_number(cells.get("MemoryGiB", "")),
        price=_number(cells["Price"]),
        spot_price=_number(cells.get("SpotPrice", "")),
        currency=provider_table()[seller].catalogue_currency if seller in provider_table() and not broker else "USD",
        region=region,
        country=country,
        city=city,
        as_of=as_of,
        catalogue="skypilot",
        link_type=upstream.removesuffix("_SPOT") or None,
    )


def gpu_in_type(instance_type: str, accelerator: str) -> str | None:
    """The GPU that a type such as "1x-RTX_3060_Ti-32-65536" writes out, where it is a closer name of the accelerator.

    Vast's labels drop what follows the number ("RTX3060" for a 3060 Ti); the type keeps it.
    """
    written = _GPU_IN_TYPE.match(instance_type)
    closer, label = (parse_gpu(written[1]) if written else None), parse_gpu(accelerator)
    if written is None or closer is None or label is None:
        return None
    same_family = closer.candidates[0].gpu.startswith(label.candidates[0].gpu)
    return written[1] if same_family else None


def _region(cells: dict[str, str], provider: str) -> tuple[str, str | None, str | None]:
    """(region, country, city). An empty region is read off the zone; a bare country gives way to a zone that can be placed."""
    region, zone = cells["Region"], cells.get("AvailabilityZone", "")
    local = _LOCAL_ZONE.match(zone)
    if local:
        return local[1], locate(region, provider).country, None
    if not region:
        region = re.sub(r"-\d$", "", zone)
    if re.fullmatch(r"[A-Z]{2}", region) and zone and not UUID.match(zone):
        place = locate(zone, provider)
        if place.country:
            return zone, place.country, place.city
        return region, locate(region, provider).country, None
    return region or "unknown", None, None


def _without_flat_prices(rows: list[CatalogueRow], label: str, report: Report) -> list[CatalogueRow]:
    """Drop prices that cannot be real: one price for any number of GPUs, or one price a GPU for every model of the file."""
    by_gpu: dict[tuple[str, str], dict[float, set[float]]] = {}
    for row in rows:
        if row.price and row.count:
            found = by_gpu.setdefault((_model(row), row.region), {})
            found.setdefault(row.price, set()).add(row.count)
    models = {_model(row) for row in rows if row.price and row.count}
    rates = {round(row.price / row.count, 4) for row in rows if row.price and row.count}
    flat_file = len(models) > 1 and len(rates) == 1
    for row in rows:
        counts = by_gpu.get((_model(row), row.region), {}).get(row.price or 0.0, set())
        reason = None
        if flat_file:
            reason = "placeholder: the same price a GPU for every model of the catalogue"
        elif len(counts) > 1 and max(counts) >= 4 * min(counts):
            reason = "placeholder: the same price for any number of GPUs"
        if reason and row.price is not None:
            report.reject(label, reason, row=row.line, field="Price", value=row.price)
            if row.spot_price is not None and row.spot_price >= row.price:
                row.spot_price = None
            row.price = None
            row.notes.append("The catalogue's on-demand price is a placeholder.")
    return rows


def _model(row: CatalogueRow) -> str:
    parsed = parse_gpu(row.names[0])
    return parsed.candidates[0].gpu if parsed else row.names[0]


def _memory_in(name: str) -> bool:
    return _MEMORY_IN_NAME.search(name) is not None


def _stem(name: str) -> str:
    """An instance type without the memory size and the number and host ids that follow the GPU: what siblings share."""
    return re.sub(r"(?:x\d+)?_[0-9a-f]{24}.*$", "", _MEMORY_IN_NAME.sub("", name))


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if number == number and abs(number) != float("inf") else None
