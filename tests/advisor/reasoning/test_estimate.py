"""`advisor estimate`: golden cases, what links change, free-text fields, and requests that are not understood."""

import json
from pathlib import Path

import pytest

from advisor.errors import BadRequest
from advisor.reasoning.estimate import estimate, estimate_or_error
from advisor.reasoning.fields import (
    number,
    read_gpu,
    read_method,
    read_optimizer,
    read_plan,
    read_precision,
    read_recompute,
    read_release,
)
from knowledge.facts import load_facts

FACTS = load_facts()
GOLDEN = json.loads((Path(__file__).parent / "golden_estimates.json").read_text(encoding="utf-8"))
NODE = {
    "task": "throughput",
    "model": "Llama 3.1 8B",
    "gpu_model": "H100 SXM 80GB",
    "n_gpus": 8,
    "nodes": 1,
    "seq_len": 4096,
    "micro_batch": 2,
    "grad_accum": 4,
    "parallelism": "FSDP",
    "activation_checkpointing": True,
}


def speed(**fields):
    return estimate({**NODE, **fields}, FACTS)["tokens_per_s_per_gpu"]


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case["name"])
def test_published_runs_are_reproduced(case):
    found = estimate({"task": "throughput", **case["request"]}, FACTS)
    assert found["tokens_per_s_per_gpu"] == pytest.approx(case["measured"], rel=case["within"])
    assert found["low"] < found["tokens_per_s_per_gpu"] < found["high"] <= 2 * found["low"]


def test_sharding_inside_the_node_scales_better_on_a_slow_network():
    by_name = {case["name"]: estimate({"task": "throughput", **case["request"]}, FACTS) for case in GOLDEN}
    everywhere = [v["tokens_per_s_per_gpu"] for name, v in by_name.items() if "over all ranks" in name]
    inside = next(v["tokens_per_s_per_gpu"] for name, v in by_name.items() if "inside the node" in name)
    assert everywhere[1] < 0.85 * everywhere[0] and inside > 1.1 * everywhere[1]


def test_a_large_nvlink_domain_carries_the_exchange_of_experts():
    job = {
        "task": "throughput",
        "model": "DeepSeek V3",
        "precision": "FP8",
        "gpu_model": "B200 SXM",
        "inter_fabric": "InfiniBand, 400 Gb/s per GPU",
        "n_gpus": 256,
        "seq_len": 4096,
        "micro_batch": 1,
        "global_batch_seqs": 4096,
        "parallelism": "TP1 PP4 VP4 EP64",
    }
    rack, node = (estimate({**job, "nvlink_domain": size}, FACTS) for size in (72, 8))
    assert rack["tokens_per_s_per_gpu"] > 1.3 * node["tokens_per_s_per_gpu"]
    assert node["comm_share"] > 2 * rack["comm_share"]


def test_control_a_job_inside_one_domain_does_not_change():
    job = {**NODE, "model": "Qwen3 30B-A3B", "gpu_model": "B200 SXM", "parallelism": "TP1 PP1 EP8", "micro_batch": 4}
    rack, node = (estimate({**job, "nvlink_domain": size}, FACTS) for size in (72, 8))
    assert rack["tokens_per_s_per_gpu"] == pytest.approx(node["tokens_per_s_per_gpu"])


def test_nvlink_matters_for_training_in_a_node_more_for_tensor_parallel():
    sharded = speed(intra_fabric="NVLink 4, 8 GPUs") / speed(intra_fabric="PCIe 5")
    tensor = speed(intra_fabric="NVLink 4, 8 GPUs", parallelism="TP8") / speed(intra_fabric="PCIe 5", parallelism="TP8")
    assert 1.2 < sharded < tensor


def test_infiniband_against_tcp_is_a_factor_of_tens_for_sharded_training():
    fields = {"n_gpus": 32, "nodes": 4, "micro_batch": 1, "grad_accum": 1, "activation_checkpointing": False}
    fast = speed(**fields, inter_fabric="InfiniBand NDR", inter_gbps_per_node=3200)
    slow = speed(**fields, inter_fabric="TCP over Ethernet", inter_gbps_per_node=40)
    assert 10 < fast / slow < 80


def test_an_adapter_that_needs_no_fabric_and_one_that_does():
    fields = {"method": "LoRA", "n_gpus": 16, "nodes": 2}
    slow, fast = ({"inter_fabric": f, "inter_gbps_per_node": g} for f, g in (("Ethernet", 10), ("InfiniBand", 3200)))
    plain = speed(**fields, **fast, parallelism="DDP") / speed(**fields, **slow, parallelism="DDP")
    sharded = speed(**fields, **fast, parallelism="FSDP") / speed(**fields, **slow, parallelism="FSDP")
    assert plain < 1.1 and sharded > 2


def test_scaling_compares_two_configurations():
    found = estimate({**NODE, "task": "scaling", "id": 7, "a": {"n_gpus": 8}, "b": {"n_gpus": 64, "nodes": 8}}, FACTS)
    assert found["id"] == 7
    assert found["ratio_a_over_b"] == pytest.approx(
        found["a"]["tokens_per_s_per_gpu"] / found["b"]["tokens_per_s_per_gpu"], rel=1e-3
    )


def test_measured_fields_are_not_read():
    measured = {
        "tokens_per_s_per_gpu": 1.0,
        "mfu": 0.01,
        "memory_gb_per_gpu": 1.0,
        "tflops_per_gpu": 1.0,
        "outcome": "OOM",
    }
    assert estimate({**NODE, **measured}, FACTS) == estimate(NODE, FACTS)
    memory = {**NODE, "task": "memory"}
    assert estimate({**memory, **measured}, FACTS) == estimate(memory, FACTS)


def test_what_was_left_out_is_listed():
    assumed = estimate({"task": "memory", "params_b": 7, "method": "LoRA", "gpu_model": "A100 40GB", "gpus": 1}, FACTS)[
        "assumed"
    ]
    assert {"seq_len", "micro_batch", "shape", "activation_checkpointing"} <= set(assumed)


@pytest.mark.parametrize(
    ("fields", "fits"),
    [
        ({"params_b": 7, "method": "QLoRA", "gpu_model": "RTX 4090", "gpus": 1, "seq_len": 2048, "batch": 1}, True),
        (
            {"params_b": 70, "method": "full fine-tune", "optimizer": "AdamW", "gpu_model": "A100 80GB", "gpus": 8},
            False,
        ),
        ({"params_b": 7, "method": "inference", "gpu_model": "T4", "gpus": 1}, True),
        ({"params_b": 70, "method": "inference", "gpu_model": "A100 80GB", "gpus": 1}, False),
        ({"params_b": 7, "method": "LoRA"}, None),
    ],
)
def test_fits_or_not(fields, fits):
    assert estimate({"task": "memory", **fields}, FACTS)["fits"] is fits


def test_an_unknown_name_with_a_size_is_taken_by_its_size():
    found = estimate({**NODE, "model": "Somebody 13B"}, FACTS)
    assert found["assumed"]["params"] == 13e9 and found["assumed"]["shape"]


def test_parts_of_memory_add_up():
    found = estimate({**NODE, "task": "memory"}, FACTS)
    assert sum(found["breakdown_gb"].values()) == pytest.approx(found["memory_gb_per_gpu"], abs=0.01)


@pytest.mark.parametrize(
    ("text", "degrees"),
    [
        ("DP4 TP8 PP12 ZeRO-1", (4, 8, 12, 1, 1, "zero1")),
        ("FSDP32 TP8", (48, 8, 1, 1, 1, "zero3")),
        ("FSDP8 CP2 TP8 PP8", (3, 8, 8, 2, 1, "zero3")),
        ("TP1 PP1 CP1 VPn/a EP8", (384, 1, 1, 1, 8, "zero1")),
        ("FSDP0 TP1 PP4 CP1 VP4 EP64", (96, 1, 4, 1, 64, "zero1")),
        ("tp1 pp3 fsdp=False", (128, 1, 3, 1, 1, "zero1")),
        ("FSDP SHARD_GRAD_OP", (384, 1, 1, 1, 1, "zero2")),
        ("ZeRO-3 + CPU optimizer offload", (384, 1, 1, 1, 1, "zero3")),
        ("HSDP + torch.compile", (384, 1, 1, 1, 1, "hsdp")),
        ("DDP", (384, 1, 1, 1, 1, "ddp")),
        ("", (384, 1, 1, 1, 1, "zero1")),
    ],
)
def test_free_text_parallelism(text, degrees):
    plan = read_plan(text, 384, moe=True)
    assert (plan.dp, plan.tp, plan.pp, plan.cp, plan.ep, plan.sharding) == degrees


def test_virtual_stages_and_overlap_are_read():
    assert read_plan("TP4 PP8 VP6", 64, moe=False).virtual == 6
    assert read_plan("TP8 PP8 interleaved 1F1B", 64, moe=False).virtual == 2
    assert read_plan("FSDP32 TP8 async-TP", 256, moe=False).tp_overlap
    assert read_plan("ZeRO-1 within 8 GPUs", 64, moe=False).shard_group == 8


@pytest.mark.parametrize(
    ("text", "gpu", "variant", "memory"),
    [
        ("H100 SXM 80GB", "H100", "SXM", 80),
        ("GB300 NVL72", "GB300", "superchip", 288),
        ("A100 40GB", "A100", "SXM", 40),
        ("H100 PCIe", "H100", "PCIe", 80),
        ("8x H200", "H200", "SXM", 141),
        ("RTX 4090 24GB", "RTX 4090", "PCIe", 24),
        ("L40S", "L40S", "PCIe", 48),
        ("A10G 24GB", "A10G", "PCIe", 24),
    ],
)
def test_free_text_gpus(text, gpu, variant, memory):
    spec = read_gpu(text, FACTS)
    assert (spec.gpu, spec.gpu_variant, spec.memory_gb) == (gpu, variant, memory)


@pytest.mark.parametrize("text", ["24 GB card", "one card", "H999"])
def test_a_text_that_names_no_gpu(text):
    assert read_gpu(text, FACTS) is None


@pytest.mark.parametrize(
    ("text", "method", "stated"),
    [
        ("qlora 4-bit", "qlora", True),
        ("lora r=8 bnb.nf4", "qlora", True),
        ("lora", "lora", True),
        ("full fine-tune", "full", True),
        ("inference", "inference", True),
        ("", "full", False),
    ],
)
def test_methods(text, method, stated):
    assert read_method(text) == (method, stated)


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (True, ("full", True)),
        (False, ("none", True)),
        (None, ("none", False)),
        ("selective", ("selective", True)),
        ("no recompute, no sequence parallel", ("none", True)),
        ("full", ("full", True)),
    ],
)
def test_recomputation(value, read):
    assert read_recompute(value) == read


def test_precisions_and_optimizers():
    assert [read_precision(t) for t in ("mxfp8", "nvfp4", "bf16", "fp32", "tf32")] == [
        "fp8",
        "fp4",
        "bf16",
        "fp32",
        "tf32",
    ]
    assert read_optimizer("adamw on cpu", "full") == (12.0, True)
    assert read_optimizer("8-bit adamw", "full") == (2.0, False)
    assert read_optimizer("nothing offloaded", "full") == (12.0, False)


def test_the_age_of_the_software_counts_a_little():
    assert read_release("26.04 container") == pytest.approx(0)
    assert read_release("no date") == 0
    assert speed(release="26.08") > speed(release="25.09")


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"model": "nobody knows this", "params": None}, "model"),
        ({"model": None}, "model"),
        ({"n_gpus": 0}, "n_gpus"),
        ({"seq_len": -1}, "seq_len"),
        ({"micro_batch": "many"}, "micro_batch"),
        ({"params": True}, "params"),
        ({"params": 7e9, "active_params": 9e9, "model": "x"}, "params"),
        ({"gpu_model": "H999"}, "gpu_model"),
        ({"gpu_model": None}, "gpu_model"),
        ({"task": "poetry"}, "task"),
        ({"task": "scaling"}, "a="),
    ],
)
def test_a_request_that_is_not_understood_says_which_value(fields, named):
    with pytest.raises(BadRequest, match=named):
        estimate({**NODE, **fields}, FACTS)


@pytest.mark.parametrize("request_", [None, 7, "text", ["a"]])
def test_what_is_no_object_is_refused(request_):
    assert estimate_or_error(request_, FACTS)["error"]["code"] == "bad_request"


def test_an_error_keeps_the_id():
    assert estimate_or_error({"id": "x1", "task": "memory"}, FACTS)["id"] == "x1"


def test_numbers_come_as_text_too():
    assert number({"a": "12"}, "a") == 12
    assert number({}, "a") is None


def test_the_whole_published_table_stays_within_its_marks(shared):
    """Where the published tables are at hand: coverage, median error, direction of ratios, fits."""
    import statistics

    for task, field, limit in (("throughput", "tokens_per_s_per_gpu", 0.15), ("memory", "memory_gb_per_gpu", 0.15)):
        rows = [
            json.loads(line)
            for line in (shared / "truth" / f"{task}.dev.jsonl").read_text(encoding="utf-8").splitlines()
        ]
        errors, asked = [], 0
        for row in rows:
            true = row.get(field)
            if (
                not isinstance(true, (int, float))
                or row.get("quality") not in ("A", "B")
                or "do_not_score" in str(row.get("flags"))
            ):
                continue
            asked += 1
            if field.startswith("memory") and "GiB" in str(row.get("unit")):
                true *= 1.0737
            found = estimate_or_error({**row, "task": task}, FACTS)
            if field in found:
                errors.append(abs(found[field] - true) / true)
        assert len(errors) / asked >= 0.95
        assert statistics.median(errors) <= limit
