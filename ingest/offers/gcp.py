"""Google's catalogue prices a machine and its GPUs in separate rows: they are added zone by zone.

Some GPU rows hold the prices of the Dynamic Workload Scheduler (a set duration, asked for ahead) as if they were on-demand
prices. They are known by value (`knowledge/data/gcp_scheduler_prices.csv`), or by costing much less than the same GPU does
elsewhere in the file; such a price is rejected, and the spot price of the row is kept.
"""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from functools import lru_cache
from typing import TYPE_CHECKING

from ingest.offers.shapes import shape_of
from ingest.report import Report
from knowledge.gpu_names import DATA

if TYPE_CHECKING:
    from ingest.offers.skypilot import Line

SCHEDULER_SHARE = 0.72
"""On-demand prices of one GPU differ by up to 23 % between Google's regions; scheduler prices are 29 % or more below."""
SCHEDULED = frozenset({"A100", "A100-80GB", "H100", "H100-MEGA", "H200", "B200", "GB200"})
VCPUS_A_GPU = {"T4": 4, "P4": 4, "V100": 8, "P100": 8, "K80": 4}
"""The N1 machine that a GPU of this model is shown with: the smallest with this many vCPUs a GPU."""


def add_hosts(lines: list[Line], label: str, report: Report) -> list[Line]:
    """Lines of whole machines (host and GPUs together), TPUs as they are, and what could not be joined in the report."""
    hosts: dict[str, list[Line]] = defaultdict(list)
    gpus: list[Line] = []
    joined: list[Line] = []
    for line in lines:
        cells = line.cells
        if cells["InstanceType"] and cells["AcceleratorName"]:
            joined.append(line)
        elif cells["InstanceType"]:
            hosts[cells["AvailabilityZone"]].append(line)
        elif cells["AcceleratorName"].startswith("tpu"):
            joined.append(_tpu(line))
        elif cells["AcceleratorName"]:
            gpus.append(line)
        else:
            report.skip("no GPU")
    on_demand = _on_demand(gpus, label, report)
    used: set[int] = set()
    for line in gpus:
        made = list(_machines(line, hosts[line.cells["AvailabilityZone"]], on_demand[line.number], used))
        if made:
            joined += made
        else:
            report.skip("GPU price without a machine that takes it in that zone")
    report.skip(
        "machine without a GPU in that zone", sum(h.number not in used for found in hosts.values() for h in found)
    )
    return joined


def _machines(gpu: Line, hosts: list[Line], price: float | None, used: set[int]) -> list[Line]:
    name, count = gpu.cells["AcceleratorName"], float(gpu.cells["AcceleratorCount"])
    fitting = [
        host
        for host in hosts
        if (shape := shape_of("gcp", host.cells["InstanceType"])) and (shape.accelerator, shape.count) == (name, count)
    ]
    if not fitting and name in VCPUS_A_GPU:
        enough = [
            (float(host.cells["vCPUs"]), host.number, host)
            for host in hosts
            if re.fullmatch(r"n1-standard-\d+", host.cells["InstanceType"])
            and float(host.cells["vCPUs"]) >= VCPUS_A_GPU[name] * count
        ]
        fitting = [min(enough)[2]] if enough else []
    made = []
    for host in fitting:
        used.add(host.number)
        made.append(_together(gpu, host, price))
    return made


def _together(gpu: Line, host: Line, price: float | None) -> Line:
    from ingest.offers.skypilot import Line

    name, count = gpu.cells["AcceleratorName"], gpu.cells["AcceleratorCount"]
    instance_type = host.cells["InstanceType"]
    if instance_type.startswith("n1-"):
        instance_type = f"{instance_type}+{float(count):g}x{name}"
    spot = _sum(gpu.cells.get("SpotPrice", ""), host.cells.get("SpotPrice", ""))
    whole = None if price is None else _sum(str(price), host.cells["Price"])
    cells = {
        **gpu.cells,
        "InstanceType": instance_type,
        "vCPUs": host.cells["vCPUs"],
        "MemoryGiB": host.cells["MemoryGiB"],
        "Price": "" if whole is None else f"{whole:.6f}",
        "SpotPrice": "" if spot is None else f"{spot:.6f}",
    }
    return Line(gpu.number, cells)


def _tpu(line: Line) -> Line:
    """A TPU's price holds its host; the name is the machine, and its chips are the count (two cores a chip up to v5p)."""
    name = line.cells["AcceleratorName"]
    line.cells["InstanceType"] = name
    shape = shape_of("gcp", name)
    chips = shape.count if shape else float(name.rsplit("-", 1)[-1]) if name.rsplit("-", 1)[-1].isdigit() else 1.0
    line.cells["AcceleratorCount"] = f"{chips:g}"
    return line


def _on_demand(gpus: list[Line], label: str, report: Report) -> dict[int, float | None]:
    """The on-demand price of each GPU row, None where the row holds a scheduler price (which goes into the report)."""
    rates = {line.number: _rate(line) for line in gpus}
    top: dict[str, float] = defaultdict(float)
    for line in gpus:
        top[line.cells["AcceleratorName"]] = max(top[line.cells["AcceleratorName"]], rates[line.number] or 0.0)
    found: dict[int, float | None] = {}
    for line in gpus:
        name, rate = line.cells["AcceleratorName"], rates[line.number]
        known = any(rate is not None and abs(rate - price) < 2e-4 for price in _scheduler_prices().get(name, ()))
        if rate is not None and name in SCHEDULED and (known or rate < SCHEDULER_SHARE * top[name]):
            reason = "a Dynamic Workload Scheduler price stored as on-demand"
            report.reject(label, reason, row=line.number, field="Price", value=line.cells["Price"])
            found[line.number] = None
        else:
            found[line.number] = float(line.cells["Price"]) if rate is not None else None
    return found


def _rate(line: Line) -> float | None:
    try:
        return float(line.cells["Price"]) / float(line.cells["AcceleratorCount"])
    except (ValueError, ZeroDivisionError):
        return None


def _sum(one: str, other: str) -> float | None:
    try:
        return float(one) + float(other)
    except ValueError:
        return None


@lru_cache(maxsize=1)
def _scheduler_prices() -> dict[str, tuple[float, ...]]:
    found: dict[str, list[float]] = defaultdict(list)
    with (DATA / "gcp_scheduler_prices.csv").open(encoding="utf-8", newline="") as handle:
        for row in csv.DictReader(handle):
            found[row["accelerator"]].append(float(row["price_usd_gpu_hour"]))
    return {name: tuple(prices) for name, prices in found.items()}
