"""What stays and what goes from one turn to the next."""

from advisor.answer import Constraints, Workload
from advisor.planner.reading import Reading, read
from advisor.planner.reading.changes import merge_constraints, merge_workload


def test_serving_drops_what_only_training_has():
    old = Workload(kind="full_ft", params_b=7, tokens=1e9, optimizer="adamw", seq_len=4096)
    job, changed = merge_workload(old, {}, "inference", {})
    assert (job.tokens, job.optimizer, job.seq_len, job.params_b) == (None, None, 4096, 7)
    assert {"kind", "tokens", "optimizer"} <= set(changed)


def test_another_model_drops_the_old_size_and_split():
    old = Workload(kind="inference", model="Qwen3 32B", params_b=32.8, tensor_parallel=4, precision="fp8")
    job, _ = merge_workload(old, {"model": None, "params_b": 72.0}, None, {"params_b": "stated"})
    assert (job.model, job.params_b, job.tensor_parallel, job.precision) == (None, 72, None, "fp8")


def test_an_adapter_keeps_the_length_and_drops_the_sharding():
    old = Workload(kind="full_ft", params_b=13, seq_len=2048, sharding="zero3")
    job, _ = merge_workload(old, {}, "lora", {})
    assert (job.seq_len, job.sharding) == (2048, None)


def test_no_job_is_made_up():
    assert merge_workload(None, {"precision": "bf16"}, None, {}) == (None, [])


def _merge(old, fields, cleared=frozenset(), **kw):
    return merge_constraints(
        old, fields, set(cleared), added=kw.get("added", False), job_changed=kw.get("job_changed", False)
    )


def test_lists_are_replaced_or_joined():
    old = Constraints(countries=("DE",), providers=("aws",))
    assert _merge(old, {"countries": ("US",)})[0].countries == ("US",)
    assert _merge(old, {"countries": ("US",)}, added=True)[0].countries == ("DE", "US")


def test_wanting_what_was_ruled_out_lifts_it():
    merged, changed = _merge(Constraints(not_providers=("aws", "gcp")), {"providers": ("aws",)})
    assert merged.not_providers == ("gcp",) and set(changed) == {"providers", "not_providers"}


def test_a_new_job_lets_go_of_counts_but_not_of_limits():
    old = Constraints(gpu_count=8, gpus_per_node=8, countries=("JP",), max_price_usd_hour=20, max_nodes=1)
    merged, _ = _merge(old, {}, job_changed=True)
    assert (merged.gpu_count, merged.gpus_per_node) == (None, None)
    assert (merged.countries, merged.max_price_usd_hour, merged.max_nodes) == (("JP",), 20, 1)


def test_another_gpu_drops_the_board_form_of_the_first():
    merged, _ = _merge(Constraints(gpus=("H100",), gpu_variants=("NVL",)), {"gpus": ("H200",)})
    assert merged.gpu_variants == ()


def test_an_explanation_changes_nothing():
    first = read("8x H100 in Germany under $3 per GPU-hour")
    second = read("why does NVLink cost more?", first)
    assert second.constraints == first.constraints and second.changed == ()


def test_a_refusal_keeps_what_was_said():
    first = read("LoRA of a 7B, which GPU? under $1/hr")
    second = read("write me a poem about the sea", first)
    assert second.intent == "refuse" and second.workload == first.workload and second.constraints == first.constraints
    third = read("cheaper?", second)
    assert third.workload == first.workload and third.constraints.sort == "price"


def test_an_empty_turn_keeps_what_was_said():
    first = read("LoRA of a 7B, which GPU?")
    second = read("   ", first)
    assert second.intent == "clarify" and second.workload == first.workload and second.changed == ()


def test_changed_names_the_fields():
    first = read("Serve Qwen3 32B, which GPU?")
    second = read("in fp8, only in Japan", first)
    assert {"precision", "countries"} <= set(second.changed)


def test_a_new_topic_starts_over():
    first = read("Serve Qwen3 32B in Germany, which GPU?")
    second = read("different question: which GPU for rendering 100 frames in Blender?", first)
    assert second.workload.kind == "render" and second.constraints.countries == ()


def test_a_reading_survives_storage():
    first = read("予算20万円で7BのLoRA、国内のH100で。8枚で足りる？")
    assert Reading.model_validate(first.model_dump(mode="json", by_alias=True)) == first


def test_hardware_asked_about_is_kept_for_follow_ups():
    first = read("What is the difference between H100 PCIe and H100 SXM?")
    assert {c.variant for c in first.candidates} == {"PCIe", "SXM"}
    assert read("why?", first).candidates == first.candidates


def test_what_is_searched_for():
    first = read("Serve Qwen2.5 72B in bf16, does NVLink matter?")
    assert "nvlink" in first.search_query
    follow = read("why?", first)
    assert follow.search_query.startswith("why?") and "Qwen2.5 72B" in follow.search_query
    summary = read("Could you summarize that for my manager?", follow)
    assert "manager" not in summary.search_query and "nvlink" in summary.search_query
    assert len(read("x " * 900, first).search_query) <= 400
