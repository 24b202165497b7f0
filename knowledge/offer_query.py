"""From an `OfferFilter` to conditions on a loaded table: each names its field and its SQL, so that one can be left out alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from knowledge.gpu_names import parse_gpu
from knowledge.offer_model import OfferFilter
from knowledge.places import resolve_place
from knowledge.providers import resolve_provider

if TYPE_CHECKING:
    from knowledge.offer_columns import OfferColumns

TOTAL_MEMORY = "total_memory_gb"
"""GB of all GPUs of an instance; the memory of a sliced card is that of the slice."""

SORTS = {
    "price_gpu": "rowid",
    "price": "price_usd_hour ASC NULLS LAST",
    "memory": f"{TOTAL_MEMORY} DESC NULLS LAST",
    "bandwidth": "internode_gbit_s_per_node DESC NULLS LAST, nvlink_gb_s_per_gpu DESC NULLS LAST",
}
"""Ties fall back on the order of the table, which is that of price a GPU."""


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


def conditions(wanted: OfferFilter, table: OfferColumns) -> list[Condition]:
    """The conditions of a filter, all of which a matching offer meets."""
    found: list[Condition] = []

    def add(field: str, sql: str, params: Iterable[object] = (), open_sql: str | None = None) -> None:
        value = getattr(wanted, field)
        shown = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
        found.append(Condition(field, shown, sql, tuple(params), open_sql))

    if wanted.provider:
        add("provider", _providers(wanted.provider, table))
    if wanted.not_provider:
        add("not_provider", f"NOT {_providers(wanted.not_provider, table)}")
    if wanted.gpu:
        add("gpu", *_gpus(wanted.gpu, table))
    if wanted.not_gpu:
        sql, params = _gpus(wanted.not_gpu, table)
        add("not_gpu", f"NOT coalesce({sql}, false)", params)
    if wanted.gpu_variant:
        add("gpu_variant", _among(table, "gpu_variant", [_form(name) for name in wanted.gpu_variant]))
    if wanted.instance_type:
        add("instance_type", _in("instance_type", table.type_codes(wanted.instance_type)))
    if wanted.region:
        add("region", _places(wanted.region, table))
    if wanted.country:
        add("country", _among(table, "country", _countries(wanted.country)))
    if wanted.not_country:
        add("not_country", f"NOT {_among(table, 'country', _countries(wanted.not_country))}")
    for field, sql in (
        ("min_gpus", "gpu_count >= ?"),
        ("max_gpus", "gpu_count <= ?"),
        ("min_gpu_memory", "gpu_memory_gb >= ?"),
        ("min_total_memory", f"{TOTAL_MEMORY} >= ?"),
        ("max_price", "price_usd_hour <= ?"),
        ("max_price_gpu", "price_usd_gpu_hour <= ?"),
    ):
        if (limit := getattr(wanted, field)) is not None:
            add(field, sql, (float(limit),))
    if wanted.spot is not None:
        add("spot", "spot" if wanted.spot else "NOT spot")
    if wanted.nvlink:
        several = "AND gpu_count > 1"
        add(
            "nvlink",
            f"({_among(table, 'nvlink', ['yes'])} {several})",
            open_sql=f"({_among(table, 'nvlink', ['unknown'])} {several})",
        )
    if wanted.rdma:
        add("rdma", _among(table, "internode_rdma", ["yes"]), open_sql=_among(table, "internode_rdma", ["unknown"]))
    if wanted.fabric:
        kinds = [name.lower() for name in wanted.fabric]
        add(
            "fabric",
            _among(table, "internode_fabric", kinds),
            open_sql=_among(table, "internode_fabric", ["unknown"]),
        )
    return found


def _in(column: str, codes: list[int]) -> str:
    """True where the column has one of the codes, never NULL; the codes are ours, so they stand in the SQL as numbers."""
    return f"{column} IN ({', '.join(map(str, codes))})" if codes else "false"


def _among(table: OfferColumns, column: str, texts: Iterable[str]) -> str:
    return _in(column, table.codes(column, texts))


def _providers(names: tuple[str, ...], table: OfferColumns) -> str:
    """Those whose machine it is, and those who sell it."""
    ids = [resolve_provider(name) or name.lower() for name in names]
    return f"({_among(table, 'provider', ids)} OR {_among(table, 'broker', ids)})"


def _form(name: str) -> str:
    form = name.strip().lower()
    if form.startswith("sxm"):
        return "SXM"
    return {"pcie": "PCIe", "pci-e": "PCIe", "nvl": "NVL", "oam": "OAM"}.get(form, form)


def _gpus(names: tuple[str, ...], table: OfferColumns) -> tuple[str, list[object]]:
    parts: list[str] = []
    params: list[object] = []
    for name in names:
        parsed = parse_gpu(name)
        models = [model.gpu for model in parsed.candidates] if parsed else [name]
        sql = _among(table, "gpu", models)
        if parsed and parsed.variant and any(len(model.variants) > 1 for model in parsed.candidates):
            sql += f" AND {_among(table, 'gpu_variant', [parsed.variant])}"
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


def _places(names: tuple[str, ...], table: OfferColumns) -> str:
    parts: list[str] = []
    regions = table.texts("region")
    for name in names:
        asked = name.strip().lower()
        place = resolve_place(name)
        known = [region for region in regions if region.lower() == asked]
        if place is None or place.kind == "region":
            known = known or [region for region in regions if region.lower().startswith(f"{asked}-")]
        elif place.cities:
            parts.append(_among(table, "city", place.cities))
        else:
            parts.append(_among(table, "country", place.countries))
        parts.append(_among(table, "region", known))
    return f"({' OR '.join(parts)})"
