"""Errors that others have published: none of them is in our data."""

import csv

import pytest

from knowledge.gpu_names import DATA
from knowledge.links import join_links
from knowledge.offer_table import shipped_offers

OFFERS = shipped_offers()


def of_type(name):
    found = [offer for offer in OFFERS if offer.instance_type == name]
    assert found, name
    return found


def test_nd_a100_v4_is_bits_not_bytes():
    for name in ("Standard_ND96asr_v4", "Standard_ND96amsr_A100_v4"):
        assert join_links("azure", name, "A100", "SXM", 8).internode_gbit_s_per_node == 1600


def test_gb200_on_azure_has_nvlink_up_and_infiniband_out():
    links = join_links("azure", "Standard_ND128isr_NDR_GB200_v6", "GB200", "superchip", 4)
    assert links.nvlink_gb_s_per_gpu == 1800
    assert (links.internode_fabric, links.internode_gbit_s_per_node) == ("infiniband", 1600)


def test_nd_h100_v5_is_not_its_ethernet_front_end():
    assert join_links("azure", "Standard_ND96isr_H100_v5", "H100", "SXM", 8).internode_gbit_s_per_node == 3200


@pytest.mark.parametrize("gpu", ["B200", "B300"])
def test_nvlink_5_is_1800_gb_s_a_gpu(gpu):
    assert join_links("anybody", "x", gpu, "SXM", 8).nvlink_gb_s_per_gpu == 1800


def test_p6_b200_does_not_have_32_interfaces():
    links = join_links("aws", "p6-b200.48xlarge", "B200", "SXM", 8)
    assert links.internode_gbit_s_per_node == 3200
    assert "32" not in (links.note or "")


def test_p4d_is_a100_40_gb_with_efa_and_cheaper_than_p5():
    for offer in of_type("p4d.24xlarge"):
        assert (offer.gpu, offer.gpu_memory_gb) == ("A100", 40)
        assert (offer.internode_fabric, offer.internode_gbit_s_per_node) == ("efa", 400)
        assert offer.price_usd_hour < 45
    assert all(offer.gpu == "H100" for offer in of_type("p5.48xlarge"))


def test_aws_h100_has_efa_and_no_roce():
    assert {offer.internode_fabric for offer in OFFERS if offer.provider == "aws" and offer.gpu == "H100"} == {"efa"}


def test_g6e_sizes():
    assert all((offer.gpu_count, offer.internode_gbit_s_per_node) == (8, 400) for offer in of_type("g6e.48xlarge"))
    assert all(offer.gpu_count == 1 for offer in of_type("g6e.xlarge"))


def test_no_sparse_peak_is_called_a_dense_one():
    path = DATA / "gpus.csv"
    if not path.exists():
        pytest.skip("the table of GPU specifications is not there")
    with path.open(encoding="utf-8", newline="") as handle:
        for row in csv.DictReader(handle):
            if row["gpu"] in {"H100", "H200"} and row.get("bf16_dense_tflops"):
                assert float(row["bf16_dense_tflops"]) < 1000, row


def test_nd96is_h100_is_sxm_with_nvlink_without_infiniband():
    links = join_links("azure", "Standard_ND96is_H100_v5", "H100", "SXM", 8)
    assert (links.nvlink, links.internode_rdma) == ("yes", "no")
    assert all(
        offer.gpu_variant in {"SXM", "OAM"} for offer in OFFERS if offer.instance_type.startswith("Standard_ND96is")
    )


def test_a100_has_nvlink_3():
    generations = {offer.nvlink_generation for offer in OFFERS if offer.gpu == "A100" and offer.nvlink == "yes"}
    assert generations == {"3"}


def test_a3_rates_say_that_they_count_the_front_end():
    assert "front-end" in join_links("gcp", "a3-highgpu-8g", "H100", "SXM", 8).note
    assert "1600" in join_links("gcp", "a3-megagpu-8g", "H100", "SXM", 8).note


def test_the_sharp_corners_of_other_sets():
    memory = {
        offer.gpu: offer.gpu_memory_gb
        for offer in OFFERS
        if offer.gpu_count >= 1 and offer.gpu in {"B200", "H200", "MI325X", "GB300"}
    }
    assert (memory["B200"], memory["H200"], memory["GB300"]) == (180, 141, 288)
    assert all(offer.country == "IL" for offer in OFFERS if offer.region == "me-west-1")
    on_demand = [
        offer for offer in OFFERS if offer.provider == "gcp" and not offer.spot and offer.gpu in {"H100", "B200"}
    ]
    assert all(offer.price_usd_gpu_hour is None or offer.price_usd_gpu_hour > 9 for offer in on_demand)
    assert not [offer for offer in OFFERS if offer.provider == "mithril"]
