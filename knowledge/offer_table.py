"""The offers table as a file: rows of facts → Offers with ids and links → one Parquet file, written whole or not at all."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knowledge.errors import DataError, StoreUnavailable
from knowledge.links import join_links
from knowledge.offer_model import Offer
from knowledge.places import locate
from knowledge.providers import provider_table

if TYPE_CHECKING:
    import pyarrow as pa

DATA = Path(__file__).parent / "data"
SHIPPED = DATA / "offers.csv"
ON_REQUEST = DATA / "offers_on_request.csv"
"""Instance types that are sold, whose price is on request or was not read; kept by hand."""
_SHIPPED_INPUTS = (
    "offers.csv",
    "offers_on_request.csv",
    "instance_links.csv",
    "gpu_links.csv",
    "places.csv",
    "gpu_names.csv",
)
LISTED_EVERYWHERE = "The catalogue lists this type in every region: ask whether it is there."
FORMAT = "1"
"""Raised when the columns or the joining rules change, so that a table built by an older version is built anew."""

_NUMBERS = frozenset(
    [
        "gpu_count",
        "gpu_memory_gb",
        "vcpus",
        "ram_gb",
        "price_usd_hour",
        "price_usd_gpu_hour",
        "price_original_hour",
        "nvlink_gb_s_per_gpu",
        "internode_gbit_s_per_node",
    ]
)
COLUMNS = tuple(Offer.model_fields)
ORDER = ("price_usd_gpu_hour", "price_usd_hour", "offer_id")
"""The order of rows in a file of ours; offers without a price stand last."""
SORTED_KEY = "sorted"
"""In the metadata of a file whose rows are in that order."""


def offer_id(
    provider: str,
    instance_type: str,
    region: str,
    spot: bool,
    gpu: str,
    gpu_count: float,
    gpu_memory_gb: float | None = None,
    broker: str | None = None,
) -> str:
    """A stable id: the same offer has the same one in every ingest, whatever its price, date or what is learned of its links."""
    memory = "" if gpu_memory_gb is None else f"{gpu_memory_gb:g}"
    parts = (provider, instance_type, region, "spot" if spot else "", gpu, f"{gpu_count:g}", memory, broker)
    digest = hashlib.sha256("\x1f".join(part or "" for part in parts).encode()).hexdigest()
    return f"{provider}-{digest[:12]}"


def make_offer(
    *,
    provider: str,
    instance_type: str,
    gpu: str,
    gpu_count: float,
    source: str,
    gpu_variant: str = "unknown",
    gpu_memory_gb: float | None = None,
    region: str = "unknown",
    country: str | None = None,
    city: str | None = None,
    spot: bool = False,
    price_usd_hour: float | None = None,
    broker: str | None = None,
    link_type: str | None = None,
    **more: Any,
) -> Offer:
    """An Offer with its id, price a GPU, place and link facts filled in.

    `link_type` is the maker's own name of the instance type, where a broker gives it another. Link fields given in `more`
    (what a private contract states) are kept; the others are joined from the tables of links.
    """
    region = region or "unknown"
    place = locate(region, provider)
    links = join_links(provider, link_type or instance_type, gpu, gpu_variant, gpu_count, region, broker)
    if price_usd_hour is not None:
        price_usd_hour = round(price_usd_hour, 6)
    facts: dict[str, Any] = {
        "nvlink": links.nvlink,
        "nvlink_generation": links.nvlink_generation,
        "nvlink_gb_s_per_gpu": links.nvlink_gb_s_per_gpu,
        "nvlink_topology": links.nvlink_topology,
        "nvlink_domain_gpus": links.nvlink_domain_gpus,
        "internode_fabric": links.internode_fabric,
        "internode_gbit_s_per_node": links.internode_gbit_s_per_node,
        "internode_rdma": links.internode_rdma,
        "gpudirect_rdma": links.gpudirect_rdma,
        "orderable_as_cluster": links.orderable_as_cluster,
        "fabric_source": links.source,
        "fabric_confidence": links.confidence,
        "nvlink_source": links.nvlink_source,
        "link_note": links.note,
    }
    seller = provider_table().get(broker or provider)
    if seller and seller.lists_everywhere and more.get("catalogue") == "skypilot" and region != "unknown":
        more["price_note"] = " ".join(note for note in (more.get("price_note"), LISTED_EVERYWHERE) if note)
    price_gpu = more.pop("price_usd_gpu_hour", None)
    if price_gpu is None and price_usd_hour is not None and gpu_count > 0:
        price_gpu = round(price_usd_hour / gpu_count, 6)
    return Offer(
        offer_id=offer_id(provider, instance_type, region, spot, gpu, gpu_count, gpu_memory_gb, broker),
        provider=provider,
        instance_type=instance_type,
        gpu=gpu,
        gpu_variant=gpu_variant,
        gpu_count=gpu_count,
        gpu_memory_gb=gpu_memory_gb,
        region=region,
        country=country or place.country,
        city=city or place.city,
        spot=spot,
        price_usd_hour=price_usd_hour,
        price_usd_gpu_hour=price_gpu,
        source=source,
        broker=broker,
        **{**facts, **more},
    )


def shipped_offers() -> list[Offer]:
    """The offers that the package ships, joined with the link facts it ships. Errors: DataError where a row is not as promised."""
    return [offer for path in (SHIPPED, ON_REQUEST) for offer in _shipped(path)]


def _shipped(path: Path) -> Iterator[Offer]:
    with path.open(encoding="utf-8", newline="") as handle:
        for number, row in enumerate(csv.DictReader(handle), start=2):
            values: dict[str, Any] = {name: value for name, value in row.items() if value != ""}
            for name in _NUMBERS & values.keys():
                values[name] = float(values[name])
            values["spot"] = values.get("spot") == "true"
            try:
                yield make_offer(**values)
            except (TypeError, ValueError) as error:
                raise DataError(f"{path.name} line {number}: {error}") from error


def shipped_digest() -> str:
    """Changes whenever the shipped rows or link facts do."""
    digest = hashlib.sha256(FORMAT.encode())
    for name in _SHIPPED_INPUTS:
        digest.update((DATA / name).read_bytes())
    return digest.hexdigest()[:16]


def to_arrow(offers: Iterable[Offer], meta: dict[str, Any]) -> pa.Table:
    """The offers as an Arrow table: texts as dictionaries, numbers as doubles, `meta` as JSON in its metadata."""
    import pyarrow as pa

    rows = [tuple(offer.__dict__[name] for name in COLUMNS) for offer in offers]
    fields = [pa.field(name, _arrow_type(name)) for name in COLUMNS]
    columns = list(zip(*rows, strict=True)) if rows else [() for _ in COLUMNS]
    arrays = [pa.array(values, type=field.type) for values, field in zip(columns, fields, strict=True)]
    schema = pa.schema(fields, metadata={"offers": json.dumps(meta, ensure_ascii=False)})
    return pa.Table.from_arrays(arrays, schema=schema)


def _arrow_type(name: str) -> pa.DataType:
    import pyarrow as pa

    if name == "spot":
        return pa.bool_()
    if name == "nvlink_domain_gpus":
        return pa.int32()
    return pa.float64() if name in _NUMBERS else pa.string()


def read_meta(schema: pa.Schema) -> dict[str, Any]:
    """The metadata that `to_arrow` stored; empty for a table made elsewhere."""
    raw = (schema.metadata or {}).get(b"offers")
    return json.loads(raw) if raw else {}


def write_table(path: Path, offers: Iterable[Offer], meta: dict[str, Any]) -> None:
    """Write the table beside `path` and move it into place, so that a reader or a kill never sees half of it.

    Errors: StoreUnavailable where the folder cannot be written.
    """
    import pyarrow.parquet as pq

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".offers-", suffix=".tmp")
        os.close(handle)
        try:
            pq.write_table(
                to_arrow(sorted(offers, key=_price_order), {**meta, SORTED_KEY: True}), name, compression="zstd"
            )
            with open(name, "rb") as written:
                os.fsync(written.fileno())
            os.replace(name, path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise StoreUnavailable(f"The offers table {path} cannot be written: {error.strerror or error}.") from error


def _price_order(offer: Offer) -> tuple[bool, float, bool, float, str]:
    by_gpu, by_hour = offer.price_usd_gpu_hour, offer.price_usd_hour
    return by_gpu is None, by_gpu or 0.0, by_hour is None, by_hour or 0.0, offer.offer_id


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """One writer at a time in a folder; a second process waits. The lock ends with the process that holds it."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("a") as handle:
        try:
            import fcntl
        except ImportError:  # Windows: os.replace still keeps the file whole
            yield
            return
        fcntl.flock(handle, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(handle, fcntl.LOCK_UN)
