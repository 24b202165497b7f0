"""Filter speed on one million offers: our store beside bare DuckDB, a pandas scan and gpuhunt's own matching, in one run.

    python tests/bench/bench_offers.py [--rows 1000000] [--rounds 7]

The shipped offers are multiplied: each copy has another price and instance name, so that nothing can be cached by value.
gpuhunt is measured where it is installed (the extra `gpuhunt`).
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from knowledge.offers import OfferFilter, OfferStore

FILTERS = {
    "H100, 8 GPUs": OfferFilter(gpu=("H100",), min_gpus=8),
    "H100 SXM, RDMA, Japan": OfferFilter(gpu=("H100",), gpu_variant=("SXM",), rdma=True, country=("JP",)),
    "A100 80GB under 2 USD": OfferFilter(gpu=("A100 80GB",), max_price_gpu=2.0),
    "NVLink, 640 GB": OfferFilter(nvlink=True, min_total_memory=640),
    "cheapest of all": OfferFilter(),
    "one 24 GB GPU, on demand": OfferFilter(max_gpus=1, min_gpu_memory=24, spot=False),
    "InfiniBand": OfferFilter(fabric=("infiniband",)),
    "Europe, 8 GPUs": OfferFilter(region=("Europe",), min_gpus=8),
    "AWS or GCP, spot": OfferFilter(provider=("aws", "gcp"), spot=True),
    "Tokyo, by memory": OfferFilter(region=("Tokyo",), sort="memory"),
}


def main() -> None:
    """Build the table, time every filter, print a table of median wall times in milliseconds, and of processor time below."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = multiplied(Path(folder), asked.rows)
        start = time.perf_counter()
        store = OfferStore(folder, source=str(path))
        print(
            f"{store.count:,} offers, {path.stat().st_size / 1e6:.0f} MB of Parquet, opened in {time.perf_counter() - start:.1f} s"
        )
        ways: dict[str, Callable[[OfferFilter], object]] = {"store": store.search}
        ways |= {"duckdb": bare_duckdb(path), "pandas": pandas_scan(path)}
        hunt = gpuhunt_matching(path)
        if hunt:
            ways["gpuhunt"] = hunt
        print(f"{'filter':28}{'matches':>10}" + "".join(f"{name + ' ms':>13}" for name in ways))
        medians: dict[str, list[float]] = {name: [] for name in ways}
        processor: dict[str, list[float]] = {name: [] for name in ways}
        for label, wanted in FILTERS.items():
            cells = []
            for name, way in ways.items():
                rounds = 2 if name == "gpuhunt" else asked.rounds
                wall, cpu = median_ms(lambda: way(wanted), rounds)  # noqa: B023 - called at once
                medians[name].append(wall)
                processor[name].append(cpu)
                cells.append(f"{medians[name][-1]:13.1f}")
            print(f"{label:28}{store.search(wanted).count:>10,}" + "".join(cells))
        print(
            f"{'median of all, processor time':38}"
            + "".join(f"{statistics.median(found):13.1f}" for found in processor.values())
        )
        print(f"{'median of all':38}" + "".join(f"{statistics.median(found):13.1f}" for found in medians.values()))


def median_ms(call: Callable[[], object], rounds: int) -> tuple[float, float]:
    """Median wall and processor time of a call, after one that is not counted. On a busy machine the second tells more."""
    call()
    wall, cpu = [], []
    for _ in range(rounds):
        start, used = time.perf_counter(), time.process_time()
        call()
        wall.append((time.perf_counter() - start) * 1000)
        cpu.append((time.process_time() - used) * 1000)
    return statistics.median(wall), statistics.median(cpu)


def multiplied(folder: Path, rows: int) -> Path:
    """A table of `rows` offers made from the shipped ones."""
    OfferStore(folder)
    shipped = pq.read_table(folder / "offers" / "offers.parquet")
    copies = -(-rows // shipped.num_rows)
    db = duckdb.connect()
    db.register("shipped", shipped)
    table = db.sql(
        "SELECT * REPLACE (offer_id || '-' || n AS offer_id, instance_type || '-' || (n % 50) AS instance_type, "
        "price_usd_hour * (0.8 + 0.4 * (n % 97) / 97.0) AS price_usd_hour, "
        "price_usd_gpu_hour * (0.8 + 0.4 * (n % 97) / 97.0) AS price_usd_gpu_hour) "
        f"FROM shipped, range({copies}) AS copies(n) ORDER BY price_usd_gpu_hour, price_usd_hour, offer_id LIMIT {rows}"
    ).to_arrow_table()
    path = folder / "million.parquet"
    pq.write_table(table.cast(pa.schema(table.schema, metadata=shipped.schema.metadata)), path, compression="zstd")
    return path


EUROPE = [
    "AT",
    "BE",
    "BG",
    "CH",
    "CY",
    "CZ",
    "DE",
    "DK",
    "EE",
    "ES",
    "FI",
    "FR",
    "GB",
    "GR",
    "HR",
    "HU",
    "IE",
    "IS",
    "IT",
    "LT",
    "LU",
    "LV",
    "MD",
    "MT",
    "NL",
    "NO",
    "PL",
    "PT",
    "RO",
    "RS",
    "SE",
    "SI",
    "SK",
    "UA",
]


def bare_duckdb(path: Path) -> Callable[[OfferFilter], object]:
    """DuckDB over the same rows as plain text columns, with the conditions written by hand as SQL: the count and the rows."""
    db = duckdb.connect()
    db.execute("SET threads = 2")
    db.execute(f"CREATE TABLE offers AS SELECT * FROM read_parquet('{path}')")
    orders = {"price_gpu": "price_usd_gpu_hour", "memory": "gpu_memory_gb * greatest(gpu_count, 1) DESC"}

    def run(wanted: OfferFilter) -> object:
        parts = ["true"]
        if wanted.gpu:
            parts.append(f"gpu = '{wanted.gpu[0].split()[0]}'")
            parts += ["gpu_memory_gb = 80"] if "80GB" in wanted.gpu[0] else []
        parts += [f"gpu_variant = '{name}'" for name in wanted.gpu_variant]
        parts += [f"country = '{name}'" for name in wanted.country]
        if wanted.provider:
            parts.append("provider IN (" + ", ".join(f"'{name}'" for name in wanted.provider) + ")")
        if wanted.region == ("Europe",):
            parts.append("country IN (" + ", ".join(f"'{code}'" for code in EUROPE) + ")")
        elif wanted.region:
            parts.append(f"city = '{wanted.region[0]}'")
        parts += [f"gpu_count >= {wanted.min_gpus}"] if wanted.min_gpus else []
        parts += [f"gpu_count <= {wanted.max_gpus}"] if wanted.max_gpus else []
        parts += [f"gpu_memory_gb >= {wanted.min_gpu_memory}"] if wanted.min_gpu_memory else []
        parts += (
            [f"gpu_memory_gb * greatest(gpu_count, 1) >= {wanted.min_total_memory}"] if wanted.min_total_memory else []
        )
        parts += ["nvlink = 'yes' AND gpu_count > 1"] if wanted.nvlink else []
        parts += ["internode_rdma = 'yes'"] if wanted.rdma else []
        parts += [f"internode_fabric = '{name}'" for name in wanted.fabric]
        parts += [f"price_usd_gpu_hour <= {wanted.max_price_gpu}"] if wanted.max_price_gpu else []
        parts += ["spot" if wanted.spot else "NOT spot"] if wanted.spot is not None else []
        where = " AND ".join(parts)
        count = db.execute(f"SELECT count(*) FROM offers WHERE {where}").fetchone()
        rows = f"SELECT * FROM offers WHERE {where} ORDER BY {orders[wanted.sort]} LIMIT {wanted.limit}"
        return count, db.execute(rows).fetchall()

    return run


def pandas_scan(path: Path) -> Callable[[OfferFilter], object]:
    """A scan of a data frame with category columns: masks, then the cheapest rows."""
    import pandas as pd

    frame = pd.read_parquet(path)
    for name in (
        "provider",
        "broker",
        "gpu",
        "gpu_variant",
        "country",
        "city",
        "internode_rdma",
        "internode_fabric",
        "nvlink",
    ):
        frame[name] = frame[name].astype("category")

    def run(wanted: OfferFilter) -> object:
        mask = pd.Series(True, index=frame.index)
        if wanted.gpu:
            mask &= frame["gpu"] == wanted.gpu[0].split()[0]
            if "80GB" in wanted.gpu[0]:
                mask &= frame["gpu_memory_gb"] == 80
        if wanted.gpu_variant:
            mask &= frame["gpu_variant"].isin(wanted.gpu_variant)
        if wanted.provider:
            mask &= frame["provider"].isin(wanted.provider)
        if wanted.country:
            mask &= frame["country"].isin(wanted.country)
        if wanted.region:
            mask &= frame["country"].isin(EUROPE) if wanted.region == ("Europe",) else frame["city"] == wanted.region[0]
        if wanted.min_gpus:
            mask &= frame["gpu_count"] >= wanted.min_gpus
        if wanted.max_gpus:
            mask &= frame["gpu_count"] <= wanted.max_gpus
        if wanted.min_gpu_memory:
            mask &= frame["gpu_memory_gb"] >= wanted.min_gpu_memory
        if wanted.min_total_memory:
            mask &= frame["gpu_memory_gb"] * frame["gpu_count"].clip(lower=1) >= wanted.min_total_memory
        if wanted.nvlink:
            mask &= (frame["nvlink"] == "yes") & (frame["gpu_count"] > 1)
        if wanted.rdma:
            mask &= frame["internode_rdma"] == "yes"
        if wanted.fabric:
            mask &= frame["internode_fabric"].isin(wanted.fabric)
        if wanted.max_price_gpu:
            mask &= frame["price_usd_gpu_hour"] <= wanted.max_price_gpu
        if wanted.spot is not None:
            mask &= frame["spot"] == wanted.spot
        found = frame[mask]
        return len(found), found.nsmallest(wanted.limit, "price_usd_gpu_hour")

    return run


def gpuhunt_matching(path: Path) -> Callable[[OfferFilter], object] | None:
    """gpuhunt's own `matches` over its catalogue items, the same rows; None where gpuhunt is not installed."""
    try:
        from gpuhunt._internal.constraints import matches
        from gpuhunt._internal.models import AcceleratorVendor, CatalogItem, QueryFilter
    except ImportError:
        print("gpuhunt is not installed: its matching is left out")
        return None
    columns = [
        "provider",
        "instance_type",
        "region",
        "price_usd_hour",
        "vcpus",
        "ram_gb",
        "gpu_count",
        "gpu",
        "gpu_memory_gb",
        "spot",
    ]
    items = [
        CatalogItem(
            provider=row["provider"], instance_name=row["instance_type"], location=row["region"], price=row["price_usd_hour"] or 0.0,
            cpu=int(row["vcpus"] or 0), memory=row["ram_gb"] or 0.0, gpu_count=int(row["gpu_count"]) or 1, gpu_name=row["gpu"].replace(" ", ""),
            gpu_memory=row["gpu_memory_gb"] or 0.0, spot=row["spot"], disk_size=None, gpu_vendor=AcceleratorVendor.NVIDIA,
        )
        for batch in pq.ParquetFile(path).iter_batches(columns=columns)
        for row in batch.to_pylist()
    ]  # fmt: skip

    def run(wanted: OfferFilter) -> object:
        query = QueryFilter(
            provider=list(wanted.provider) or None,
            gpu_name=[name.split()[0] for name in wanted.gpu] or None,
            min_gpu_count=int(wanted.min_gpus) if wanted.min_gpus else 1,
            max_gpu_count=int(wanted.max_gpus) if wanted.max_gpus else None,
            min_gpu_memory=wanted.min_gpu_memory,
            min_total_gpu_memory=wanted.min_total_memory,
            spot=wanted.spot,
        )
        found = [item for item in items if matches(item, query)]
        return sorted(found, key=lambda item: item.price)[: wanted.limit]

    return run


if __name__ == "__main__":
    main()
