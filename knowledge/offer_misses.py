"""Near misses: when nothing matches, which one constraint, loosened alone, gives the most offers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowledge.gpu_names import vendor_of
from knowledge.offer_model import NearMiss
from knowledge.offer_query import TOTAL_MEMORY, Condition

if TYPE_CHECKING:
    from knowledge.offer_columns import OfferColumns

_BEST = {
    "min_gpus": "max(gpu_count)",
    "max_gpus": "min(gpu_count)",
    "min_gpu_memory": "max(gpu_memory_gb)",
    "min_total_memory": f"max({TOTAL_MEMORY})",
    "max_price": "min(price_usd_hour)",
    "max_price_gpu": "min(price_usd_gpu_hour)",
}
"""The value nearest to the one asked for, among the offers that meet all other constraints."""
_LISTED = {
    "provider": "provider",
    "gpu": "gpu",
    "gpu_variant": "gpu_variant",
    "instance_type": "instance_type",
    "region": "region",
    "country": "country",
    "fabric": "internode_fabric",
    "nvlink": "nvlink",
    "rdma": "internode_rdma",
    "spot": "spot",
}
_SHOWN = 5


def near_misses(table: OfferColumns, terms: list[Condition]) -> list[NearMiss]:
    """One entry for each constraint that alone stands in the way, most offers first."""
    found = [miss for term in terms if (miss := _without(table, term, [other for other in terms if other is not term]))]
    return sorted(found, key=lambda miss: (-miss.count, miss.field))


def _without(table: OfferColumns, term: Condition, others: list[Condition]) -> NearMiss | None:
    where = " AND ".join(other.sql for other in others) or "true"
    params = tuple(value for other in others for value in other.params)
    count = table.count(where, params)
    if count == 0:
        return None
    nearest = None
    if term.field in _BEST:
        best = table.query(f"SELECT {_BEST[term.field]} FROM offers WHERE {where}", params)[0][0]
        nearest = None if best is None else f"{best:g}"
    elif term.field in _LISTED:
        nearest = _most_common(table, _LISTED[term.field], where, params)
    reason = _reason(table, where, params) if term.field == "nvlink" else None
    return NearMiss(field=term.field, value=term.value, count=count, nearest=nearest, reason=reason)


def _most_common(table: OfferColumns, column: str, where: str, params: tuple[object, ...]) -> str | None:
    rows = table.query(
        f"SELECT {column} AS v, count(*) AS n FROM offers WHERE {where} GROUP BY v ORDER BY n DESC, v", params
    )
    if column == "spot":
        values = [str(bool(value)) for value, _ in rows]
    else:
        names = table.texts(column)
        values = [names[code] for code, _ in rows if code >= 0]
    return ", ".join(values[:_SHOWN]) or None


def _reason(table: OfferColumns, where: str, params: tuple[object, ...]) -> str | None:
    """Why none of these offers has NVLink, where one fact explains all of them."""
    amd = [code for code, name in enumerate(table.texts("gpu")) if vendor_of(name) == "amd"]
    checks = (
        ("amd_infinity_fabric", f"gpu IN ({', '.join(map(str, amd))})" if amd else "false"),
        ("single_gpu", "gpu_count <= 1"),
        ("no_nvlink_connector", f"nvlink IN ({', '.join(map(str, table.codes('nvlink', ['no'])))})"),
    )
    for reason, sql in checks:
        if table.count(f"({where}) AND NOT ({sql})", params) == 0:
            return reason
    return None
