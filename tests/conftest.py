"""Fixtures that every test shares: an isolated home, and the folder of real inputs where it is present."""

import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch, tmp_path):
    import os

    for name in list(os.environ):
        if name.startswith("ADVISOR_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("ADVISOR_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ANONYMIZED_TELEMETRY", "False")
    monkeypatch.setenv("GRADIO_ANALYTICS_ENABLED", "False")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture
def shared() -> Path:
    """The folder of real catalogues, documents and graders beside the project; tests that need it skip where it is absent."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("the folder of real inputs is not beside the project")
    return folder


@pytest.fixture(scope="session")
def built_home(tmp_path_factory) -> Path:
    """A home with the shipped knowledge built once for all tests that only read it."""
    from advisor.engine import Engine
    from advisor.settings import Settings

    home = tmp_path_factory.mktemp("built")
    engine = Engine(Settings(home=home))
    assert engine.passages.count > 0
    assert engine.offers.count > 0
    return home


@pytest.fixture(scope="session")
def advisor(built_home):
    """The built-in planner over the shipped knowledge."""
    from advisor.conversation import build_advisor
    from advisor.settings import Settings

    return build_advisor(Settings(home=built_home))


@pytest.fixture(scope="session")
def copy_home(built_home):
    """A function that copies the built home without its conversations.

    Databases go through SQLite: reading an open one as a plain file drops the locks that this process holds on it.
    """
    from knowledge.published import copy_sqlite

    def copy(target: Path) -> Path:
        shutil.copytree(built_home, target, ignore=shutil.ignore_patterns("*.sqlite*"))
        for database in (*built_home.rglob("*.sqlite"), *built_home.rglob("*.sqlite3")):
            if database.name != "conversations.sqlite":
                copy_sqlite(database, target / database.relative_to(built_home))
        return target

    return copy
