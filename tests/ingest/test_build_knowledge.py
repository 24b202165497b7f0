import os
import signal
import subprocess
import sys
import time

import pytest

from ingest.build import ensure_built
from ingest.documents import ingest_documents
from knowledge.errors import DataError
from knowledge.passages import PassageStore

ENTRY = """---
id: {id}
area: concept
question: "{question}"
also: ["{also}"]
keywords: ["{key}"]
as_of: "2026-11"
sources:
  - url: https://example.com/{id}
    title: "Example"
    as_of: "2026"
---
# {title}

{body}
"""


@pytest.fixture
def guides(tmp_path):
    folder = tmp_path / "guides"
    for lang, title, question, body in (
        (
            "en",
            "What rails are",
            "What is a rail in a cluster?",
            "A rail joins the ports of one number over all nodes.",
        ),
        ("ja", "レールとは", "クラスタのレールとは何ですか。", "レールは各ノードの同じ番号のポートを結ぶものです。"),
    ):
        (folder / lang).mkdir(parents=True)
        text = ENTRY.format(
            id="rails", question=question, also=f"{question} again", key="zzkeyword", title=title, body=body
        )
        (folder / lang / "rails.md").write_text(text)
    return folder


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


def build(home, guides, **options):
    return ensure_built(home, **{"embeddings": "hash", **options}, guides=guides)


def test_guides_are_built_once_with_their_front_matter(home, guides):
    assert build(home, guides) is True
    assert build(home, guides) is False
    store = PassageStore.open(home, embeddings="hash")
    hit = store.search("What is a rail?")[0]
    assert (hit.source, hit.title, hit.entry_id, hit.area, hit.as_of) == (
        "guides/en/rails.md",
        "What rails are",
        "rails",
        "concept",
        "2026-11",
    )
    assert "question" not in hit.text and "A rail joins" in hit.text


def test_an_entry_comes_in_the_language_of_the_question_only(home, guides):
    build(home, guides)
    store = PassageStore.open(home, embeddings="hash")
    assert [hit.lang for hit in store.search("rail of a cluster")] == ["en"]
    assert [hit.lang for hit in store.search("クラスタのレール")] == ["ja"]
    assert [hit.lang for hit in store.search("rail of a cluster", lang="ja")] == ["ja"]


def test_keywords_find_an_entry_that_does_not_show_them(home, guides):
    build(home, guides)
    hit = PassageStore.open(home, embeddings="hash").search("zzkeyword", gate=False)[0]
    assert hit.entry_id == "rails" and "zzkeyword" not in hit.text


def test_changed_guides_are_built_again_and_own_documents_stay(home, guides, tmp_path):
    build(home, guides)
    (tmp_path / "own.md").write_text("# Own page\n\nOur own cluster has nine rails in two halls.\n")
    ingest_documents([tmp_path / "own.md"], home=home, embeddings="hash")
    path = guides / "en" / "rails.md"
    path.write_text(path.read_text().replace("A rail joins", "A rail now joins"))
    assert build(home, guides) is True
    store = PassageStore.open(home, embeddings="hash")
    texts = " ".join(hit.text for hit in store.search("rails of our own cluster", k=10, gate=False))
    assert "A rail now joins" in texts and "A rail joins" not in texts and "nine rails" in texts
    (guides / "ja" / "rails.md").unlink()
    assert build(home, guides) is True
    assert {info.lang for info in store.sources()} == {"en"}
    assert store.dense.ids() == store.library.passage_ids()


def test_another_model_builds_anew_and_says_so(home, guides, tmp_path, monkeypatch):
    from knowledge import embeddings

    class Other(embeddings.HashedNgrams):
        name = "other"

    build(home, guides)
    (tmp_path / "own.md").write_text("# Own page\n\nOur own cluster has nine rails in two halls.\n")
    ingest_documents([tmp_path / "own.md"], home=home, embeddings="hash")
    told = []
    monkeypatch.setattr("knowledge.passages.load_embedder", lambda *_a, **_o: Other())
    assert build(home, guides, embeddings="other", progress=lambda what, done, total: told.append(what)) is True
    store = PassageStore.open(home)
    assert store.library.get_meta("model") == "other"
    assert store.dense.ids() == store.library.passage_ids() and store.count == 3
    assert any("embedded anew with other" in what for what in told)


def test_changed_rules_for_tokens_reach_documents_whose_files_are_gone(home, guides, tmp_path, monkeypatch):
    build(home, guides)
    own = tmp_path / "own.md"
    own.write_text("# Own page\n\nOur own cluster has nine rails in two halls.\n")
    ingest_documents([own], home=home, embeddings="hash")
    own.unlink()
    monkeypatch.setattr("ingest.documents.store.TOKENS_VERSION", 10_000)
    monkeypatch.setattr("ingest.documents.store.index_terms", lambda text: ["newtoken"])
    assert build(home, guides) is True
    store = PassageStore.open(home, embeddings="hash")
    terms = [row["terms"] for row in store.library.all_passages()]
    assert len(terms) == 3 and all("newtoken" in term for term in terms)


def test_an_entry_without_its_id_is_an_error_that_names_it(home, guides):
    (guides / "en" / "bad.md").write_text("# No front matter\n\nText.\n")
    with pytest.raises(DataError, match=r"en/bad\.md"):
        build(home, guides)


CODE = (
    "import sys\nfrom pathlib import Path\nfrom ingest.build import ensure_built\n"
    "ensure_built(Path(sys.argv[1]), embeddings='hash', guides=Path(sys.argv[2]))"
)


def test_two_processes_that_start_at_once_end_in_one_whole_store(home, guides):
    running = [subprocess.Popen([sys.executable, "-c", CODE, str(home), str(guides)]) for _ in range(2)]
    assert [process.wait(timeout=120) for process in running] == [0, 0]
    store = PassageStore.open(home, embeddings="hash")
    assert store.version == 1
    assert store.dense.ids() == store.library.passage_ids() and store.count == 2


@pytest.mark.parametrize("delay", [0.3, 0.9, 1.4, 1.8, 2.4])
def test_killed_at_any_moment_the_next_start_ends_whole(home, guides, delay):
    for number in range(60):
        for lang in ("en", "ja"):
            text = (
                (guides / lang / "rails.md")
                .read_text()
                .replace("id: rails", f"id: rails{number}")
                .replace("joins", f"joins {number}")
            )
            (guides / lang / f"rails{number}.md").write_text(text)
    process = subprocess.Popen([sys.executable, "-c", CODE, str(home), str(guides)])
    time.sleep(delay)
    os.kill(process.pid, signal.SIGKILL)
    process.wait(timeout=60)
    build(home, guides)
    store = PassageStore.open(home, embeddings="hash")
    assert store.count == 122 and len(store.index()) == 122
    assert store.dense.ids() == store.library.passage_ids()
    assert not list((home / "knowledge").glob("*.part"))
    assert build(home, guides) is False
