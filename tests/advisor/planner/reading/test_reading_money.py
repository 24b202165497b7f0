import pytest

from advisor.planner.reading.lexicon import Rate
from advisor.planner.reading.money import read_money
from advisor.planner.reading.normalize import normalize

RATE = Rate(150.0, "2026-01-01", "https://example.org/rate")


def _fields(text, count=None, gpu=False):
    return read_money(normalize(text), RATE, count, gpu).fields


@pytest.mark.parametrize(
    ("text", "field", "usd"),
    [
        ("under $3 per GPU-hour", "max_price_usd_gpu_hour", 3),
        ("$2.50/GPU-h 以下", "max_price_usd_gpu_hour", 2.5),
        ("below 2 dollars a gpu hour", "max_price_usd_gpu_hour", 2),
        ("1GPU時間あたり300円以下", "max_price_usd_gpu_hour", 2),
        ("hard cap $20 per hour in total", "max_price_usd_hour", 20),
        ("1時間3000円以内", "max_price_usd_hour", 20),
        ("時間単価1500円まで", "max_price_usd_hour", 10),
        ("予算は月３万円くらい", "budget_usd_month", 200),
        ("月15万以内で", "budget_usd_month", 1000),
        ("max $900 a month", "budget_usd_month", 900),
        ("予算は20万円", "budget_usd", 200000 / 150),
        ("my budget is $1.5k", "budget_usd", 1500),
        ("総額100万円まで", "budget_usd", 1000000 / 150),
        ("$48 per day max", "max_price_usd_hour", 2),
        ("for less than 30 cents per hour", "max_price_usd_hour", 0.3),
        ("between $2-3 per GPU-hour max", "max_price_usd_gpu_hour", 3),
    ],
)
def test_scope_and_amount(text, field, usd):
    assert _fields(text) == pytest.approx({field: usd})


@pytest.mark.parametrize(
    "text",
    [
        "a provider quoted $98 per hour",
        "今は1時間500円を払っています",
        "見積もりは300万円と言われた",
        "over $5 per hour",
        "no money named",
    ],
)
def test_a_price_somebody_told_is_no_cap(text):
    assert _fields(text) == {}


def test_free_is_a_budget_of_nothing():
    assert _fields("for free") == {"budget_usd": 0.0} == _fields("無料で")


def test_a_price_an_hour_for_one_gpu_or_for_the_machine():
    assert "max_price_usd_gpu_hour" in _fields("under $2/hr", gpu=True)
    assert _fields("under $20/hr", count=8, gpu=True) == {"max_price_usd_hour": 20}
    assert _fields("under $2/hr", count=8, gpu=True) == {"max_price_usd_gpu_hour": 2}
    assert _fields("under $2/hr", count=1, gpu=True) == {"max_price_usd_hour": 2, "max_price_usd_gpu_hour": 2}


def test_yen_tell_their_rate():
    money = read_money(normalize("予算3万円"), RATE, None, False)
    assert money.fx is not None and (money.fx.rate, money.fx.as_of) == (150.0, "2026-01-01")
    assert money.quantities[0].meaning == "budget_usd"
    assert read_money("$5 max", RATE, None, False).fx is None


def test_without_a_rate_yen_are_not_guessed():
    assert read_money(normalize("予算3万円"), None, None, False).fields == {}
