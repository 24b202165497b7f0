"""The first sentences: machines judged, alternatives weighed, links asked about, wrong premises corrected."""

import re

import pytest

from advisor.planner.writing.links import bridges
from advisor.planner.writing.opening import choice, enough, work_price


def machine(label: str, need: float, have: float, **more):
    fits = more.pop("fits", need < 0.95 * have)
    return {"label": label, "gpu": label, "gpus": 8, "nodes": 1, "need_gb": need, "have_gb": have, "fits": fits, **more}


SMALL = machine("8× S 40 GB", 52, 40)
EDGE = machine("8× E 80 GB", 78, 80, fits=False)
CHEAP = machine("8× C 80 GB", 60, 80, usd_hour=8.0, tokens_per_s=1_000.0)
QUICK = machine("8× Q 141 GB", 60, 141, usd_hour=32.0, tokens_per_s=2_000.0)


@pytest.mark.parametrize(
    ("row", "deadline", "en", "ja"),
    [
        (SMALL, None, "No,", "いいえ"),
        (EDGE, None, "Too tight", "ぎりぎり"),
        (CHEAP, None, "Yes,", "はい"),
        ({**CHEAP, "hours": 10.0}, 20.0, "Yes,", "はい"),
        ({**CHEAP, "hours": 30.0}, 20.0, "too slow", "間に合いません"),
    ],
)
def test_one_machine_is_judged_by_memory_then_by_time(row, deadline, en, ja):
    for lang, words in (("en", en), ("ja", ja)):
        said = enough(row, deadline, lang)
        assert words in said
        assert f"{row['need_gb']:g}" in said and f"{row['have_gb']:g}" in said


def test_the_only_one_that_holds_the_job_is_named_first_with_why_not_the_others():
    said = choice([SMALL, EDGE, CHEAP], None, "en")
    assert said.startswith(f"**{CHEAP['label']}**")
    assert SMALL["label"] in said and EDGE["label"] in said


def test_of_two_that_hold_it_the_cheaper_work_wins_though_an_hour_costs_less_elsewhere():
    dear_hour = {**QUICK, "usd_hour": 12.0}
    assert work_price(dear_hour) < work_price(CHEAP)
    said = choice([CHEAP, dear_hour], None, "en")
    assert said.startswith(f"**{QUICK['label']} rather than {CHEAP['label']}")
    assert choice([CHEAP, QUICK], None, "en").startswith(f"**{CHEAP['label']} rather than {QUICK['label']}")
    assert "2 times as fast" in choice([CHEAP, QUICK], None, "en")


def test_without_prices_speed_decides_and_none_is_said_where_none_fits():
    unpriced = [{k: v for k, v in row.items() if k != "usd_hour"} for row in (CHEAP, QUICK)]
    assert choice(unpriced, None, "en").startswith(f"**{QUICK['label']}**")
    assert choice([SMALL, EDGE], None, "ja").startswith("**どれも")


def first_lines(answer, count=2):
    return " ".join([line for line in answer.text.splitlines() if line.strip()][:count])


FIRST = [
    ("Will a 34B full fine-tune fit on 8x RTX A6000?", r"\bNo\b"),
    ("13BのLoRAは24GBのRTX 4090 1枚で足りる？", r"足りません"),
    ("Serve Mistral 7B: is one L4 enough?", r"L4"),
    ("QLoRA of a 33B: 1x RTX 4090 or 1x L40S?", r"L40S"),
    ("How many H100 do I need for a full fine-tune of a 30B?", r"At least \d+ GPUs"),
    ("20BのフルファインチューニングにA100 80GBは何枚必要？", r"\d+枚"),
]


@pytest.mark.parametrize(("question", "holds"), FIRST)
def test_the_question_is_answered_in_the_first_lines(advisor, question, holds):
    assert re.search(holds, first_lines(advisor.ask(question)))


WRONG = [
    ("I want two RTX 5090 joined by NVLink to train a 3B, what do I rent?", r"RTX 5090 has no NVLink"),
    ("L4にNVLinkってありますか？", r"いいえ.*L4にNVLinkはありません"),
    ("Does the A10 have NVLink?", r"\bNo\b.*A10 has no NVLink"),
    ("Is one A100 160GB enough for LoRA of a 70B?", r"Correction.*40/80 GB"),
    ("H200 256GBを8枚で70Bを学習したい", r"訂正.*141 GB"),
    ("AWSのp4dのInfiniBandを使って2ノードで学習したい", r"p4d\.24xlargeにInfiniBandはなく"),
    ("Does Azure's NC A100 v4 have InfiniBand?", r"no InfiniBand"),
    ("LoRA needs InfiniBand, right?", r"LoRA does not need InfiniBand"),
    ("ノードを増やせば必ず速くなりますよね？", r"必ず速くなるわけではありません"),
    ("Can NVLink between two servers replace the network?", r"NVLink stays inside a server"),
]


@pytest.mark.parametrize(("question", "holds"), WRONG)
def test_a_wrong_premise_is_corrected_at_once(advisor, question, holds):
    assert re.search(holds, first_lines(advisor.ask(question), 3))


BRIDGED = [
    ("Are all 4 GPUs of a 4x H200 NVL machine joined by NVLink?", r"It depends|H200 NVL"),
    ("Are all 8 GPUs of an 8x H200 NVL machine joined by NVLink?", r"\bNo\b"),
    ("Are all 4 GPUs of a 4x H100 NVL machine joined by NVLink?", r"\bNo\b"),
]


@pytest.mark.parametrize(("question", "holds"), BRIDGED)
def test_a_bridge_joins_as_many_cards_as_it_is_made_for(advisor, question, holds):
    assert re.search(holds, first_lines(advisor.ask(question), 1))


def test_every_bridge_is_of_a_known_card_that_has_one():
    from knowledge.facts import load_facts

    known = {f"{spec.gpu} {spec.gpu_variant}": spec for spec in load_facts().gpus}
    assert all(known[name].nvlink_gb_s and cards >= 2 for name, cards in bridges().items())


RIGHT = ["A100 80GB 8枚でNVLinkを使って13Bを学習", "2x 80GB H100 for LoRA of a 70B", "8x H200 141GB for DeepSeek V3"]


@pytest.mark.parametrize("question", RIGHT)
def test_what_is_right_is_not_corrected(advisor, question):
    said = advisor.ask(question).text
    assert "Correction" not in said and "訂正" not in said


def test_machines_named_are_values_of_the_answer_too(advisor):
    answer = advisor.ask("Serve Qwen2.5 14B in bf16: 1x L40S or 1x H100?")
    assert {m.label.split(" ")[1] for m in answer.machines} == {"L40S", "H100"}
    for machine_ in answer.machines:
        assert machine_.usd_hour and machine_.need_gb and machine_.have_gb


def test_a_rented_row_and_the_same_machine_named_are_as_fast(advisor):
    answer = advisor.ask("Serve Llama 3.1 70B in bf16: would 8x H100 be enough? only H100 please")
    named = answer.machines[0]
    rows = [p for p in answer.picks if p.gpu == "H100" and p.total_gpus == 8 and p.nvlink == "yes"]
    assert named.fits
    if rows and named.tokens_per_s and rows[0].estimate.tokens_per_s:
        assert named.tokens_per_s == pytest.approx(rows[0].estimate.tokens_per_s, rel=0.35)
