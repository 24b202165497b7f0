"""The commands of whoever runs the advisor for others."""

import json

import pytest
from typer.testing import CliRunner

from advisor.cli import app
from advisor.engine import Engine
from advisor.errors import BadRequest
from advisor.settings import Settings


def run(*arguments):
    return CliRunner().invoke(app, list(arguments))


def test_backup_and_restore(tmp_path, monkeypatch):
    home = tmp_path / "home"
    home.mkdir()
    (home / "feedback.jsonl").write_text('{"liked": true}\n')
    monkeypatch.setenv("ADVISOR_HOME", str(home))
    done = run("backup", str(tmp_path / "b.zip"), "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["files"].keys() == {"feedback.jsonl"}
    (home / "feedback.jsonl").write_text("changed")
    assert isinstance(run("restore", str(tmp_path / "b.zip")).exception, BadRequest)
    done = run("restore", str(tmp_path / "b.zip"), "--force")
    assert done.exit_code == 0
    assert "before-" in done.stdout
    assert (home / "feedback.jsonl").read_text() == '{"liked": true}\n'


def test_publish_needs_to_know_where(tmp_path, monkeypatch):
    monkeypatch.setenv("ADVISOR_HOME", str(tmp_path / "home"))
    with pytest.raises(BadRequest, match="ADVISOR_KNOWLEDGE"):
        Engine(Settings(home=tmp_path / "home")).publish()


def test_published_knowledge_needs_a_chroma_server(tmp_path):
    engine = Engine(Settings(home=tmp_path / "home", knowledge=tmp_path / "published"))
    with pytest.raises(BadRequest, match="ADVISOR_CHROMA_URL"):
        _ = engine.passages


def test_publish_puts_passages_and_offers_in_the_folder(built_home, tmp_path):
    folder = tmp_path / "published"
    found = Engine(Settings(home=built_home, knowledge=folder)).publish()
    assert found["passages"] > 0
    assert found["offers"] > 0
    assert (folder / "CURRENT").is_file()
    from knowledge.offers import OfferStore

    assert OfferStore(tmp_path / "reader", source=str(folder / "offers.parquet")).count == found["offers"]
    again = Engine(Settings(home=built_home, knowledge=folder)).publish()
    assert again["version"] == found["version"]
