import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge.errors import StoreUnavailable
from knowledge.fusion import Candidate, fuse, held, near_equal, on_topic, prefer_editions, select
from knowledge.groups import Group
from knowledge.lexical import FIELD_B, FIELD_MARK, FIELD_WEIGHTS, FIELDS, K1, Entry, LexicalIndex, build_lexical

WORD = st.sampled_from(["alpha", "beta", "gamma", "delta", "h100", "p5.48x", "§net", "帯域"])
TEXT = st.lists(WORD, max_size=8).map(" ".join)


def entry(number, title="", section="", body="", **fields):
    base = {
        "doc": f"d{number}",
        "lang": "en",
        "provider": "",
        "kind": "document",
        "fold": "",
        "as_of": "",
        "edition": "",
        "family": "",
    }
    return Entry(f"p{number}", FIELD_MARK.join([title, section, body]), **{**base, **fields})


def plain_scores(entries, groups):
    """The same figure by a plain scan over all passages."""
    fields = [dict(zip(FIELDS, one.terms.split(FIELD_MARK), strict=True)) for one in entries]
    words = [{name: text.split() for name, text in each.items()} for each in fields]
    average = {name: np.mean([len(each[name]) for each in words]) or 1.0 for name in FIELDS}
    count = len(entries)

    def impact(token, each):
        frequency = sum(
            FIELD_WEIGHTS[name]
            * each[name].count(token)
            / (1 - FIELD_B[name] + FIELD_B[name] * len(each[name]) / average[name])
            for name in FIELDS
        )
        containing = sum(any(token in other[name] for name in FIELDS) for other in words)
        idf = math.log1p((count - containing + 0.5) / (containing + 0.5))
        return idf * frequency * (K1 + 1) / (frequency + K1)

    return [
        sum(max(impact(token, each) * share * group.weight for token, share in group.forms) for group in groups)
        for each in words
    ]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(TEXT, TEXT, TEXT), min_size=1, max_size=8),
    st.lists(
        st.tuples(st.lists(WORD, min_size=1, max_size=3, unique=True), st.sampled_from([0.5, 1.0])),
        min_size=1,
        max_size=4,
    ),
)
def test_the_index_scores_as_a_plain_scan_does(texts, asked):
    entries = [entry(number, *parts) for number, parts in enumerate(texts)]
    groups = [
        Group(tuple((word, 0.9 if place else 1.0) for place, word in enumerate(words)), weight)
        for words, weight in asked
    ]
    index = build_lexical(entries, 1)
    assert np.allclose(index.scores(groups), plain_scores(entries, groups), atol=1e-4)
    have = held(index, groups, np.arange(len(entries)))
    for row, one in enumerate(entries):
        words = set(one.terms.replace(FIELD_MARK, " ").split())
        assert list(have[:, row]) == [any(token in words for token, _ in group.forms) for group in groups]


def test_saved_and_loaded_is_the_same(tmp_path):
    index = build_lexical([entry(0, "t", "s", "alpha 帯域", provider="aws"), entry(1, "", "", "beta", lang="ja")], 7)
    index.save(tmp_path / "lexical-7.npz")
    again = LexicalIndex.load(tmp_path / "lexical-7.npz")
    group = [Group((("帯域", 1.0),))]
    assert (again.version, again.ids) == (7, ["p0", "p1"])
    assert np.array_equal(index.scores(group), again.scores(group))
    assert list(again.mask(provider="aws")) == [True, False]
    assert list(again.mask(lang="ja", provider="aws")) == [False, False]
    assert again.mask(lang=None) is None


def test_an_index_without_passages_can_be_searched():
    index = build_lexical([], 1)
    assert len(index) == 0
    assert fuse(index, [Group((("alpha", 1.0),))], {}, None, 5) == []


def test_a_cut_file_is_refused(tmp_path):
    path = tmp_path / "lexical-1.npz"
    build_lexical([entry(0, "", "", "alpha " * 50)], 1).save(path)
    for size in (0, 10, path.stat().st_size // 2):
        path.write_bytes(path.read_bytes()[:size])
        with pytest.raises(StoreUnavailable):
            LexicalIndex.load(path)


def test_a_filter_keeps_both_legs_inside():
    index = build_lexical([entry(0, body="alpha", provider="aws"), entry(1, body="alpha alpha", provider="gcp")], 1)
    found = fuse(index, [Group((("alpha", 1.0),))], {0: 0.5, 1: 0.9}, index.mask(provider="aws"), 5)
    assert [candidate.row for candidate in found] == [0]


def test_a_question_about_two_things_gets_both():
    entries = [entry(n, body=f"alpha speed w{n} v{n}") for n in range(4)] + [entry(9, body="beta price other")]
    index = build_lexical(entries, 1)
    groups = [Group((("alpha", 1.0),)), Group((("speed", 1.0),)), Group((("beta", 1.0),), 0.2)]
    candidates = [Candidate(row, 1.0, 0.0, score) for row, score in enumerate([1.0, 0.98, 0.96, 0.94, 0.90])]
    chosen = select(index, groups, candidates, lambda row: frozenset(), 2)
    assert [candidate.row for candidate in chosen] == [0, 4]


def test_near_equal_needs_most_words():
    assert near_equal(frozenset("abcdefghij"), frozenset("abcdefghij"))
    assert not near_equal(frozenset("abcdefghij"), frozenset("abcdeklmno"))
    assert not near_equal(frozenset(), frozenset("a"))


@pytest.mark.parametrize(
    ("words", "first"), [(["alpha"], "v3"), (["alpha", "v2"], "v2"), (["alpha", "2.0"], "v2"), (["alpha", "3.0"], "v3")]
)
def test_editions(words, first):
    entries = [entry(0, body="alpha", edition="v2", family="x/a"), entry(1, body="alpha", edition="v3", family="x/a")]
    index = build_lexical(entries, 1)
    order = prefer_editions(
        index, [Group(((word, 1.0),)) for word in words], [Candidate(0, 1, 0, 1.0), Candidate(1, 1, 0, 0.99)]
    )
    assert index.value("edition", order[0].row) == first


def test_speaking_of_the_old_one_leaves_the_order():
    entries = [entry(0, body="alpha", edition="v2", family="x"), entry(1, body="alpha", edition="v3", family="x")]
    index = build_lexical(entries, 1)
    order = prefer_editions(index, [Group((("§old", 1.0),))], [Candidate(0, 1, 0, 1.0), Candidate(1, 1, 0, 0.99)])
    assert [candidate.row for candidate in order] == [0, 1]


def test_the_gate():
    entries = [entry(0, body="alpha beta gamma delta h100"), *[entry(n, body=f"x{n} alpha") for n in range(1, 30)]]
    index = build_lexical(entries, 1)
    candidates = [Candidate(0, 1.0, 0.1, 1.0)]
    unknown = [Group(((f"unknown{n}", 1.0),)) for n in range(4)]
    assert not on_topic(index, [], [], {}, 0.3)
    assert on_topic(index, unknown, candidates, {0: 0.5}, 0.3)
    assert not on_topic(index, unknown, candidates, {0: 0.2}, 0.3)
    assert not on_topic(index, [Group((("alpha", 1.0),)), *unknown], candidates, {0: 0.2}, 0.3)
    assert on_topic(index, [Group((("beta", 1.0),)), Group((("gamma", 1.0),))], candidates, {0: 0.2}, 0.3)
    assert on_topic(index, [Group((("h100", 1.0),)), *unknown[:2]], candidates, {0: 0.2}, 0.3) is False
    assert on_topic(index, [Group((("h100", 1.0),)), Group((("beta", 1.0),)), *unknown[:1]], candidates, {}, 0.3)
