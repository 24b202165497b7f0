"""The grounding check by itself: what is supported stays, the rest goes."""

from types import SimpleNamespace

import pytest

from advisor.answer import Answer, Fx, Pick
from advisor.grounding import LinkFact, gpu_link_facts, ground
from knowledge.facts import load_facts

PICK = Pick(
    offer_id="o1",
    provider="cloud",
    instance_type="h100.8xlarge",
    gpu="H100",
    gpu_count=8,
    source="table",
    total_gpus=8,
    price_usd_hour=24.0,
    price_usd_gpu_hour=3.0,
    total_usd_hour=24.0,
    nvlink="yes",
    internode_fabric="efa",
)


def check(text, lang="en", facts=None, question="", fx=None):
    answer = Answer(lang=lang, intent="picks", text="The planner's own words.", picks=(PICK,), fx=fx)
    hit = SimpleNamespace(
        text="A port of 400 Gb/s.", title="T", section="", source="s", url=None, lang="en", as_of=None, passage_id="p"
    )
    results = SimpleNamespace(hits=(hit,), page=None, recommendation=None, links=(), assessments=(), numbered={1: hit})
    return ground(text, answer, results, question, facts or gpu_link_facts(load_facts().gpus))


@pytest.mark.parametrize(
    "sentence",
    [
        "It costs $24.00 an hour.",
        "It costs $3 per GPU-hour, or $17,520 a month of 730 hours.",
        "One day is $576.",
        "The h100.8xlarge has NVLink.",
        "The RTX 4090 has no NVLink.",
        "The port carries 400 Gb/s [1].",
        "Memory use is 41.2 GB of 80 GB.",
    ],
)
def test_what_a_result_supports_stays(sentence):
    found = check(sentence)
    assert found.text == sentence
    assert found.notes == ()


@pytest.mark.parametrize(
    ("sentence", "why"),
    [
        ("It costs $25.10 an hour.", "money"),
        ("It costs 19.99 dollars.", "money"),
        ("料金は5,000円です。", "money"),
        ("Take a p9.48xlarge.", "instance"),
        ("Take Standard_ND200_Z900_v9.", "instance"),
        ("The RTX 4090 has NVLink.", "link"),
        ("The L40S cards talk over NVLink.", "link"),
        ("RTX 4090はNVLinkでつながります。", "link"),
        ("The h100.8xlarge comes with InfiniBand.", "link"),
        ("The h100.8xlarge has no NVLink.", "link"),
    ],
)
def test_what_nothing_supports_goes(sentence, why):
    found = check("One node is enough. " + sentence)
    assert sentence not in found.text
    assert found.text.startswith("One node is enough.")
    assert found.notes[0].startswith(why)


def test_yen_at_the_stated_rate_are_supported():
    fx = Fx(rate=150.0, as_of="2026-01-01", source="bank")
    assert check("1時間あたり3,600円です。", "ja", fx=fx).notes == ()
    assert check("1時間あたり9,999円です。", "ja", fx=fx).notes != ()


def test_marks_without_a_passage_are_dropped():
    found = check("A port carries 400 Gb/s [1]. Another claim [9].")
    assert "[1]" in found.text and "[9]" not in found.text
    assert [c.n for c in found.citations] == [1]


def test_a_text_with_nothing_left_is_replaced():
    found = check("It costs $9,999.")
    assert found.text.startswith("The planner's own words.")


def test_amounts_of_the_question_may_be_repeated():
    assert check("Your cap of $77 holds.", question="under $77 per hour").notes == ()


def test_facts_given_by_name_are_used():
    facts = {"mi300x": LinkFact("no")}
    assert check("The MI300X has NVLink. One node.", facts=facts).notes[0].startswith("link")
