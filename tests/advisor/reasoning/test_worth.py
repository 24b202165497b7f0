"""Which row comes first: small jobs get small machines, services the price of an hour, and no claim against the order."""

import pytest
from made_offers import NVLINK4, RDMA, market, offer

from advisor.answer import Constraints, Workload
from advisor.reasoning.recommend import recommend
from advisor.reasoning.workload import complete
from advisor.reasoning.worth import errand_hours, setup_hours
from knowledge.facts import load_facts

FACTS = load_facts()
BIG = offer("delta", "B200", "SXM", 8, 180, 34.0, **NVLINK4, **RDMA)
SINGLE = offer("delta", "H200", "SXM", 1, 141, 2.6, nvlink="no")
MARKET = [*market(), BIG, SINGLE]


def ask(kind, constraints=None, offers=None, lang="en", **fields):
    rows = MARKET if offers is None else offers
    return recommend(Workload(kind=kind, **fields), constraints or Constraints(), rows, facts=FACTS, lang=lang)


def says(lines, *words):
    return any(all(word in line for word in words) for line in lines)


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("lora", {"params_b": 7}),
        ("lora", {"params_b": 13}),
        ("qlora", {"params_b": 13}),
        ("lora", {"params_b": 8, "tokens": 5e6, "deadline_hours": 24}),
        ("full_ft", {"params_b": 0.05}),
        ("full_ft", {"params_b": 1.0, "tokens": 1e7}),
        ("inference", {"params_b": 8, "concurrency": 4}),
        ("batch_inference", {"params_b": 7, "tokens": 1e6}),
        ("embeddings", {"model": "BGE-M3"}),
    ],
)
def test_a_small_job_gets_one_card_first(kind, fields):
    first = ask(kind, **fields).picks[0]
    assert first.total_gpus == 1 and first.total_usd_hour < 3


def test_a_long_job_still_gets_many_cards():
    first = ask("pretrain", params_b=7, tokens=1e12).picks[0]
    assert first.total_gpus >= 8


@pytest.mark.parametrize("kind", ["lora", "inference", "batch_inference", "full_ft"])
def test_no_row_costs_many_times_the_cheapest_of_the_same_work(kind):
    sizing = complete(Workload(kind=kind, params_b=3), FACTS)
    picks = ask(kind, params_b=3).picks
    hours = [errand_hours(sizing, p.estimate.tokens_per_s, FACTS.values) or 1.0 for p in picks]
    costs = [p.total_usd_hour * h for p, h in zip(picks, hours, strict=True)]
    assert len(costs) > 1 and max(costs) <= 5.01 * min(costs)


def test_the_errand_of_minutes_pays_for_the_start_and_the_download():
    sizing = complete(Workload(kind="lora", params_b=34, tokens=5e6), FACTS)
    fast, slow = (errand_hours(sizing, pace, FACTS.values) for pace in (50_000.0, 5_000.0))
    assert setup_hours(sizing, FACTS.values) < fast < slow < 2 * fast
    assert 0.5 < setup_hours(sizing, FACTS.values) < 0.7
    assert errand_hours(complete(Workload(kind="inference", params_b=8), FACTS), 100.0, FACTS.values) is None
    assert errand_hours(sizing, None, FACTS.values) is None


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_a_run_of_minutes_is_told_as_such(lang):
    short = ask("lora", lang=lang, params_b=8, tokens=5e6)
    assert says(short.needs.reasons, {"en": "minimum charge", "ja": "最低課金"}[lang])
    assert not says(ask("lora", params_b=8, tokens=1e10).needs.reasons, "minimum charge")


def test_the_amount_that_orders_the_rows_is_an_assumption_only_where_none_was_given():
    assert says(ask("lora", params_b=8).assumptions, "orders the rows")
    assert not says(ask("lora", params_b=8, tokens=1e8).assumptions, "orders the rows")
    assert not says(ask("inference", params_b=8).assumptions, "orders the rows")


def test_copies_on_cheap_cards_beat_one_dear_card_where_the_price_decides():
    cards = [
        offer("bolt", "A100", "SXM", 1, 80, 0.9, nvlink="no"),
        offer("delta", "H200", "SXM", 1, 141, 2.6, nvlink="no"),
    ]
    wanted = {"params_b": 8, "concurrency": 80}
    first = ask("inference", Constraints(sort="price"), cards, **wanted).picks[0]
    assert (first.gpu, first.nodes) == ("A100", 2) and first.total_usd_hour == pytest.approx(1.8)
    assert ask("inference", Constraints(), cards, **wanted).picks[0].nodes == 1


@pytest.mark.parametrize("kind", ["lora", "inference", "embeddings", "batch_inference"])
@pytest.mark.parametrize("wish", [{"sort": "price"}, {"sort": "cost"}, {"priority": "cost"}])
def test_no_later_row_is_said_to_cost_less_than_the_first(kind, wish):
    constraints = Constraints(sort=wish.get("sort"))
    found = ask(kind, constraints, params_b=3, priority=wish.get("priority"))
    assert found.picks[0].role == "cheapest"
    assert not says(found.why_not_runner_up, "less")


@pytest.mark.parametrize("kind", ["lora", "qlora", "full_ft"])
def test_the_need_is_told_beside_a_larger_batch(kind):
    found = ask(kind, Constraints(gpu_count=1), [offer("delta", "B200", "SXM", 1, 180, 4.5)], params_b=3)
    need, used = found.needs.min_gpu_memory_gb, found.picks[0].estimate.memory_gb_per_gpu
    assert need < used
    if used > 1.3 * need:
        assert says(found.needs.reasons, f"{need:,.0f} GB at the least")


def test_smaller_cards_are_no_answer_to_those_that_ran_out():
    small = offer("bolt", "A100", "SXM", 8, 40, 5.0, nvlink="yes", nvlink_gb_s_per_gpu=600, nvlink_domain_gpus=8)
    job = {"params_b": 7, "seq_len": 32768}
    assert any(p.gpu_memory_gb == 40 for p in ask("full_ft", offers=[small, *MARKET], **job).picks)
    found = ask("full_ft", Constraints(ran_out_gpu_memory_gb=80), [small, *MARKET], **job)
    assert found.picks and all(p.gpu_memory_gb >= 80 for p in found.picks)


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_machines_that_cannot_be_joined_are_told_as_such_with_the_cluster_on_request(lang):
    lone = offer("echo", "H100", "SXM", 8, 80, 18.0, **NVLINK4, orderable_as_cluster="no")
    cluster = offer("echo", "H100", "SXM", 8, 80, None, region="r2", **NVLINK4, **RDMA)
    found = ask("pretrain", Constraints(gpu_count=16), [lone, cluster], lang, params_b=30)
    assert found.outcome == "infeasible"
    assert says(found.problem, "RDMA", "16") and says(found.problem, "InfiniBand", cluster.instance_type)
    assert not says(found.problem, "at the least")


@pytest.mark.parametrize("nodes", [2, 3, 4, 6])
def test_one_more_node_does_not_make_plain_ethernet_hopeless(nodes):
    sizes = Constraints(nodes=nodes)
    found = ask("full_ft", sizes, [o for o in MARKET if o.provider == "delta" and o.gpu == "H200"], params_b=70)
    assert found.needs.internode_rdma == "yes" and 1.25 < found.needs.rdma_slowdown < 20


@pytest.mark.parametrize("tokens", [2e6, 1e7, 1e9])
def test_the_row_called_cheapest_shows_no_higher_cost_than_the_first(tokens):
    picks = ask("lora", params_b=8, tokens=tokens).picks
    cheapest = [p for p in picks if p.role == "cheapest"]
    assert all(p.estimate.cost_usd <= picks[0].estimate.cost_usd for p in cheapest)


def test_nvlink_is_not_judged_on_cards_that_a_bridge_joins_in_pairs():
    pairs = [offer("bolt", "RTX A6000", "PCIe", 8, 48, 2.0, nvlink="unknown"), *MARKET]
    found = ask("inference", offers=pairs, params_b=70, seq_len=131072, concurrency=4)
    assert found.needs.nvlink in ("helpful", "yes")


def test_training_in_bf16_is_not_put_on_cards_without_it():
    volta = offer("hotel", "V100", "SXM", 2, 32, 0.3, nvlink="yes", nvlink_gb_s_per_gpu=300, nvlink_domain_gpus=2)
    assert all(p.gpu != "V100" for p in ask("lora", offers=[volta, *MARKET], params_b=8).picks)
    assert ask("lora", Constraints(gpus=("V100",)), [volta], params_b=8).picks[0].gpu == "V100"


@pytest.mark.parametrize(
    ("kind", "fields", "sort", "words"),
    [
        ("lora", {"tokens": 1e8}, "price", "cost of the whole job"),
        ("lora", {}, "price", "price an hour"),
        ("lora", {}, "cost", "cost of the whole job"),
        ("inference", {}, "cost", "price an hour"),
        ("lora", {}, None, "score"),
    ],
)
def test_the_printed_order_is_the_one_that_was_used(kind, fields, sort, words):
    assert words in ask(kind, Constraints(sort=sort), params_b=3, **fields).formula
