"""Whole turns with the built-in planner: the questions a newcomer asks first, in both languages."""

import json
import re
import threading

import pytest

from advisor.answer import Done, Step, TextDelta
from advisor.conversation import build_advisor
from advisor.errors import BadRequest
from advisor.planner.writing.citing import marks_in
from advisor.settings import Settings

FAQ = [
    (
        "I am renting a single 8-GPU server. Must it come with InfiniBand on top of NVLink?",
        "en",
        r"second|one server|one node|stays",
    ),
    ("8枚のサーバを1台だけ借りる場合、NVLinkに加えてInfiniBandも付けるべき？", "ja", r"2台目|1台|不要"),
    ("My model runs on one card. Would an NVLink or InfiniBand machine run it quicker?", "en", r"\bno\b|neither|not"),
    (
        "モデルは1枚に載ります。NVLinkやInfiniBand付きのマシンにすれば処理は速くなる？",
        "ja",
        r"いいえ|速くなりません|なりません|不要|使いません",
    ),
    (
        "Why do people training on hundreds of GPUs care about the network more than about the card?",
        "en",
        r"wait|idle|communicat|exchang",
    ),
    ("何百枚も使う学習だと、カードの性能よりネットワークが大事と言われる理由は？", "ja", r"待|通信|同期"),
    ("If a listing has four GPUs in it, can I take it that they are joined by NVLink?", "en", r"\bno\b|not|PCIe"),
    ("GPUが4枚あるインスタンスなら、必ずNVLinkでつながっていると考えていい？", "ja", r"いいえ|限らない|PCIe"),
]


@pytest.mark.parametrize(("question", "lang", "holds"), FAQ)
def test_the_four_common_questions(advisor, question, lang, holds):
    answer = advisor.ask(question)
    assert (answer.lang, answer.intent) == (lang, "explain")
    assert re.search(holds, answer.text, re.IGNORECASE)
    assert answer.citations
    for citation in answer.citations:
        assert citation.quote in advisor.passages.get(citation.passage_id).text
    assert marks_in(answer.text) == {c.n for c in answer.citations}


JOBS = [
    ("Full fine-tune of a 7B model, one node", "full_ft", 7),
    ("70Bを8台×8枚で事前学習したい", "pretrain", 70),
    ("single-GPU batch inference of an 8B model, cheapest", "batch_inference", 8),
]


@pytest.mark.parametrize(("question", "kind", "params"), JOBS)
def test_picks_fit_and_say_what_they_rest_on(advisor, question, kind, params):
    answer = advisor.ask(question)
    assert answer.intent == "picks"
    assert (answer.workload.kind, answer.workload.params_b) == (kind, params)
    for pick in answer.picks:
        assert pick.estimate.fits
        assert pick.estimate.memory_gb_per_gpu <= pick.gpu_memory_gb
        assert pick.nvlink in ("yes", "partial", "no", "unknown")
        assert pick.source and pick.as_of
        offer = advisor.offers.get(pick.offer_id)
        assert (offer.price_usd_hour, offer.instance_type) == (pick.price_usd_hour, pick.instance_type)
        assert pick.instance_type in answer.text
    assert re.search(r"\d+(\.\d+)? ?GB", answer.text)


def test_pretraining_on_eight_nodes_gets_rdma_and_eight_nodes(advisor):
    picks = advisor.ask("70Bを8台×8枚で事前学習したい").picks
    assert {(p.nodes, p.total_gpus) for p in picks} == {(8, 64)}
    assert {p.internode_rdma for p in picks} == {"yes"}


def test_one_gpu_job_is_told_that_neither_link_helps(advisor):
    answer = advisor.ask("single-GPU batch inference of an 8B model, cheapest")
    assert {p.total_gpus for p in answer.picks} == {1}
    assert (answer.needs.nvlink, answer.needs.internode_rdma) == ("no", "no")
    assert "Neither NVLink nor InfiniBand" in answer.text
    prices = [p.total_usd_hour for p in answer.picks]
    assert prices == sorted(prices)


@pytest.mark.parametrize(
    "question",
    ["What's the weather like in Paris this evening?", "今夜の札幌の天気は？", "Write me a poem about autumn leaves"],
)
def test_what_is_not_about_gpus_is_declined(advisor, question):
    answer = advisor.ask(question)
    assert answer.intent == "refuse"
    assert not answer.picks and not answer.citations


def test_an_empty_question_asks_what_to_run(advisor):
    assert advisor.ask("").intent == "clarify"
    assert advisor.ask("   \n", lang_hint="en").lang == "en"


def test_an_unknown_gpu_is_not_invented(advisor):
    answer = advisor.ask("What does an 8x H950 box cost per hour?")
    assert answer.intent == "no_match"
    assert not answer.picks
    assert "H950" in answer.text


def test_every_event_comes_in_order_and_the_text_is_the_streamed_text(advisor):
    events = list(advisor.stream("LoRA of an 8B model, what do I rent?"))
    kinds = [type(e) for e in events]
    assert kinds[-1] is Done and kinds.count(Done) == 1
    first_text = kinds.index(TextDelta)
    assert all(kind is Step for kind in kinds[:first_text])
    running = [e.name for e in events if isinstance(e, Step) and e.state == "running"]
    done = [e.name for e in events if isinstance(e, Step) and e.state == "done"]
    assert sorted(running) == sorted(done)
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == events[-1].answer.text


def test_follow_ups_change_only_what_they_say(advisor):
    thread = "follow-ups"
    first = advisor.ask("Full fine-tune of a 13B model on one node. What should I rent?", thread)
    cheaper = advisor.ask("only spot, and cheaper please", thread)
    lora = advisor.ask("what about LoRA?", thread)
    assert first.workload.params_b == cheaper.workload.params_b == lora.workload.params_b == 13
    assert lora.workload.kind == "lora"
    assert lora.picks[0].total_usd_hour <= first.picks[0].total_usd_hour


def test_a_conversation_survives_a_restart(built_home):
    settings = Settings(home=built_home)
    build_advisor(settings).ask("LoRA of a 34B model in Japan", "restart")
    answer = build_advisor(settings).ask("in the US instead", "restart")
    assert answer.workload.params_b == 34
    assert {p.country for p in answer.picks} == {"US"}


def test_conversations_at_once_do_not_mix(advisor):
    sizes = [7, 8, 13, 14, 30, 34, 40, 65, 70, 72]
    found = {}

    def talk(size):
        advisor.ask(f"LoRA of a {size}B model", f"mix-{size}")
        found[size] = advisor.ask("cheaper?", f"mix-{size}").workload.params_b

    threads = [threading.Thread(target=talk, args=(size,)) for size in sizes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {size: size for size in sizes}


def test_a_question_too_long_is_refused_with_the_limit(built_home):
    short = build_advisor(Settings(home=built_home, max_input_chars=100))
    with pytest.raises(BadRequest, match="ADVISOR_MAX_INPUT_CHARS"):
        short.ask("x" * 101)


def test_markup_and_sql_in_a_question_stay_text(advisor):
    answer = advisor.ask("L40S'; DROP TABLE offers; -- <script>alert(1)</script> cheapest?")
    assert answer.picks and {p.gpu for p in answer.picks} == {"L40S"}
    assert "<script>" not in answer.text
    assert advisor.offers.count > 1000


def test_an_answer_is_json_with_the_fixed_names(advisor):
    row = json.loads(advisor.ask("QLoRA of a 70B model").model_dump_json(by_alias=True))
    fixed = "lang intent text workload constraints needs picks relaxed counterfactual assumptions fx citations tool_calls ms"
    assert set(fixed.split()) <= set(row)
    pick = "role offer_id provider instance_type gpu gpu_variant gpu_count gpu_memory_gb region country spot price_usd_hour"
    pick += " price_usd_gpu_hour as_of source nodes total_gpus total_gpu_memory_gb total_usd_hour nvlink nvlink_gb_s_per_gpu"
    pick += (
        " nvlink_domain_gpus internode_fabric internode_gbit_s_per_node internode_rdma fabric_source fabric_confidence"
    )
    assert set((pick + " estimate why caveats").split()) <= set(row["picks"][0])


def test_edited_assumptions_recompute(advisor):
    first = advisor.ask("Full fine-tune of a 7B model, what do I rent?", "edited")
    changed = first.workload.model_copy(update={"params_b": 14.0, "model": None})
    events = list(advisor.stream("(edited)", "edited", workload=changed, constraints=first.constraints))
    assert events[-1].answer.workload.params_b == 14
    assert events[-1].answer.picks


def test_a_size_in_round_figures_is_sized_like_the_model(advisor):
    answer = advisor.ask("Full fine-tune of Llama 405B for $100 in total")
    assert answer.intent == "infeasible"
    assert not answer.notes


def test_a_failed_calculation_is_told(built_home, monkeypatch):
    own = build_advisor(Settings(home=built_home))
    from advisor import selection

    def broken(*_args, **_options):
        raise RuntimeError("broken")

    monkeypatch.setattr(selection, "recommend_from_store", broken)
    answer = own.ask("Full fine-tune of a 9B model on one node")
    assert "failed:recommend" in answer.notes
    assert "calculation failed" in answer.text
    assert not answer.picks


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("We want NVLink between our two servers", "NVLink stays inside a server"),
        ("InfiniBandで1ノード内の8枚の通信は速くなりますか", "サーバー同士"),
    ],
)
def test_what_a_link_cannot_join_is_said_first(advisor, question, said):
    assert said in advisor.ask(question).text[:120]


@pytest.mark.parametrize(
    ("question", "verdict"),
    [
        ("Are 4x RTX A5000 all joined by NVLink?", "**No.**"),
        ("H100 NVL 8枚は全部NVLinkでつながりますか？", "**いいえ。**"),
        ("Is NVLink all-to-all on p3dn.24xlarge?", "**No.**"),
        ("Does RTX 4090 have NVLink?", "**No.**"),
        ("Is NVLink on H100 SXM guaranteed at every marketplace host?", ""),
    ],
)
def test_links_of_pairs_are_no_link_of_all(advisor, question, verdict):
    text = advisor.ask(question).text
    assert text.startswith(verdict)
    assert not text.startswith("**Yes.**")


def test_a_card_that_holds_the_model_for_few_requests_holds_it(advisor):
    answer = advisor.ask("Can one RTX 5090 serve Qwen3 32B in 4-bit?")
    assert answer.text.startswith("**Yes")
    assert "at a time" in answer.text[:300]
    many = advisor.ask("Can one RTX 5090 serve Qwen3 32B in 4-bit with 64 concurrent requests?")
    assert many.text.startswith("**No")


def test_an_explanation_of_a_job_keeps_to_the_card_it_names(advisor):
    answer = advisor.ask("Does a single H100 with InfiniBand serve a 7B faster than one without?")
    assert answer.intent == "explain"
    assert "one H100 holds the job" in answer.text
