"""Follow-ups, prices as printed, places, what matches nothing, and the facts of a job in a line each."""

import re

import pytest

from advisor.answer import Pick
from advisor.planner.writing import prices
from advisor.planner.writing.topics import topics_of


def pick(**values) -> Pick:
    given = {
        "offer_id": "x",
        "provider": "sakura",
        "instance_type": "t",
        "gpu": "H100",
        "gpu_count": 8,
        "total_gpus": 8,
        "source": "s",
        **values,
    }
    return Pick(**given)


YEN = pick(
    currency="JPY",
    price_original_hour=3200,
    price_usd_hour=20.0,
    total_usd_hour=20.0,
    price_note="3200 JPY/h at 160 JPY/USD (2026-03-11); 10 % consumption tax included",
)
MONTHLY = pick(currency="JPY", price_note="2,500,000 JPY a month; consumption tax (10 %) not stated; billed by: month")


def test_yen_stand_first_as_printed_and_dollars_beside_them():
    assert prices.an_hour(YEN, None, "ja") == "¥3,200 ($20.00)"
    assert prices.an_hour(YEN, None, "en", nodes=2) == "¥6,400 ($40.00)"
    assert prices.an_hour(YEN, None, "ja", share=1 / 8) == "¥400 ($2.50)"


def test_a_monthly_price_is_shown_where_no_hourly_one_is_known():
    assert prices.an_hour(MONTHLY, None, "ja") == "¥2,500,000/月"
    assert prices.an_hour(MONTHLY, None, "ja", share=1 / 8) == "–"
    assert prices.a_month(MONTHLY, None) == "¥2,500,000"
    assert prices.a_month(YEN, None) == "¥2,336,000"


def test_a_printed_monthly_maximum_caps_the_month():
    capped = pick(currency="JPY", price_original_hour=990, price_note="990 JPY/h; 385,000 JPY a month at most")
    assert prices.a_month(capped, None) == "¥385,000"


def test_tax_and_rate_are_told_where_the_list_tells_them():
    note = prices.list_note((YEN,), "ja")
    assert "税込み" in note and "160" in note and "2026-03-11" in note
    assert "記載なし" in prices.list_note((MONTHLY,), "ja")
    assert prices.list_note((pick(price_usd_hour=3.0, total_usd_hour=3.0),), "ja") == ""


def test_a_cheaper_follow_up_says_what_changed(advisor):
    advisor.ask("Full fine-tune of a 14B, seq 2048. What do I rent?", thread="w-cheaper")
    answer = advisor.ask("cheaper?", thread="w-cheaper")
    line = next(line for line in answer.text.splitlines() if line.startswith("**Against the last pick"))
    assert "less an hour" in line and "→" in line
    assert answer.compared_with is not None
    assert answer.compared_with.total_usd_hour > answer.picks[0].total_usd_hour


def test_why_contrasts_with_the_turn_whose_verdict_was_another_one(advisor):
    advisor.ask("14Bをフルファインチューニング、系列長2048", thread="w-why")
    advisor.ask("LoRAなら？", thread="w-why")
    answer = advisor.ask("なぜNVLinkが不要になったの？", thread="w-why")
    assert re.search(r"1回目との違い.*フル学習.*LoRA", answer.text)
    assert answer.citations


def test_why_without_another_verdict_gives_the_reasons_of_the_pick(advisor):
    first = advisor.ask("LoRA of an 8B, which instance?", thread="w-why2")
    answer = advisor.ask("why?", thread="w-why2")
    assert f"`{first.picks[0].instance_type}`" in answer.text


def test_where_data_must_stay_names_operators_from_elsewhere(advisor):
    said = advisor.ask("個人データを国外に出せないので国内リージョンで、A100 8枚の月額は？").text
    assert "データの所在" in said and "契約" in said
    assert "データの所在" not in advisor.ask("日本リージョンのA100 8枚の料金は？").text


def test_nothing_matches_names_what_was_asked_and_the_nearest_counts(advisor):
    answer = advisor.ask("7x A100 80GB in one machine on AWS under $40 an hour")
    assert answer.intent == "no_match"
    assert "A100" in answer.text and "7 GPUs" in answer.text
    assert {p.gpu_count for p in answer.alternatives} & {4, 8}


@pytest.mark.parametrize(
    ("question", "near"),
    [("How much is a p7.48xlarge?", "p5.48xlarge"), ("Standard_ND96isr_H300_v5の料金は？", "Standard_ND96isr_H")],
)
def test_an_unknown_type_is_answered_with_real_ones(advisor, question, near):
    answer = advisor.ask(question)
    assert near in answer.text and answer.intent == "no_match"


def test_systems_by_application_are_not_for_services_that_run_all_the_time(advisor):
    said = advisor.ask("ABCIで13Bの推論サービスを動かしたい").text
    assert "バッチキュー" in said and "申請" in said


FACTS = [
    ("PPO of a 3B on one node, what do I rent?", r"4 models of 3B"),
    ("GRPOで14Bを学習したい", r"14Bのモデルを1つ学習"),
    ("LoRA of a 27B, which GPU?", r"432 GB"),
    ("Serve Qwen2.5 72B in bf16 with vLLM", r"145 GB"),
    ("Pretrain a 3B on 60B tokens", r"6 × 3B parameters × 60B tokens.*MFU"),
    ("SFT of a 14B at 64k tokens, what do I rent?", r"ZeRO do not split a sequence"),
]


@pytest.mark.parametrize(("question", "holds"), FACTS)
def test_the_arithmetic_of_the_job_is_told(advisor, question, holds):
    assert re.search(holds, advisor.ask(question).text)


def test_a_hopeless_wish_gets_something_within_reach(advisor):
    said = advisor.ask("Full fine-tune of a 400B on one A10").text
    assert "within reach" in said and "QLoRA" in said
    said = advisor.ask("Llama 3.1 405Bを一から事前学習、予算10万円").text
    assert "代案" in said and "GPU時間" in said


def test_a_budget_is_said_to_hold(advisor):
    answer = advisor.ask("Pretrain a 1B on 20B tokens, budget $3,000. Doable?")
    assert re.search(r"Yes, \$3,000 is enough|Within the budget of \$3,000", answer.text)


SELLERS = [
    ("Lambda or Azure for 8x H100?", r"rather than"),
    ("A100 8枚、スポットとオンデマンドならどちらが安い？", r"スポット"),
]


@pytest.mark.parametrize(("question", "holds"), SELLERS)
def test_sellers_and_markets_are_weighed_in_the_first_line(advisor, question, holds):
    answer = advisor.ask(question)
    assert re.search(holds, answer.text.splitlines()[0])


@pytest.mark.parametrize(
    ("words", "topic"),
    [
        ("the data must stay in the EU", "residency"),
        ("データは国内保管が条件", "residency"),
        ("does LoRA require InfiniBand", "lora_needs_rdma"),
        ("GPUを増やせば必ず速くなる", "more_is_faster"),
        ("NVLink pools the memory", "nvlink_pools"),
        ("ノード間をNVLinkでつなぐ", "nvlink_between_nodes"),
    ],
)
def test_topics(words, topic):
    assert topic in topics_of(words)


def test_ordinary_turns_touch_no_topic():
    assert not topics_of("8x H100 in Tokyo with InfiniBand for a 70B full fine-tune, two nodes")


KEPT = [
    (("GCPでA100を8枚使いたい", "ノード間はInfiniBandだよね？"), r"いいえ.*InfiniBand"),
    (("2x RTX 4090 on RunPod", "NVLink?"), r"RTX 4090 has no NVLink"),
    (("TSUBAMEを使いたい", "企業でも借りられる？"), r"申請制"),
]


@pytest.mark.parametrize(("turns", "holds"), KEPT)
def test_a_bare_link_question_is_about_what_was_spoken_of(advisor, turns, holds):
    answers = [advisor.ask(question, thread=f"w-kept-{turns[0]}") for question in turns]
    assert re.search(holds, " ".join(answers[-1].text.splitlines()[:3]))


def test_the_links_of_a_named_type_come_before_its_price(advisor):
    said = advisor.ask("InfiniBand speed of Standard_ND96isr_H100_v5").text
    assert said.index("InfiniBand 3,200 Gb/s") < (said.index("/h") if "/h" in said else len(said))


def test_hours_named_give_a_total(advisor):
    answer = advisor.ask("AWSのp5.48xlarge、オレゴンを50時間借りるといくら？")
    first = answer.picks[0]
    assert first.estimate.hours == 50
    assert first.estimate.cost_usd == pytest.approx(50 * first.total_usd_hour, rel=0.001)
    assert "50時間" in answer.text


def test_an_answer_of_every_offer_is_no_answer(advisor):
    assert "2512" not in advisor.ask("Do clouds fit NVLink bridges on A100 PCIe pairs?").text


def test_networks_are_weighed_in_numbers(advisor):
    assert re.search(r"80%.*72%", advisor.ask("InfiniBand or RoCE for training, which?").text)
