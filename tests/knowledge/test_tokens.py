import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.glossary import PATH, Glossary, load_glossary
from knowledge.query import index_terms, query_groups
from knowledge.tokens import detect_language, katakana_of, normalize, spans, stem, tokens


def test_identifiers_stay_whole_and_give_their_parts():
    assert tokens("Standard_ND96isr_Q100_v5") == ["standard_nd96isr_q100_v5", "standard", "nd96isr", "q100", "v5"]
    assert tokens("p5.48xlarge") == ["p5.48xlarge", "p5", "48xlarge"]
    assert "nccl_p2p_level" in tokens("set NCCL_P2P_LEVEL=NVL")[1]


def test_numbers_lose_their_thousands_marks_and_widths():
    assert tokens("１，９００ GB × 8") == tokens("1900 GB 8")


def test_japanese_gives_normalized_words_without_particles():
    found = tokens("サーバの構成とサーバーの設定")
    assert found.count("サーバ") == 2
    assert not {"の", "と"} & set(found)


def test_long_words_give_their_short_parts():
    assert {"通信", "ノード"} <= set(tokens("ノード間通信"))


def test_english_words_meet_their_katakana():
    assert katakana_of("clusters") == "クラスタ"
    assert "クラスタ" in index_terms("large clusters")
    assert set(index_terms("帯域幅")) & set(index_terms("bandwidth"))


def test_question_words_are_left_out():
    groups = query_groups("何枚入っていますか。どのくらいですか。")
    assert all(token not in ("何枚", "どの", "位") for group in groups for token, _ in group.forms)
    assert query_groups("what is the of") == []


def test_a_term_of_the_glossary_is_one_group_with_its_word():
    groups = query_groups("bandwidth")
    assert [token for token, _ in groups[0].forms] == [stem("bandwidth"), "§bandwidth"]


def test_parts_count_less_than_the_whole():
    groups = {group.forms[0][0]: group for group in query_groups("NCCL_IB_HCA")}
    assert groups["nccl_ib_hca"].weight > groups["hca"].weight


def test_latin_words_in_japanese_are_names():
    groups = {group.forms[0][0]: group.name for group in query_groups("Slurmの使い方とNCCLの設定")}
    assert groups["slurm"] and groups["nccl"]


@pytest.mark.parametrize(
    ("text", "lang"),
    [
        ("NVLinkとは何ですか", "ja"),
        ("What is NVLink?", "en"),
        ("", "en"),
        ("GPU 8枚で70Bを学習", "ja"),
        ("The term 帯域 means bandwidth in English", "en"),
    ],
)
def test_languages(text, lang):
    assert detect_language(text) == lang


@given(st.text(max_size=300))
def test_spans_point_at_their_place_and_terms_have_no_blanks(text):
    normalized = normalize(text)
    for span in spans(normalized):
        assert 0 <= span.start < span.end <= len(normalized)
    assert all(term and " " not in term and "\x1f" not in term and "\n" not in term for term in index_terms(text))


def test_the_longest_term_at_a_place_wins():
    glossary = Glossary(
        [{"concept": "a", "en": "group", "ja": "帯域"}, {"concept": "b", "en": "placement group", "ja": "帯域幅"}]
    )
    text = normalize("a Placement Groups と帯域幅と帯域")
    assert [match.concept for match in glossary.find(text)] == ["§b", "§b", "§a"]


def test_a_katakana_term_inside_a_longer_word_is_another_word():
    glossary = Glossary([{"concept": "rail", "en": "rail", "ja": "レール"}])
    assert glossary.find("トレーラとガードレール") == []
    assert len(glossary.find("レール最適化")) == 1


def test_the_glossary_has_no_term_twice_and_no_single_sign():
    seen = {}
    with PATH.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            terms = [term for side in ("en", "ja") for term in row[side].split("|") if term]
            assert len(terms) >= 2, row
            for term in terms:
                assert len(term) > 1, row
                assert term.lower() not in seen, (term, row["concept"], seen.get(term.lower()))
                seen[term.lower()] = row["concept"]
    assert len(seen) > 1500


def test_providers_are_concepts_in_both_scripts():
    found = {
        match.concept for match in load_glossary().find(normalize("さくらインターネットと Google Cloud と CoreWeave"))
    }
    assert {"§provider-sakura", "§provider-gcp", "§provider-coreweave"} <= found


def test_threads_do_not_disturb_each_other():
    import threading

    words = [
        f"{a}{b}ization"
        for a in ("contain", "normal", "serial", "general")
        for b in ("er", "is", "or", "al", "an", "en")
    ]
    expected = [stem.__wrapped__(word) for word in words]
    wrong = []

    def work():
        for _ in range(200):
            wrong.extend(w for w, e in zip(words, expected, strict=True) if stem.__wrapped__(w) != e)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_term_of_two_words_does_not_reach_over_other_words():
    found = {match.concept for match in load_glossary().find(normalize("1台にはどのGPUが入っていますか"))}
    assert "§single-gpu" not in found
    assert "§single-gpu" in {match.concept for match in load_glossary().find(normalize("does 1 GPU need it"))}
