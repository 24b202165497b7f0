"""Conversations in Postgres, for several web processes that share them."""

from __future__ import annotations

from typing import Any

from advisor.errors import BadRequest, Unavailable


def postgres_checkpointer(url: str) -> Any:
    """A LangGraph checkpointer over a connection pool; makes its tables. Raises Unavailable without naming the password."""
    try:
        from langgraph.checkpoint.postgres import PostgresSaver
        from psycopg import Error
        from psycopg.rows import dict_row
        from psycopg_pool import ConnectionPool, PoolTimeout
    except ImportError:
        raise BadRequest(
            "ADVISOR_DATABASE_URL needs a package that is not installed: pip install 'interconnect-advisor[team]'"
        ) from None
    options = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row, "connect_timeout": 5}
    pool = ConnectionPool(
        url, min_size=1, max_size=10, timeout=10, open=False, kwargs=options, check=ConnectionPool.check_connection
    )
    try:
        pool.open(wait=True, timeout=10)
        saver = PostgresSaver(pool)  # type: ignore[arg-type]
        saver.setup()
    except (Error, PoolTimeout) as error:
        pool.close()
        raise Unavailable(
            f"The database of ADVISOR_DATABASE_URL does not answer ({type(error).__name__}). "
            "Check that it runs and that the address and password are right."
        ) from None
    return saver
