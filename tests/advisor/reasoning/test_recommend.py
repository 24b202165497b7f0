"""Recommendations: what fits, links, money, time, order, and outcomes that are not picks."""

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_offers import NVLINK4, RDMA, market, offer

from advisor.answer import Constraints, Workload
from advisor.errors import BadRequest
from advisor.reasoning.candidates import Task, evaluate
from advisor.reasoning.recommend import recommend, wanted_of
from advisor.reasoning.workload import complete
from knowledge.facts import load_facts

FACTS = load_facts()
MARKET = market()


def ask(kind, constraints=None, offers=None, lang="en", **fields):
    return recommend(
        Workload(kind=kind, **fields),
        constraints or Constraints(),
        MARKET if offers is None else offers,
        facts=FACTS,
        lang=lang,
    )


def test_a_small_model_is_served_on_one_card():
    found = ask("inference", model="Llama 3.1 8B", concurrency=20, seq_len=8192)
    assert found.outcome == "picks"
    assert {p.total_gpus for p in found.picks} == {1}
    assert all(p.gpu_memory_gb >= 48 for p in found.picks)
    assert (found.needs.nvlink, found.needs.internode_rdma) == ("no", "no")


def test_a_full_fine_tune_needs_its_states():
    found = ask("full_ft", params_b=13, seq_len=2048)
    assert all(p.total_gpu_memory_gb >= 230 for p in found.picks)
    assert all(p.nodes == 1 for p in found.picks)
    assert all(p.nvlink == "yes" for p in found.picks if p.total_gpus > 1)
    assert found.needs.nvlink in ("yes", "helpful") and found.needs.internode_rdma == "no"


def test_experts_count_whole_in_memory():
    found = ask("moe_train", model="Qwen3 30B-A3B", seq_len=16384)
    assert all(p.total_gpu_memory_gb >= 600 for p in found.picks)
    assert found.needs.nvlink == "yes"
    assert any("30" in reason and "3.3" in reason for reason in found.needs.reasons)


def test_several_nodes_only_where_the_network_is_rdma():
    found = ask("continued_pretrain", model="Llama 3.1 8B", tokens=5e11, deadline_hours=168, seq_len=8192)
    assert found.picks and all(p.nodes > 1 and p.internode_rdma == "yes" for p in found.picks)
    assert found.needs.internode_rdma == "yes"
    assert all(p.estimate.hours <= 168 for p in found.picks)


def test_an_offer_that_is_no_cluster_stays_alone():
    alone = [offer("echo", "H100", "SXM", 8, 80, 18.0, **NVLINK4, orderable_as_cluster="no")]
    found = ask("full_ft", offers=alone, params_b=70)
    assert found.outcome == "infeasible" and found.required["gpus"] >= 14


def test_an_unknown_link_is_a_caveat_and_not_counted_on():
    unknown = [offer("foxtrot", "A100", "PCIe", 4, 80, 5.5, nvlink="unknown")]
    found = ask("full_ft", offers=unknown, params_b=7)
    assert any("NVLink" in caveat for caveat in found.picks[0].caveats)
    linked = [offer("foxtrot", "A100", "PCIe", 4, 80, 5.5, nvlink="yes", nvlink_gb_s_per_gpu=600, nvlink_domain_gpus=4)]
    with_link = ask("full_ft", offers=linked, params_b=7)
    assert with_link.picks[0].estimate.tokens_per_s > found.picks[0].estimate.tokens_per_s


@pytest.mark.parametrize("kind", ["render", "hpc", "video", "other"])
def test_work_that_is_not_modelled_is_chosen_by_memory_and_price(kind):
    found = ask(kind, memory_gb=30)
    assert found.outcome == "not_modelled"
    assert all(p.gpu_memory_gb >= 30 and p.total_gpus == 1 for p in found.picks)
    prices = [p.total_usd_hour for p in found.picks]
    assert prices == sorted(prices)
    assert all(p.estimate.tokens_per_s is None and p.estimate.hours is None for p in found.picks)
    assert (found.needs.nvlink, found.needs.internode_rdma) == ("no", "no")


def test_a_picture_model_is_not_read_as_a_language_model():
    found = ask("inference", model="SDXL")
    assert found.outcome == "not_modelled" and found.picks[0].total_gpus == 1


def test_price_order_is_kept():
    found = ask("inference", Constraints(sort="price"), model="Llama 3.1 8B")
    prices = [p.total_usd_hour for p in found.picks]
    assert prices == sorted(prices) and found.picks[0].role == "cheapest"


def test_spot_prices_only_when_asked_for():
    assert not any(p.spot for p in ask("full_ft", params_b=7).picks)
    found = ask("full_ft", Constraints(spot=True, sort="price"), params_b=7)
    assert found.picks[0].spot


def test_the_number_of_gpus_is_obeyed():
    for count in (1, 2, 8, 16):
        found = ask("full_ft", Constraints(gpu_count=count), params_b=3)
        assert found.outcome in ("picks", "infeasible")
        assert all(p.total_gpus == count for p in found.picks)


def test_the_number_of_nodes_is_obeyed():
    found = ask("pretrain", Constraints(nodes=4), params_b=7, tokens=1e11)
    assert found.picks and all(p.nodes == 4 for p in found.picks)
    assert all(p.nodes == 1 for p in ask("pretrain", Constraints(max_nodes=1), params_b=7, tokens=1e11).picks)


def test_the_budget_is_kept():
    found = ask("pretrain", Constraints(budget_usd=1300), params_b=1.3, tokens=30e9)
    assert found.picks and all(p.estimate.cost_usd <= 1300 for p in found.picks)


def test_a_monthly_budget_prefers_what_it_pays_for_all_month():
    found = ask("video", Constraints(budget_usd_month=500), memory_gb=24)
    assert found.picks[0].total_usd_hour * 730 <= 500


@pytest.mark.parametrize(
    ("constraints", "fields", "missing"),
    [
        (Constraints(budget_usd=0), {"kind": "pretrain", "params_b": 7, "tokens": 1e11}, "budget_usd"),
        (Constraints(budget_usd=300), {"kind": "pretrain", "model": "DeepSeek V3"}, "budget_usd"),
        (Constraints(budget_usd_month=1), {"kind": "inference", "model": "Llama 3.1 8B"}, "budget_usd_month"),
        (Constraints(gpus=("T4",), gpu_count=1), {"kind": "full_ft", "params_b": 1000}, "memory_gb"),
        (Constraints(gpu_count=1), {"kind": "full_ft", "params_b": 70}, "memory_gb"),
        (Constraints(max_nodes=1), {"kind": "pretrain", "params_b": 70, "tokens": 1e13, "deadline_hours": 1}, "hours"),
        (Constraints(), {"kind": "render", "memory_gb": 900}, "memory_gb"),
    ],
)
def test_what_cannot_be_done_says_what_is_missing(constraints, fields, missing):
    offers = [o for o in MARKET if not constraints.gpus or o.gpu in constraints.gpus]
    found = recommend(Workload(**fields), constraints, offers, facts=FACTS, lang="en")
    assert found.outcome == "infeasible" and not found.picks
    assert found.required[missing] >= 0
    assert found.problem and all(isinstance(line, str) and line for line in found.problem)


def test_no_offers_is_no_match():
    assert ask("full_ft", offers=[], params_b=7).outcome == "no_match"


def test_unpriced_and_unknown_machines_are_left_out():
    found = ask("inference", Constraints(sort="price"), model="Llama 3.1 8B")
    assert all(p.total_usd_hour and p.gpu != "H999" for p in found.picks)


@pytest.mark.parametrize(("method", "copies"), [("ppo", 2), ("grpo", 1), ("dpo", 1)])
def test_preference_training_counts_its_models(method, copies):
    found = ask("rlhf", params_b=7, rlhf_method=method)
    assert found.needs.total_gpu_memory_gb > 112 * copies
    assert all(p.estimate.tokens_per_s is None for p in found.picks)


def test_ppo_needs_more_than_dpo():
    assert ask("rlhf", params_b=7, rlhf_method="ppo").needs.total_gpu_memory_gb > (
        ask("rlhf", params_b=7, rlhf_method="dpo").needs.total_gpu_memory_gb
    )


def test_the_counterfactual_says_what_the_link_is_worth():
    found = ask("full_ft", params_b=13)
    nvlink = found.counterfactuals[0]
    assert nvlink.slowdown > 1.05 and nvlink.verdict
    assert nvlink.with_.nvlink == "yes"
    if nvlink.without is not None:
        assert nvlink.without.nvlink != "yes"


def test_an_adapter_on_one_card_needs_no_link_but_a_sharded_one_does():
    alone = ask("lora", model="Llama 3.1 8B")
    assert alone.needs.nvlink == "no" and alone.picks[0].total_gpus == 1
    nodes = [offer("delta", "H100", "SXM", 8, 80, 20.0, **NVLINK4, **RDMA)]
    sharded = ask("lora", offers=nodes, model="Llama 2 70B")
    assert sharded.needs.nvlink in ("yes", "helpful") and "FSDP" in sharded.picks[0].estimate.parallelism


def test_both_languages_say_the_same_figures():
    english, japanese = (ask("full_ft", params_b=13, lang=lang) for lang in ("en", "ja"))
    assert [p.offer_id for p in english.picks] == [p.offer_id for p in japanese.picks]
    assert english.needs.nvlink_slowdown == japanese.needs.nvlink_slowdown
    for line in (*japanese.needs.reasons, *japanese.assumptions, *japanese.flips):
        assert any("぀" <= ch <= "ヿ" or "一" <= ch <= "鿿" for ch in line), line


def test_every_pick_gives_its_reasons_and_a_range():
    found = ask("full_ft", params_b=13)
    for p in found.picks:
        assert p.why and p.caveats
        assert p.estimate.range.low < p.estimate.tokens_per_s < p.estimate.range.high
        assert sum(p.estimate.memory_breakdown_gb.values()) == pytest.approx(
            p.estimate.memory_gb_per_gpu, rel=0.02, abs=0.2
        )
        assert p.estimate.memory_gb_per_gpu <= p.gpu_memory_gb
    assert found.formula and found.why_not_runner_up


def test_roles_name_different_rows():
    found = ask("full_ft", params_b=13)
    assert len({p.offer_id for p in found.picks}) == len(found.picks)
    assert len([p.role for p in found.picks if p.role != "match"]) == len(
        {p.role for p in found.picks if p.role != "match"}
    )


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.randoms(use_true_random=False))
def test_the_order_of_the_table_does_not_change_the_answer(rng: random.Random):
    shuffled = list(MARKET)
    rng.shuffle(shuffled)
    for fields in ({"kind": "full_ft", "params_b": 13.0}, {"kind": "render", "memory_gb": 20.0}):
        one = recommend(Workload(**fields), Constraints(), MARKET, facts=FACTS, lang="en")
        two = recommend(Workload(**fields), Constraints(), shuffled, facts=FACTS, lang="en")
        assert one == two


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    kind=st.sampled_from(
        ["full_ft", "lora", "qlora", "pretrain", "inference", "moe_train", "embeddings", "batch_inference"]
    ),
    params=st.floats(0.1, 2000),
    seq=st.sampled_from([512, 4096, 32768, 131072]),
    concurrency=st.integers(1, 500),
    nodes=st.sampled_from([None, 1, 2]),
)
def test_any_job_gives_a_typed_outcome(kind, params, seq, concurrency, nodes):
    found = ask(kind, Constraints(nodes=nodes), params_b=params, seq_len=seq, concurrency=concurrency)
    assert found.outcome in ("picks", "infeasible", "not_modelled")
    assert bool(found.picks) == (found.outcome != "infeasible")
    for p in found.picks:
        assert p.estimate.memory_gb_per_gpu <= p.gpu_memory_gb
        assert nodes is None or p.nodes == nodes


def test_generation_keeps_part_of_each_card():
    found = ask("rlhf", params_b=7, seq_len=32768, rlhf_method="grpo")
    assert all(p.estimate.memory_gb_per_gpu < 0.6 * p.gpu_memory_gb for p in found.picks)
    assert any("35" in line for line in found.assumptions)


def test_who_asks_for_a_class_of_cards_sees_that_class_first():
    found = ask("lora", Constraints(min_gpu_memory_gb=80), model="Llama 2 70B")
    assert all(80 <= p.gpu_memory_gb <= 100 for p in found.picks)


def test_accelerators_with_their_own_software_only_by_name():
    tpu = [offer("hotel", "TPU v5p", "unknown", 8, 95, 8.0), *MARKET]
    assert not any(p.gpu.startswith("TPU") for p in ask("full_ft", offers=tpu, params_b=7).picks)
    named = ask("full_ft", Constraints(gpus=("TPU v5p",)), offers=tpu[:1], params_b=7)
    assert named.picks and named.picks[0].gpu == "TPU v5p"


def test_small_machines_are_no_cluster_where_nodes_are_on_offer():
    single = [offer("india", "H100", "SXM", 1, 80, 1.0, nvlink="no", **RDMA), *MARKET]
    found = ask("full_ft", offers=single, params_b=13)
    assert all(p.gpu_count > 1 or p.nodes == 1 for p in found.picks)


def test_a_plan_does_not_fill_the_card_where_another_is_as_fast():
    found = ask("full_ft", Constraints(gpu_count=8), params_b=7)
    assert all(p.estimate.memory_gb_per_gpu <= 0.93 * p.gpu_memory_gb for p in found.picks)


@pytest.mark.parametrize(
    ("fields", "constraints", "named"),
    [
        ({"params_b": 7}, Constraints(gpu_count=0), "gpu_count"),
        ({"params_b": 7}, Constraints(nodes=-1), "nodes"),
        ({"params_b": 7}, Constraints(budget_usd=-5), "budget_usd"),
        ({"params_b": 7}, Constraints(budget_usd_month=-1), "budget_usd_month"),
        ({"params_b": 0}, Constraints(), "params_b"),
        ({"params_b": 7, "tokens": -1.0}, Constraints(), "tokens"),
        ({"params_b": 7, "deadline_hours": 0.0}, Constraints(), "deadline_hours"),
    ],
)
def test_amounts_that_cannot_be_are_refused_by_name(fields, constraints, named):
    with pytest.raises(BadRequest, match=named):
        ask("pretrain", constraints, **fields)


def test_a_model_that_nobody_knows_is_sized_by_what_was_said():
    found = ask("full_ft", model="Nobody-7B-ultra", params_b=7)
    assert found.picks and any("Nobody-7B-ultra" in caveat for caveat in found.picks[0].caveats)


def test_a_billion_tokens_in_an_hour_takes_many_cards_or_is_refused_with_a_number():
    found = ask("pretrain", params_b=70, tokens=1e9, deadline_hours=1)
    if found.outcome == "infeasible":
        assert found.required["gpus"] > 8 or found.required["hours"] > 1
    else:
        assert all(p.estimate.hours <= 1 for p in found.picks)
    later = ask("pretrain", params_b=70, tokens=1e15, deadline_hours=1)
    assert later.outcome == "infeasible" and later.required["gpus"] > 1000


def test_a_stated_sharding_is_checked_as_stated():
    sizing = complete(Workload(kind="full_ft", params_b=7, sharding="zero2"), FACTS)
    node = offer("kilo", "V100", "SXM", 8, 32, 9.0, nvlink="yes", nvlink_gb_s_per_gpu=300, nvlink_domain_gpus=8)
    gpu = FACTS.gpu("V100", "SXM", 32)
    stated = evaluate(Task(sizing, wanted_of(sizing.workload, stated_sharding=True), FACTS), node, gpu, 1)
    free = evaluate(Task(sizing, wanted_of(sizing.workload), FACTS), node, gpu, 1)
    assert stated is None or "ZeRO-2" in stated.parallelism
    assert free is not None and free.memory_gb < 32
