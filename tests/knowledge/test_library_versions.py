"""Homes of earlier versions: brought up to date by themselves, with a message, and nothing of a person's documents lost."""

import logging
import sqlite3

import pytest

from ingest.build import ensure_built
from ingest.documents import ingest_documents
from ingest.documents.store import rules
from knowledge.errors import StoreUnavailable
from knowledge.lexical import FIELD_MARK
from knowledge.library import SCHEMA_VERSION, Library
from knowledge.passages import PassageStore, lexical_path

GUIDE = '---\nid: planes\narea: concept\nquestion: "What are planes?"\nsources:\n  - url: https://example.org/x\n---\n# Planes\n\nPlanes carry zzplane traffic.\n'
OWN = "# Rails\n\nThe zq9000 switch has 64 ports of rails.\n\n| Port | Rate |\n| --- | --- |\n| one | 400 Gb/s |\n"


@pytest.fixture
def guides(tmp_path):
    for lang in ("en", "ja"):
        (tmp_path / "guides" / lang).mkdir(parents=True)
        (tmp_path / "guides" / lang / "planes.md").write_text(GUIDE)
    return tmp_path / "guides"


@pytest.fixture
def home(tmp_path, guides):
    (tmp_path / "own.md").write_text(OWN)
    ensure_built(tmp_path / "home", embeddings="hash", guides=guides)
    ingest_documents([tmp_path / "own.md"], home=tmp_path / "home", embeddings="hash")
    return tmp_path / "home"


def change(home, *statements):
    """Make the library what an earlier version left."""
    connection = sqlite3.connect(home / "knowledge" / "library.sqlite")
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def found(home, query):
    return [hit.text for hit in PassageStore.open(home, embeddings="hash").search(query, gate=False)]


def test_a_column_that_came_later_is_added_and_the_documents_stay(home, guides, tmp_path, caplog):
    before = {source.source: source.passages for source in PassageStore.open(home, embeddings="hash").sources()}
    change(
        home,
        "ALTER TABLE passages DROP COLUMN hints",
        "ALTER TABLE documents DROP COLUMN etag",
        "PRAGMA user_version=0",
    )
    with caplog.at_level(logging.WARNING):
        assert "64 ports" in found(home, "zq9000")[0]
    assert "earlier version" in caplog.text
    assert "passages.hints" in caplog.text
    assert ensure_built(home, embeddings="hash", guides=guides) is True
    assert ensure_built(home, embeddings="hash", guides=guides) is False
    assert "zzplane" in found(home, "zzplane")[0]
    store = PassageStore.open(home, embeddings="hash")
    assert {source.source: source.passages for source in store.sources()} == before
    assert store.library.get_meta("rules") == rules()
    (tmp_path / "own.md").write_text(OWN.replace("64", "128"))
    report = ingest_documents([tmp_path / "own.md"], home=home, embeddings="hash")
    assert report.updated == 1
    assert "128 ports" in found(home, "zq9000")[0]


def test_a_library_as_old_but_whole_is_only_marked(home, caplog):
    change(home, "PRAGMA user_version=0")
    with caplog.at_level(logging.WARNING):
        assert found(home, "zq9000")
    assert caplog.text == ""
    assert (
        Library(home / "knowledge" / "library.sqlite")._connect().execute("PRAGMA user_version").fetchone()[0]
        == SCHEMA_VERSION
    )


def test_a_library_of_a_later_version_is_left_alone(home):
    change(home, f"PRAGMA user_version={SCHEMA_VERSION + 1}")
    with pytest.raises(StoreUnavailable, match="later version"):
        found(home, "zq9000")
    connection = sqlite3.connect(home / "knowledge" / "library.sqlite")
    assert connection.execute("SELECT count(*) FROM passages WHERE text LIKE '%zq9000%'").fetchone()[0] == 1


def test_tables_of_another_program_are_named_and_not_touched(tmp_path):
    home = tmp_path / "home"
    (home / "knowledge").mkdir(parents=True)
    change(
        home,
        "CREATE TABLE passages(id INTEGER, doc_id TEXT, ord INTEGER, body TEXT)",
        "INSERT INTO passages VALUES(1, 'a', 0, 'b')",
    )
    with pytest.raises(StoreUnavailable, match=r"no passage_id, text in passages"):
        found(home, "anything")
    connection = sqlite3.connect(home / "knowledge" / "library.sqlite")
    assert [row[1] for row in connection.execute("PRAGMA table_info(passages)")] == ["id", "doc_id", "ord", "body"]
    assert connection.execute("PRAGMA user_version").fetchone()[0] == 0


def test_an_index_of_an_earlier_format_is_not_read_and_made_anew(home, guides, monkeypatch):
    version = PassageStore.open(home, embeddings="hash").version
    path = lexical_path(home, version)
    monkeypatch.setattr("knowledge.lexical.LEXICAL_VERSION", 1)
    PassageStore.open(home, embeddings="hash").index().save(path)
    monkeypatch.undo()
    assert "64 ports" in found(home, "zq9000")[0]
    Library(home / "knowledge" / "library.sqlite").set_meta(rules="tokens1-index1")
    assert ensure_built(home, embeddings="hash", guides=guides) is True
    assert "64 ports" in found(home, "zq9000")[0]
    assert PassageStore.open(home, embeddings="hash").version > version


def test_tokens_of_fewer_fields_can_still_be_searched(home, guides):
    change(
        home,
        f"UPDATE passages SET terms='zq9000{FIELD_MARK}ports'",
        "UPDATE meta SET value='tokens1' WHERE key='rules'",
    )
    lexical_path(home, PassageStore.open(home, embeddings="hash").version).unlink()
    assert found(home, "zq9000")
    assert ensure_built(home, embeddings="hash", guides=guides) is True
    assert "64 ports" in found(home, "zq9000 switch rails")[0]
