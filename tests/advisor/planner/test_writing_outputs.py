"""What is asked beside a machine: for a link that is not used, the commands whose output tells why; for "cheapest" without an amount, what it is by."""

import re

import pytest


@pytest.mark.parametrize(
    ("question", "has", "has_not"),
    [
        (
            "NCCL does not use InfiniBand between my servers",
            ("ibv_devinfo", "two-nodes.log", "NET/Socket"),
            "nvlink -s",
        ),
        ("p4dを2台借りたがEFAが認識されません", ("fi_info", "two-nodes.log", "貼り付け"), "nvlink -s"),
        ("NVLink is not used between the GPUs of my box", ("topo -m", "nvlink -s", "one-node.log"), "ibv_devinfo"),
    ],
)
def test_an_unused_link_asks_for_the_outputs_of_its_commands(advisor, question, has, has_not):
    answer = advisor.ask(question)
    asked = answer.text.split("```bash")[-1]
    assert answer.intent == "troubleshoot" and answer.citations
    assert all(word in answer.text for word in has) and has_not not in asked


def test_an_explanation_asks_for_no_outputs(advisor):
    assert "```bash\n# RDMA" not in advisor.ask("What is InfiniBand for?").text


HOURLY = re.compile(r'"cheapest" means by the hour|「最安」は1時間あたり')


@pytest.mark.parametrize(
    "question", ["cheapest GPU for a full fine-tune of a 3B", "14BのLoRAを一番安く", "QLoRA of a 33B, lowest price?"]
)
def test_cheapest_training_without_an_amount_says_that_it_is_by_the_hour(advisor, question):
    answer = advisor.ask(question)
    assert HOURLY.search(answer.text) and any("hour" in a or "1時間" in a for a in answer.assumptions)


@pytest.mark.parametrize(
    "question",
    [
        "cheapest way to full fine-tune a 3B on 200M tokens",
        "70Bの推論を一番安く",
        "full fine-tune of a 3B, what do I rent?",
    ],
)
def test_with_an_amount_or_for_a_service_nothing_is_said_of_the_hour(advisor, question):
    assert not HOURLY.search(advisor.ask(question).text)


def test_for_an_amount_the_next_row_is_the_next_by_the_whole_job(advisor):
    answer = advisor.ask("cheapest way to full fine-tune a 7B on 300M tokens")
    costs = [p.estimate.cost_usd for p in answer.picks]
    assert "cheapest for the whole job" in answer.text.splitlines()[0]
    assert costs[0] == min(costs)


PAID = [
    ("予算50万円で3Bの継続事前学習は何トークンまでできますか", r"^\*\*\$3,\d+ \(¥500,000\)で約[\d,.]+億トークン"),
    (
        "How many tokens can I train a 7B on with $4,000?",
        r"^\*\*\$4,000 pays for about [\d.]+ (?:billion|million) tokens",
    ),
]


@pytest.mark.parametrize(("question", "holds"), PAID)
def test_a_budget_is_told_in_tokens_where_that_is_asked(advisor, question, holds):
    assert re.search(holds, advisor.ask(question).text.splitlines()[0])


ONE_NODE = [
    ("Can a 13B full fine-tune run on one node?", r"Yes, one node is enough"),
    ("7BのGRPOは1ノードで済みますか", r"はい、1ノードで足ります"),
    ("Is one node enough for a full fine-tune of a 405B?", r"No, one node does not hold it"),
]


@pytest.mark.parametrize(("question", "holds"), ONE_NODE)
def test_whether_one_node_is_enough_is_answered_first(advisor, question, holds):
    assert re.search(holds, advisor.ask(question).text.splitlines()[0])


TITLES = [
    ("Two nodes are barely faster than one for our 7B fine-tune, what is wrong?", "NET/Socket"),
    ("GH200は2枚つなぐとNVLinkになりますか？", "GH200"),
    ("Is 100 Gb/s between nodes enough for training a 13B?", "Ethernet"),
    ("推論だけならPCIe版で十分ですよね？", "ワークロード別"),
]


@pytest.mark.parametrize(("question", "title"), TITLES)
def test_the_guide_is_the_one_about_what_was_asked(advisor, question, title):
    heads = [line for line in advisor.ask(question).text.splitlines() if line.startswith("**")]
    assert title in heads[0]
