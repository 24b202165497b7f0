"""Services of a team's set-up, started once; what is not installed is skipped."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cluster_services import Chroma, Nginx, Postgres, Web, nginx_program, postgres_bin


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


class Cluster:
    """The whole set-up of a team on one machine."""

    def __init__(self, folder: Path, postgres: Postgres, chroma: Chroma) -> None:
        self.folder, self.postgres, self.chroma = folder, postgres, chroma
        self.published = folder / "published"
        self.env = {
            "ADVISOR_CHROMA_URL": chroma.url,
            "ADVISOR_DATABASE_URL": postgres.url,
            "ADVISOR_KNOWLEDGE": str(self.published),
            "ADVISOR_RATE_LIMIT_PER_MINUTE": "6000",
        }
        self.command("publish")
        env = {**self.env, "ADVISOR_OFFERS": str(self.published / "offers.parquet")}
        self.web = [
            Web(folder / f"web{n}", {**env, "ADVISOR_HOME": str(folder / f"web{n}" / "home")}, name=f"web{n}")
            for n in (1, 2)
        ]
        self.nginx = Nginx(folder / "nginx", [web.port for web in self.web]) if nginx_program() else None

    def command(self, *arguments: str) -> str:
        """Run the command line as the ingesting machine does."""
        env = {**os.environ, **self.env, "ADVISOR_HOME": str(self.folder / "ingest-home"), "OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            [sys.executable, "-m", "advisor", *arguments], env=env, capture_output=True, text=True, timeout=280
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self) -> None:
        """Return when all answer."""
        for service in (*self.web, *([self.nginx] if self.nginx else [])):
            service.wait()

    def stop(self) -> None:
        """Stop the web processes and nginx."""
        for service in (*self.web, *([self.nginx] if self.nginx else [])):
            service.stop()


@pytest.fixture(scope="session")
def cluster(tmp_path_factory, postgres, chroma):
    """Postgres, Chroma, two web processes with homes of their own, and nginx where it is installed."""
    made = Cluster(tmp_path_factory.mktemp("cluster"), postgres, chroma)
    try:
        made.start()
        yield made
    finally:
        made.stop()
