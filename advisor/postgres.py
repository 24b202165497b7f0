"""Postgres behind one setting, for several web processes: conversations, and the votes and comments of visitors."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from advisor.errors import BadRequest

if TYPE_CHECKING:
    from psycopg_pool import ConnectionPool

POOL_SIZE = 10
_pools: dict[str, ConnectionPool[Any]] = {}
_pools_lock = threading.Lock()
_with_table: set[str] = set()

_FEEDBACK = """
CREATE TABLE IF NOT EXISTS advisor_feedback(
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at timestamptz NOT NULL DEFAULT now(), line jsonb NOT NULL)
"""


def check_installed() -> None:
    """Raise BadRequest where the `team` extra is not installed."""
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in ("psycopg", "psycopg_pool", "langgraph.checkpoint.postgres")):
        raise BadRequest(
            "ADVISOR_DATABASE_URL needs a package that is not installed: pip install 'interconnect-advisor[team]'"
        )


def _pool(url: str) -> ConnectionPool[Any]:
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    from advisor.postgres_saver import make_pool

    with _pools_lock:
        if url not in _pools:
            try:
                conninfo_to_dict(url)
            except ProgrammingError:
                raise BadRequest(
                    "ADVISOR_DATABASE_URL is not an address of a database; it is of the form "
                    "postgresql://user:password@host:5432/name."
                ) from None
            _pools[url] = make_pool(url, POOL_SIZE)
        return _pools[url]


def postgres_checkpointer(url: str) -> Any:
    """A LangGraph checkpointer over a pool of connections.

    Nothing is asked of the database yet: tables are made at the first use, and while the database is away each use raises
    Unavailable in one line that names no password. Raises BadRequest where the extra is missing or `url` is no address.
    """
    check_installed()
    from advisor.postgres_saver import SharedSaver

    return SharedSaver(_pool(url))


def save_feedback_line(url: str, line: dict[str, Any]) -> None:
    """Add one vote or comment to the table `advisor_feedback`. Raises Unavailable while the database is away."""
    check_installed()
    from psycopg.types.json import Jsonb

    from advisor.postgres_saver import plain_errors, setup_lock

    with plain_errors(), _pool(url).connection() as connection:
        if url not in _with_table:
            with setup_lock(connection):
                connection.execute(_FEEDBACK)
            _with_table.add(url)
        connection.execute("INSERT INTO advisor_feedback(line) VALUES (%s)", (Jsonb(line),))


def feedback_lines(url: str) -> list[dict[str, Any]]:
    """All votes and comments, oldest first; for reading them by a script."""
    check_installed()
    from advisor.postgres_saver import plain_errors

    with plain_errors(), _pool(url).connection() as connection:
        return [row["line"] for row in connection.execute("SELECT line FROM advisor_feedback ORDER BY id").fetchall()]


def close_pools() -> None:
    """Close every connection; a process that ends does it by itself."""
    with _pools_lock:
        for pool in _pools.values():
            pool.close()
        _pools.clear()
        _with_table.clear()
