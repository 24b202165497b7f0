"""The first five minutes: commands and good output, from data."""

import pytest

from advisor.reasoning.diagnose import verify_plan


def commands(plan):
    return {step.step: step for step in plan.steps}


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_p5_knows_its_devices(lang):
    plan = verify_plan("p5.48xlarge", lang)
    steps = commands(plan)
    assert plan.known and "32" in steps["efa_devices"].good and "NV18" in steps["topo"].good
    assert "mpirun -np 16 -N 8" in steps["several_nodes"].command
    assert "440" in steps["several_nodes"].good and "450" in steps["one_node"].good
    assert "rocm" not in steps and "rdma_devices" not in steps
    assert plan.script.count("\n") == 2 * len(plan.steps) - 1 and "{" not in plan.script


def test_unknown_type_gets_the_general_list_without_figures():
    plan = verify_plan("nobody-knows-this")
    assert not plan.known
    steps = commands(plan)
    assert "topo" in steps and "rdma_devices" in steps
    assert "450" not in steps["one_node"].good


def test_amd_gets_rocm_commands():
    plan = verify_plan("x", gpu="MI300X", gpu_count=8, fabric="roce")
    assert "rocm" in commands(plan) and "nvlink" not in commands(plan) and "topo" not in commands(plan)
    assert "gids" in commands(plan)


def test_one_gpu_needs_no_links():
    plan = verify_plan("x", gpu="L4", gpu_count=1, fabric="ethernet")
    assert {"topo", "p2p", "one_node", "several_nodes"}.isdisjoint(commands(plan))


def test_bridged_cards_are_not_promised_all_to_all():
    row = {"gpu": "A100", "gpu_variant": "PCIe", "gpu_count": 8.0, "nvlink": "partial", "internode_fabric": "ethernet"}
    plan = verify_plan("x", offers_lookup={"x": row}.get)
    assert "fabric" not in commands(plan)
    assert "bridge" in commands(plan)["topo"].good


def test_every_step_names_its_source():
    assert all(
        step.source.startswith("https://") and step.title and step.good for step in verify_plan("p5.48xlarge").steps
    )


def test_fabric_state_is_asked_only_where_the_driver_prints_it():
    assert "fabric" in commands(verify_plan("p5.48xlarge"))
    assert "fabric" not in commands(verify_plan("p4d.24xlarge"))
