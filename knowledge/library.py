"""The library: one SQLite file that says what is known, and is the truth for the indexes built from it.

A write is one transaction that raises `version`; readers see the old state or the new one and notice the change by the
number. Passages never change in place: other text has another id.
"""

from __future__ import annotations

import json
import logging
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from knowledge.errors import StoreUnavailable

_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta(key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS documents(
  doc_id TEXT PRIMARY KEY, source TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, root TEXT NOT NULL, title TEXT NOT NULL,
  lang TEXT NOT NULL, provider TEXT, as_of TEXT, url TEXT, edition TEXT, family TEXT, content_hash TEXT NOT NULL,
  etag TEXT, extra TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS passages(
  passage_id TEXT PRIMARY KEY, doc_id TEXT NOT NULL REFERENCES documents(doc_id) ON DELETE CASCADE, ord INTEGER NOT NULL,
  section TEXT NOT NULL, text TEXT NOT NULL, hints TEXT NOT NULL, fold TEXT NOT NULL, terms TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS passages_by_doc ON passages(doc_id, ord);
"""

SCHEMA_VERSION = 2
_ADDED_LATER = {
    "documents": {
        "kind": "TEXT NOT NULL DEFAULT 'document'",
        "root": "TEXT NOT NULL DEFAULT ''",
        **dict.fromkeys(("provider", "as_of", "url", "edition", "family", "etag"), "TEXT"),
        "extra": "TEXT NOT NULL DEFAULT '{}'",
    },
    "passages": dict.fromkeys(("section", "hints", "fold", "terms"), "TEXT NOT NULL DEFAULT ''"),
}
"""Columns that a library of an earlier version may lack, with what stands in them until its documents are read again."""

IDLE = 8
"""Connections kept for threads to come."""

_log = logging.getLogger(__name__)


class Document(BaseModel):
    """One document as it went in. `source` is the path as ingested or the URL; `edition` a version such as v3; `family` ties
    the editions and languages of one page together."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    doc_id: str
    source: str
    kind: str = "document"
    root: str = ""
    title: str
    lang: str
    provider: str | None = None
    as_of: str | None = None
    url: str | None = None
    edition: str | None = None
    family: str | None = None
    content_hash: str
    etag: str | None = None
    extra: dict[str, Any] = Field(default_factory=dict)


class Passage(BaseModel):
    """One passage: what search returns whole. `hints` are words for the search that are not shown; `fold` is equal for
    passages of equal words; `terms` are its tokens by field, ready for the lexical index."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    passage_id: str
    doc_id: str
    ord: int
    section: str
    text: str
    hints: str = ""
    fold: str = ""
    terms: str = ""


class _Held:
    """A thread's connection. When the thread is gone, the next new thread takes it over: turns run in threads of their own."""

    def __init__(self, connection: sqlite3.Connection, file: int, idle: deque[_Held]) -> None:
        self.connection, self.file, self._idle = connection, file, idle
        self.closed = False

    def close(self) -> None:
        """Close it for good."""
        self.closed = True
        self.connection.close()

    def passed_on(self) -> _Held:
        """The same connection for another thread."""
        self.closed = True
        return _Held(self.connection, self.file, self._idle)

    def __del__(self) -> None:
        if self.closed:
            return
        if self.connection.in_transaction or len(self._idle) >= IDLE:
            self.close()
        else:
            self._idle.append(self.passed_on())


class _Mine(threading.local):
    held: _Held | None = None


class Library:
    """Reads and writes the library file. One connection a thread; writes are for the holder of the ingest lock only."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._mine = _Mine()
        self._idle: deque[_Held] = deque()

    def _connect(self) -> sqlite3.Connection:
        held = self._mine.held
        if held is None:
            held = self._mine.held = self._idle_one() or self._open()
        return held.connection

    def _idle_one(self) -> _Held | None:
        """A connection that a thread left behind, if it is to the file that stands there now."""
        while self._idle:
            try:
                held = self._idle.pop()
                if held.file == self.path.stat().st_ino:
                    return held
            except (IndexError, OSError):
                return None
            held.close()
        return None

    def _open(self) -> _Held:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self.path, timeout=30, isolation_level=None, check_same_thread=False)
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA foreign_keys=ON")
            connection.execute("PRAGMA synchronous=NORMAL")
            self._bring_up_to_date(connection)
            file = self.path.stat().st_ino
        except (sqlite3.Error, OSError) as error:
            raise StoreUnavailable(f"The library {self.path} cannot be opened ({error}).") from error
        connection.row_factory = sqlite3.Row
        return _Held(connection, file, self._idle)

    def _bring_up_to_date(self, connection: sqlite3.Connection) -> None:
        """Make the tables, or add what those of an earlier version lack; then tokens and guides are made anew by the next build.

        Raises StoreUnavailable where the file is of a later version or its tables are not ours.
        """
        written = int(connection.execute("PRAGMA user_version").fetchone()[0])
        if written == SCHEMA_VERSION:
            return
        if written > SCHEMA_VERSION:
            raise StoreUnavailable(
                f"The library {self.path} is of a later version of this program; upgrade it, or set another ADVISOR_HOME."
            )
        with _Transaction(connection):
            missing = [
                (table, name, kind)
                for table, columns in _ADDED_LATER.items()
                if (have := _columns(connection, table))
                for name, kind in columns.items()
                if name not in have
            ]
            for table, name, kind in missing:
                connection.execute(f"ALTER TABLE {table} ADD COLUMN {name} {kind}")
            for statement in _SCHEMA.split(";"):
                connection.execute(statement)
            for table, needed in _NEEDED.items():
                if lacking := needed - _columns(connection, table):
                    raise StoreUnavailable(
                        f"The library {self.path} has no {', '.join(sorted(lacking))} in {table}: it is not of this program. "
                        "Move it away, or set another ADVISOR_HOME."
                    )
            if missing:
                self._set_meta(connection, {"rules": "", "guides": ""})
                _log.warning(
                    "The library %s is of an earlier version and was brought up to date (%s); its documents stay. "
                    "Ingest them again to gain what is new.",
                    self.path,
                    ", ".join(f"{table}.{name}" for table, name, _ in missing),
                )
            connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")

    def close(self) -> None:
        """Close this thread's connection."""
        if self._mine.held is not None:
            self._mine.held.close()
            self._mine.held = None

    def get_meta(self, key: str) -> str | None:
        """A value of the meta table, or None."""
        row = self._connect().execute("SELECT value FROM meta WHERE key=?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def set_meta(self, **values: str) -> None:
        """Set values of the meta table at once, outside a write of documents."""
        with self._transaction() as connection:
            self._set_meta(connection, values)

    @property
    def version(self) -> int:
        """The number of the current state; 0 before the first write."""
        return int(self.get_meta("version") or 0)

    def documents(self) -> list[Document]:
        """All documents, by source."""
        rows = self._connect().execute("SELECT * FROM documents ORDER BY source").fetchall()
        return [_document(row) for row in rows]

    def document(self, doc_id: str) -> Document | None:
        """One document by id."""
        row = self._connect().execute("SELECT * FROM documents WHERE doc_id=?", (doc_id,)).fetchone()
        return None if row is None else _document(row)

    def passages(self, ids: Iterable[str]) -> dict[str, Passage]:
        """Passages by id; ids that are gone are absent."""
        wanted = list(ids)
        out: dict[str, Passage] = {}
        for start in range(0, len(wanted), 500):
            part = wanted[start : start + 500]
            marks = ",".join("?" * len(part))
            rows = self._connect().execute(f"SELECT * FROM passages WHERE passage_id IN ({marks})", part)
            out.update({row["passage_id"]: Passage(**dict(row)) for row in rows})
        return out

    def of_document(self, doc_id: str, first: int = 0, last: int = 1 << 30) -> list[Passage]:
        """The passages of a document from position `first` to `last`, in order."""
        rows = self._connect().execute(
            "SELECT * FROM passages WHERE doc_id=? AND ord BETWEEN ? AND ? ORDER BY ord", (doc_id, first, last)
        )
        return [Passage(**dict(row)) for row in rows]

    def passage_ids(self) -> set[str]:
        """The ids of all passages."""
        return {row[0] for row in self._connect().execute("SELECT passage_id FROM passages")}

    def all_passages(self) -> Iterator[sqlite3.Row]:
        """Every passage with its document's fields that the index needs, in a stable order (source, position)."""
        return iter(
            self._connect().execute(
                "SELECT p.passage_id, p.doc_id, p.fold, p.terms, d.lang, d.provider, d.kind, d.as_of, d.edition, d.family FROM passages p JOIN documents d USING(doc_id) ORDER BY d.source, p.ord"
            )
        )

    def passage_counts(self) -> dict[str, int]:
        """How many passages each document has, by document id."""
        return dict(self._connect().execute("SELECT doc_id, count(*) FROM passages GROUP BY doc_id").fetchall())

    def count(self) -> int:
        """How many passages there are."""
        return int(self._connect().execute("SELECT count(*) FROM passages").fetchone()[0])

    def replace(
        self,
        documents: Iterable[tuple[Document, list[Passage]]],
        removed: Iterable[str],
        meta: dict[str, str],
        terms: Iterable[tuple[str, str]] = (),
        finish: Callable[[int], None] | None = None,
    ) -> int:
        """Put documents in place of those of the same id, drop the removed ids, and raise the version, in one transaction.

        `terms` are new tokens for passages that stay. `finish(version)` runs before the commit: an index file for the new version can be written by it from this
        connection's view; if it fails, nothing has changed. Returns the new version.
        """
        with self._transaction() as connection:
            for doc_id in removed:
                connection.execute("DELETE FROM documents WHERE doc_id=?", (doc_id,))
            for document, passages in documents:
                connection.execute("DELETE FROM documents WHERE doc_id=?", (document.doc_id,))
                fields = document.model_dump()
                fields["extra"] = json.dumps(fields["extra"], ensure_ascii=False)
                marks = ",".join(f":{name}" for name in fields)
                connection.execute(f"INSERT INTO documents({','.join(fields)}) VALUES({marks})", fields)
                connection.executemany(
                    "INSERT INTO passages(passage_id,doc_id,ord,section,text,hints,fold,terms) "
                    "VALUES(:passage_id,:doc_id,:ord,:section,:text,:hints,:fold,:terms)",
                    [passage.model_dump() for passage in passages],
                )
            connection.executemany("UPDATE passages SET terms=? WHERE passage_id=?", [(new, key) for key, new in terms])
            version = int(self.get_meta("version") or 0) + 1
            self._set_meta(connection, {**meta, "version": str(version)})
            if finish is not None:
                finish(version)
        return version

    @staticmethod
    def _set_meta(connection: sqlite3.Connection, values: dict[str, str]) -> None:
        connection.executemany(
            "INSERT INTO meta(key,value) VALUES(?,?) ON CONFLICT(key) DO UPDATE SET value=excluded.value",
            values.items(),
        )

    def _transaction(self) -> _Transaction:
        return _Transaction(self._connect())


class _Transaction:
    """BEGIN IMMEDIATE … COMMIT, or ROLLBACK where the body raises."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> sqlite3.Connection:
        self._connection.execute("BEGIN IMMEDIATE")
        return self._connection

    def __exit__(self, kind: object, value: object, trace: object) -> None:
        self._connection.execute("COMMIT" if kind is None else "ROLLBACK")


def _columns(connection: sqlite3.Connection, table: str) -> set[str]:
    """The names of a table's columns; none where there is no such table."""
    return {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}


_NEEDED = {"documents": set(Document.model_fields), "passages": set(Passage.model_fields), "meta": {"key", "value"}}


def _document(row: sqlite3.Row) -> Document:
    fields = dict(row)
    fields["extra"] = json.loads(fields["extra"])
    return Document(**fields)
