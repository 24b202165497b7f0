"""Services of a team's set-up, started once; what is not installed is skipped."""

import pytest
from cluster_services import Chroma, Postgres, postgres_bin


@pytest.fixture(scope="session")
def postgres():
    """A running Postgres."""
    pytest.importorskip("psycopg")
    if postgres_bin() is None:
        pytest.skip("Postgres is not installed")
    with Postgres() as server:
        yield server


@pytest.fixture(scope="session")
def chroma(tmp_path_factory):
    """A running Chroma server."""
    with Chroma(tmp_path_factory.mktemp("chroma")) as server:
        yield server
