"""From an `OfferFilter` to conditions: each names its field, its SQL and its parameters, so that one can be left out alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from knowledge.gpu_names import ParsedGpu, parse_gpu
from knowledge.offer_model import OfferFilter
from knowledge.places import resolve_place
from knowledge.providers import resolve_provider

LINK_FIELDS = ("nvlink", "rdma", "fabric")
TOTAL_MEMORY = "gpu_memory_gb * greatest(gpu_count, 1)"
"""GB of all GPUs of an instance; the memory of a sliced card is that of the slice."""

SORTS = {
    "price_gpu": "price_usd_gpu_hour ASC NULLS LAST, price_usd_hour ASC NULLS LAST",
    "price": "price_usd_hour ASC NULLS LAST, price_usd_gpu_hour ASC NULLS LAST",
    "memory": f"({TOTAL_MEMORY}) DESC NULLS LAST, price_usd_gpu_hour ASC NULLS LAST",
    "bandwidth": "internode_gbit_s_per_node DESC NULLS LAST, nvlink_gb_s_per_gpu DESC NULLS LAST, price_usd_gpu_hour ASC NULLS LAST",
}


@dataclass(frozen=True)
class Values:
    """The distinct values of a table that names are matched against."""

    regions: tuple[str, ...] = ()
    instance_types: dict[str, tuple[str, ...]] | None = None


@dataclass(frozen=True)
class Condition:
    """One constraint: the filter's field, its value as given, SQL that is true for a match, and its parameters.

    `open_sql` (links only) is true where nobody states the fact.
    """

    field: str
    value: str
    sql: str
    params: tuple[object, ...] = ()
    open_sql: str | None = None


def conditions(wanted: OfferFilter, values: Values) -> list[Condition]:
    """The conditions of a filter, all of which a matching offer meets."""
    found: list[Condition] = []

    def add(field: str, sql: str, params: Iterable[object] = (), open_sql: str | None = None) -> None:
        value = getattr(wanted, field)
        shown = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
        found.append(Condition(field, shown, sql, tuple(params), open_sql))

    if wanted.provider:
        ids = [resolve_provider(name) or name.lower() for name in wanted.provider]
        add("provider", f"({_among('provider', ids)} OR coalesce({_among('broker', ids)}, false))", (*ids, *ids))
    if wanted.not_provider:
        ids = [resolve_provider(name) or name.lower() for name in wanted.not_provider]
        add(
            "not_provider", f"NOT ({_among('provider', ids)} OR coalesce({_among('broker', ids)}, false))", (*ids, *ids)
        )
    if wanted.gpu:
        add("gpu", *_gpus(wanted.gpu))
    if wanted.not_gpu:
        sql, params = _gpus(wanted.not_gpu)
        add("not_gpu", f"NOT coalesce({sql}, false)", params)
    if wanted.gpu_variant:
        forms = [_form(name) for name in wanted.gpu_variant]
        add("gpu_variant", _among("gpu_variant", forms), forms)
    if wanted.instance_type:
        known = values.instance_types or {}
        types = [name for asked in wanted.instance_type for name in known.get(asked.lower(), (asked,))]
        add("instance_type", _among("instance_type", types), types)
    if wanted.region:
        add("region", *_places(wanted.region, values))
    if wanted.country:
        codes = _countries(wanted.country)
        add("country", _among("country", codes), codes)
    if wanted.not_country:
        codes = _countries(wanted.not_country)
        add("not_country", f"NOT coalesce({_among('country', codes)}, false)", codes)
    for field, sql in (
        ("min_gpus", "gpu_count >= ?"),
        ("max_gpus", "gpu_count <= ?"),
        ("min_gpu_memory", "gpu_memory_gb >= ?"),
        ("min_total_memory", f"{TOTAL_MEMORY} >= ?"),
        ("max_price", "price_usd_hour <= ?"),
        ("max_price_gpu", "price_usd_gpu_hour <= ?"),
    ):
        if (limit := getattr(wanted, field)) is not None:
            add(field, sql, (limit,))
    if wanted.spot is not None:
        add("spot", "spot" if wanted.spot else "NOT spot")
    if wanted.nvlink:
        add("nvlink", "(nvlink = 'yes' AND gpu_count > 1)", open_sql="(nvlink = 'unknown' AND gpu_count > 1)")
    if wanted.rdma:
        add("rdma", "internode_rdma = 'yes'", open_sql="internode_rdma = 'unknown'")
    if wanted.fabric:
        kinds = [name.lower() for name in wanted.fabric]
        add("fabric", _among("internode_fabric", kinds), kinds, "internode_fabric = 'unknown'")
    return found


def _among(column: str, names: list[str]) -> str:
    return f"{column} IN ({', '.join('?' * len(names))})"


def _form(name: str) -> str:
    parsed = name.strip().lower()
    if parsed.startswith("sxm"):
        return "SXM"
    return {"pcie": "PCIe", "pci-e": "PCIe", "nvl": "NVL", "oam": "OAM"}.get(parsed, parsed)


def _gpus(names: tuple[str, ...]) -> tuple[str, list[object]]:
    parts: list[str] = []
    params: list[object] = []
    for name in names:
        parsed: ParsedGpu | None = parse_gpu(name)
        models = [model.gpu for model in parsed.candidates] if parsed else [name]
        sql = _among("gpu", models)
        params += models
        if parsed and parsed.variant and any(len(model.variants) > 1 for model in parsed.candidates):
            sql += " AND gpu_variant = ?"
            params.append(parsed.variant)
        if parsed and parsed.memory_gb:
            sql += " AND gpu_memory_gb = ?"
            params.append(parsed.memory_gb)
        parts.append(f"({sql})")
    return f"({' OR '.join(parts)})", params


def _countries(names: tuple[str, ...]) -> list[str]:
    codes: list[str] = []
    for name in names:
        place = resolve_place(name.upper() if len(name) == 2 else name)
        codes += place.countries if place else (name.upper(),)
    return codes


def _places(names: tuple[str, ...], values: Values) -> tuple[str, list[object]]:
    parts: list[str] = []
    params: list[object] = []
    for name in names:
        asked = name.strip().lower()
        place = resolve_place(name)
        known: list[str] = [region for region in values.regions if region.lower() == asked]
        if place is None or place.kind == "region":
            known = known or [region for region in values.regions if region.lower().startswith(f"{asked}-")] or [name]
        elif place.cities:
            parts.append(_among("city", list(place.cities)))
            params += place.cities
        else:
            parts.append(_among("country", list(place.countries)))
            params += place.countries
        if known:
            parts.append(_among("region", known))
            params += known
    return f"({' OR '.join(parts)})", params
