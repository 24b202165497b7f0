"""The store of offers: building, reading, replacing, and the questions people ask of it."""

import multiprocessing
import os
import shutil
import signal
import threading

import pyarrow.parquet as pq
import pytest

from knowledge import offer_table
from knowledge.errors import StoreUnavailable, UnknownOffer
from knowledge.offer_table import make_offer
from knowledge.offers import OfferFilter, OfferStore


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    home = tmp_path_factory.mktemp("offers-home")
    OfferStore(home)
    return home


@pytest.fixture
def store(built, tmp_path):
    shutil.copytree(built / "offers", tmp_path / "offers")
    return OfferStore(tmp_path)


def offer(provider="acme", instance_type="a8", price=10.0, **more):
    values = {
        "gpu": "H100",
        "gpu_variant": "SXM",
        "gpu_count": 8,
        "gpu_memory_gb": 80.0,
        "source": "acme list",
        "catalogue": "table:acme",
    }
    return make_offer(provider=provider, instance_type=instance_type, price_usd_hour=price, **{**values, **more})


def types(page):
    return {found.instance_type for found in page.offers}


def test_the_shipped_table_opens_and_is_large_enough(store):
    assert store.count == len(store.all()) >= 1500
    assert len(store.providers()) >= 35
    assert len(store.as_of) == 10


def test_h100_nodes_with_rdma_in_japan(store):
    page = store.search(OfferFilter(gpu=("H100",), min_gpus=8, rdma=True, country=("JP",)))
    assert {"p5.48xlarge", "Standard_ND96isr_H100_v5", "BM.GPU.H100.8"} <= types(page)
    assert all(
        o.gpu == "H100" and o.gpu_count >= 8 and o.internode_rdma == "yes" and o.country == "JP" for o in page.offers
    )
    assert not {"a3-megagpu-8g", "a3-highgpu-8g", "gx3d-160x1792x8h100"} & types(page)


def test_mi300x_with_nvlink_does_not_exist_and_the_reason_is_told(store):
    page = store.search(OfferFilter(gpu=("MI300X",), nvlink=True))
    assert (page.count, page.offers, page.unknown) == (0, [], [])
    misses = {miss.field: miss for miss in page.near_misses}
    assert misses["nvlink"].reason == "amd_infinity_fabric"
    assert misses["nvlink"].count == store.search(OfferFilter(gpu=("MI300X",))).count > 0


def test_rdma_on_google_cloud(store):
    page = store.search(OfferFilter(provider=("gcp",), rdma=True, limit=1000))
    assert {name.rsplit("-", 1)[0] for name in types(page)} >= {"a3-ultragpu", "a4-highgpu", "a4x-highgpu"}
    assert not [name for name in types(page) if name.startswith(("a2-", "a3-high", "a3-mega", "g2-", "n1-"))]


def test_infiniband_on_azure_is_only_the_sizes_with_r(store):
    page = store.search(OfferFilter(provider=("azure",), fabric=("infiniband",), limit=1000))
    assert page.count > 0
    assert all(name.startswith("Standard_ND") and "r" in name.split("_")[1][2:] for name in types(page))
    everything = store.search(OfferFilter(provider=("azure",), limit=10_000)).offers
    assert all(o.internode_fabric != "infiniband" for o in everything if o.instance_type.startswith("Standard_ND96is_"))


def test_unknown_links_are_shown_apart(store):
    page = store.search(OfferFilter(gpu=("H100",), gpu_variant=("PCIe",), min_gpus=2, nvlink=True))
    assert all(found.nvlink == "yes" for found in page.offers)
    assert page.unknown_count >= len(page.unknown) > 0
    assert all(found.nvlink == "unknown" for found in page.unknown)


def test_nvlink_never_matches_a_single_gpu(store):
    assert all(found.gpu_count > 1 for found in store.search(OfferFilter(nvlink=True, limit=10_000)).offers)


@pytest.mark.parametrize(
    ("place", "city"), [("東京", "Tokyo"), ("Tokyo", "Tokyo"), ("大阪", "Osaka"), ("Osaka", "Osaka")]
)
def test_cities_in_both_languages(store, place, city):
    page = store.search(OfferFilter(region=(place,), limit=1000))
    assert page.count >= 30
    assert {found.city for found in page.offers} == {city}


def test_providers_by_alias_and_brokers(store):
    direct = store.search(OfferFilter(provider=("Amazon",)))
    assert {found.provider for found in direct.offers} == {"aws"}
    resold = store.search(OfferFilter(provider=("shadeform",), limit=1000))
    assert resold.count > 50
    assert {found.broker for found in resold.offers} == {"shadeform"}
    assert "shadeform" not in {
        found.broker for found in store.search(OfferFilter(not_provider=("shadeform",), limit=9999)).offers
    }


def test_near_misses_say_what_the_price_would_have_to_be(store):
    page = store.search(OfferFilter(gpu=("H100",), min_gpus=8, max_price_gpu=0.05))
    miss = next(miss for miss in page.near_misses if miss.field == "max_price_gpu")
    cheapest = store.search(OfferFilter(gpu=("H100",), min_gpus=8)).offers[0]
    assert float(miss.nearest) == pytest.approx(cheapest.price_usd_gpu_hour, rel=1e-4)
    counts = [miss.count for miss in page.near_misses]
    assert counts == sorted(counts, reverse=True)


def test_get_and_by_instance_type(store):
    one = store.all()[0]
    assert store.get(one.offer_id) == one
    with pytest.raises(UnknownOffer, match="nobody-1"):
        store.get("nobody-1")
    found = store.by_instance_type("P5.48XLARGE")
    assert {o.instance_type for o in found} == {"p5.48xlarge"}
    assert store.by_instance_type("no such type") == []


def test_limit_and_count(store):
    page = store.search(OfferFilter(limit=3))
    assert len(page.offers) == 3
    assert page.count == store.count


def test_sources_add_up(store):
    sources = store.sources()
    assert sum(source.offers for source in sources) == store.count
    assert all(source.source and source.as_of for source in sources)
    assert {source.changed for source in sources} == {"shipped"}


def test_ids_are_stable_and_do_not_depend_on_price_or_links():
    one, other = offer(price=10.0), offer(price=20.0, nvlink="unknown", as_of="2026-01-01")
    assert one.offer_id == other.offer_id
    assert offer(spot=True).offer_id != one.offer_id
    assert offer(region="x").offer_id != one.offer_id
    assert offer(broker="shadeform").offer_id != one.offer_id


def test_replace_is_idempotent_and_tells_changes(store):
    before = store.count
    first = store.replace("acme", "table:acme", [offer(), offer(instance_type="a4", gpu_count=4)])
    assert (len(first.new), len(first.gone), first.updated) == (2, 0, 0)
    assert store.count == before + 2
    again = store.replace("acme", "table:acme", [offer(), offer(instance_type="a4", gpu_count=4)])
    assert (again.new, again.gone, again.updated, again.unchanged) == ([], [], 0, 2)
    moved = store.replace("acme", "table:acme", [offer(price=13.0)])
    assert [gone.instance_type for gone in moved.gone] == ["a4"]
    assert moved.updated == 1
    assert [(move.before, move.after) for move in moved.price_moves] == [(10.0, 13.0)]
    small = store.replace("acme", "table:acme", [offer(price=13.5)])
    assert small.price_moves == []
    source = next(source for source in store.sources() if source.source == "acme list")
    assert source.changed != "shipped"


def test_replace_leaves_other_catalogues_alone(store):
    aws = store.search(OfferFilter(provider=("aws",))).count
    store.replace("aws", "table:mine", [offer("aws", "p9.big", source="mine", catalogue="table:mine")])
    assert store.search(OfferFilter(provider=("aws",))).count == aws + 1


def test_the_same_offer_of_two_catalogues_is_there_once(store):
    shipped = store.by_instance_type("p5.48xlarge")[0]
    mine = shipped.model_copy(update={"price_usd_hour": 1.0, "source": "mine", "catalogue": "table:mine"})
    store.replace("aws", "table:mine", [mine])
    assert store.get(shipped.offer_id).price_usd_hour == 1.0
    assert len([o for o in store.all() if o.offer_id == shipped.offer_id]) == 1


def test_another_store_sees_what_was_written(store, tmp_path):
    other = OfferStore(tmp_path)
    store.replace("acme", "table:acme", [offer()])
    assert other.by_instance_type("a8") == [offer()]


def test_a_newer_package_keeps_what_was_ingested(store, tmp_path, monkeypatch):
    store.replace("acme", "table:acme", [offer()])
    store.replace("lambda", "skypilot", [offer("lambda", "gpu_9x", catalogue="skypilot", source="new lambda")])
    monkeypatch.setattr(offer_table, "FORMAT", "next")
    newer = OfferStore(tmp_path)
    assert newer.by_instance_type("a8")
    skypilot = [
        o
        for o in newer.search(OfferFilter(provider=("lambda",), limit=999)).offers
        if o.catalogue == "skypilot" and not o.broker
    ]
    assert [o.instance_type for o in skypilot] == ["gpu_9x"]
    assert newer.search(OfferFilter(provider=("aws",))).count > 50


def test_shared_tables_are_read_only(store, tmp_path):
    shared = OfferStore(tmp_path / "elsewhere", source=str(tmp_path / "offers" / "offers.parquet"))
    assert shared.count == store.count
    assert not (tmp_path / "elsewhere").exists()
    with pytest.raises(StoreUnavailable, match="read only"):
        shared.replace("acme", "table", [])


def test_a_missing_or_broken_table_is_told(tmp_path):
    with pytest.raises(StoreUnavailable, match="cannot be read"):
        OfferStore(tmp_path, source=str(tmp_path / "none.parquet"))
    (tmp_path / "bad.parquet").write_text("not parquet")
    with pytest.raises(StoreUnavailable, match="cannot be read"):
        OfferStore(tmp_path, source=str(tmp_path / "bad.parquet"))
    pq.write_table(offer_table.to_arrow([offer()], {}).select(["provider"]), tmp_path / "narrow.parquet")
    with pytest.raises(StoreUnavailable, match="lacks the columns"):
        OfferStore(tmp_path, source=str(tmp_path / "narrow.parquet"))


def test_a_broken_file_in_the_home_is_built_anew(store, tmp_path):
    (tmp_path / "offers" / "offers.parquet").write_bytes(b"half a file")
    assert OfferStore(tmp_path).count == store.count


def test_an_unwritable_home_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises((StoreUnavailable, NotADirectoryError, FileExistsError)):
        OfferStore(tmp_path / "file")


def _build(home):
    OfferStore(home)


def test_killed_while_building_then_whole(tmp_path):
    context = multiprocessing.get_context("spawn")
    for _ in range(3):
        child = context.Process(target=_build, args=(tmp_path,))
        child.start()
        child.join(0.7)
        if child.is_alive():
            os.kill(child.pid, signal.SIGKILL)
        child.join()
        path = tmp_path / "offers" / "offers.parquet"
        if path.exists():
            pq.read_table(path)
    assert OfferStore(tmp_path).count >= 1500


def test_two_writers_lose_nothing(store, tmp_path):
    failures = []

    def write(name):
        try:
            OfferStore(tmp_path).replace(name, f"table:{name}", [offer(name, f"{name}-8", catalogue=f"table:{name}")])
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(name,)) for name in ("one", "two", "three")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert all(store.by_instance_type(f"{name}-8") for name in ("one", "two", "three"))


def test_many_threads_read_at_once(store):
    answers = []

    def ask():
        answers.extend(store.search(OfferFilter(gpu=("H100",), min_gpus=8)).count for _ in range(5))

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(answers)) == 1
    assert len(answers) == 30
