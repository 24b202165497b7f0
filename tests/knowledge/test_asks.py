"""How nearly a question is one that an entry answers: against the plain formula, and through the index's file."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge.asks import build_asks, pack
from knowledge.groups import Group
from knowledge.lexical import FIELD_MARK, Entry, LexicalIndex, build_lexical
from knowledge.query import query_groups

WORDS = st.sampled_from(["nvlink", "infiniband", "h100", "bridge", "price", "tokyo"])
QUESTIONS = st.lists(st.lists(WORDS, min_size=1, max_size=4, unique=True), max_size=3)


def like(index, asked):
    return dict(zip(*(values.tolist() for values in index.likeness(asked)), strict=True))


def groups(words):
    return [Group(((word, 1.0),)) for word in words]


def plain(entries, asked, idf):
    """The formula, word by word."""
    used = {word for asks in entries for words in asks for word in words} | set(asked)
    weight = {word: idf.get(word, max(idf.values(), default=0.0)) for word in used}
    best = {}
    for row, asks in enumerate(entries):
        for words in asks:
            shared = sum(weight[word] for word in set(words) & set(asked))
            either = sum(weight[word] for word in set(words) | set(asked))
            if shared:
                best[row] = max(best.get(row, 0.0), shared / either)
    return best


@settings(max_examples=150, deadline=None)
@given(st.lists(QUESTIONS, max_size=5), st.lists(WORDS, min_size=1, max_size=4, unique=True))
def test_likeness_is_the_shared_weight_over_all(entries, asked):
    index = build_asks([pack([groups(words) for words in asks]) for asks in entries])
    idf = {word: float(index.idf[number]) for word, number in index.vocabulary.items()}
    expected = plain(entries, asked, idf)
    assert like(index, groups(asked)) == pytest.approx(expected, abs=1e-5)


def test_a_translation_counts_as_the_word_itself():
    index = build_asks(
        [pack([query_groups("What is the bandwidth of NVLink?")]), pack([query_groups("Who rents in Tokyo?")])]
    )
    found = like(index, query_groups("NVLinkの帯域は？"))
    assert found[0] > 0.9
    assert 1 not in found


def test_the_same_question_is_wholly_like_and_another_less():
    question = "Does RTX 4090 have NVLink?"
    index = build_asks(
        [pack([query_groups(question)]), pack([query_groups("Do Yotta's RTX 4090 machines have NVLink?")])]
    )
    found = like(index, query_groups(question))
    assert found[0] == pytest.approx(1.0)
    assert 0.2 < found[1] < 0.9


def entry(number, asks):
    fields = [FIELD_MARK.join(["title", "section", "body"]), *([asks] if asks else [])]
    return Entry(f"p{number}", FIELD_MARK.join(fields), f"d{number}", "en", "", "guide", str(number), "", "", "")


def test_the_asks_go_through_the_file(tmp_path):
    asks = pack([query_groups("What is NVSwitch?"), query_groups("NVSwitchとは？")])
    index = build_lexical([entry(0, ""), entry(1, asks)], 7)
    index.save(tmp_path / "lexical-7.npz")
    read = LexicalIndex.load(tmp_path / "lexical-7.npz")
    asked = query_groups("NVSwitch?")
    assert like(read.asks, asked) == like(index.asks, asked) == {1: pytest.approx(1.0)}
    none = build_lexical([entry(0, "")], 8)
    none.save(tmp_path / "lexical-8.npz")
    assert like(LexicalIndex.load(tmp_path / "lexical-8.npz").asks, asked) == {}
