import subprocess
import sys

import pytest

from ingest.documents import ingest_documents
from knowledge.dense import DenseIndex, collection_name
from knowledge.disagreement import find_disagreements
from knowledge.errors import StoreUnavailable
from knowledge.passages import Hit, PassageStore

PAGES = {
    "aws/fabric.md": "---\ntitle: Fabric of Q5\ndate: 2025-05-01\n---\n# Fabric of Q5\n\nThe q5.48xlarge node gives 3,200 Gbps of EFA bandwidth over 32 cards.\n",
    "azure/fabric.md": "---\ntitle: Fabric of NDQ\ndate: 2024-02-01\n---\n# Fabric of NDQ\n\nAn NDQ node gives 3.2 Tbps of InfiniBand bandwidth over eight ports.\n",
    "abci/network-ja.md": "# 計算ノードのネットワーク\n\n計算ノード(Q)はInfiniBand NDRを8ポート備えており、スイッチで相互に結合されます。\n",
    "long.md": "# Long page\n\n"
    + "\n\n".join(f"## Part {n}\n\n" + f"Sentence {n} about rails and planes. " * 30 for n in range(4)),
}


@pytest.fixture
def home(tmp_path):
    for name, text in PAGES.items():
        path = tmp_path / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    ingest_documents([tmp_path / "docs"], home=tmp_path / "home", embeddings="hash")
    return tmp_path / "home"


@pytest.fixture
def store(home):
    return PassageStore.open(home, embeddings="hash")


def test_an_empty_home_has_nothing_and_says_so(tmp_path):
    store = PassageStore.open(tmp_path / "new", embeddings="hash")
    assert store.search("anything at all") == []
    assert (store.count, store.sources(), store.get("x"), store.neighbours("x")) == (0, [], None, [])


def test_a_hit_has_the_fields_of_the_contract(store):
    hit = store.search("q5.48xlarge bandwidth")[0]
    assert hit.source.endswith("aws/fabric.md") and hit.rank == 1 and hit.score > 0
    assert (hit.title, hit.lang, hit.provider, hit.as_of) == ("Fabric of Q5", "en", "aws", "2025-05-01")
    assert "3,200 Gbps" in hit.text and len(hit.text) <= 2000
    assert store.get(hit.passage_id).text == hit.text


def test_identifiers_are_found_exactly_and_by_parts(store):
    assert "q5.48xlarge" in store.search("q5.48xlarge")[0].text
    assert "NDQ node" in store.search("NDQ ports")[0].text


def test_a_japanese_question_reaches_english_text_and_the_other_way(store):
    assert "EFA bandwidth" in store.search("q5.48xlarge の帯域幅は？")[0].text
    assert "8ポート" in store.search("How many InfiniBand ports does an ABCI compute node have?")[0].text


def test_filters(store):
    assert {hit.provider for hit in store.search("node bandwidth", provider="azure", gate=False)} == {"azure"}
    assert {hit.lang for hit in store.search("InfiniBand node", lang="ja", gate=False)} == {"ja"}
    assert store.search("InfiniBand node", lang="ja", provider="aws", gate=False) == []


def test_neighbours_open_in_reading_order(store):
    hit = store.search("Sentence 2 rails planes", gate=False)[0]
    around = store.neighbours(hit.passage_id, before=1, after=1)
    sections = [neighbour.section for neighbour in around]
    assert sections == sorted(sections) and hit.passage_id in [neighbour.passage_id for neighbour in around]
    assert 2 <= len(around) <= 3


def test_k_bounds_the_hits_and_empty_questions_find_nothing(store):
    assert len(store.search("node", k=2, gate=False)) == 2
    assert store.search("   ") == [] and store.search("node", k=0) == []


def test_sources_lists_every_document(store):
    assert {info.source.split("docs/")[1]: info.passages for info in store.sources()}.keys() == PAGES.keys()


def test_new_knowledge_of_another_process_is_noticed(store, home, tmp_path):
    store.search("node", gate=False)
    (tmp_path / "more.md").write_text("# Late page\n\nThe zq9000 switch has 64 ports of optics.\n")
    code = (
        "from pathlib import Path\nfrom ingest.documents import ingest_documents\n"
        f"ingest_documents([{str(tmp_path / 'more.md')!r}], home=Path({str(home)!r}), embeddings='hash')"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
    hit = store.search("zq9000 switch")[0]
    assert "64 ports" in hit.text
    vector = store.embedder.encode_query("Late page. . The zq9000 switch has 64 ports of optics.")
    assert store.dense.nearest(vector, 1)[0][0] == hit.passage_id


def test_without_chroma_the_lexical_leg_answers_and_says_so(home):
    store = PassageStore.open(home, embeddings="hash", chroma_url="http://127.0.0.1:9")
    assert "3,200 Gbps" in store.search("q5.48xlarge bandwidth node cards EFA")[0].text
    assert "127.0.0.1:9" in store.dense_failure


def test_a_lost_index_file_is_built_again(store, home):
    for path in (home / "knowledge").glob("lexical-*.npz"):
        path.write_bytes(b"damaged")
    assert store.search("q5.48xlarge")


def test_an_unwritable_place_is_one_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnavailable, match="cannot be opened"):
        PassageStore.open(tmp_path / "file", embeddings="hash").search("x")


def test_collections_of_models_have_names_of_their_own():
    names = {
        collection_name(model) for model in ("use-multilingual", "st:a/b", "st:a-b", "st:日本語", "openai:" + "x" * 90)
    }
    assert len(names) == 5
    assert all(3 <= len(name) <= 512 and name.isascii() for name in names)


def test_the_approximate_leg_finds_what_an_exact_scan_finds(tmp_path):
    import numpy as np

    random = np.random.default_rng(5)
    centres = random.normal(size=(40, 64))
    vectors = (centres[random.integers(0, 40, 3000)] + 0.6 * random.normal(size=(3000, 64))).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    dense = DenseIndex("exact", folder=tmp_path / "chroma")
    ids = [f"v{n}" for n in range(3000)]
    dense.upsert(ids, vectors, ids, [{"lang": "en"}] * 3000)
    found = wanted = 0
    for query in vectors[:40] + 0.1 * random.normal(size=(40, 64)):
        query = (query / np.linalg.norm(query)).astype(np.float32)
        exact = {ids[row] for row in np.argsort(-(vectors @ query))[:10]}
        found += len(exact & {key for key, _ in dense.nearest(query, 10)})
        wanted += 10
    assert found / wanted >= 0.99


def hit(source, text, as_of, title="NIC layout"):
    return Hit(
        rank=1,
        score=1,
        source=source,
        title=title,
        section="",
        text=f"{title}\n\n{text}",
        lang="en",
        as_of=as_of,
        passage_id=source,
    )


def test_two_values_for_one_fact_are_named_with_their_dates():
    found = find_disagreements(
        [
            hit("a", "Each NDQ100 node has 8 NICs for the InfiniBand network.", "2025-01"),
            hit("b", "The NDQ100 node has 4 NICs on the InfiniBand network.", "2024-06"),
        ]
    )
    assert [(one.first.value, one.second.value, one.newer) for one in found] == [("8 NICs", "4 NICs", 1)]
    assert found[0].second.as_of == "2024-06" and "4 NICs on the" in found[0].second.quote


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The q100 node network gives 3,200 Gbps of bandwidth.", "The q100 node network gives 3.2 Tbps of bandwidth."),
        ("The q100 node network gives 400 Gbps of bandwidth.", "The q100 node network gives 50 GB/s of bandwidth."),
        (
            "The q100 node network gives 400 Gbps of bandwidth.",
            "The z900 rack holds 18 trays of power and 200 Gbps optics.",
        ),
    ],
)
def test_equal_values_other_units_and_other_things_are_no_disagreement(one, other):
    assert find_disagreements([hit("a", one, "2025"), hit("b", other, "2024")]) == []


def test_a_language_with_few_near_passages_gets_a_search_of_its_own(store, monkeypatch):
    asked = []
    nearest = store.dense.nearest

    def counted(vector, k, where=None):
        asked.append(where)
        found = nearest(vector, k, where)
        return found if where else found[-1:]

    monkeypatch.setattr(store.dense, "nearest", counted)
    assert {hit.lang for hit in store.search("計算ノードのネットワークは？", lang="ja")} == {"ja"}
    assert asked == [None, {"lang": "ja"}]
    store.search("計算ノードのネットワークは？")
    assert asked == [None, {"lang": "ja"}]


def test_a_question_asked_before_tells_when_the_dense_leg_is_away_and_when_it_is_back(store, monkeypatch):
    whole = store.search("q5.48xlarge bandwidth")
    nearest = store.dense.nearest

    def away(*args):
        raise StoreUnavailable("Chroma is away.")

    monkeypatch.setattr(store.dense, "nearest", away)
    assert store.search("q5.48xlarge bandwidth") == whole and store.dense_failure is None  # found once, whole
    assert store.search("InfiniBand bandwidth of an NDQ node") and store.dense_failure == "Chroma is away."
    assert store.search("q5.48xlarge bandwidth") and store.dense_failure == "Chroma is away."
    monkeypatch.setattr(store.dense, "nearest", nearest)
    assert store.search("q5.48xlarge bandwidth") == whole and store.dense_failure is None
