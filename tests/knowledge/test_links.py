"""Link facts: three facts kept apart, decided by size and place, unknown where nobody says."""

import csv

import pytest

from knowledge.gpu_names import gpu_table
from knowledge.links import DATA, RDMA_FABRICS, board_form, join_links, named_gpu

NEVER_NVLINK = [
    "T4",
    "L4",
    "L40",
    "L40S",
    "A10",
    "A10G",
    "RTX 4090",
    "RTX 5090",
    "RTX 4080",
    "RTX 5070 Ti",
    "RTX 6000 Ada",
    "RTX PRO 6000",
]
NEVER_NVLINK += ["MI300X", "MI325X", "MI355X", "MI350X", "MI250X", "Gaudi 2", "Gaudi 3", "TPU v5e"]


@pytest.mark.parametrize("gpu", NEVER_NVLINK)
@pytest.mark.parametrize("count", [0.25, 1, 2, 4, 8])
def test_cards_without_nvlink_never_have_it(gpu, count):
    form = gpu_table()[gpu].variants[0]
    assert join_links("anybody", "any-type", gpu, form, count).nvlink == "no"


@pytest.mark.parametrize("gpu", ["H100", "H200", "B200", "B300", "A100", "GB200", "V100", "RTX A6000", "GH200"])
def test_one_gpu_has_no_peer(gpu):
    for form in gpu_table()[gpu].variants:
        links = join_links("anybody", "any-type", gpu, form, 1)
        assert (links.nvlink, links.nvlink_domain_gpus, links.nvlink_topology) == ("no", 1, "none")


@pytest.mark.parametrize(
    ("provider", "instance_type", "gpu", "form", "count", "nvlink", "fabric", "gbit_s", "rdma"),
    [
        ("aws", "p5.48xlarge", "H100", "SXM", 8, "yes", "efa", 3200, "yes"),
        ("aws", "p5.4xlarge", "H100", "SXM", 1, "no", "efa", 100, "yes"),
        ("aws", "p4d.24xlarge", "A100", "SXM", 8, "yes", "efa", 400, "yes"),
        ("aws", "p3.16xlarge", "V100", "SXM", 8, "partial", "ethernet", 25, "no"),
        ("aws", "g6e.48xlarge", "L40S", "PCIe", 8, "no", "efa", 400, "yes"),
        ("aws", "g7e.48xlarge", "RTX PRO 6000", "PCIe", 8, "no", "efa", 1600, "yes"),
        ("aws", "p6-b200.48xlarge", "B200", "SXM", 8, "yes", "efa", 3200, "yes"),
        ("azure", "Standard_ND96isr_H100_v5", "H100", "SXM", 8, "yes", "infiniband", 3200, "yes"),
        ("azure", "Standard_ND96is_H100_v5", "H100", "SXM", 8, "yes", "ethernet", 80, "no"),
        ("azure", "Standard_ND96is_MI300X_v5", "MI300X", "OAM", 8, "no", "ethernet", None, "no"),
        ("azure", "Standard_ND96isr_MI300X_v5", "MI300X", "OAM", 8, "no", "infiniband", 3200, "yes"),
        ("azure", "Standard_NC96ads_A100_v4", "A100", "PCIe", 4, "partial", "ethernet", None, "no"),
        ("azure", "Standard_NC80adis_H100_v5", "H100", "NVL", 2, "yes", "ethernet", 80, "no"),
        ("gcp", "a2-highgpu-8g", "A100", "SXM", 8, "yes", "ethernet", 100, "no"),
        ("gcp", "a2-highgpu-1g", "A100", "SXM", 1, "no", "ethernet", 24, "no"),
        ("gcp", "a3-highgpu-8g", "H100", "SXM", 8, "yes", "tcpx", 1000, "no"),
        ("gcp", "a3-highgpu-2g", "H100", "SXM", 2, "yes", "ethernet", 50, "no"),
        ("gcp", "a3-megagpu-8g", "H100", "SXM", 8, "yes", "tcpxo", 1800, "no"),
        ("gcp", "a3-ultragpu-8g", "H200", "SXM", 8, "yes", "roce", 3600, "yes"),
        ("gcp", "a4-highgpu-8g", "B200", "SXM", 8, "yes", "roce", 3600, "yes"),
        ("gcp", "a4x-highgpu-4g", "GB200", "superchip", 4, "yes", "roce", 2000, "yes"),
        ("gcp", "g4-standard-384", "RTX PRO 6000", "PCIe", 8, "no", "ethernet", None, "no"),
        ("oci", "BM.GPU.B4.8", "A100", "SXM", 8, "yes", "roce", 1600, "yes"),
        ("oci", "BM.GPU.L40S-NC.4", "L40S", "PCIe", 4, "no", "unknown", None, "unknown"),
        ("nebius", "gpu-h100-sxm_8gpu-128vcpu-1600gb", "H100", "SXM", 8, "yes", "infiniband", 3200, "yes"),
        ("nebius", "gpu-h100-sxm_1gpu-16vcpu-200gb", "H100", "SXM", 1, "no", "ethernet", None, "no"),
        ("crusoe", "h100-80gb-sxm-ib.8x", "H100", "SXM", 8, "yes", "infiniband", 3200, "yes"),
        ("crusoe", "a100-80gb.8x", "A100", "PCIe", 8, "no", "ethernet", None, "no"),
        ("lambda", "gpu_8x_h100_sxm5", "H100", "SXM", 8, "yes", "ethernet", None, "no"),
        ("lambda", "gpu_2x_h100_sxm5", "H100", "SXM", 2, "unknown", "ethernet", None, "no"),
        ("hyperstack", "n3-H100x8", "H100", "PCIe", 8, "no", "ethernet", 350, "no"),
        ("hyperstack", "n3-H100x8-NVLink", "H100", "PCIe", 8, "partial", "ethernet", 350, "no"),
        ("runpod", "4x_H100-SXM_SECURE", "H100", "SXM", 4, "yes", "none", None, "no"),
        ("vast", "4x-H100_SXM-32-65536", "H100", "SXM", 4, "unknown", "none", None, "no"),
        ("vast", "8x-RTX_4090-32-65536", "RTX 4090", "PCIe", 8, "no", "none", None, "no"),
        ("sakura", "さくらONE node", "H100", "SXM", 8, "yes", "roce", 3200, "yes"),
        ("sakura", "高火力 PHY H100 plan", "H100", "SXM", 8, "yes", "unknown", None, "unknown"),
        ("abci", "rt_HF", "H200", "SXM", 8, "yes", "infiniband", 1600, "yes"),
        ("nobody", "h100x8", "H100", "SXM", 8, "yes", "unknown", None, "unknown"),
        ("nobody", "h100x8", "H100", "unknown", 8, "unknown", "unknown", None, "unknown"),
        ("nobody", "a6000x2", "RTX A6000", "PCIe", 2, "unknown", "unknown", None, "unknown"),
    ],
)
def test_join(provider, instance_type, gpu, form, count, nvlink, fabric, gbit_s, rdma):
    links = join_links(provider, instance_type, gpu, form, count)
    assert (links.nvlink, links.internode_fabric, links.internode_gbit_s_per_node, links.internode_rdma) == (
        nvlink,
        fabric,
        gbit_s,
        rdma,
    )


def test_the_region_decides_where_the_cluster_network_is():
    args = ("ibm", "gx3d-160x1792x8h100", "H100", "SXM", 8)
    assert join_links(*args, "us-east").internode_fabric == "roce"
    assert join_links(*args, "jp-tok").internode_rdma == "no"
    unsaid = join_links(*args)
    assert (unsaid.nvlink, unsaid.internode_rdma) == ("yes", "unknown")


def test_infinity_fabric_is_told_and_is_no_nvlink():
    links = join_links("oci", "BM.GPU.MI300X.8", "MI300X", "OAM", 8)
    assert links.nvlink == "no"
    assert links.nvlink_generation == "Infinity Fabric 4"
    assert (links.nvlink_gb_s_per_gpu, links.nvlink_topology) == (896, "xgmi-full-mesh")


def test_a_slice_has_no_larger_domain_than_it_has_gpus():
    assert join_links("runpod", "2x_H100-SXM_SECURE", "H100", "SXM", 2).nvlink_domain_gpus == 2
    assert join_links("gcp", "a4x-highgpu-4g", "GB200", "superchip", 4).nvlink_domain_gpus == 72


def test_what_a_broker_resells_takes_no_fact_that_names_no_type():
    direct = join_links("runpod", "anything", "H100", "SXM", 8)
    resold = join_links("together", "anything", "H100", "SXM", 8, broker="shadeform")
    assert direct.internode_fabric == "none"
    assert resold.internode_fabric == "unknown"


def test_the_type_names_the_gpu():
    assert named_gpu("aws", "p4d.24xlarge") == ("A100", "SXM")
    assert named_gpu("oci", "BM.GPU.B4.8") == ("A100", "SXM")
    assert named_gpu("azure", "Standard_NC40ads_H100_v5") == ("H100", "NVL")
    assert named_gpu("nobody", "p4d.24xlarge") == (None, None)
    assert board_form("lambda", "gpu_1x_a100", "A100", 1) == "PCIe"
    assert board_form("massedcompute", "massedcompute_A100-80GB", "A100", 1, broker="shadeform") == "PCIe"
    assert board_form("nobody", "x", "A100", 1) is None


def rows(name):
    with (DATA / name).open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def test_the_tables_are_whole():
    for row in rows("instance_links.csv"):
        assert row["provider"] and row["instance_type"], row
        assert row["source"] and row["confidence"] in {"high", "medium", "low"} and row["as_of"], row
        assert row["nvlink"] in {"", "yes", "partial", "no"}, row
        assert row["fabric"] in {"", "infiniband", "efa", "roce", "tcpxo", "tcpx", "ethernet", "none"}, row
        assert row["cluster"] in {"", "yes", "no", "reserved-only"}, row
        for name in ("gpu", "is_gpu"):
            assert all(gpu in gpu_table() for gpu in row[name].split("|") if gpu), row
        if row["fabric"]:
            told = row["rdma"] or "yes"
            assert (told == "yes") == (row["fabric"] in RDMA_FABRICS) or not row["rdma"], row
        if row["nvlink"] == "yes":
            assert row["nvlink_generation"] and row["nvlink_gb_s"], row
    for row in rows("gpu_links.csv"):
        assert all(gpu in gpu_table() for gpu in row["gpu"].split("|")), row
        assert row["statement"] and row["source"].startswith("https://"), row


def test_doubtful_rows_state_no_network():
    """What only general knowledge says of a network is left unknown."""
    for row in rows("instance_links.csv"):
        if row["confidence"] == "low":
            assert not row["fabric"] and not row["rdma"] and not row["gbit_s"], row
