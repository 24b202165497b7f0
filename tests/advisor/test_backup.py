"""Backup and restore: everything comes back, nothing else gets in, a damaged file changes nothing."""

import json
import sqlite3
import zipfile

import pytest

from advisor.backup import DATABASES, MANIFEST, backup, restore
from advisor.conversation import build_advisor
from advisor.errors import BadRequest, NotFound
from advisor.settings import Settings
from knowledge.library import Library


@pytest.fixture(scope="module")
def used_home(copy_home, tmp_path_factory):
    home = tmp_path_factory.mktemp("used") / "home"
    copy_home(home)
    advisor = build_advisor(Settings(home=home))
    advisor.ask("Full fine-tune of a 13B model on A100 80GB", "a-thread")
    (home / "feedback.jsonl").write_text('{"liked": true}\n')
    return home


@pytest.fixture(scope="module")
def archive(used_home, tmp_path_factory):
    target = tmp_path_factory.mktemp("backup") / "advisor.zip"
    backup(used_home, target)
    return target


def _change(archive, target, change):
    with zipfile.ZipFile(archive) as source:
        files = {name: source.read(name) for name in source.namelist()}
    change(files)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as out:
        for name, data in files.items():
            out.writestr(name, data)
    return target


def test_all_comes_back(used_home, archive, tmp_path):
    home = tmp_path / "restored"
    found = restore(home, archive)
    assert found["kept"] is None
    assert (home / "feedback.jsonl").read_text() == '{"liked": true}\n'
    old = Library(used_home / "knowledge" / "library.sqlite")
    new = Library(home / "knowledge" / "library.sqlite")
    assert (new.version, new.passage_ids()) == (old.version, old.passage_ids())
    advisor = build_advisor(Settings(home=home))
    assert advisor.ask("and with H100 instead?", "a-thread").workload.params_b == 13
    assert advisor.ask("Does a single server need InfiniBand?").citations
    assert advisor.passages.dense.count() == new.count()


def test_an_occupied_home_is_kept_beside(archive, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (home / "mine.txt").write_text("mine")
    with pytest.raises(BadRequest, match="--force"):
        restore(home, archive)
    assert (home / "mine.txt").read_text() == "mine"
    found = restore(home, archive, force=True)
    assert not (home / "mine.txt").exists()
    assert (tmp_path / found["kept"].rsplit("/", 1)[1] / "mine.txt").read_text() == "mine"


def test_a_backup_taken_while_someone_writes_is_whole(used_home, tmp_path):
    connection = sqlite3.connect(used_home / "conversations.sqlite")
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("CREATE TABLE half_done(x)")
    try:
        backup(used_home, tmp_path / "b.zip")
    finally:
        connection.execute("ROLLBACK")
        connection.close()
    restore(tmp_path / "home", tmp_path / "b.zip")
    copy = sqlite3.connect(tmp_path / "home" / "conversations.sqlite")
    assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert not copy.execute("SELECT 1 FROM sqlite_master WHERE name='half_done'").fetchall()


BAD = {
    "outside": lambda files: files.update({"../../evil.txt": b"x"}),
    "absolute": lambda files: files.update({"/etc/evil": b"x"}),
    "listed_outside": lambda files: files.update(
        {
            "../evil": b"x",
            MANIFEST: json.dumps(
                {"format": 1, "files": {**json.loads(files[MANIFEST])["files"], "../evil": "0"}}
            ).encode(),
        }
    ),
    "changed": lambda files: files.update({DATABASES[1]: files[DATABASES[1]] + b"x"}),
    "missing": lambda files: files.pop(DATABASES[1]),
    "no_manifest": lambda files: files.pop(MANIFEST),
    "other_format": lambda files: files.update({MANIFEST: b'{"format": 99, "files": {}}'}),
    "not_json": lambda files: files.update({MANIFEST: b"{"}),
    "huge_manifest": lambda files: files.update({MANIFEST: b" " * 2_000_000}),
}


@pytest.mark.parametrize("name", sorted(BAD))
def test_a_file_that_is_no_whole_backup_changes_nothing(archive, tmp_path, name):
    home = tmp_path / "home"
    home.mkdir()
    (home / "mine.txt").write_text("mine")
    bad = _change(archive, tmp_path / "bad.zip", BAD[name])
    with pytest.raises(BadRequest):
        restore(home, bad, force=True)
    assert [path.name for path in home.iterdir()] == ["mine.txt"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.zip", "home"]


def test_a_cut_file_changes_nothing(archive, tmp_path):
    cut = tmp_path / "cut.zip"
    cut.write_bytes(archive.read_bytes()[: archive.stat().st_size // 2])
    with pytest.raises(BadRequest):
        restore(tmp_path / "home", cut)
    assert not (tmp_path / "home").exists()


def test_nothing_to_back_up_or_restore(tmp_path):
    with pytest.raises(NotFound):
        backup(tmp_path / "empty", tmp_path / "b.zip")
    with pytest.raises(NotFound):
        restore(tmp_path / "home", tmp_path / "none.zip")
