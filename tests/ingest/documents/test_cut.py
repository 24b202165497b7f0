from hypothesis import given
from hypothesis import strategies as st

from ingest.documents.cut import LIMIT, TARGET, cut_page, sentences
from ingest.documents.model import Code, Heading, Page, Table, Text

WORDS = st.text(alphabet="ab 。、.!? 日本語テキスト\n|", min_size=0, max_size=3000)


def test_a_long_table_repeats_caption_and_header_and_is_cut_between_rows():
    rows = [[f"type-{number}.xlarge", f"{number} Gbps", "text " * 8] for number in range(80)]
    cuts = cut_page(Page([Heading(1, "T"), Table(["Type", "Speed", "Note"], rows, "Network speeds")], title="T"))
    assert len(cuts) > 3
    for cut in cuts:
        assert cut.text.startswith("Network speeds\n| Type | Speed | Note |\n| --- |")
    joined = "\n".join(cut.text for cut in cuts)
    assert all(f"| type-{number}.xlarge | {number} Gbps |" in joined for number in range(80))


def test_one_very_long_row_stays_within_the_limit():
    cuts = cut_page(Page([Table(["A"], [["word " * 900]])], title="T"))
    assert max(len(cut.text) for cut in cuts) <= LIMIT


def test_japanese_is_cut_at_sentence_ends():
    text = "計算ノードの構成を説明します。" * 300
    cuts = cut_page(Page([Text(text)], title="T"))
    assert len(cuts) > 2
    assert all(cut.text.endswith("。") for cut in cuts)
    assert "".join(cut.text for cut in cuts) == text


def test_sentences_keep_identifiers_whole():
    assert sentences("Use p9.48xlarge now. Then v1.2 follows! 次です。終わり。") == [
        "Use p9.48xlarge now.",
        "Then v1.2 follows! 次です。",
        "終わり。",
    ]


def test_small_neighbours_join_under_their_common_heading():
    blocks = [
        Heading(1, "T"),
        Heading(2, "Vars"),
        Heading(3, "ABC"),
        Text("One."),
        Heading(3, "DEF"),
        Text("Two words here."),
    ]
    cuts = cut_page(Page(blocks, title="T"))
    assert len(cuts) == 1
    assert cuts[0].section == "Vars"
    assert cuts[0].text == "ABC\n\nOne.\n\nDEF\n\nTwo words here."


def test_big_sections_stay_apart():
    blocks = [Heading(1, "T"), Heading(2, "A"), Text("a word. " * 120), Heading(2, "B"), Text("b word. " * 120)]
    assert [cut.section for cut in cut_page(Page(blocks, title="T"))] == ["A", "B"]


@given(st.lists(WORDS, max_size=5))
def test_no_passage_is_empty_or_over_the_limit_and_no_word_is_lost(texts):
    blocks = [Heading(2, "H"), *[Text(text) for text in texts], Code("x = 1\n" * 400)]
    cuts = cut_page(Page(blocks, title="T"))
    assert all(cut.text.strip() and len(cut.text) <= max(LIMIT, TARGET) for cut in cuts)
    joined = "".join("".join(cut.text for cut in cuts).split())
    for text in texts:
        if sum(character.isalpha() for character in text) > 200:
            start = "".join(text.split())[:20]
            assert start in joined
