"""Numbers, safe text, numbers typed by people."""

from datetime import date

import pytest
from fake_advisor import HOSTILE
from hypothesis import given
from hypothesis import strategies as st

from advisor.errors import BadRequest
from advisor.web import numbers
from advisor.web.pictures import safe_svg
from advisor.web.safe_text import safe_markdown, web_link


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "–"), (0, "$0.00"), (0.0123, "$0.0123"), (2.5, "$2.50"), (999.999, "$1,000.00"), (12345.6, "$12,346")],
)
def test_money(value, shown):
    assert numbers.money(value) == shown


@pytest.mark.parametrize(("value", "shown"), [(None, "–"), (2.1, "+$2.10"), (-2.1, "−$2.10"), (0, "+$0.00")])
def test_signed_money(value, shown):
    assert numbers.signed_money(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(None, "–"), (80.0, "80"), (61.34, "61.3"), (0.5, "0.5"), (3200.0, "3,200"), (1234.5, "1,234")]
)
def test_number(value, shown):
    assert numbers.number(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "–"), (950, "950"), (12_900_000, "12.9M"), (1.5e12, "1.5T"), (4e9, "4B"), (1500, "1.5k")],
)
def test_big(value, shown):
    assert numbers.big(value) == shown


@pytest.mark.parametrize(("value", "shown"), [(None, "–"), (0.123, "12%"), (0.004, "0.4%"), (0, "0%")])
def test_percent(value, shown):
    assert numbers.percent(value) == shown


@pytest.mark.parametrize(
    ("value", "en", "ja"),
    [(None, "–", "–"), (0.5, "30 min", "30 分"), (31, "31 h", "31 時間"), (240, "10 days", "10 日")],
)
def test_hours(value, en, ja):
    assert (numbers.hours(value, "en"), numbers.hours(value, "ja")) == (en, ja)


def test_age_of_a_price():
    assert numbers.age_days("2026-06-01", date(2026, 6, 11)) == 10
    assert numbers.age_days("unknown") is None


@pytest.mark.parametrize(
    ("raw", "amount"),
    [
        ("", None),
        (None, None),
        (" ", None),
        ("3,000", 3000),
        ("１２", 12),
        ("$2.5", 2.5),
        ("1.5k", 1500),
        ("2M", 2e6),
        (4.0, 4.0),
        (".5", 0.5),
        ("7B", 7e9),
    ],
)
def test_amounts_as_people_type_them(raw, amount):
    assert numbers.parse_amount(raw) == amount


@pytest.mark.parametrize(
    "raw", ["lots", "-3", "1e5x", "nan", "inf", float("nan"), float("inf"), -1.0, "1 2", "<script>"]
)
def test_impossible_amounts_are_refused_in_words(raw):
    with pytest.raises(BadRequest, match="amount"):
        numbers.parse_amount(raw)


@given(st.floats(min_value=0, max_value=1e15, allow_nan=False))
def test_amount_text_reads_back(value):
    assert numbers.parse_amount(numbers.amount_text(value)) == pytest.approx(value, rel=1e-6, abs=1e-9)


def test_html_is_escaped_and_images_become_text():
    shown = safe_markdown(HOSTILE + " ![x](http://evil.example/x.png)")
    assert "<" not in shown and "&lt;script>" in shown and "!\\[x]" in shown


def test_code_keeps_its_characters():
    assert safe_markdown("use `a<b` and\n```\nx < y\n```\nthen <b>") == "use `a<b` and\n```\nx < y\n```\nthen &lt;b>"


def test_an_unclosed_fence_is_escaped():
    assert "<" not in safe_markdown("```\n<script>alert(1)</script>")


@given(st.text(alphabet="`<>![]()\n a1~", max_size=60))
def test_outside_of_code_no_tag_survives(text):
    shown = safe_markdown(text)
    if "`" not in text and "~" not in text:
        assert "<" not in shown and "![" not in shown


def test_citation_marks_become_links_but_links_and_code_do_not():
    shown = safe_markdown("Yes [1], [2]. [3](http://x) `[4]`", "src-7")
    assert "[\\[1\\]](#src-7-1)" in shown and "(#src-7-2)" in shown
    assert "src-7-3" not in shown and "src-7-4" not in shown


@pytest.mark.parametrize(
    "address",
    [None, "", "guides/en/a.md", "javascript:alert(1)", "http://a b", 'http://x"onx=1', "ftp://x", "data:text/html,x"],
)
def test_only_web_addresses_become_links(address):
    assert web_link(address) is None


def test_a_web_address_is_a_link():
    assert web_link("https://docs.example/p?a=1#b") == "https://docs.example/p?a=1#b"


def test_a_drawing_is_safe_and_anything_else_is_not():
    head = '<svg xmlns="http://www.w3.org/2000/svg">'
    assert safe_svg(head + "<circle r='3'/><text>NV12</text></svg>")
    for inside in (
        "<script>1</script>",
        "<circle onload='x()'/>",
        "<a href='javascript:1'/>",
        "<image href='http://x'/>",
        "<foreignObject/>",
        "<rect fill='url(http://x)'/>",
        "<style>*{}</style>",
    ):
        assert safe_svg(f"{head}{inside}</svg>") is None, inside
    assert safe_svg("<svg") is None
