"""Verdicts that do not contradict the rows, budgets against time, native precisions, and numbers of cards nobody offers."""

import pytest
from made_offers import NVLINK4, RDMA, market, offer

from advisor.answer import Constraints, Workload
from advisor.reasoning import picking, trade
from advisor.reasoning.candidates import Candidate, Result, Task, node_counts
from advisor.reasoning.counterfactuals import link_worth
from advisor.reasoning.recommend import least_cards, recommend, wanted_of
from advisor.reasoning.search import floor_gb, group_offers, search
from advisor.reasoning.workload import complete
from advisor.reasoning.worth import errand_hours
from knowledge.facts import load_facts

FACTS = load_facts()
MARKET = market()
BIG = offer("delta", "B200", "SXM", 8, 180, 40.0, **NVLINK4, **RDMA)


def ask(kind, constraints=None, offers=None, lang="en", **fields):
    rows = MARKET if offers is None else offers
    return recommend(Workload(kind=kind, **fields), constraints or Constraints(), rows, facts=FACTS, lang=lang)


def says(lines, *words):
    return any(all(word in line for word in words) for line in lines)


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("full_ft", {"params_b": 3}),
        ("full_ft", {"params_b": 13}),
        ("full_ft", {"params_b": 70}),
        ("lora", {"params_b": 8}),
        ("inference", {"params_b": 70}),
        ("pretrain", {"params_b": 7, "tokens": 1e11, "deadline_hours": 200}),
    ],
)
@pytest.mark.parametrize("wanted", [Constraints(), Constraints(nodes=2), Constraints(internode="rdma")])
def test_one_node_is_never_said_beside_a_needed_network(kind, fields, wanted):
    found = ask(kind, wanted, [*MARKET, BIG], **fields)
    if found.needs is None:
        return
    several = [p for p in found.picks if p.nodes > 1]
    one_node = says(found.needs.reasons, "fits in one node")
    assert not (one_node and (found.needs.internode_rdma != "no" or several))
    asked = bool(wanted.nodes or wanted.internode)
    if found.picks and not several and not asked:
        assert not says(found.needs.reasons, "Over ", "nodes")


def test_rows_of_one_and_of_several_nodes_are_told_apart():
    offers = [offer("delta", "H200", "SXM", 8, 141, 20.0, **NVLINK4, **RDMA), BIG]
    found = ask("full_ft", offers=offers, params_b=70)
    assert {p.nodes > 1 for p in found.picks} == {True, False}
    assert found.needs.internode_rdma == "yes"
    assert says(found.needs.reasons, "From the second node on", "Over ")


def test_a_first_pick_of_one_gpu_needs_no_nvlink():
    single = offer("juliet", "B200", "SXM", 1, 180, 3.0, nvlink="no")
    several = offer("juliet", "B200", "SXM", 8, 180, 60.0, **NVLINK4)
    found = ask("full_ft", Constraints(sort="price"), [single, several], params_b=3)
    assert found.picks[0].total_gpus == 1 and found.picks[-1].total_gpus == 8
    assert found.needs.nvlink != "yes"
    assert says(found.needs.reasons, "only if several GPUs")


def test_replicas_on_one_gpu_each_need_no_nvlink():
    node = offer("kilo", "L40S", "PCIe", 2, 48, 2.0, nvlink="no")
    found = ask("inference", Constraints(gpu_count=2), [node], params_b=8, concurrency=32)
    assert found.needs.nvlink == "no" and says(found.needs.reasons, "whole copy")


def test_a_card_without_nvlink_is_not_its_own_reference():
    node = offer("kilo", "L40S", "PCIe", 8, 48, 7.0, nvlink="no")
    workload = Workload(kind="full_ft", params_b=7)
    task = Task(complete(workload, FACTS), wanted_of(workload), FACTS)
    held = search(task, group_offers([node], Constraints(), FACTS), Constraints()).fitting
    links = link_worth(task, held)
    assert links.stated and links.on.offer.gpu == "H100" and links.nvlink > 1.05
    found = ask("full_ft", offers=[node], params_b=7)
    assert found.needs.nvlink != "no" and says(found.needs.reasons, "cannot join", "H100 SXM")
    assert not any(c.with_ and c.with_.gpu == "H100" for c in found.counterfactuals)


@pytest.mark.parametrize(
    ("model", "precision"),
    [
        ("DeepSeek-V3", "fp8"),
        ("deepseek-ai/DeepSeek-R1-0528", "fp8"),
        ("Kimi K2", "fp8"),
        ("moonshotai/Kimi-K2-Thinking", "int4"),
        ("gpt-oss-120b", "fp4"),
    ],
)
def test_serving_takes_the_published_precision(model, precision):
    sizing = complete(Workload(kind="inference", model=model), FACTS)
    assert sizing.workload.precision == precision
    assert sizing.workload.sources["precision"] == "registry"
    stated = complete(Workload(kind="inference", model=model, precision="bf16"), FACTS)
    assert stated.workload.precision == "bf16" and stated.workload.sources["precision"] == "stated"
    assert complete(Workload(kind="full_ft", model=model), FACTS).workload.precision == "bf16"


def test_a_native_precision_is_named_among_the_assumptions_and_fits():
    found = ask("moe_inference", Constraints(gpu_count=8, gpus=("H200",)), [MARKET[11]], model="DeepSeek V3")
    assert found.picks and found.picks[0].estimate.fits
    assert says(found.assumptions, "fp8", "published")


def test_a_service_that_the_month_does_not_pay_for_is_not_picked():
    cheapest = min(p.total_usd_hour for p in ask("inference", Constraints(sort="price"), params_b=8).picks)
    found = ask("inference", Constraints(budget_usd_month=cheapest * 400), params_b=8)
    assert found.outcome == "infeasible" and found.nearest
    assert found.required["budget_usd_month"] == pytest.approx(cheapest * 730, abs=0.01)
    assert says(found.nearest[0].caveats, "a month", "hours")


def test_a_month_without_known_hours_says_how_many_it_pays_for():
    found = ask("video", Constraints(budget_usd_month=100), memory_gb=24)
    hours = 100 / found.picks[0].total_usd_hour
    assert hours < 730 and says(found.picks[0].caveats, f"{hours:,.0f} hours")
    rich = ask("video", Constraints(budget_usd_month=5000), memory_gb=24)
    assert not says(rich.picks[0].caveats, "a month")


def test_a_total_pays_for_the_named_rental_time():
    found = ask("lora", Constraints(budget_usd=100), params_b=8, deadline_hours=72)
    assert found.picks and all(p.total_usd_hour * 72 <= 100 for p in found.picks)
    short = ask("lora", Constraints(budget_usd=10), params_b=8, deadline_hours=72)
    assert short.outcome == "infeasible" and short.required["budget_usd"] > 10


def test_a_total_without_any_time_says_how_many_hours_it_pays_for():
    found = ask("lora", Constraints(budget_usd=100), params_b=8)
    for p in found.picks:
        assert says(p.caveats, "$100", f"{100 / p.total_usd_hour:,.0f} hours")


def made(seller, usd_hour, pace, sizing):
    result = Result(1, 10.0, {}, "1 GPU", pace=pace)
    row = offer(seller, "L40S", "PCIe", 1, 48, usd_hour)
    return Candidate(row, None, result, usd_hour, None, None, errand_hours(sizing, pace * 1e3, FACTS.values))


@pytest.mark.parametrize(
    ("usd_hour", "pace", "words"),
    [
        (2.0, 100.0, "100% more"),
        (1.0, 50.0, "100% more"),
        (0.5, 50.0, "about the same money"),
        (1.27, 220.0, "27% more an hour"),
        (1.0, 101.0, "within 5 %"),
        (0.2, 50.0, "2.0 times as long"),
    ],
)
def test_a_difference_is_told_of_what_it_is(usd_hour, pace, words):
    sizing = complete(Workload(kind="batch_inference", params_b=8, tokens=1e13), FACTS)
    rows = made("b", usd_hour, pace, sizing), made("a", 1.0, 100.0, sizing)
    line = trade.compared(*rows, sizing, Constraints(), "en")
    assert words in line
    assert ("within 5 %" in line) == (words == "within 5 %")


def test_no_row_is_named_twice():
    found = ask("full_ft", offers=[*MARKET, BIG], params_b=13)
    named = [line.split(" · ")[0] for line in (*found.flips, *found.why_not_runner_up) if " · " in line]
    assert named and len(named) == len(set(named))


def test_a_number_of_cards_nobody_offers_is_no_match():
    found = ask("lora", Constraints(gpu_count=3), [o for o in MARKET if o.gpu == "RTX 4090"], params_b=13)
    assert found.outcome == "no_match" and found.nearest and says(found.problem, "3× RTX 4090")
    none = ask("full_ft", Constraints(gpu_count=3), [o for o in MARKET if o.gpu == "RTX 4090"], params_b=70)
    assert none.outcome == "infeasible"


def test_the_least_is_assumed_where_the_usual_amounts_do_not_fit():
    pair = [offer("lima", "RTX 3090", "PCIe", 2, 24, 0.4)]
    found = ask("inference", Constraints(gpu_count=2), pair, model="Llama 2 70B", precision="int4")
    assert found.picks and found.workload.concurrency == 1 and says(found.assumptions, "at the least")
    stated = ask("inference", Constraints(gpu_count=2), pair, model="Llama 2 70B", precision="int4", concurrency=64)
    assert stated.outcome == "infeasible"


def test_machines_by_application_come_after_ordinary_ones_for_services():
    centre = offer("centre", "H100", "SXM", 1, 80, 0.3, nvlink="no", price_note="use is by application")
    found = ask("inference", offers=[*MARKET, centre], params_b=8)
    assert found.picks[0].provider != "centre"
    alone = ask("inference", offers=[centre], params_b=8)
    assert alone.picks[0].provider == "centre" and says(alone.picks[0].caveats, "by application")
    assert ask("lora", offers=[*MARKET, centre], params_b=8).picks[0].provider != "centre"
    train = ask("lora", Constraints(sort="price"), [*MARKET, centre], params_b=8)
    assert train.picks[0].provider == "centre"


def test_slow_double_precision_is_told_for_simulations_only():
    cards = [offer("bolt", "RTX 4090", "PCIe", 1, 24, 0.6), offer("bolt", "A100", "SXM", 1, 80, 1.6)]
    found = ask("hpc", offers=cards, memory_gb=16)
    by_gpu = {p.gpu: p.caveats for p in found.picks}
    assert says(by_gpu["RTX 4090"], "FP64") and not says(by_gpu["A100"], "FP64")
    assert not says(ask("render", offers=cards, memory_gb=16).picks[0].caveats, "FP64")


def test_every_seller_of_a_machine_keeps_the_limits():
    same = [offer(name, "L40S", "PCIe", 1, 48, price, nvlink="no") for name, price in (("a", 1.0), ("b", 3.0))]
    found = ask("render", Constraints(max_price_usd_hour=2.0), same, memory_gb=24)
    assert [p.provider for p in found.picks] == ["a"]
    assert picking.by_application(same[0]) is False


def test_a_plain_list_keeps_to_the_budget():
    rows = [offer("a", "L40S", "PCIe", 1, 48, 1.0), offer("b", "L40S", "PCIe", 1, 48, 3.0), MARKET[-1]]
    kept, _ = picking.offers_within_budget(rows, Constraints(budget_usd_month=1000))
    assert [o.provider for o in kept] == ["a"]
    kept, _ = picking.offers_within_budget(rows, Constraints(budget_usd=250), hours=72)
    assert [o.provider for o in kept] == ["a", "b"]
    assert picking.offers_within_budget(rows, Constraints(budget_usd=70), hours=72) == ([], {"budget_usd": 72.0})
    assert picking.offers_within_budget(rows, Constraints()) == (rows, {})


@pytest.mark.parametrize(
    "network",
    [
        {"orderable_as_cluster": "no", "internode_fabric": "infiniband", "internode_rdma": "yes"},
        {"orderable_as_cluster": "yes", "internode_fabric": "unknown"},
        {"orderable_as_cluster": "yes", "internode_fabric": "none", "internode_rdma": "no"},
    ],
)
def test_machines_that_cannot_span_nodes_train_on_one(network):
    alone = offer("mike", "H200", "SXM", 1, 141, 3.0, nvlink="no", **network)
    sizing = complete(Workload(kind="full_ft", params_b=7), FACTS)
    assert list(node_counts(alone, Constraints(), sizing)) == [1]
    assert list(node_counts(alone, Constraints(nodes=8), sizing)) == []
    assert list(node_counts(alone, Constraints(gpu_count=8), sizing)) == []


def test_nodes_of_one_nvlink_domain_need_no_network():
    tray = offer("oscar", "GB300", "superchip", 4, 288, 20.0, nvlink="yes", nvlink_gb_s_per_gpu=1800,
                 nvlink_domain_gpus=72, **RDMA)  # fmt: skip
    found = ask("full_ft", offers=[tray], params_b=70)
    assert found.picks[0].nodes > 1 and found.needs.internode_rdma == "no"
    assert says(found.needs.reasons, "One NVLink domain") and not says(found.needs.reasons, "Over 2 nodes")


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_a_budget_below_one_hour_is_told_as_an_hour_and_not_as_the_job(lang):
    found = ask("full_ft", Constraints(budget_usd=1.0), lang=lang, params_b=13)
    assert found.outcome == "infeasible" and found.required["budget_usd_one_hour"] > 1
    assert says(found.problem, {"en": "one hour", "ja": "1時間だけでも"}[lang]) and len(found.problem) == 1
    whole = ask("full_ft", Constraints(budget_usd=1.0), lang=lang, params_b=13, tokens=1e10)
    assert "budget_usd_one_hour" not in whole.required


@pytest.mark.parametrize(
    ("kind", "fields", "card"),
    [("full_ft", {"params_b": 70}, 80), ("lora", {"params_b": 70}, 80), ("inference", {"params_b": 405}, 80)],
)
def test_the_cards_that_are_needed_really_hold_the_job(kind, fields, card):
    sizing = complete(Workload(kind=kind, **fields), FACTS)
    gpus, total = least_cards(sizing, card, FACTS)
    assert total <= gpus * card * FACTS.values["usable_memory"] and total > floor_gb(sizing)
    assert gpus > 1 and least_cards(sizing, 10 * card, FACTS)[0] < gpus


def test_the_need_is_counted_in_the_commonest_board_of_the_card_that_was_named():
    boards = [offer("delta", "H100", "SXM", 8, 80, 20.0), offer("echo", "H100", "PCIe", 8, 80, 18.0)]
    boards.append(offer("golf", "H100", "NVL", 8, 94, 19.0))
    found = ask("full_ft", Constraints(gpus=("H100",), gpu_count=8), boards, params_b=70)
    assert found.outcome == "infeasible" and found.required["card_gb"] == 80 and found.required["gpus"] > 8
