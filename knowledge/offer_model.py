"""Offers: the row, the one filter definition, and what a search gives back."""

from __future__ import annotations

from datetime import date
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Offer(BaseModel):
    """One instance type at one price in one region, joined with its link facts.

    `gpu_count` can be a fraction for sliced cards. Prices are US dollars; `unknown` and None mean nobody said.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    offer_id: str
    provider: str
    instance_type: str
    gpu: str
    gpu_variant: str = "unknown"
    gpu_count: float
    gpu_memory_gb: float | None = None
    vcpus: float | None = None
    ram_gb: float | None = None
    region: str = "unknown"
    country: str | None = None
    city: str | None = None
    spot: bool = False
    price_usd_hour: float | None = None
    price_usd_gpu_hour: float | None = None
    as_of: str = "unknown"
    source: str
    nvlink: Literal["yes", "partial", "no", "unknown"] = "unknown"
    nvlink_generation: str | None = None
    nvlink_gb_s_per_gpu: float | None = None
    nvlink_topology: str | None = None
    nvlink_domain_gpus: int | None = None
    internode_fabric: Literal["infiniband", "efa", "roce", "tcpxo", "tcpx", "ethernet", "none", "unknown"] = "unknown"
    internode_gbit_s_per_node: float | None = None
    internode_rdma: Literal["yes", "no", "unknown"] = "unknown"
    gpudirect_rdma: Literal["yes", "no", "unknown"] = "unknown"
    orderable_as_cluster: Literal["yes", "reserved-only", "no", "unknown"] = "unknown"
    fabric_source: str | None = None
    fabric_confidence: str | None = None
    broker: str | None = None
    """Who sells it, where the machine is another provider's."""
    price_note: str | None = None
    currency: str = "USD"
    """Currency of the price as published; "EUR?" where the catalogue does not state it and euros are likely."""
    price_original_hour: float | None = None
    """The published price in that currency, where it is not US dollars."""
    catalogue: str = "table"
    """The kind of source: skypilot, gpuhunt, price-page, table, … Re-ingesting replaces a provider's rows of one catalogue."""
    link_note: str | None = None
    nvlink_source: str | None = None


def age_days(as_of: str, today: date) -> int | None:
    """Days since the date of an offer or source; None where its date is not known. Never below 0."""
    try:
        return max(0, (today - date.fromisoformat(as_of)).days)
    except ValueError:
        return None


class OfferFilter(BaseModel):
    """The one filter: the tool's schema, the command's options and the web form are generated from it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    provider: tuple[str, ...] = Field(default=(), description="Only these providers.")
    not_provider: tuple[str, ...] = Field(default=(), description="None of these providers.")
    gpu: tuple[str, ...] = Field(
        default=(), description="GPU models or aliases, for instance H100, 'A100 80GB', MI300X."
    )
    not_gpu: tuple[str, ...] = Field(default=(), description="None of these GPU models.")
    gpu_variant: tuple[str, ...] = Field(default=(), description="Board forms: SXM, PCIe, NVL, ...")
    instance_type: tuple[str, ...] = Field(default=(), description="Exact instance type names, any case.")
    region: tuple[str, ...] = Field(
        default=(), description="Region codes, cities or groups: ap-northeast-1, Tokyo, Europe, Asia."
    )
    country: tuple[str, ...] = Field(default=(), description="ISO 3166 two-letter country codes.")
    not_country: tuple[str, ...] = Field(default=(), description="None of these countries.")
    min_gpus: float | None = Field(default=None, ge=0, description="At least this many GPUs in one instance.")
    max_gpus: float | None = Field(default=None, ge=0, description="At most this many GPUs in one instance.")
    min_gpu_memory: float | None = Field(default=None, ge=0, description="GB of one GPU, at least.")
    min_total_memory: float | None = Field(default=None, ge=0, description="GB of all GPUs of the instance, at least.")
    nvlink: bool = Field(default=False, description="Only instances whose GPUs are all joined by NVLink.")
    rdma: bool = Field(
        default=False, description="Only instances with an RDMA network between nodes (InfiniBand, RoCE, EFA)."
    )
    fabric: tuple[str, ...] = Field(
        default=(), description="Networks between nodes: infiniband, efa, roce, tcpxo, tcpx, ethernet."
    )
    max_price: float | None = Field(default=None, ge=0, description="US dollars an hour for the instance, at most.")
    max_price_gpu: float | None = Field(default=None, ge=0, description="US dollars an hour for one GPU, at most.")
    spot: bool | None = Field(default=None, description="True: only spot; False: no spot; absent: both.")
    sort: Literal["price", "price_gpu", "memory", "bandwidth"] = Field(
        default="price_gpu", description="Order of the rows."
    )
    limit: int = Field(
        default=50, ge=1, le=100_000, description="Rows returned; the count is always of all that match."
    )


class NearMiss(BaseModel):
    """One constraint that, loosened alone, would give `count` offers.

    `value` is the constraint as given, `nearest` the value or values that would match. `reason` is a code where a fact
    explains the emptiness: "amd_infinity_fabric", "no_nvlink_connector", "single_gpu".
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    field: str
    value: str
    count: int
    nearest: str | None = None
    reason: str | None = None


class OfferPage(BaseModel):
    """What a filter gives: how many match in all, the first `limit` of them, and what was left apart.

    `unknown` are offers that fit all else but whose NVLink, RDMA or fabric nobody stated: never matches, worth asking about
    (`unknown_count` in all). `near_misses` is filled when nothing matches, most promising first.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    count: int
    offers: list[Offer]
    unknown: list[Offer] = Field(default_factory=list)
    unknown_count: int = 0
    near_misses: list[NearMiss] = Field(default_factory=list)


class CatalogueInfo(BaseModel):
    """One source of offers: rows, the newest date it states ("unknown" where none), and when its rows last changed here."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    catalogue: str
    source: str
    providers: int
    offers: int
    as_of: str
    changed: str
