"""The store of offers: one Parquet file under the home folder, loaded once and searched in memory."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from knowledge.errors import StoreUnavailable, UnknownOffer
from knowledge.offer_columns import OfferColumns
from knowledge.offer_misses import near_misses
from knowledge.offer_model import CatalogueInfo, Offer, OfferFilter, OfferPage
from knowledge.offer_query import SORTS, Condition, conditions
from knowledge.offer_source import SharedTable
from knowledge.offer_table import locked, read_meta, shipped_digest, shipped_offers, write_table

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger("knowledge.offers")

UNKNOWN_SHOWN = 20
PRICE_MOVE = 0.25
"""A price that moved by more than this share is flagged when a catalogue is taken in again."""


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
        self._shared = SharedTable(source) if source is not None else None
        self._path = Path(home) / "offers" / "offers.parquet"
        self._lock = threading.RLock()
        self._stamp: object = None
        self._table: OfferColumns | None = None
        if source is None:
            self._build()
        self._columns()

    # ------------------------------------------------------------------ reading

    def search(self, wanted: OfferFilter) -> OfferPage:
        """The offers that meet every constraint of the filter, sorted, with the count of all that do."""
        table = self._columns()
        terms = conditions(wanted, table)
        where, params = _where(term for term in terms if not term.open_sql)
        links = [term for term in terms if term.open_sql]
        order = SORTS[wanted.sort]
        if links:
            holds, stated_nowhere = " AND ".join(term.sql for term in links), _open(links)
            _, count, unknown_count = table.counts(where, params, holds, stated_nowhere)
            matching, open_ones = f"{where} AND {holds}", f"{where} AND {stated_nowhere}"
        else:
            count, unknown_count, matching, open_ones = table.count(where, params), 0, where, "false"
        offers = table.rows(matching, params, order, wanted.limit) if count else []
        shown = min(wanted.limit, UNKNOWN_SHOWN)
        unknown = table.rows(open_ones, params, order, shown) if unknown_count else []
        misses = near_misses(table, terms) if count == 0 else []
        return OfferPage(count=count, offers=offers, unknown=unknown, unknown_count=unknown_count, near_misses=misses)

    def get(self, offer_id: str) -> Offer:
        """The offer with this id. Errors: UnknownOffer."""
        found = self._columns().find("offer_id", offer_id)
        if not found:
            raise UnknownOffer(f"No offer has the id {offer_id!r}; list ids with a search.")
        return found[0]

    def by_instance_type(self, name: str) -> list[Offer]:
        """All offers of an instance type, any case of letters, cheapest first."""
        return self.search(OfferFilter(instance_type=(name,), limit=100_000)).offers

    def all(self) -> list[Offer]:
        """Every offer, cheapest a GPU first; kept until the table changes."""
        return self._columns().all()

    @property
    def state(self) -> object:
        """Stands for the rows as they are now: another object once they have changed."""
        return self._columns()

    @property
    def count(self) -> int:
        """How many offers the table holds."""
        return len(self._columns())

    @property
    def as_of(self) -> str:
        """The newest date that any row states, "unknown" where none does."""
        import pyarrow.compute as pc

        dates = pc.unique(self._columns().table.column("as_of")).to_pylist()
        return max((date for date in dates if date and date != "unknown"), default="unknown")

    def values(self, column: str) -> list[str]:
        """The distinct values of a text column, sorted: what a form can suggest."""
        return sorted(self._columns().texts(column))

    def providers(self) -> list[str]:
        """The providers with at least one offer, sorted."""
        return self.values("provider")

    def sources(self) -> list[CatalogueInfo]:
        """Each source with its rows, the newest date it states, and when its rows last changed in this store."""
        table = self._columns()
        rows = table.table.select(["catalogue", "source", "provider", "as_of"]).group_by(
            ["catalogue", "source", "as_of"]
        )
        found: dict[tuple[str, str], dict[str, Any]] = {}
        for row in rows.aggregate([("provider", "distinct"), ("provider", "count")]).to_pylist():
            entry = found.setdefault((row["catalogue"], row["source"]), {"providers": set(), "offers": 0, "as_of": []})
            entry["providers"] |= set(row["provider_distinct"])
            entry["offers"] += row["provider_count"]
            entry["as_of"] += [row["as_of"]] if row["as_of"] != "unknown" else []
        changed = table.meta.get("changed", {})
        return [
            CatalogueInfo(
                catalogue=catalogue,
                source=source,
                providers=len(entry["providers"]),
                offers=entry["offers"],
                as_of=max(entry["as_of"], default="unknown"),
                changed=changed.get(source, "shipped"),
            )
            for (catalogue, source), entry in sorted(found.items())
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
            meta = self._columns().meta
            changed, replaced = dict(meta.get("changed", {})), set(meta.get("replaced", []))
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
                self._write(list(current.values()), {**meta, "changed": changed, "replaced": sorted(replaced)})
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
            kept = [offer for offer in self.all() if _owners(offer) & replaced] if replaced else []
            fresh = [offer for offer in shipped_offers() if not _owners(offer) & replaced]
            ids = {offer.offer_id for offer in kept}
            self._write([*kept, *(offer for offer in fresh if offer.offer_id not in ids)], {**meta, "shipped": digest})

    def _write(self, offers: list[Offer], meta: dict[str, Any]) -> None:
        write_table(self._path, offers, meta)
        self._stamp = None

    # ------------------------------------------------------------------ the table in memory

    def _columns(self) -> OfferColumns:
        with self._lock:
            stamp = self._file_stamp()
            if self._table is None or self._stamp != stamp:
                try:
                    table = OfferColumns(self._read())
                except StoreUnavailable as error:
                    if self._table is None or self._shared is None:
                        raise
                    log.warning("the new state of the shared offers is passed over: %s", error)
                    table = self._table
                self._table, self._stamp = table, stamp
            return self._table

    def _file_stamp(self) -> object:
        """What changes when the table does."""
        if self._shared is not None:
            return self._shared.stamp()
        try:
            status = self._path.stat()
        except OSError as error:
            raise StoreUnavailable(
                f"The offers table {self._path} cannot be read: {error.strerror or error}."
            ) from error
        return status.st_mtime_ns, status.st_size, status.st_ino

    def _read(self) -> pa.Table:
        import pyarrow as pa
        import pyarrow.parquet as pq

        if self._shared is not None:
            return self._shared.read()
        try:
            return pq.read_table(self._path)
        except (OSError, pa.ArrowInvalid) as error:
            raise StoreUnavailable(f"The offers table {self._path} cannot be read: {error}.") from error

    def _read_meta(self) -> dict[str, Any]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            return read_meta(pq.read_schema(self._path))
        except (OSError, pa.ArrowInvalid):
            return {}


def _where(terms: Iterable[Condition]) -> tuple[str, tuple[object, ...]]:
    chosen = list(terms)
    sql = " AND ".join(term.sql for term in chosen) or "true"
    return sql, tuple(value for term in chosen for value in term.params)


def _open(links: list[Condition]) -> str:
    """Each link constraint holds or is not stated, and at least one of them is not stated. (They take no parameters.)"""
    allowed = " AND ".join(f"({term.sql} OR {term.open_sql})" for term in links)
    return f"{allowed} AND ({' OR '.join(str(term.open_sql) for term in links)})"


def _is_of(offer: Offer, provider: str | None, catalogue: str) -> bool:
    return offer.catalogue == catalogue and provider in (None, offer.broker or offer.provider)


def _owners(offer: Offer) -> set[tuple[str, ...]]:
    """Who brought this row: the seller and the catalogue, as `replace` notes them."""
    return {(offer.broker or offer.provider, offer.catalogue)}


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
