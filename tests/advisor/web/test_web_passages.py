"""Passages as HTML: what Markdown becomes, what stays as it is written, and where the quote is marked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.web.passages import line_html
from advisor.web.render import passage_html

TABLE = "Types:\n\n| Type | EFA |\n|---|---:|\n| `p5` | <b>32</b> |\n| p4d | 4 |\n\nThen count."


@pytest.mark.parametrize(
    ("passage", "quote", "shown"),
    [
        ("a b\n c d", "b c", "a <mark>b\n c</mark> d"),
        ("a < b", "< b", "a <mark>&lt; b</mark>"),
        ("a", "zz", "a"),
        ("a", "", "a"),
        ("x (y) z", "(y)", "x <mark>(y)</mark> z"),
        ("run `fi_info -p efa` **now**", "", "run <code>fi_info -p efa</code> <strong>now</strong>"),
        ("run `fi_info -p` now", "run `fi_info -p`", "<mark>run <code>fi_info -p</code></mark> now"),
        ("run `a b` now", "b` now", "run `a <mark>b` now</mark>"),
        ("# Head\ntext", "", "<strong>Head</strong>\ntext"),
        ("```bash\nls <x>\n```\nthen", "ls <x>", "<pre><code><mark>ls &lt;x&gt;</mark></code></pre>then"),
        ("```bash\nls", "", "```bash\nls"),
        ("a | b, no table", "", "a | b, no table"),
    ],
)
def test_passages(passage, quote, shown):
    assert str(passage_html(passage, quote)) == shown


def test_a_table_is_a_table_and_its_cells_are_escaped():
    html = passage_html(TABLE, "p4d")
    assert html.count("<tr>") == 3 and "<td><code>p5</code></td><td>&lt;b&gt;32&lt;/b&gt;</td>" in html
    assert "<td><mark>p4d</mark></td>" in html and "---" not in html
    assert html.startswith("Types:<div") and html.endswith("Then count.")


def test_a_mark_over_several_cells_leaves_the_passage_as_it_is_written():
    html = passage_html(TABLE, "p4d | 4")
    assert "| <mark>p4d | 4</mark> |" in html and "<table" not in html


def test_a_quotation_is_one_line_with_code():
    assert str(line_html("`<i>` is off")) == "<code>&lt;i&gt;</code> is off"


@given(st.text(alphabet="ab|-`*# \n<>&\ue000\ue001", max_size=60), st.data())
def test_whatever_is_written_tags_are_closed_and_nothing_runs(text, data):
    start = data.draw(st.integers(0, len(text)))
    quote = text[start : data.draw(st.integers(start, len(text)))]
    html = str(passage_html(text, quote))
    stack = []
    for part in html.split("<")[1:]:
        tag = part.split(">")[0]
        name = tag.removeprefix("/").split(" ")[0]
        assert name in {"mark", "code", "strong", "pre", "div", "table", "thead", "tbody", "tr", "th", "td"}
        if tag.startswith("/"):
            assert stack.pop() == name
        else:
            stack.append(name)
    assert not stack
