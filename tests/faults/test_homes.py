"""Damaged, read-only and full homes: a clear line, nothing wrong answered, recovery without a person where it is possible."""

import os
import resource
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from advisor.conversation import build_advisor
from advisor.errors import AdvisorError, Unavailable
from advisor.settings import Settings
from knowledge.errors import KnowledgeError
from knowledge.passages import lexical_path

WHY = "Does a single 8-GPU server need InfiniBand as well as NVLink?"
JOB = "Full fine-tune of a 13B model on A100 80GB, one node"
GARBAGE = b"not what it was\n" * 1000


@pytest.fixture
def home(copy_home, tmp_path):
    return copy_home(tmp_path / "copy")


def command(home, *arguments, file_limit=None):
    """The command line in a process of its own; with `file_limit`, no file may grow beyond so many bytes (a full disk)."""

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_limit, file_limit))

    return subprocess.run(
        [sys.executable, "-m", "advisor", *arguments],
        env={**os.environ, "ADVISOR_HOME": str(home), "OMP_NUM_THREADS": "1"},
        preexec_fn=limit if file_limit is not None else None,
        capture_output=True,
        text=True,
        timeout=200,
    )


def one_line(done):
    """What a person reads of a failure: one line, no traceback."""
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    assert "Traceback" not in done.stderr
    assert lines, done.stdout
    assert lines[-1].startswith("advisor: "), done.stderr
    return lines[-1]


def test_a_damaged_lexical_index_is_built_again(home):
    from knowledge.library import Library

    version = Library(home / "knowledge" / "library.sqlite").version
    lexical_path(home, version).write_bytes(GARBAGE)
    assert build_advisor(Settings(home=home)).ask(WHY).citations


def test_a_lost_lexical_index_is_built_again(home):
    for path in (home / "knowledge").glob("lexical-*"):
        path.unlink()
    assert build_advisor(Settings(home=home)).ask(WHY).citations


def test_a_damaged_offers_table_is_built_again_from_what_is_shipped(home):
    (home / "offers" / "offers.parquet").write_bytes(GARBAGE)
    answer = build_advisor(Settings(home=home)).ask(JOB)
    assert answer.picks


def test_damaged_vectors_leave_the_words_and_the_answer_says_so(home):
    (home / "knowledge" / "chroma" / "chroma.sqlite3").write_bytes(GARBAGE)
    done = command(home, "ask", WHY, "--json")
    if done.returncode == 0:
        assert "lexical_only" in done.stdout or "no_guides" in done.stdout or '"citations": [{' in done.stdout
    else:
        assert "chroma" in one_line(done).lower()


def test_a_damaged_library_is_named(home):
    for path in (home / "knowledge").glob("library.sqlite*"):
        path.write_bytes(GARBAGE)
    with pytest.raises((KnowledgeError, sqlite3.DatabaseError)):
        _ = build_advisor(Settings(home=home)).passages.count
    answer = build_advisor(Settings(home=home)).ask(WHY)
    assert "no_guides" in answer.notes
    assert not answer.citations
    assert build_advisor(Settings(home=home)).ask(JOB).picks


def test_damaged_conversations_are_named(home):
    (home / "conversations.sqlite").write_bytes(GARBAGE)
    with pytest.raises(Unavailable, match=r"conversations\.sqlite"):
        build_advisor(Settings(home=home))


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder that not even root can write")
@pytest.mark.parametrize("folder", ["/proc/advisor-home", "/dev/null/advisor-home"])
def test_a_home_that_cannot_be_written_is_one_line(folder):
    done = command(folder, "ask", WHY)
    assert done.returncode == 1
    assert folder in one_line(done)


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="needs limits of file sizes")
def test_a_full_disk_at_the_first_start_is_one_line_and_leaves_nothing_half(tmp_path):
    home = tmp_path / "home"
    done = command(home, "search", "NVLink", file_limit=100_000)
    assert done.returncode == 1
    one_line(done)
    again = command(home, "search", "NVLink", "--json")
    assert again.returncode == 0, again.stderr
    assert '"hits": []' not in again.stdout


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="needs limits of file sizes")
def test_a_full_disk_while_ingesting_keeps_the_old_state(home, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# Plumbago cloud\n\n## Fabric\n\n" + "\n\n".join(f"Rail {n} of Plumbago is optical." for n in range(300))
    )
    limit = max(path.stat().st_size for path in home.rglob("*") if path.is_file()) // 2
    done = command(home, "ingest", "docs", str(page), file_limit=limit)
    assert done.returncode == 1
    one_line(done)
    from knowledge.library import Library

    library = Library(home / "knowledge" / "library.sqlite")
    assert not any("page.md" in document.source for document in library.documents())
    again = command(home, "ingest", "docs", str(page), "--json")
    assert again.returncode == 0, again.stderr
    assert any("page.md" in document.source for document in library.documents())


def test_a_home_of_an_older_version_is_brought_up_to_date(home):
    """Older rules for tokens, an older index, an older offers format, no vectors: all of it is made anew from the library."""
    from knowledge.library import Library

    library = Library(home / "knowledge" / "library.sqlite")
    library.set_meta(rules="tokens0-old", guides="cut0-old")
    for path in (home / "knowledge").glob("lexical-*"):
        path.write_bytes(GARBAGE)
    before, version = library.passage_ids(), library.version
    advisor = build_advisor(Settings(home=home))
    assert advisor.ask(WHY).citations
    assert advisor.ask(JOB).picks
    assert library.version > version
    assert library.passage_ids() == before


@pytest.mark.parametrize("error", [AdvisorError, KnowledgeError])
def test_errors_for_people_have_a_code(error):
    assert error("x").code
