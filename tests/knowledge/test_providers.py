"""Providers by id, name and alias in both languages."""

import pytest

from knowledge.fx import rates, usd_jpy
from knowledge.providers import provider_name, provider_names, provider_table, resolve_provider


@pytest.mark.parametrize(
    ("text", "provider"),
    [
        ("AWS", "aws"),
        ("Amazon", "aws"),
        ("アマゾン", "aws"),
        ("Google Cloud", "gcp"),
        ("グーグル", "gcp"),
        ("Oracle", "oci"),
        ("さくら", "sakura"),
        ("さくらインターネット", "sakura"),
        ("高火力", "sakura"),
        ("ハイレゾ", "gpusoroban"),
        ("GMO GPUクラウド", "gmo"),
        ("産総研", "abci"),
        ("lambda labs", "lambda"),
        ("data-crunch", "verda"),
        ("Vast.ai", "vast"),
        ("run pod", "runpod"),
        ("crusoecloud", "crusoe"),
    ],
)
def test_resolve_provider(text, provider):
    assert resolve_provider(text) == provider


def test_no_provider_is_made_up():
    assert resolve_provider("Acme Cloud") is None


def test_names():
    assert provider_name("sakura", "ja") == "さくらインターネット"
    assert provider_name("sakura") == "SAKURA internet"
    assert provider_name("acme") == "acme"
    assert provider_names()["ラムダ"] == "lambda"


def test_the_table_is_whole():
    seen: dict[str, str] = {}
    for provider in provider_table().values():
        assert provider.site.startswith("https://"), provider
        assert provider.source and provider.as_of
        assert len(provider.country) == 2 or provider.country == "unknown"
        assert provider.kind in {"hyperscaler", "cloud", "marketplace", "broker", "serverless", "academic"}
        assert provider.catalogue_currency.rstrip("?") in {"USD", "EUR", "JPY"}
        for alias in provider.aliases:
            assert seen.setdefault(alias.lower(), provider.provider) == provider.provider, alias
            assert resolve_provider(alias) == provider.provider, alias


def test_rates_are_dated():
    for rate in rates().values():
        assert rate.rate > 0
        assert rate.source.startswith("https://")
        assert len(rate.as_of) == 10
    assert 80 < usd_jpy().rate < 250
