"""The store of offers: one Parquet file under the home folder, searched with DuckDB in memory."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from knowledge.errors import KnowledgeError, StoreUnavailable, UnknownOffer
from knowledge.offer_misses import near_misses
from knowledge.offer_model import CatalogueInfo, Offer, OfferFilter, OfferPage
from knowledge.offer_query import LINK_FIELDS, SORTS, Condition, Values, conditions
from knowledge.offer_table import COLUMNS, locked, read_meta, shipped_digest, shipped_offers, write_table

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

UNKNOWN_SHOWN = 20
PRICE_MOVE = 0.25
"""A price that moved by more than this share is flagged when a catalogue is taken in again."""
_DICTIONARIES = frozenset(
    [
        "provider",
        "gpu",
        "gpu_variant",
        "region",
        "country",
        "city",
        "nvlink",
        "internode_fabric",
        "internode_rdma",
        "gpudirect_rdma",
        "orderable_as_cluster",
        "broker",
        "currency",
        "catalogue",
        "as_of",
    ]
)


class PriceMove(BaseModel):
    """An offer whose price moved by more than a quarter: dollars an hour before and after."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    offer: Offer
    before: float
    after: float


class Changes(BaseModel):
    """What a replacement changed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    new: list[Offer]
    gone: list[Offer]
    updated: int
    unchanged: int
    price_moves: list[PriceMove]


class OfferStore:
    """Offers of one home folder (read and write) or of one shared table (`source`, read only).

    Opening builds the table from what the package ships when it is absent or when a newer package ships other rows; rows
    ingested before are kept. A store sees what another process wrote at its next search. Safe for threads.
    """

    def __init__(self, home: Path | str, source: str | None = None) -> None:
        """Open the store. Errors: StoreUnavailable where the table can neither be read nor written."""
        self._source = source
        self._path = Path(home) / "offers" / "offers.parquet"
        self._lock = threading.RLock()
        self._stamp: object = None
        self._db: duckdb.DuckDBPyConnection | None = None
        self._meta: dict[str, Any] = {}
        self._values = Values()
        self._all: list[Offer] | None = None
        if source is None:
            self._build()
        self._connection()

    # ------------------------------------------------------------------ reading

    def search(self, wanted: OfferFilter) -> OfferPage:
        """The offers that meet every constraint of the filter, sorted, with the count of all that do."""
        db = self._connection()
        terms = conditions(wanted, self._values)
        where, params = _where(terms)
        count = self._count(db, where, params)
        offers = self._select(db, where, params, wanted.sort, wanted.limit) if count else []
        unknown: list[Offer] = []
        unknown_count = 0
        if any(term.field in LINK_FIELDS for term in terms):
            where, params = _open_where(terms)
            unknown_count = self._count(db, where, params)
            if unknown_count:
                unknown = self._select(db, where, params, wanted.sort, min(wanted.limit, UNKNOWN_SHOWN))
        misses = near_misses(db, terms) if count == 0 else []
        return OfferPage(count=count, offers=offers, unknown=unknown, unknown_count=unknown_count, near_misses=misses)

    def get(self, offer_id: str) -> Offer:
        """The offer with this id. Errors: UnknownOffer."""
        found = self._rows("offer_id = ?", (offer_id,))
        if not found:
            raise UnknownOffer(f"No offer has the id {offer_id!r}; list ids with a search.")
        return found[0]

    def by_instance_type(self, name: str) -> list[Offer]:
        """All offers of an instance type, any case of letters, cheapest first."""
        self._connection()
        types = (self._values.instance_types or {}).get(name.lower(), ())
        if not types:
            return []
        return self._rows(f"instance_type IN ({', '.join('?' * len(types))})", types)

    def all(self) -> list[Offer]:
        """Every offer, cheapest a GPU first; kept until the table changes."""
        with self._lock:
            self._connection()
            if self._all is None:
                self._all = self._rows("true", ())
            return self._all

    @property
    def count(self) -> int:
        """How many offers the table holds."""
        return self._count(self._connection(), "true", ())

    @property
    def as_of(self) -> str:
        """The newest date that any row states, "unknown" where none does."""
        found = (
            self._connection()
            .cursor()
            .execute("SELECT max(as_of::VARCHAR) FROM offers WHERE as_of <> 'unknown'")
            .fetchone()
        )
        return (found and found[0]) or "unknown"

    def providers(self) -> list[str]:
        """The providers with at least one offer, sorted."""
        rows = (
            self._connection()
            .cursor()
            .execute("SELECT DISTINCT provider::VARCHAR AS p FROM offers ORDER BY p")
            .fetchall()
        )
        return [name for (name,) in rows]

    def values(self, column: str) -> list[str]:
        """The distinct values of a text column, most frequent first; what nobody stated is left out. Errors: KeyError."""
        if column not in _DICTIONARIES:
            raise KeyError(column)
        rows = (
            self._connection()
            .cursor()
            .execute(
                f"SELECT {column}::VARCHAR AS v, count(*) AS n FROM offers "
                f"WHERE {column} IS NOT NULL AND {column}::VARCHAR NOT IN ('', 'unknown') GROUP BY v ORDER BY n DESC, v"
            )
            .fetchall()
        )
        return [value for value, _ in rows]

    def sources(self) -> list[CatalogueInfo]:
        """Each source with its rows, the newest date it states, and when its rows last changed in this store."""
        rows = (
            self._connection()
            .cursor()
            .execute(
                "SELECT catalogue::VARCHAR, source, count(DISTINCT provider), count(*), "
                "coalesce(max(CASE WHEN as_of <> 'unknown' THEN as_of::VARCHAR END), 'unknown') "
                "FROM offers GROUP BY ALL ORDER BY 1, 2"
            )
            .fetchall()
        )
        changed = self._meta.get("changed", {})
        return [
            CatalogueInfo(
                catalogue=kind,
                source=source,
                providers=n,
                offers=rows_in,
                as_of=as_of,
                changed=changed.get(source, "shipped"),
            )
            for kind, source, n, rows_in, as_of in rows
        ]

    # ------------------------------------------------------------------ writing

    def replace(self, provider: str | None, catalogue: str, offers: Iterable[Offer]) -> Changes:
        """Put these offers in the place of the provider's rows of this catalogue, in one step; None stands for all providers.

        A row of another catalogue with the same id gives way, so that one offer is never there twice. Re-ingesting the same
        rows changes nothing. Errors: StoreUnavailable for a shared table or an unwritable folder.
        """
        return self.replace_all([(provider, catalogue, list(offers))])[0]

    def replace_all(self, parts: list[tuple[str | None, str, list[Offer]]]) -> list[Changes]:
        """Several replacements (provider, catalogue, offers), written together: all of them are seen at once, or none."""
        if self._source is not None:
            raise StoreUnavailable("A shared offers table is read only; ingest into a home folder of its own.")
        with self._lock, locked(self._path.parent):
            self._stamp = None
            current = {offer.offer_id: offer for offer in self.all()}
            changed, replaced = dict(self._meta.get("changed", {})), set(self._meta.get("replaced", []))
            now = datetime.now(UTC).isoformat(timespec="seconds")
            found = []
            for provider, catalogue, offers in parts:
                incoming = {offer.offer_id: offer for offer in offers}
                mine = {
                    key: offer
                    for key, offer in current.items()
                    if key in incoming or _is_of(offer, provider, catalogue)
                }
                changes = _compare(mine, incoming)
                found.append(changes)
                if changes.new or changes.gone or changes.updated:
                    current = {key: offer for key, offer in current.items() if key not in mine} | incoming
                    changed |= {offer.source: now for offer in incoming.values()}
                    replaced |= {"\t".join(owner) for offer in incoming.values() for owner in _owners(offer)}
                    replaced |= {f"{provider}\t{catalogue}"} if provider else set()
            if any(changes.new or changes.gone or changes.updated for changes in found):
                self._write(list(current.values()), {**self._meta, "changed": changed, "replaced": sorted(replaced)})
            return found

    def _build(self) -> None:
        digest = shipped_digest()
        if self._path.exists() and self._read_meta().get("shipped") == digest:
            return
        with locked(self._path.parent):
            meta = self._read_meta() if self._path.exists() else {}
            if meta.get("shipped") == digest:
                return
            replaced = {tuple(key.split("\t")) for key in meta.get("replaced", [])}
            kept = []
            if replaced:
                self._load()
                kept = [offer for offer in self.all() if _owners(offer) & replaced]
                self._db = self._all = None
            fresh = [offer for offer in shipped_offers() if not _owners(offer) & replaced]
            ids = {offer.offer_id for offer in kept}
            self._write([*kept, *(offer for offer in fresh if offer.offer_id not in ids)], {**meta, "shipped": digest})

    def _write(self, offers: list[Offer], meta: dict[str, Any]) -> None:
        write_table(self._path, sorted(offers, key=_price_order), meta)
        self._stamp = None
        self._all = None

    # ------------------------------------------------------------------ the table in memory

    def _connection(self) -> duckdb.DuckDBPyConnection:
        with self._lock:
            if self._db is None or self._stamp != self._file_stamp():
                self._load()
            assert self._db is not None
            return self._db

    def _file_stamp(self) -> object:
        if self._source is not None and "://" in self._source:
            return self._source
        path = Path(self._source) if self._source else self._path
        try:
            status = path.stat()
        except OSError as error:
            raise StoreUnavailable(f"The offers table {path} cannot be read: {error.strerror or error}.") from error
        return status.st_mtime_ns, status.st_size, status.st_ino

    def _read(self) -> pa.Table:
        import pyarrow as pa
        import pyarrow.parquet as pq

        where = self._source or str(self._path)
        try:
            if self._source and "://" in self._source:
                from pyarrow.fs import FileSystem

                files, name = FileSystem.from_uri(self._source)
                return pq.read_table(name, filesystem=files)
            return pq.read_table(where)
        except (OSError, pa.ArrowInvalid) as error:
            raise StoreUnavailable(f"The offers table {where} cannot be read: {error}.") from error

    def _read_meta(self) -> dict[str, Any]:
        try:
            return read_meta(self._read())
        except KnowledgeError:
            return {}

    def _load(self) -> None:
        import duckdb

        stamp = self._file_stamp()
        table = self._read()
        missing = set(COLUMNS) - set(table.column_names)
        if missing:
            raise StoreUnavailable(f"The offers table lacks the columns {', '.join(sorted(missing))}.")
        table = table.select(list(COLUMNS))
        for name in _DICTIONARIES:
            position = table.column_names.index(name)
            table = table.set_column(position, name, table.column(name).combine_chunks().dictionary_encode())
        db = duckdb.connect()
        db.execute("SET threads = 2")
        db.register("incoming", table)
        db.execute(f"CREATE TABLE offers AS SELECT * FROM incoming ORDER BY {SORTS['price_gpu']}, offer_id")
        db.unregister("incoming")
        types: dict[str, list[str]] = {}
        for (name,) in db.execute("SELECT DISTINCT instance_type FROM offers").fetchall():
            types.setdefault(name.lower(), []).append(name)
        regions = tuple(name for (name,) in db.execute("SELECT DISTINCT region::VARCHAR FROM offers").fetchall())
        self._values = Values(regions=regions, instance_types={key: tuple(names) for key, names in types.items()})
        self._meta = read_meta(table)
        self._db, self._stamp, self._all = db, stamp, None

    def _count(self, db: duckdb.DuckDBPyConnection, where: str, params: tuple[object, ...]) -> int:
        found = db.cursor().execute(f"SELECT count(*) FROM offers WHERE {where}", params).fetchone()
        return int(found[0]) if found else 0

    def _select(
        self, db: duckdb.DuckDBPyConnection, where: str, params: tuple[object, ...], sort: str, limit: int
    ) -> list[Offer]:
        order = SORTS[sort]
        chosen = f"SELECT rowid FROM offers WHERE {where} ORDER BY {order}, rowid LIMIT {int(limit)}"
        rows = (
            db.cursor()
            .execute(f"SELECT * FROM offers WHERE rowid IN ({chosen}) ORDER BY {order}, rowid", params)
            .fetchall()
        )
        return [_offer(row) for row in rows]

    def _rows(self, where: str, params: tuple[object, ...]) -> list[Offer]:
        rows = (
            self._connection().cursor().execute(f"SELECT * FROM offers WHERE {where} ORDER BY rowid", params).fetchall()
        )
        return [_offer(row) for row in rows]


def _offer(row: tuple[Any, ...]) -> Offer:
    """The row was validated when it was written, so it is taken as it is."""
    return Offer.model_construct(**dict(zip(COLUMNS, row, strict=True)))


def _where(terms: list[Condition]) -> tuple[str, tuple[object, ...]]:
    sql = " AND ".join(term.sql for term in terms) or "true"
    return sql, tuple(value for term in terms for value in term.params)


def _open_where(terms: list[Condition]) -> tuple[str, tuple[object, ...]]:
    """Every other constraint holds, and each link constraint holds or is not stated, at least one of them not stated."""
    parts: list[str] = []
    params: list[object] = []
    for term in terms:
        parts.append(f"({term.sql} OR {term.open_sql})" if term.open_sql else term.sql)
        params += term.params
    links = [term for term in terms if term.open_sql]
    sql = " AND ".join([*parts, f"({' OR '.join(str(term.open_sql) for term in links)})"])
    return sql, tuple(params)


def _is_of(offer: Offer, provider: str | None, catalogue: str) -> bool:
    return offer.catalogue == catalogue and provider in (None, offer.broker or offer.provider)


def _owners(offer: Offer) -> set[tuple[str, ...]]:
    """Who brought this row: the seller and the catalogue, as `replace` notes them."""
    return {(offer.broker or offer.provider, offer.catalogue)}


def _price_order(offer: Offer) -> tuple[bool, float, bool, float, str]:
    by_gpu, by_hour = offer.price_usd_gpu_hour, offer.price_usd_hour
    return by_gpu is None, by_gpu or 0.0, by_hour is None, by_hour or 0.0, offer.offer_id


def _compare(before: dict[str, Offer], after: dict[str, Offer]) -> Changes:
    both = [(before[key], after[key]) for key in after if key in before]
    moves = [
        PriceMove(offer=new, before=old.price_usd_hour, after=new.price_usd_hour)
        for old, new in both
        if old.price_usd_hour and new.price_usd_hour and abs(new.price_usd_hour / old.price_usd_hour - 1) > PRICE_MOVE
    ]
    same = sum(old == new for old, new in both)
    return Changes(
        new=[offer for key, offer in after.items() if key not in before],
        gone=[offer for key, offer in before.items() if key not in after],
        updated=len(both) - same,
        unchanged=same,
        price_moves=moves,
    )
