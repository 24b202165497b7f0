"""What was sold against what the text shows, and measured bandwidth against published figures."""

from pathlib import Path

import pytest

from advisor.reasoning.diagnose import diagnose, run_files

CASES = Path(__file__).parent / "cases"
ROW = {
    "provider": "Example Cloud",
    "gpu": "H200",
    "gpu_variant": "SXM",
    "gpu_count": 8.0,
    "nvlink": "yes",
    "internode_fabric": "infiniband",
    "internode_gbit_s_per_node": 3200.0,
    "gpudirect_rdma": "yes",
}


def verdicts(found):
    return {item.item: item.verdict for item in found.sold.items}


def test_as_sold():
    found = run_files(
        [CASES / "mixed-topo-and-log.txt"], instance_type="example-8", offers_lookup={"example-8": ROW}.get
    )
    assert verdicts(found) == {
        "gpus": "ok", "nvlink": "ok", "fabric": "ok", "rate": "unknown", "gpudirect": "ok"
    }  # fmt: skip
    assert found.sold.provider == "Example Cloud" and not found.sold.guessed


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_codes_are_told_in_words(lang):
    found = run_files(
        [CASES / "socket-two-nodes.txt", CASES / "nvlink-partial-3090-pairs.txt"],
        instance_type="example-8",
        offers_lookup={"example-8": ROW}.get,
        lang=lang,
    )
    told = " ".join(item.text for item in found.sold.items)
    assert not {"partial", "infiniband", "socket", "unknown"} & set(told.replace(".", " ").replace(",", " ").split())
    assert "InfiniBand" in told and ("only some pairs" if lang == "en" else "一部の組のみ") in told
    if lang == "ja":
        assert "yes" not in told and "partial" not in told


def test_not_as_sold():
    found = run_files(
        [CASES / "socket-two-nodes.txt", CASES / "nvlink-partial-3090-pairs.txt"],
        instance_type="example-8",
        offers_lookup={"example-8": ROW}.get,
    )
    assert verdicts(found) == {
        "gpus": "missing", "nvlink": "missing", "fabric": "missing", "rate": "unknown", "gpudirect": "missing"
    }  # fmt: skip


def test_efa_devices_are_counted_once_each():
    found = run_files([CASES / "efa-fi-info-four.txt"], instance_type="p4d.24xlarge")
    assert verdicts(found)["nics"] == "ok"
    short = run_files([CASES / "efa-fi-info-four.txt"], instance_type="p5.48xlarge")
    assert verdicts(short)["nics"] == "missing"
    assert "devices_missing" in {p.code for p in short.problems}
    assert "devices_missing" not in {p.code for p in found.problems}


def test_type_is_guessed_from_the_text_but_then_only_compared():
    text = "instance-type: p5.48xlarge\n" + (CASES / "efa-fi-info-four.txt").read_text(encoding="utf-8")
    found = diagnose({"paste": text})
    assert found.sold.instance_type == "p5.48xlarge" and found.sold.guessed
    assert "devices_missing" not in {p.code for p in found.problems}


def test_rate_of_all_ports_together():
    found = run_files([CASES / "ibstat-fine.txt"], instance_type="Standard_ND96isr_H100_v5")
    assert verdicts(found)["rate"] == "ok" and verdicts(found)["nics"] == "ok"


def test_rows_of_several_regions_are_one_promise():
    rows = [ROW, ROW | {"internode_fabric": "unknown"}, ROW | {"internode_gbit_s_per_node": None}]
    found = run_files([CASES / "mixed-topo-and-log.txt"], instance_type="x", offers_lookup=lambda name: rows)
    assert verdicts(found)["fabric"] == "ok" and {i.item: i.promised for i in found.sold.items}["rate"] == "3200"
    assert run_files([CASES / "mixed-topo-and-log.txt"], instance_type="x", offers_lookup=lambda name: []).sold is None


def test_unknown_type_is_not_compared():
    assert run_files([CASES / "ibstat-fine.txt"], instance_type="nobody-knows-this").sold is None


@pytest.mark.parametrize(
    "name, verdict",
    [
        ("bandwidth-good-8-h100", "good"),
        ("bandwidth-low-8-h100", "suspicious"),
        ("bandwidth-small-messages", "too_small"),
        ("slow-net-measured", "unknown"),
    ],
)
def test_bandwidth_is_judged_with_size_and_machine_in_mind(name, verdict):
    judged = run_files([CASES / f"{name}.txt"]).bandwidth
    assert {row.verdict for row in judged} == {verdict}
    assert all((row.reference_gb_s is not None) == (verdict in {"good", "suspicious"}) for row in judged)
