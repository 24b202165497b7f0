"""A table of offers in memory: the whole rows in Arrow, and beside them a narrow DuckDB table that filters run on.

DuckDB compares texts row by row, so every text that a filter asks about is a small integer there: one million rows are
filtered in a few milliseconds. Both are in the order of price a GPU, so that row numbers give the default order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from knowledge.errors import StoreUnavailable
from knowledge.offer_model import Offer
from knowledge.offer_table import COLUMNS, ORDER, SORTED_KEY, read_meta

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

TEXTS = (
    "provider",
    "broker",
    "instance_type",
    "gpu",
    "gpu_variant",
    "region",
    "country",
    "city",
    "nvlink",
    "internode_fabric",
    "internode_rdma",
)
NUMBERS = (
    "gpu_count",
    "gpu_memory_gb",
    "price_usd_hour",
    "price_usd_gpu_hour",
    "nvlink_gb_s_per_gpu",
    "internode_gbit_s_per_node",
)
NOTHING = -1
"""The code of a text that is not given."""
THREADS = 2
KEPT_ROWS = 50_000
"""Up to this size all offers are kept as objects once asked for (about 3 kB each), so that no search makes them again."""


class OfferColumns:
    """One loaded table. Rows are numbered from 0 in the order of price a GPU, then price, then id."""

    def __init__(self, table: pa.Table) -> None:
        """Take a table with the columns of `Offer`. Errors: StoreUnavailable where columns are missing."""
        import duckdb
        import pyarrow as pa
        import pyarrow.compute as pc

        missing = set(COLUMNS) - set(table.column_names)
        if missing:
            raise StoreUnavailable(f"The offers table lacks the columns {', '.join(sorted(missing))}.")
        self.meta: dict[str, Any] = read_meta(table.schema)
        table = table.select(list(COLUMNS))
        if not self.meta.get(SORTED_KEY):
            table = table.sort_by([(name, "ascending") for name in ORDER])
        self.table = table.combine_chunks()
        self._codes: dict[str, dict[str, int]] = {}
        self._names: dict[str, list[str]] = {}
        narrow: dict[str, pa.Array] = {}
        for name in TEXTS:
            texts = _one(self.table.column(name)).dictionary_encode()
            names = texts.dictionary.to_pylist()
            self._names[name] = names
            self._codes[name] = {text: code for code, text in enumerate(names)}
            width = pa.int16() if len(names) < 2**15 else pa.int32()
            narrow[name] = texts.indices.fill_null(NOTHING).cast(width)
        for name in NUMBERS:
            narrow[name] = _one(self.table.column(name)).cast(pa.float64())
        counts = pc.max_element_wise(narrow["gpu_count"], pa.scalar(1.0), skip_nulls=False)
        narrow["total_memory_gb"] = pc.multiply(narrow["gpu_memory_gb"], counts)
        narrow["spot"] = _one(self.table.column("spot"))
        self._kept: list[Offer] | None = None
        self._folded: dict[str, list[int]] = {}
        for code, text in enumerate(self._names["instance_type"]):
            self._folded.setdefault(text.lower(), []).append(code)
        self._db: duckdb.DuckDBPyConnection = duckdb.connect()
        self._db.execute(f"SET threads = {THREADS}")
        self._db.register("incoming", pa.table(narrow))
        self._db.execute("CREATE TABLE offers AS SELECT * FROM incoming")
        self._db.unregister("incoming")

    def __len__(self) -> int:
        return self.table.num_rows

    # ------------------------------------------------------------------ texts and codes

    def codes(self, column: str, texts: Iterable[str]) -> list[int]:
        """The codes of those texts that the column has."""
        known = self._codes[column]
        return [known[text] for text in dict.fromkeys(texts) if text in known]

    def type_codes(self, names: Iterable[str]) -> list[int]:
        """The codes of instance types by name, any case of letters."""
        return [code for name in names for code in self._folded.get(name.lower(), ())]

    def texts(self, column: str) -> list[str]:
        """The distinct texts of a column; the place of each is its code."""
        return self._names[column]

    # ------------------------------------------------------------------ queries

    def query(self, sql: str, params: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Run SQL on the narrow table `offers` (texts are codes); safe from several threads at once."""
        return self._db.cursor().execute(sql, list(params)).fetchall()

    def count(self, where: str, params: Sequence[object] = ()) -> int:
        """How many rows meet a condition."""
        return self.counts(where, params)[0]

    def counts(self, where: str, params: Sequence[object], *parts: str) -> list[int]:
        """How many rows meet a condition, and how many of them meet each further one, in one pass."""
        more = "".join(f", count(*) FILTER (WHERE {part})" for part in parts)
        return [int(found) for found in self.query(f"SELECT count(*){more} FROM offers WHERE {where}", params)[0]]

    def rows(self, where: str, params: Sequence[object], order: str, limit: int) -> list[Offer]:
        """The first `limit` offers that meet a condition, in this order; ties in the order of the table."""
        found = self.query(f"SELECT rowid FROM offers WHERE {where} ORDER BY {order}, rowid LIMIT {int(limit)}", params)
        return self.take([row for (row,) in found])

    def take(self, numbers: list[int]) -> list[Offer]:
        """The offers in these rows, in this order."""
        import pyarrow as pa

        if len(self) > KEPT_ROWS:
            return _offers(self.table.take(pa.array(numbers, pa.int64())))
        kept = self.all()
        return [kept[number] for number in numbers]

    def all(self) -> list[Offer]:
        """Every offer in the order of the table."""
        if self._kept is None:
            self._kept = _offers(self.table)
        return self._kept

    def find(self, column: str, text: str) -> list[Offer]:
        """The offers with exactly this text in a column."""
        import pyarrow.compute as pc

        found = pc.indices_nonzero(pc.equal(self.table.column(column), text))
        return self.take(found.to_pylist())


def _offers(table: pa.Table) -> list[Offer]:
    """The rows as offers. They were checked when they were written and are taken as they are."""
    columns = [table.column(name).to_pylist() for name in COLUMNS]
    return [Offer.model_construct(**dict(zip(COLUMNS, row, strict=True))) for row in zip(*columns, strict=True)]


def _one(column: pa.ChunkedArray) -> pa.Array:
    """A column as one array."""
    import pyarrow as pa

    whole = column.combine_chunks()
    return whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
