"""Machines weighed by layout, by count, and with and without a link: the sentence, and the machines behind it."""

import re

import pytest

from advisor.answer import Constraints, Workload
from advisor.named_machines import assess_as_sold, cheapest
from advisor.planner.reading import read
from advisor.planner.sizing import link_contrast, size_calls


def machines(text):
    return [(c["gpu"], c["gpus"], c["nodes"]) for _, c in size_calls(read(text))]


@pytest.mark.parametrize(
    ("text", "sized"),
    [
        ("1 node of 8 A100 or 2 nodes of 4 A100 for a 13B full fine-tune?", [("A100", 8, 1), ("A100", 8, 2)]),
        ("H200を8枚1ノードと4枚2ノード、70BのLoRAならどちら？", [("H200", 8, 1), ("H200", 8, 2)]),
        ("2 nodes of 4x L40S or one 8x A100 to train a 7B?", [("L40S", 8, 2), ("A100", 8, 1)]),
        ("2 nodes of 4x A100 PCIe or one 4x H200?", [("A100 PCIe", 8, 2), ("H200", 4, 1)]),
        ("B300 or one MI300X for a 180B?", [("B300", 1, 1), ("MI300X", 1, 1)]),
    ],
)
def test_each_layout_and_count_is_sized_as_it_was_said(text, sized):
    assert machines(text) == sized


@pytest.mark.parametrize(
    ("text", "link", "nodes"),
    [
        ("p5 with and without EFA, 3 nodes, how many times faster?", "efa", 3),
        ("p4d 2台、EFAの有無で学習速度は何倍変わりますか", "efa", 2),
        ("2 nodes of 8x H100, with vs without InfiniBand: how much faster for a 13B full fine-tune?", "infiniband", 2),
    ],
)
def test_a_link_is_contrasted_on_the_same_nodes(text, link, nodes):
    reading = read(text)
    assert link_contrast(reading).name == link
    calls = [c for _, c in size_calls(reading)]
    assert {c["nodes"] for c in calls} == {nodes}
    assert [c["network"] for c in calls[:2]] in (["as_sold", "none"], ["rdma", "none"])


@pytest.mark.parametrize(
    "text", ["What is EFA?", "Does the p5 have EFA?", "p5を2ノード借りたい。EFA付きで", "RoCE vs InfiniBand"]
)
def test_what_asks_for_no_difference_is_no_contrast(text):
    assert link_contrast(read(text)) is None


CONTRASTS = [
    ("p5 with and without EFA, 2 nodes, how many times faster?", r"2 × p5\.48xlarge.*EFA.*\*\*[\d.]+ times as fast"),
    ("p4dを4台、EFAの有無で学習速度は何倍変わりますか", r"4 × p4d\.24xlarge.*EFAあり・なし.*\*\*[\d.]+倍速い"),
    ("How much slower is a 13B full fine-tune on 8x A100 SXM without NVLink?", r"NVLink.*times as fast"),
    ("7Bのフル学習、8x H100を2ノード、RDMAありとなしでどれくらい違う？", r"RDMAあり・なし.*\*\*[\d.]+倍速い"),
]


@pytest.mark.parametrize(("question", "holds"), CONTRASTS)
def test_the_contrast_is_the_first_sentence(advisor, question, holds):
    answer = advisor.ask(question)
    assert re.search(holds, answer.text.splitlines()[0])
    with_, without = answer.machines[0], answer.machines[1]
    assert with_.nodes == without.nodes and with_.gpus == without.gpus
    assert with_.tokens_per_s > without.tokens_per_s


WEIGHED = [
    ("3 nodes of 4x A100 PCIe or one 8x H100 SXM?", r"8× H100 SXM 80 GB rather than 3 × \(4× A100 PCIe 80 GB\)"),
    ("2 nodes of 4 H200 or 1 node of 8 H200?", r"8× H200 141 GB rather than 2 × \(4× H200 141 GB\).*RDMA"),
    ("H100 8枚1ノードとH100 4枚2ノード、どっちがいい？", r"2 × \(4× H100 80 GB\)より8× H100 80 GB"),
    ("A100 PCIe 4枚のノード2台とH200 4枚1台、13Bのフル学習ならどっち？", r"H200"),
]


@pytest.mark.parametrize(("question", "holds"), WEIGHED)
def test_layouts_get_a_verdict_first(advisor, question, holds):
    answer = advisor.ask(question)
    assert re.search(holds, answer.text.splitlines()[0])
    assert len(answer.machines) == 2


COUNTED = [
    ("MI300X or one H200 for a 405B in bf16", r"None of them"),
    ("405B on B200 - are two OK?", r"No, 2× B200"),
    ("B200で405BをFP8で推論したい。8枚で足りますか？", r"はい、8× B200"),
    ("70BのLoRA、A100なら1枚で大丈夫？", r"いいえ、1× A100"),
]


@pytest.mark.parametrize(("question", "holds"), COUNTED)
def test_the_count_asked_about_is_judged(advisor, question, holds):
    assert re.search(holds, advisor.ask(question).text.splitlines()[0])


FAMILIES = [
    ("AWS p5 or GCP A3 Ultra?", "p5.48xlarge", 8),
    ("A3 HighとA3 Mega、どっちが安い？", "a3-highgpu-8g", 8),
    ("g5かg6eで7BをQLoRAしたい。どっち？", "g6e.xlarge", 1),
    ("Azure ND H100 v5 or AWS p5 for a full fine-tune of a 13B?", "p5.48xlarge", 8),
]


@pytest.mark.parametrize(("question", "named", "gpus"), FAMILIES)
def test_a_bare_family_is_its_full_machine_unless_the_job_needs_less(advisor, question, named, gpus):
    answer = advisor.ask(question)
    assert named in answer.text.splitlines()[0]
    assert [p.gpu_count for p in answer.picks if p.instance_type == named] == [gpus]
    assert "p5.4xlarge" not in answer.text


def test_a_size_that_was_said_is_kept(advisor):
    assert "p5.4xlarge" in advisor.ask("p5.4xlarge or p5.48xlarge, which is cheaper per GPU?").text
    assert {p.gpu_count for p in advisor.ask("one H100 on an AWS p5 instance").picks} == {1}


def test_several_nodes_are_priced_only_where_they_can_be_joined(advisor):
    from advisor.reasoning.candidates import can_cluster

    store = advisor.engine.offers
    row, machines_ = cheapest(store, "H100", "SXM", 16, Constraints(), nodes=2)
    assert machines_ == 2 and row.gpu_count == 8 and can_cluster(row) and row.internode_rdma == "yes"
    alone, _ = cheapest(store, "H100", "SXM", 8, Constraints())
    assert alone.price_usd_hour <= row.price_usd_hour


def test_an_instance_type_is_judged_on_its_own_row(advisor):
    engine = advisor.engine
    job = Workload(kind="lora", params_b=8.0)
    small = assess_as_sold(
        engine.offers, engine.facts, job, "p5.4xlarge|p5.48xlarge", 1, 1, "unknown", Constraints(), "en"
    )
    assert small["type"] == "p5.4xlarge" and small["fits"] and small["usd_hour"]
    job = Workload(kind="full_ft", params_b=13.0)
    full = assess_as_sold(
        engine.offers, engine.facts, job, "p5.4xlarge|p5.48xlarge", 1, 1, "unknown", Constraints(), "en"
    )
    assert full["type"] == "p5.48xlarge" and full["gpus"] == 8
    job = Workload(kind="full_ft", params_b=70.0)
    several = assess_as_sold(engine.offers, engine.facts, job, "p5.48xlarge", 1, 1, "unknown", Constraints(), "en")
    assert several["nodes"] > 1 and several["fits"] and several["label"].startswith(f"{several['nodes']} × p5.48xlarge")


PACES = [
    ("p5en vs p5e: what differs in the network?", r"p5\w+\.48xlarge .* compute and hold the same"),
    ("Is H200 faster than H100 for inference?", r"H200.* up to 1\.4\d* times as fast as .*H100"),
    ("H100とH200、学習の速さは何倍違う？", r"H200.*H100.*学習の速さは同じ"),
    ("Does H100 SXM beat A100 SXM?", r"H100 SXM 80 GB rather than 1× A100 SXM"),
]


@pytest.mark.parametrize(("question", "holds"), PACES)
def test_two_cards_without_a_job_are_compared_by_what_they_are(advisor, question, holds):
    answer = advisor.ask(question)
    assert answer.intent == "explain" and re.search(holds, answer.text.splitlines()[0])


def test_a_type_without_a_known_price_keeps_its_facts(advisor):
    engine = advisor.engine
    unpriced = next(
        o
        for o in engine.offers.all()
        if all(row.price_usd_hour is None for row in engine.offers.by_instance_type(o.instance_type))
        and o.gpu == "H100"
    )
    job = Workload(kind="full_ft", params_b=7.0)
    row = assess_as_sold(engine.offers, engine.facts, job, unpriced.instance_type, 1, 1, "unknown", Constraints(), "en")
    assert row["usd_hour"] is None and row["dense_tflops"] and row["type"] == unpriced.instance_type


@pytest.mark.parametrize(
    ("question", "link"),
    [
        ("Two nodes of 8x MI300X for serving DeepSeek-V3 in FP8: does the network between them matter?", "fast link"),
        ("MI300X 8枚で70BをLoRAしたい", "高速な接続"),
        ("Full fine-tune of a 13B on 8x MI300X", "fast link"),
    ],
)
def test_what_joins_amd_cards_is_never_called_nvlink(advisor, question, link):
    verdict = next(line for line in advisor.ask(question).text.splitlines() if link in line)
    assert "Infinity Fabric" in verdict and not verdict.startswith("**NVLink")


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("RTX 4090 4枚のマシンで30BをLoRA学習、NVLinkなしで大丈夫？", "4枚が1ノード"),
        ("Does LoRA of an 8B on two L40S need NVLink?", "2 GPUs sit in one node"),
    ],
)
def test_an_explanation_is_worked_out_for_as_many_cards_as_are_named(advisor, question, said):
    assert said in advisor.ask(question).text
