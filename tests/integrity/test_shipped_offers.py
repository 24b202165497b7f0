"""The shipped table: one class of invariants, run for every provider that it holds."""

from __future__ import annotations

import re
from collections import Counter
from datetime import date

import pytest

from knowledge.gpu_names import gpu_table, resolve_gpu
from knowledge.links import RDMA_FABRICS, join_links
from knowledge.offer_table import shipped_offers
from knowledge.places import country_codes, locate
from knowledge.price_bands import known_outlier, outside_band, price_bands
from knowledge.providers import provider_table

OFFERS = shipped_offers()
PROVIDERS = sorted({offer.provider for offer in OFFERS})
NEVER_NVLINK = re.compile(
    r"(T4g?|L4|L20|L40S?|A10G?|A16|RTX [45]0[5-9]0.*|RTX \d000 Ada|RTX PRO .*|MI\d+.*|Gaudi.*|TPU.*)$"
)
BRIDGED_PAIRS = {"PCIe", "NVL"}


@pytest.mark.parametrize("provider", PROVIDERS)
class TestProvider:
    """What holds for the offers of each provider."""

    def rows(self, provider):
        return [offer for offer in OFFERS if offer.provider == provider]

    def test_provider_known(self, provider):
        assert provider in provider_table()
        for offer in self.rows(provider):
            assert offer.broker is None or provider_table()[offer.broker].kind == "broker"

    def test_gpu_canonical(self, provider):
        for offer in self.rows(provider):
            assert offer.gpu in gpu_table(), offer
            assert offer.gpu_variant in (*gpu_table()[offer.gpu].variants, "unknown"), offer

    def test_memory_right_for_the_model(self, provider):
        for offer in self.rows(provider):
            if offer.gpu_memory_gb is None:
                continue
            if offer.gpu_count >= 1:
                assert offer.gpu_memory_gb in gpu_table()[offer.gpu].memory_gb, offer
            else:
                assert offer.gpu_memory_gb <= 1.05 * max(gpu_table()[offer.gpu].memory_gb) * offer.gpu_count + 1, offer
            if offer.gpu == "H100" and offer.gpu_variant == "NVL":
                assert offer.gpu_memory_gb == 94, offer

    def test_memory_of_the_name_agrees(self, provider):
        for offer in self.rows(provider):
            stated = re.search(r"(?<![\d.])(40|80|141|192|288) ?GB?(?![a-z0-9])", offer.instance_type, re.IGNORECASE)
            named = resolve_gpu(offer.instance_type)
            if stated and named and named.gpu == offer.gpu and named.memory_gb and offer.gpu_memory_gb:
                assert offer.gpu_memory_gb == named.memory_gb, offer

    def test_price_positive(self, provider):
        for offer in self.rows(provider):
            assert offer.price_usd_hour is None or offer.price_usd_hour > 0, offer

    def test_price_or_reason(self, provider):
        for offer in self.rows(provider):
            assert offer.price_usd_hour is not None or offer.price_note, offer

    def test_price_unit_consistent(self, provider):
        for offer in self.rows(provider):
            if offer.price_usd_hour is None:
                assert offer.price_usd_gpu_hour is None, offer
            else:
                assert offer.price_usd_gpu_hour == pytest.approx(offer.price_usd_hour / offer.gpu_count, rel=1e-4), (
                    offer
                )

    def test_price_in_band(self, provider):
        for offer in self.rows(provider):
            assert offer.gpu in price_bands() or offer.price_usd_hour is None, offer
            if outside_band(offer.gpu, offer.price_usd_gpu_hour):
                assert known_outlier(offer.provider, offer.instance_type, offer.spot), offer

    def test_foreign_currency_told(self, provider):
        for offer in self.rows(provider):
            if offer.currency == "JPY" and offer.price_usd_hour:
                assert offer.price_original_hour, offer
                assert "JPY/USD" in (offer.price_note or ""), offer
            if offer.currency.endswith("?"):
                assert offer.price_usd_hour is None, offer

    def test_country_known(self, provider):
        for offer in self.rows(provider):
            assert offer.country is None or offer.country in country_codes(), offer
            placed = locate(offer.region, offer.provider)
            assert placed.country is None or placed.country == offer.country, offer
            assert offer.city is None or offer.country is not None, offer

    def test_links_consistent(self, provider):
        for offer in self.rows(provider):
            if NEVER_NVLINK.match(offer.gpu) or offer.gpu_count <= 1:
                assert offer.nvlink == "no", offer
            if offer.nvlink == "yes":
                assert offer.nvlink_generation in {"1", "2", "3", "4", "5"}, offer
                assert offer.nvlink_gb_s_per_gpu and offer.nvlink_domain_gpus >= offer.gpu_count, offer
                assert offer.gpu_variant not in BRIDGED_PAIRS or offer.gpu_count == 2, offer
            if offer.nvlink == "partial":
                assert offer.gpu_count > 2 or offer.gpu_variant in BRIDGED_PAIRS, offer
            if offer.internode_fabric in RDMA_FABRICS:
                assert offer.internode_rdma == "yes", offer
            if offer.internode_rdma == "yes" and offer.internode_fabric == "unknown":
                assert offer.link_note, offer
            if offer.internode_fabric in {"tcpx", "tcpxo", "none"}:
                assert offer.internode_rdma == "no", offer
            if offer.internode_fabric == "ethernet":
                assert offer.internode_rdma in {"no", "unknown"}, offer

    def test_links_sourced(self, provider):
        for offer in self.rows(provider):
            if offer.internode_fabric != "unknown":
                assert offer.fabric_source and offer.fabric_confidence in {"high", "medium"}, offer
            if offer.nvlink in {"yes", "partial"}:
                assert offer.nvlink_source, offer

    def test_source_and_date(self, provider):
        for offer in self.rows(provider):
            assert offer.source and offer.source != "unknown", offer
            assert offer.as_of == "unknown" or date.fromisoformat(offer.as_of) <= date(2026, 12, 31), offer


def test_no_offer_twice():
    assert [key for key, count in Counter(offer.offer_id for offer in OFFERS).items() if count > 1] == []


def test_the_table_is_large_enough():
    assert len(OFFERS) >= 1500
    assert len(PROVIDERS) >= 35


def test_japan_is_well_covered():
    cities = Counter(offer.city for offer in OFFERS if offer.country == "JP")
    assert cities["Tokyo"] >= 100
    assert cities["Osaka"] >= 30
    japanese = {offer.provider for offer in OFFERS if provider_table()[offer.provider].country == "JP"}
    assert {"sakura", "gmo", "gpusoroban", "abci", "mdx", "tsubame"} <= japanese


def test_links_are_those_of_the_tables():
    """Nothing was joined by hand: every shipped row has just what the tables of links say today."""
    for offer in OFFERS:
        links = join_links(
            offer.provider,
            offer.instance_type,
            offer.gpu,
            offer.gpu_variant,
            offer.gpu_count,
            offer.region,
            offer.broker,
        )
        assert (offer.nvlink, offer.internode_fabric, offer.internode_rdma) == (
            links.nvlink,
            links.internode_fabric,
            links.internode_rdma,
        ), offer


def test_every_outlier_rule_is_needed():
    from knowledge.price_bands import _outliers

    odd = [offer for offer in OFFERS if outside_band(offer.gpu, offer.price_usd_gpu_hour)]
    for provider, pattern, spot, reason in _outliers():
        assert any(o.provider == provider and o.spot == spot and pattern.fullmatch(o.instance_type) for o in odd), (
            reason
        )
