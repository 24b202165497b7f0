"""The networks of two sellers beside each other: level or ahead, as each sells them, and what is no RDMA."""

import re

import pytest

from advisor.named_links import link_facts, store_networks
from advisor.planner.reading import read
from advisor.planner.writing.networks import effective

WEIGHED = [
    ("InfiniBand on Nebius vs RoCE on OCI", r"practically level.*\n*", ("gpu-h100-sxm_8gpu", "BM.GPU.H100.8")),
    ("NebiusのInfiniBandとOCIのRoCE、どちらが速い？", r"ほぼ互角", ("gpu-h100-sxm_8gpu", "BM.GPU.H100.8")),
    ("Is AWS EFA slower than Crusoe's InfiniBand?", r"practically level.*A100 nodes Crusoe", ("p5.48xlarge",)),
    ("GCPのTCPXOとAzureのInfiniBandを比較して", r"RDMAではありません", ("a3-megagpu-8g", "Standard_ND96isr_H100_v5")),
    ("whose network between A100 nodes is better, AWS or OCI?", r"Oracle.* rather than AWS", ("p4d.24xlarge",)),
]


@pytest.mark.parametrize(("question", "holds", "types"), WEIGHED)
def test_two_networks_get_a_verdict_first(advisor, question, holds, types):
    answer = advisor.ask(question)
    assert answer.intent == "explain"
    assert re.search(holds, answer.text.splitlines()[0])
    assert all(name in answer.text for name in types)


def test_a_seller_without_a_known_network_is_said_to_have_none_known(advisor):
    assert "cannot be compared" in advisor.ask("Vast.ai vs OCI: whose network is faster?").text


def test_a_kind_of_network_that_one_of_them_does_not_sell_is_corrected(advisor):
    assert "AWS has no InfiniBand" in advisor.ask("Is Azure or AWS better for InfiniBand?").text.splitlines()[0]


def test_a_card_that_one_of_them_does_not_sell_is_named(advisor):
    assert "no node of eight A100" in advisor.ask("CoreWeave's InfiniBand vs AWS EFA on A100, which?").text


@pytest.mark.parametrize(
    "text",
    [
        "What is RoCE on OCI?",
        "Does Azure have InfiniBand?",
        "Lambda or Azure for 8x H100?",
        "H100 with InfiniBand on Azure, cheapest",
        "AWSとAzureで70Bの学習はどちらが安い？",
    ],
)
def test_one_seller_a_machine_or_a_price_is_no_weighing_of_networks(text):
    assert "networks" not in read(text).acts


def test_either_of_two_rdma_networks_is_asked_for():
    constraints = read("16 H100 with InfiniBand on Azure or EFA on AWS, cheapest").constraints
    assert (constraints.internode, constraints.fabrics) in (("rdma", ()), (None, ()))
    assert read("16 H100 with InfiniBand on Azure, cheapest").constraints.fabrics == ("infiniband",)


def test_the_networks_of_a_seller_are_one_a_card_rdma_first(advisor):
    rows = store_networks(advisor.engine.offers, "aws")
    assert len({row["gpu"] for row in rows}) == len(rows)
    assert all(row["gpus"] == 8 and row["fabric"] not in ("unknown", "none") for row in rows)
    lambda_ = {row["gpu"]: row for row in store_networks(advisor.engine.offers, "lambda")}
    assert lambda_["H100"]["rdma"] == "yes"
    (row,) = link_facts(advisor.engine.offers, advisor.engine.facts, ["oci"])
    assert row["networks"][0]["gbit_s"] >= 3200


def test_the_effective_rate_is_the_line_rate_times_the_share_of_the_fabric():
    assert effective({"fabric": "infiniband", "gbit_s": 3200.0}) > effective({"fabric": "efa", "gbit_s": 3200.0})
    assert effective({"fabric": "roce", "gbit_s": None}) == 0.0
