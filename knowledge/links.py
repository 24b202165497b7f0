"""Link facts of an offer: NVLink inside the instance and the network between instances, from rows of data.

`data/instance_links.csv` holds what is known by provider, instance type (a regular expression on the whole name), GPU, number
of GPUs and region; `data/gpu_links.csv` what the GPU, its form and the number rented decide at any provider. Rows are read
from the top and each fact is taken from the first row that states it, so a general row may stand below a special one. What
no row states stays "unknown".
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

DATA = Path(__file__).parent / "data"

RDMA_FABRICS = frozenset({"infiniband", "efa", "roce"})
NOT_RDMA_FABRICS = frozenset({"tcpx", "tcpxo", "none"})
"""Plain Ethernet is not among them: whether it carries RoCE is said by the row or not known."""


@dataclass(frozen=True)
class Links:
    """The link facts of one offer. `nvlink` "yes": every pair of its GPUs is joined; "partial": some pairs are.

    `nvlink_gb_s_per_gpu` counts both directions, as vendors print it; for AMD it is Infinity Fabric, which is no NVLink.
    `internode_gbit_s_per_node` is what one node has, in Gb/s. `source` and `confidence` are those of the network fact, or of
    the NVLink fact where no network is known.
    """

    nvlink: str = "unknown"
    nvlink_generation: str | None = None
    nvlink_gb_s_per_gpu: float | None = None
    nvlink_topology: str | None = None
    nvlink_domain_gpus: int | None = None
    internode_fabric: str = "unknown"
    internode_gbit_s_per_node: float | None = None
    internode_rdma: str = "unknown"
    gpudirect_rdma: str = "unknown"
    orderable_as_cluster: str = "unknown"
    source: str | None = None
    confidence: str | None = None
    nvlink_source: str | None = None
    note: str | None = None


@dataclass(frozen=True)
class _Rule:
    provider: str
    pattern: re.Pattern[str] | None
    gpus: frozenset[str]
    variant: str
    count: tuple[float, float] | None
    regions: frozenset[str]
    not_regions: frozenset[str]
    facts: dict[str, str]

    def fits(self, provider: str, instance_type: str, gpu: str, variant: str, count: float, region: str) -> bool:
        if self.provider not in ("", provider) or (self.gpus and gpu not in self.gpus):
            return False
        if self.variant and self.variant != variant:
            return False
        if self.count and not self.count[0] <= count <= self.count[1]:
            return False
        if self.regions and region.lower() not in self.regions:
            return False
        if self.not_regions and (region.lower() in self.not_regions or region in ("", "unknown")):
            return False
        return self.pattern is None or self.pattern.fullmatch(instance_type) is not None


def _range(text: str) -> tuple[float, float] | None:
    if not text:
        return None
    low, _, high = text.partition("-")
    return float(low), float(high or low)


def _rule(row: dict[str, str], provider: str, pattern: str) -> _Rule:
    regions = row.get("regions", "")
    listed = frozenset(region.lower() for region in regions.lstrip("!").split("|") if region)
    variant = row["gpu_variant"]
    return _Rule(
        provider=provider,
        pattern=None if pattern in ("", "*") else re.compile(pattern, re.IGNORECASE),
        gpus=frozenset(name for name in row["gpu"].split("|") if name),
        variant="" if variant == "*" else variant,
        count=_range(row["gpus"]),
        regions=frozenset() if regions.startswith("!") else listed,
        not_regions=listed if regions.startswith("!") else frozenset(),
        facts={name: value for name, value in row.items() if value},
    )


@lru_cache(maxsize=1)
def _instance_rules() -> dict[str, tuple[_Rule, ...]]:
    rules: dict[str, list[_Rule]] = {}
    with (DATA / "instance_links.csv").open(encoding="utf-8", newline="") as handle:
        for row in csv.DictReader(handle):
            rules.setdefault(row["provider"], []).append(_rule(row, row["provider"], row["instance_type"]))
    return {provider: tuple(found) for provider, found in rules.items()}


@lru_cache(maxsize=1)
def _gpu_rules() -> tuple[_Rule, ...]:
    with (DATA / "gpu_links.csv").open(encoding="utf-8", newline="") as handle:
        return tuple(_rule(row, "", "*") for row in csv.DictReader(handle))


def named_gpu(provider: str, instance_type: str) -> tuple[str | None, str | None]:
    """The GPU and board form that a provider's instance type stands for, each None where no row says so."""
    gpu = variant = None
    for rule in _instance_rules().get(provider, ()):
        if rule.pattern and (rule.facts.get("is_gpu") or rule.facts.get("is_variant")):
            fits = rule.pattern.fullmatch(instance_type)
            if fits and not (rule.gpus or rule.variant or rule.count):
                gpu = gpu or rule.facts.get("is_gpu")
                variant = variant or rule.facts.get("is_variant")
    return gpu, variant


def board_form(
    provider: str, instance_type: str, gpu: str, gpu_count: float, region: str = "unknown", broker: str | None = None
) -> str | None:
    """The board form that the rows give for this GPU in this instance type, the maker's rows before the seller's, or None."""
    for owner in (provider, broker) if broker else (provider,):
        for rule in _instance_rules().get(owner, ()):
            form = rule.facts.get("is_variant")
            if form is None or rule.variant or rule.facts.get("is_gpu") not in (None, gpu):
                continue
            if rule.fits(owner, instance_type, gpu, "unknown", gpu_count, region):
                return form
    return None


@lru_cache(maxsize=65536)
def join_links(
    provider: str,
    instance_type: str,
    gpu: str,
    gpu_variant: str = "unknown",
    gpu_count: float = 1,
    region: str = "unknown",
    broker: str | None = None,
) -> Links:
    """The link facts for this many GPUs of this form in this instance type of this provider.

    `gpu` and `gpu_variant` are canonical names (see `knowledge.gpu_names`). What a broker resells keeps the facts of the
    provider's instance type; rows that do not name an instance type are not used for it.
    """
    rules = [
        rule
        for rule in _instance_rules().get(provider, ())
        if (rule.pattern is not None or broker is None)
        and rule.facts.get("is_gpu") in (None, gpu)
        and rule.fits(provider, instance_type, gpu, gpu_variant, gpu_count, region)
    ]
    general = [rule for rule in _gpu_rules() if rule.fits("", "", gpu, gpu_variant, gpu_count, "")]
    inside = next((rule.facts for rule in (*rules, *general) if "nvlink" in rule.facts), {})
    outside = next((rule.facts for rule in rules if {"fabric", "rdma", "gbit_s"} & rule.facts.keys()), {})
    if gpu_count <= 1:
        inside = {
            "nvlink": "no",
            "nvlink_topology": "none",
            "nvlink_domain_gpus": "1",
            "source": inside.get("source", ""),
            "confidence": "high",
        }
    fabric = outside.get("fabric", "unknown")
    rdma = outside.get("rdma") or (
        "yes" if fabric in RDMA_FABRICS else "no" if fabric in NOT_RDMA_FABRICS else "unknown"
    )
    told = outside or inside
    cluster = next((rule.facts["cluster"] for rule in rules if "cluster" in rule.facts), "unknown")
    return Links(
        nvlink=inside.get("nvlink", "unknown"),
        nvlink_generation=inside.get("nvlink_generation"),
        nvlink_gb_s_per_gpu=_number(inside.get("nvlink_gb_s")),
        nvlink_topology=inside.get("nvlink_topology"),
        nvlink_domain_gpus=_domain(inside, gpu_count),
        internode_fabric=fabric,
        internode_gbit_s_per_node=_number(outside.get("gbit_s")),
        internode_rdma=rdma,
        gpudirect_rdma=outside.get("gpudirect", "no" if rdma == "no" else "unknown"),
        orderable_as_cluster=cluster,
        source=told.get("source") or None,
        confidence=told.get("confidence") or None,
        nvlink_source=inside.get("source") or None,
        note=next((rule.facts["note"] for rule in rules if "note" in rule.facts), inside.get("statement")),
    )


def _domain(inside: dict[str, str], gpu_count: float) -> int | None:
    """GPUs that NVLink joins: no more than are rented, except in a rack where the domain spans instances."""
    domain = _whole(inside.get("nvlink_domain_gpus"))
    return domain if domain is None or domain > 16 else min(domain, max(1, int(gpu_count)))


def _number(text: str | None) -> float | None:
    return float(text) if text else None


def _whole(text: str | None) -> int | None:
    return int(text) if text and text.isdigit() else None
