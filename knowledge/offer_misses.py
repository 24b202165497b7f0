"""Near misses: when nothing matches, which one constraint, loosened alone, gives the most offers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowledge.offer_model import NearMiss
from knowledge.offer_query import TOTAL_MEMORY, Condition

if TYPE_CHECKING:
    import duckdb

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


def near_misses(db: duckdb.DuckDBPyConnection, terms: list[Condition]) -> list[NearMiss]:
    """One entry for each constraint that alone stands in the way, most offers first."""
    found = [miss for term in terms if (miss := _without(db, term, [other for other in terms if other is not term]))]
    return sorted(found, key=lambda miss: (-miss.count, miss.field))


def _without(db: duckdb.DuckDBPyConnection, term: Condition, others: list[Condition]) -> NearMiss | None:
    where = " AND ".join(other.sql for other in others) or "true"
    params = tuple(value for other in others for value in other.params)
    row = db.cursor().execute(f"SELECT count(*) FROM offers WHERE {where}", params).fetchone()
    count = int(row[0]) if row else 0
    if count == 0:
        return None
    nearest = None
    if term.field in _BEST:
        best = db.cursor().execute(f"SELECT {_BEST[term.field]} FROM offers WHERE {where}", params).fetchone()
        nearest = f"{best[0]:g}" if best and best[0] is not None else None
    elif term.field in _LISTED:
        column = _LISTED[term.field]
        rows = (
            db.cursor()
            .execute(
                f"SELECT {column}::VARCHAR AS v, count(*) AS n FROM offers WHERE {where} AND {column} IS NOT NULL "
                f"GROUP BY v ORDER BY n DESC, v LIMIT {_SHOWN}",
                params,
            )
            .fetchall()
        )
        nearest = ", ".join(value for value, _ in rows) or None
    reason = _reason(db, where, params) if term.field == "nvlink" else None
    return NearMiss(field=term.field, value=term.value, count=count, nearest=nearest, reason=reason)


def _reason(db: duckdb.DuckDBPyConnection, where: str, params: tuple[object, ...]) -> str | None:
    """Why none of these offers has NVLink, where one fact explains all of them."""
    row = (
        db.cursor()
        .execute(
            "SELECT bool_and(gpu LIKE 'MI%'), bool_and(gpu_count <= 1), bool_and(nvlink = 'no') "
            f"FROM offers WHERE {where}",
            params,
        )
        .fetchone()
    )
    amd, single, never = row if row else (False, False, False)
    if amd:
        return "amd_infinity_fabric"
    if single:
        return "single_gpu"
    return "no_nvlink_connector" if never else None
