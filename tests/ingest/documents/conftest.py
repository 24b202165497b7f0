"""Helpers for tests of loaders: one file in, passages out; a home with the model-free embeddings."""

from pathlib import Path

import pytest

from ingest.documents import ingest_documents
from ingest.documents.cut import cut_page
from ingest.documents.load import load
from knowledge.passages import PassageStore


@pytest.fixture
def text_of():
    """The text of all passages of one file, as they would be indexed."""

    def read(name: str, content: str | bytes) -> str:
        data = content.encode() if isinstance(content, str) else content
        page = load(name, data)
        return "\n@@\n".join(f"{page.title}\n{cut.section}\n{cut.text}" for cut in cut_page(page))

    return read


@pytest.fixture
def home(tmp_path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def ingest(home):
    """Ingest paths into the home without any model."""

    def run(*paths, **options):
        return ingest_documents([str(path) for path in paths], home=home, embeddings="hash", **options)

    return run


@pytest.fixture
def store(home):
    """The store of the home."""
    return PassageStore.open(home, embeddings="hash")
