"""The store's answer equals a plain Python scan, for random filters over random tables."""

from __future__ import annotations

import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from knowledge.offer_table import make_offer, write_table
from knowledge.offers import Offer, OfferFilter, OfferStore

PROVIDERS = ("aws", "gcp", "lambda", "nobody")
GPUS = (
    ("H100", "SXM", 80.0),
    ("H100", "PCIe", 80.0),
    ("A100", "SXM", 40.0),
    ("A100", "SXM", 80.0),
    ("L4", "PCIe", 24.0),
)
GPUS += (("MI300X", "OAM", 192.0), ("Odd 9", "unknown", None))
REGIONS = (
    ("ap-northeast-1", "JP", "Tokyo"),
    ("us-east-1", "US", "Virginia"),
    ("eu-x", "DE", None),
    ("unknown", None, None),
)
EUROPE = {"DE", "FR", "GB"}

prices = st.one_of(
    st.none(), st.sampled_from([0.5, 1.0, 2.0, 2.5, 16.0]), st.floats(0.01, 99).map(lambda value: round(value, 3))
)


@st.composite
def offers(draw) -> list[Offer]:
    found: dict[str, Offer] = {}
    for number in range(draw(st.integers(0, 25))):
        gpu, variant, memory = draw(st.sampled_from(GPUS))
        region, country, city = draw(st.sampled_from(REGIONS))
        offer = make_offer(
            provider=draw(st.sampled_from(PROVIDERS)),
            broker=draw(st.sampled_from([None, None, "shadeform"])),
            instance_type=draw(st.sampled_from(["Type-A", "type-a", f"t{number}"])),
            gpu=gpu,
            gpu_variant=variant,
            gpu_memory_gb=memory,
            gpu_count=draw(st.sampled_from([0.25, 1, 2, 4, 8])),
            region=region,
            country=country,
            city=city,
            spot=draw(st.booleans()),
            price_usd_hour=draw(prices),
            source="made up",
            nvlink=draw(st.sampled_from(["yes", "partial", "no", "unknown"])),
            internode_rdma=draw(st.sampled_from(["yes", "no", "unknown"])),
            internode_fabric=draw(st.sampled_from(["infiniband", "efa", "ethernet", "unknown"])),
            internode_gbit_s_per_node=draw(st.sampled_from([None, 400.0, 3200.0])),
        )
        found[offer.offer_id] = offer
    return list(found.values())


def some(values):
    return st.lists(st.sampled_from(values), max_size=2, unique=True).map(tuple)


FIELDS = {
    "provider": some(["aws", "Google Cloud", "lambdalabs", "shadeform"]),
    "not_provider": some(["gcp", "shadeform"]),
    "gpu": some(["H100", "H100 SXM", "A100 80GB", "NVIDIA L4", "Odd 9", "never"]),
    "not_gpu": some(["A100", "MI300X"]),
    "gpu_variant": some(["SXM", "pcie"]),
    "instance_type": some(["TYPE-A"]),
    "region": some(["Tokyo", "us-east-1", "Europe", "日本", "nowhere"]),
    "country": some(["JP", "us"]),
    "not_country": some(["DE", "JP"]),
    "min_gpus": st.sampled_from([1, 8]),
    "max_gpus": st.sampled_from([1, 4]),
    "min_gpu_memory": st.sampled_from([40, 80]),
    "min_total_memory": st.sampled_from([100, 640]),
    "nvlink": st.just(True),
    "rdma": st.just(True),
    "fabric": some(["infiniband", "EFA"]),
    "max_price": st.sampled_from([2.0, 50.0]),
    "max_price_gpu": st.sampled_from([0.5, 10.0]),
    "spot": st.sampled_from([True, False]),
}


@st.composite
def filters(draw) -> OfferFilter:
    """A few constraints at a time, so that many answers are not empty."""
    chosen = draw(st.lists(st.sampled_from(sorted(FIELDS)), max_size=3, unique=True))
    return OfferFilter(
        **{name: draw(FIELDS[name]) for name in chosen},
        sort=draw(st.sampled_from(["price", "price_gpu", "memory", "bandwidth"])),
        limit=draw(st.sampled_from([1, 3, 1000])),
    )


PROVIDER_IDS = {"aws": "aws", "Google Cloud": "gcp", "gcp": "gcp", "lambdalabs": "lambda", "shadeform": "shadeform"}
GPU_TESTS = {
    "H100": lambda o: o.gpu == "H100",
    "H100 SXM": lambda o: o.gpu == "H100" and o.gpu_variant == "SXM",
    "A100": lambda o: o.gpu == "A100",
    "A100 80GB": lambda o: o.gpu == "A100" and o.gpu_memory_gb == 80,
    "NVIDIA L4": lambda o: o.gpu == "L4",
    "MI300X": lambda o: o.gpu == "MI300X",
    "Odd 9": lambda o: o.gpu == "Odd 9",
    "never": lambda o: False,
}
REGION_TESTS = {
    "Tokyo": lambda o: o.city == "Tokyo",
    "us-east-1": lambda o: o.region == "us-east-1",
    "Europe": lambda o: o.country in EUROPE,
    "日本": lambda o: o.country == "JP",
    "nowhere": lambda o: False,
}


def at_least(value, limit):
    return limit is None or (value is not None and value >= limit)


def at_most(value, limit):
    return limit is None or (value is not None and value <= limit)


def plain_match(offer: Offer, f: OfferFilter) -> bool:
    owners = {offer.provider, offer.broker}
    total = None if offer.gpu_memory_gb is None else offer.gpu_memory_gb * max(offer.gpu_count, 1)
    return all(
        [
            not f.provider or any(PROVIDER_IDS[name] in owners for name in f.provider),
            not any(PROVIDER_IDS[name] in owners for name in f.not_provider),
            not f.gpu or any(GPU_TESTS[name](offer) for name in f.gpu),
            not any(GPU_TESTS[name](offer) for name in f.not_gpu),
            not f.gpu_variant or offer.gpu_variant.lower() in {name.lower() for name in f.gpu_variant},
            not f.instance_type or offer.instance_type.lower() in {name.lower() for name in f.instance_type},
            not f.region or any(REGION_TESTS[name](offer) for name in f.region),
            not f.country or offer.country in {name.upper() for name in f.country},
            offer.country not in f.not_country,
            at_least(offer.gpu_count, f.min_gpus),
            at_most(offer.gpu_count, f.max_gpus),
            at_least(offer.gpu_memory_gb, f.min_gpu_memory),
            at_least(total, f.min_total_memory),
            at_most(offer.price_usd_hour, f.max_price),
            at_most(offer.price_usd_gpu_hour, f.max_price_gpu),
            f.spot is None or offer.spot == f.spot,
        ]
    )


def links(offer: Offer, f: OfferFilter) -> list[str]:
    """ "yes", "no" or "open" for each link constraint of the filter."""
    found = []
    if f.nvlink:
        several = offer.gpu_count > 1
        found.append(
            "yes" if offer.nvlink == "yes" and several else "open" if offer.nvlink == "unknown" and several else "no"
        )
    if f.rdma:
        found.append({"yes": "yes", "no": "no", "unknown": "open"}[offer.internode_rdma])
    if f.fabric:
        wanted = {name.lower() for name in f.fabric}
        found.append(
            "yes" if offer.internode_fabric in wanted else "open" if offer.internode_fabric == "unknown" else "no"
        )
    return found


def last(value):
    return (value is None, value or 0.0)


def order(offer: Offer, sort: str):
    cheap = (*last(offer.price_usd_gpu_hour), *last(offer.price_usd_hour), offer.offer_id)
    total = None if offer.gpu_memory_gb is None else -offer.gpu_memory_gb * max(offer.gpu_count, 1)
    first = {
        "price_gpu": (),
        "price": last(offer.price_usd_hour),
        "memory": last(total),
        "bandwidth": (
            *last(None if offer.internode_gbit_s_per_node is None else -offer.internode_gbit_s_per_node),
            *last(None if offer.nvlink_gb_s_per_gpu is None else -offer.nvlink_gb_s_per_gpu),
        ),
    }[sort]
    return (*first, *cheap)


@given(table=offers(), questions=st.lists(filters(), min_size=5, max_size=8))
@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
def test_store_equals_plain_scan(tmp_path_factory, table, questions):
    path = tmp_path_factory.mktemp("offers") / "offers.parquet"
    write_table(path, table, {})
    store = OfferStore(path.parent, source=str(path))
    for wanted in questions:
        page = store.search(wanted)
        fitting = [offer for offer in table if plain_match(offer, wanted)]
        matches = [offer for offer in fitting if set(links(offer, wanted)) <= {"yes"}]
        open_ones = [o for o in fitting if "open" in links(o, wanted) and "no" not in links(o, wanted)]
        expected = sorted(matches, key=lambda offer: order(offer, wanted.sort))

        assert page.count == len(matches)
        assert page.offers == expected[: wanted.limit]
        assert page.unknown_count == len(open_ones)
        assert {offer.offer_id for offer in page.unknown} <= {offer.offer_id for offer in open_ones}
        if page.count:
            assert page.near_misses == []
        for miss in page.near_misses:
            loosened = wanted.model_copy(update={miss.field: getattr(OfferFilter(), miss.field)})
            assert store.search(loosened).count == miss.count > 0


@pytest.mark.parametrize("price", [0.1, 1 / 3, 1e-3, 98.765432])
def test_prices_survive_the_file(tmp_path, price):
    offer = make_offer(provider="aws", instance_type="x", gpu="L4", gpu_count=1, price_usd_hour=price, source="s")
    write_table(tmp_path / "offers.parquet", [offer], {})
    read = OfferStore(tmp_path, source=str(tmp_path / "offers.parquet")).all()[0]
    assert math.isclose(read.price_usd_hour, price, abs_tol=1e-6)
    assert read == offer
