"""Our own table of offers: CSV, Parquet or JSON, one row an offer; what a company writes for its private contracts.

Needed: provider, instance_type, gpu, gpu_count. A price is `price_usd_hour`, or `price_hour` with `currency` (USD, JPY); no
price means it is not known. Optional: gpu_variant, gpu_memory_gb (one GPU), vcpus, ram_gb, region, country, city, spot
(true, false), as_of (date), source, price_note, and the link facts nvlink (yes, partial, no), nvlink_generation,
nvlink_gb_s_per_gpu, nvlink_topology, nvlink_domain_gpus, internode_fabric, internode_gbit_s_per_node, internode_rdma,
gpudirect_rdma, orderable_as_cluster. A link fact given here is believed; one left empty is joined from the tables of links.
JSON is a list of objects, {"offers": [...]}, or one object a line.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from typing import Any

from ingest.offers.rows import CatalogueRow
from ingest.report import Report
from knowledge.offer_model import Offer
from knowledge.providers import resolve_provider

NEEDED = ("provider", "instance_type", "gpu", "gpu_count")
_CHOICES = {
    "nvlink": ("yes", "partial", "no", "unknown"),
    "internode_fabric": ("infiniband", "efa", "roce", "tcpxo", "tcpx", "ethernet", "none", "unknown"),
    "internode_rdma": ("yes", "no", "unknown"),
    "gpudirect_rdma": ("yes", "no", "unknown"),
    "orderable_as_cluster": ("yes", "reserved-only", "no", "unknown"),
}
_LINK_NUMBERS = ("nvlink_gb_s_per_gpu", "nvlink_domain_gpus", "internode_gbit_s_per_node")
_LINK_TEXTS = ("nvlink_generation", "nvlink_topology", "fabric_source")
_READ = frozenset(
    (
        *NEEDED,
        *_CHOICES,
        *_LINK_NUMBERS,
        *_LINK_TEXTS,
        "price_usd_hour",
        "price_hour",
        "currency",
        "gpu_variant",
        "gpu_memory_gb",
        "vcpus",
        "ram_gb",
        "region",
        "country",
        "city",
        "spot",
        "as_of",
        "source",
        "price_note",
        "broker",
    )
)
_IGNORED = frozenset(Offer.model_fields) - _READ
"""Fields of an exported offer that are worked out anew."""


def csv_records(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line, record) of a CSV text."""
    reader = csv.DictReader(io.StringIO(text, newline=""))
    for record in reader:
        yield reader.line_num, record


def json_records(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """(number, record) of JSON or JSON lines; numbers count records from 1. Raises ValueError where it is neither."""
    try:
        data = json.loads(text)
    except ValueError:
        data = [json.loads(line) for line in text.splitlines() if line.strip()]
    if isinstance(data, dict):
        data = data.get("offers", [data])
    if not isinstance(data, list) or not all(isinstance(record, dict) for record in data):
        raise ValueError("not a list of objects")
    yield from enumerate(data, start=1)


def parquet_records(raw: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
    """(number, record) of a Parquet file. Raises ValueError where it is none."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(pa.BufferReader(raw))
    except pa.ArrowInvalid as error:
        raise ValueError(str(error)) from error
    yield from enumerate(table.to_pylist(), start=1)


def read_table(
    records: Iterator[tuple[int, dict[str, Any]]],
    label: str,
    source: str,
    catalogue: str,
    report: Report,
    as_of: str = "unknown",
) -> list[CatalogueRow]:
    """The rows of a table of ours; a row with a value that cannot be is refused with the field, the value and the reason."""
    rows = []
    for number, record in records:
        report.rows_in += 1
        extra = sorted(name for name in record if name and name not in _READ and name not in _IGNORED)
        if extra:
            report.warn(f"{label}: columns that are not read: {', '.join(extra)}")
        row = _row(record, number, label, source, catalogue, report, as_of)
        if row:
            rows.append(row)
    return rows


class _Refused(Exception):
    def __init__(self, field: str, value: object, reason: str) -> None:
        super().__init__(reason)
        self.field, self.value, self.reason = field, value, reason


def _row(
    record: Mapping[str, Any], number: int, label: str, source: str, catalogue: str, report: Report, as_of: str
) -> CatalogueRow | None:
    try:
        for name in NEEDED:
            if _text(record, name) == "":
                raise _Refused(name, None, "a required field is empty")
        dollars, other = _number(record, "price_usd_hour"), _number(record, "price_hour")
        price = dollars if dollars is not None else other
        currency = "USD" if dollars is not None or not _text(record, "currency") else _text(record, "currency").upper()
        spot = _spot(record)
        return CatalogueRow(
            label=label,
            line=number,
            provider=resolve_provider(_text(record, "provider")) or _text(record, "provider").lower(),
            broker=_text(record, "broker") or None,
            instance_type=_text(record, "instance_type"),
            source=_text(record, "source") or source,
            names=(_text(record, "gpu"),),
            count=_number(record, "gpu_count"),
            memory_gb=_number(record, "gpu_memory_gb"),
            variant=_text(record, "gpu_variant") or None,
            vcpus=_number(record, "vcpus"),
            ram_gb=_number(record, "ram_gb"),
            price=None if spot else price,
            spot_price=price if spot else None,
            currency=currency,
            region=_text(record, "region") or "unknown",
            country=_text(record, "country").upper() or None,
            city=_text(record, "city") or None,
            as_of=_text(record, "as_of") or as_of,
            catalogue=catalogue,
            notes=[_text(record, "price_note")] if _text(record, "price_note") else [],
            links=_links(record),
        )
    except _Refused as refused:
        report.reject(label, refused.reason, row=number, field=refused.field, value=refused.value)
        return None


def _links(record: Mapping[str, Any]) -> dict[str, Any]:
    links: dict[str, Any] = {}
    for name, choices in _CHOICES.items():
        value = _text(record, name).lower()
        if value and value not in choices:
            raise _Refused(name, value, f"must be one of {', '.join(choices)}")
        if value and value != "unknown":
            links[name] = value
    for name in _LINK_NUMBERS:
        number = _number(record, name)
        if number is not None:
            links[name] = int(number) if name == "nvlink_domain_gpus" else number
    links |= {name: _text(record, name) for name in _LINK_TEXTS if _text(record, name)}
    if links:
        links.setdefault("fabric_confidence", "stated")
    return links


def _spot(record: Mapping[str, Any]) -> bool:
    value = _text(record, "spot").lower()
    if value not in ("", "true", "false", "yes", "no", "1", "0"):
        raise _Refused("spot", value, "neither true nor false")
    return value in ("true", "yes", "1")


def _text(record: Mapping[str, Any], name: str) -> str:
    value = record.get(name)
    return "" if value is None else str(value).strip()


def _number(record: Mapping[str, Any], name: str) -> float | None:
    text = _text(record, name)
    if not text or text.lower() in ("unknown", "nan"):
        return None
    try:
        number = float(text.replace(",", ""))
    except ValueError as error:
        raise _Refused(name, text, "not a number") from error
    if number < 0 or number == float("inf"):
        raise _Refused(name, text, "must be zero or more")
    return number
