"""The topology as a value, text and SVG."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from advisor.reasoning.diagnose import run_files, topology_svg, topology_text
from advisor.reasoning.diagnose.picture import link_rank

CASES = Path(__file__).parent / "cases"
PARTIAL = CASES / "nvlink-partial-3090-pairs.txt"
WHOLE = CASES / "nvlink-all-8-h200.txt"


def test_weakest_edges_are_the_slowest_pairs():
    found = run_files([PARTIAL])
    assert {(e.a, e.b) for e in found.topology.weakest} == {
        ("GPU0", "GPU2"), ("GPU0", "GPU3"), ("GPU1", "GPU2"), ("GPU1", "GPU3")
    }  # fmt: skip
    assert {e.link for e in found.topology.weakest} == {"SYS"}
    assert "SYS!" in topology_text(found) and "NV4!" not in topology_text(found)


def test_uniform_boards_have_no_weakest_edge():
    found = run_files([WHOLE])
    assert found.topology.weakest == ()
    assert len([e for e in found.topology.edges if e.b.startswith("GPU")]) == 28
    assert {e.gb_s for e in found.topology.edges if e.link == "NV18"} == {900.0}
    assert "NV18" in topology_text(found)


def test_cards_are_named_and_placed():
    found = run_files([WHOLE])
    assert [node.label for node in found.topology.nodes if node.kind == "nic"][:2] == ["NIC0 (mlx5_0)", "NIC1 (mlx5_1)"]
    assert "NIC3 (mlx5_3): GPU3 PIX" in topology_text(found)


@pytest.mark.parametrize("path", [PARTIAL, WHOLE, CASES / "rocm-xgmi-eight.txt", CASES / "nvlink-mesh-v100-cube.txt"])
@pytest.mark.parametrize("lang", ["en", "ja"])
def test_svg_is_well_formed_and_described(path, lang):
    found = run_files([path], lang)
    root = ElementTree.fromstring(topology_svg(found, lang))
    space = "{http://www.w3.org/2000/svg}"
    assert root.get("role") == "img" and root.get("aria-labelledby")
    assert root.find(f"{space}title").text and root.find(f"{space}desc") is not None
    gpus = [node for node in found.topology.nodes if node.kind == "gpu"]
    assert len(root.findall(f"{space}circle")) == len(gpus)
    lines = root.findall(f"{space}line")
    assert len(lines) >= len(gpus) - 1
    dashed = [line for line in lines if line.get("stroke") == "#e5484d"]
    assert len(dashed) == len(found.topology.weakest)


def test_without_a_matrix_there_is_no_picture():
    found = run_files([CASES / "ib-two-nodes-fine.txt"])
    assert found.topology is None and topology_svg(found) == "" and topology_text(found) == ""


def test_ranks_follow_speed():
    order = ["NV18", "NV12", "NV4", "XGMI", "PIX", "PXB", "PHB", "NODE", "SYS"]
    assert sorted(order, key=link_rank) == order


def test_infinity_fabric_is_not_called_missing_nvlink():
    english = run_files([CASES / "rocm-xgmi-eight.txt"])
    assert (
        english.nvlink == "no" and "Infinity Fabric" in english.summary and "There is no NVLink" not in english.summary
    )
    assert "Infinity Fabric" in run_files([CASES / "rocm-xgmi-eight.txt"], "ja").summary
    assert "Infinity Fabric" not in run_files([CASES / "rocm-pcie-two-sockets.txt"]).summary


def test_four_gpus_joined_directly_are_explained():
    found = run_files([CASES / "nvlink-direct-mesh-four.txt"])
    assert "6 links each" in found.summary and found.problems == ()
