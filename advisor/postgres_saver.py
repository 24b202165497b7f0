"""The checkpointer over Postgres: connects when first used, says plainly when the database is away, comes back by itself."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from langgraph.checkpoint.postgres import PostgresSaver
from psycopg import Cursor, Error
from psycopg.rows import DictRow, dict_row
from psycopg_pool import ConnectionPool, PoolTimeout

from advisor.errors import Unavailable

CALL_S = 15.0
"""Seconds that one call of the database may take; a conversation is read or written in milliseconds."""
WAIT_S = 5.0
"""Seconds that a turn waits for a connection before it ends with an error."""
SETUP_LOCK = 7_263_011
"""Number of the advisory lock under which one process at a time makes tables."""


def make_pool(url: str, size: int) -> ConnectionPool[Any]:
    """A pool that opens in the background: a database that is away at the start is met when it is needed."""
    options = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row, "connect_timeout": 5}
    pool: ConnectionPool[Any] = ConnectionPool(
        url,
        min_size=1,
        max_size=size,
        timeout=WAIT_S,
        open=False,
        kwargs=options,
        check=_check,
        reconnect_timeout=10,
        name="advisor",
    )
    pool.open(wait=False)
    return pool


class CutOff:
    """Ends a call that takes too long, by shutting the connection's socket: the call then fails as if the server had gone.

    The driver has no limit of its own for a server that took the connection and says nothing.
    """

    def __init__(self, connection: Any, seconds: float):
        self._connection = connection
        self._timer = threading.Timer(seconds, self._cut)
        self._timer.daemon = True
        self._timer.start()

    def _cut(self) -> None:
        with contextlib.suppress(OSError, Error), socket.socket(fileno=os.dup(self._connection.fileno())) as wire:
            wire.shutdown(socket.SHUT_RDWR)

    def cancel(self) -> None:
        """The call ended in time."""
        self._timer.cancel()


def _check(connection: Any) -> None:
    cut = CutOff(connection, WAIT_S - 1)
    try:
        ConnectionPool.check_connection(connection)
    finally:
        cut.cancel()


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turns every error of the database into Unavailable, which names neither address nor password."""
    try:
        yield
    except (Error, PoolTimeout) as error:
        raise Unavailable(
            f"The database of ADVISOR_DATABASE_URL does not answer ({type(error).__name__}). "
            "Ask again in a moment; if this stays, check that Postgres runs and that address and password are right."
        ) from None


class SharedSaver(PostgresSaver):
    """Conversations for any number of processes. Every call raises Unavailable while the database is away."""

    def __init__(self, pool: ConnectionPool[Any]):
        super().__init__(pool)
        self._pool = pool
        self._ready = False
        self._setup_lock = threading.Lock()

    @contextmanager
    def _cursor(self, *, pipeline: bool = False) -> Iterator[Cursor[DictRow]]:
        with plain_errors():
            self._ensure_tables()
            cut: CutOff | None = None
            try:
                with super()._cursor(pipeline=pipeline) as cursor:
                    cut = CutOff(cursor.connection, CALL_S)
                    yield cursor
            finally:
                if cut is not None:
                    cut.cancel()

    def setup(self) -> None:
        """Make or bring up to date the tables; done by the first use as well."""
        with plain_errors():
            self._ensure_tables()

    def _ensure_tables(self) -> None:
        if self._ready:
            return
        with self._setup_lock:
            if self._ready:
                return
            with self._pool.connection() as connection, setup_lock(connection):
                PostgresSaver(connection).setup()
            self._ready = True


@contextmanager
def setup_lock(connection: Any) -> Iterator[None]:
    """Hold the right to make tables.

    It is tried again and again, not waited for inside the database: a session that waits holds a snapshot, for which the
    holder's CREATE INDEX CONCURRENTLY would wait in turn.
    """
    while not connection.execute("SELECT pg_try_advisory_lock(%s) AS held", (SETUP_LOCK,)).fetchone()["held"]:
        time.sleep(0.05)
    try:
        yield
    finally:
        connection.execute("SELECT pg_advisory_unlock(%s)", (SETUP_LOCK,))
