"""Published knowledge: readers take whole versions only, notice new ones, and go on with the old where the new is damaged."""

import threading

import numpy as np
import pytest

from knowledge import published
from knowledge.errors import StoreUnavailable
from knowledge.lexical import FIELD_MARK, build_lexical
from knowledge.library import Document, Library, Passage
from knowledge.passages import entries, lexical_path
from knowledge.published import CURRENT, PublishedPassages, publish
from knowledge.query import index_terms

MODEL = "fake"


class Embedder:
    name = MODEL

    def encode(self, texts):
        return np.ones((len(texts), 4), dtype=np.float32)

    def encode_query(self, text):
        return np.ones(4, dtype=np.float32)


class Dense:
    """A Chroma that is away: the lexical leg answers alone."""

    def __init__(self, *_, **__):
        pass

    def nearest(self, *_):
        raise StoreUnavailable("away")

    def reopen(self):
        pass


@pytest.fixture(autouse=True)
def _fakes(monkeypatch):
    monkeypatch.setattr("knowledge.passages.load_embedder", lambda *_, **__: Embedder())
    monkeypatch.setattr("knowledge.passages.DenseIndex", Dense)


def write(home, marker, documents=3):
    """One more version, in which every passage holds the marker."""
    path = home / "knowledge" / "library.sqlite"
    library = Library(path)
    content = []
    for number in range(documents):
        text = f"Fabric {number}\n\nThe InfiniBand fabric of pod {number} is {marker}."
        passage = Passage(
            passage_id=f"{marker}-{number}",
            doc_id=f"doc{number}",
            ord=0,
            section="Fabric",
            text=text,
            fold=f"{marker}{number}",
            terms=FIELD_MARK.join(["fabric", "fabric", " ".join(index_terms(text))]),
        )
        document = Document(
            doc_id=f"doc{number}", source=f"doc{number}.md", title=f"Fabric {number}", lang="en", content_hash=marker
        )
        content.append((document, [passage]))
    return library.replace(
        content,
        [],
        {"model": MODEL},
        finish=lambda version: build_lexical(entries(library), version).save(lexical_path(home, version)),
    )


@pytest.fixture
def homes(tmp_path):
    return tmp_path / "writer", tmp_path / "folder", tmp_path / "reader"


def reader(folder, home):
    ticks = iter(range(0, 10**9, 100))
    return PublishedPassages(folder, home, {}, clock=lambda: float(next(ticks)))


def markers(store):
    return {hit.text.rsplit(" ", 1)[1] for hit in store.search("InfiniBand fabric of the pod", 5, gate=False)}


def test_a_reader_notices_new_versions(homes):
    writer, folder, home = homes
    write(writer, "alpha")
    first = publish(writer, folder)
    passages = reader(folder, home)
    assert markers(passages.current()) == {"alpha."}
    write(writer, "beta")
    second = publish(writer, folder)
    assert second.version > first.version
    assert markers(passages.current()) == {"beta."}


def test_the_same_version_is_not_written_twice(homes):
    writer, folder, _ = homes
    write(writer, "alpha")
    one = publish(writer, folder)
    before = (folder / one.name / "library.sqlite").stat().st_mtime_ns
    assert publish(writer, folder) == one
    assert (folder / one.name / "library.sqlite").stat().st_mtime_ns == before


def test_old_versions_go_and_a_few_stay(homes):
    writer, folder, _ = homes
    for number in range(6):
        write(writer, f"m{number}")
        newest = publish(writer, folder)
    kept = sorted(path.name for path in folder.iterdir() if path.is_dir())
    assert len(kept) == published.KEEP
    assert newest.name in kept


def test_a_damaged_version_is_passed_over(homes):
    writer, folder, home = homes
    write(writer, "alpha")
    publish(writer, folder)
    passages = reader(folder, home)
    assert markers(passages.current()) == {"alpha."}
    write(writer, "beta")
    second = publish(writer, folder)
    file = folder / second.name / "library.sqlite"
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    assert markers(passages.current()) == {"alpha."}
    file.write_bytes(whole)
    assert markers(passages.current()) == {"beta."}


def test_a_folder_that_goes_away_leaves_the_last_version(homes):
    writer, folder, home = homes
    write(writer, "alpha")
    publish(writer, folder)
    passages = reader(folder, home)
    passages.current()
    folder.rename(folder.with_name("away"))
    assert markers(passages.current()) == {"alpha."}


def test_nothing_published_yet_says_what_to_do(homes):
    _, folder, home = homes
    with pytest.raises(StoreUnavailable, match="advisor publish"):
        reader(folder, home).current()


def test_half_a_pointer_is_no_version(homes):
    writer, folder, home = homes
    write(writer, "alpha")
    publish(writer, folder)
    passages = reader(folder, home)
    passages.current()
    (folder / CURRENT).write_text('{"name": "2-')
    assert markers(passages.current()) == {"alpha."}


def test_another_embedding_model_is_refused(homes, monkeypatch):
    writer, folder, home = homes
    write(writer, "alpha")
    publish(writer, folder)
    monkeypatch.setattr(Embedder, "name", "other")
    with pytest.raises(StoreUnavailable, match="ADVISOR_EMBEDDINGS"):
        reader(folder, home).current()


def test_nothing_ingested_cannot_be_published(homes):
    writer, folder, _ = homes
    with pytest.raises(StoreUnavailable, match="nothing to publish"):
        publish(writer, folder)


def test_a_killed_publication_leaves_the_version_before(homes, monkeypatch):
    writer, folder, home = homes
    write(writer, "alpha")
    publish(writer, folder)
    write(writer, "beta")

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(published.shutil, "copyfile", killed)
        with pytest.raises(KeyboardInterrupt):
            publish(writer, folder)
    passages = reader(folder, home)
    assert markers(passages.current()) == {"alpha."}
    publish(writer, folder)
    assert markers(passages.current()) == {"beta."}


def test_each_search_sees_one_version_while_versions_change(homes):
    writer, folder, home = homes
    write(writer, "v0")
    publish(writer, folder)
    passages = reader(folder, home)
    passages.current()
    done, mixed, seen, errors = threading.Event(), [], set(), []

    def look():
        try:
            while not done.is_set():
                found = markers(passages.current())
                seen.update(found)
                if len(found) != 1:
                    mixed.append(found)
        except Exception as error:
            errors.append(error)

    readers = [threading.Thread(target=look) for _ in range(2)]
    for one in readers:
        one.start()
    for number in range(1, 9):
        write(writer, f"v{number}")
        publish(writer, folder)
    done.set()
    for one in readers:
        one.join(60)
    assert errors == []
    assert mixed == []
    assert markers(passages.current()) == {"v8."}
