"""Google's catalogue: hosts and GPUs priced apart, added by zone; scheduler prices recognised and refused."""

from ingest.offers.rows import to_offers
from ingest.offers.skypilot import read_skypilot
from ingest.report import Report

HEADER = "InstanceType,vCPUs,MemoryGiB,AcceleratorName,AcceleratorCount,GpuInfo,Region,AvailabilityZone,Price,SpotPrice"


def host(name, zone, price, spot="", vcpus=8):
    return f"{name},{vcpus},{vcpus * 4},,,,{zone[:-2]},{zone},{price},{spot}"


def gpu(name, count, zone, price, spot=""):
    return f",,,{name},{count},,{zone[:-2]},{zone},{price},{spot}"


def read(*lines):
    report = Report()
    text = "\n".join([HEADER, *lines])
    return to_offers(read_skypilot(text, "gcp", "gcp/vms.csv", "a catalogue", report), report), report


def test_host_and_gpus_are_added_zone_by_zone():
    offers, report = read(
        host("a2-highgpu-8g", "us-central1-a", 7.5, 3.0, 96),
        host("a2-highgpu-8g", "us-central1-b", 7.6, 3.0, 96),
        gpu("A100", 8, "us-central1-a", 23.5, 11.5),
        gpu("A100", 8, "us-central1-b", 23.5, 11.4),
    )
    prices = {offer.spot: offer.price_usd_hour for offer in offers}
    assert prices == {False: 31.0, True: 14.4}
    one = offers[0]
    assert (one.instance_type, one.gpu, one.gpu_variant, one.gpu_count, one.gpu_memory_gb, one.vcpus) == (
        "a2-highgpu-8g",
        "A100",
        "SXM",
        8,
        40,
        96,
    )
    assert report.rejected == []


def test_a_host_price_of_zero_is_part_of_the_sum():
    offers, _ = read(host("a4-highgpu-8g", "us-central1-b", 0.0, 0.0, 224), gpu("B200", 8, "us-central1-b", 90.2, 34.2))
    assert {offer.price_usd_hour for offer in offers} == {90.2, 34.2}


def test_a_gpu_without_a_machine_in_its_zone_is_counted():
    offers, report = read(host("a2-highgpu-8g", "us-central1-a", 7.5, 3.0), gpu("A100", 8, "us-west1-b", 23.5))
    assert offers == []
    assert report.skipped["GPU price without a machine that takes it in that zone"] == 1
    assert report.skipped["machine without a GPU in that zone"] == 1


def test_each_size_of_a_family_takes_its_own_gpu_price():
    offers, _ = read(
        host("g2-standard-4", "us-east4-a", 0.2, vcpus=4),
        host("g2-standard-8", "us-east4-a", 0.3, vcpus=8),
        host("g2-standard-24", "us-east4-a", 0.9, vcpus=24),
        gpu("L4", 1, "us-east4-a", 0.5),
        gpu("L4", 2, "us-east4-a", 1.0),
    )
    assert {offer.instance_type: (offer.gpu_count, offer.price_usd_hour) for offer in offers} == {
        "g2-standard-4": (1, 0.7),
        "g2-standard-8": (1, 0.8),
        "g2-standard-24": (2, 1.9),
    }


def test_gpus_on_n1_go_on_the_smallest_machine_that_is_large_enough():
    offers, _ = read(
        host("n1-standard-4", "asia-northeast1-a", 0.2, vcpus=4),
        host("n1-standard-8", "asia-northeast1-a", 0.4, vcpus=8),
        gpu("T4", 1, "asia-northeast1-a", 0.37),
        gpu("T4", 2, "asia-northeast1-a", 0.74),
        gpu("T4", 4, "asia-northeast1-a", 1.48),
    )
    assert {offer.instance_type: offer.price_usd_hour for offer in offers} == {
        "n1-standard-4+1xT4": 0.57,
        "n1-standard-8+2xT4": 1.14,
    }


def test_scheduler_prices_known_by_value_are_refused_and_spot_is_kept():
    offers, report = read(
        host("a3-highgpu-8g", "asia-northeast1-b", 12.1, 3.0, 208),
        gpu("H100", 8, "asia-northeast1-b", 33.60609, 28.2),
    )
    assert [(offer.spot, offer.price_usd_hour) for offer in offers] == [(True, 31.2)]
    refused = report.rejected[0]
    assert (refused.row, refused.field, refused.value) == (3, "Price", "33.60609")
    assert "Dynamic Workload Scheduler" in refused.reason


def test_scheduler_prices_known_by_comparison_are_refused():
    offers, report = read(
        host("a3-megagpu-8g", "us-east4-a", 10, 4, 208),
        host("a3-megagpu-8g", "us-west1-a", 10, 4, 208),
        gpu("H100-MEGA", 8, "us-east4-a", 83.0, 20),
        gpu("H100-MEGA", 8, "us-west1-a", 40.0, 20),
    )
    on_demand = {offer.region: offer.price_usd_hour for offer in offers if not offer.spot}
    assert on_demand == {"us-east4": 93.0}
    assert len(report.rejected) == 1


def test_cheaper_regions_of_ordinary_gpus_are_no_scheduler_prices():
    offers, report = read(
        host("g2-standard-4", "us-east4-a", 0.2, vcpus=4),
        host("g2-standard-4", "me-central2-a", 0.2, vcpus=4),
        gpu("L4", 1, "us-east4-a", 0.55),
        gpu("L4", 1, "me-central2-a", 0.9),
    )
    assert len(offers) == 2
    assert report.rejected == []


def test_tpus_hold_their_host_and_are_counted_in_chips():
    offers, _ = read(
        ",,,tpu-v5litepod-8,1,tpu-v5litepod-8,us-west4,us-west4-a,9.6,3.6",
        ",,,tpu-v3-8,1,tpu-v3-8,us-central1,us-central1-a,8.0,2.0",
    )
    found = {(offer.gpu, offer.gpu_count, offer.gpu_memory_gb) for offer in offers}
    assert found == {("TPU v5e", 8, 16), ("TPU v3", 4, 32)}
    assert all(offer.nvlink == "no" for offer in offers)


def test_a_placeholder_for_every_size_is_refused():
    lines = [f",,,tpu-v6e-{n},1,tpu-v6e-{n},asia-east1,asia-east1-c,700.0,700.0" for n in (1, 4, 8)]
    offers, report = read(*lines, ",,,tpu-v6e-8,1,tpu-v6e-8,us-east1,us-east1-b,21.6,4.1")
    assert {offer.region for offer in offers} == {"us-east1"}
    assert sum("any number of GPUs" in entry.reason for entry in report.rejected) == 3
