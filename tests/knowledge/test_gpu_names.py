"""Every way of writing a GPU that catalogues and people use leads to one name, one form, one memory size."""

import pytest

from knowledge.gpu_names import gpu_table, nearest, parse_gpu, resolve_gpu, snap_memory, vendor_of


@pytest.mark.parametrize(
    ("text", "gpu", "variant", "memory"),
    [
        ("H100", "H100", "unknown", None),
        ("H100-SXM", "H100", "SXM", None),
        ("H100_SXM5", "H100", "SXM", None),
        ("NVIDIA-H100-80GB-HBM3", "H100", "SXM", 80),
        ("nvidia-h100-mega-80gb", "H100", "SXM", 80),
        ("H100-MEGA", "H100", "SXM", None),
        ("H100-80G-PCIe", "H100", "PCIe", 80),
        ("H100-80G-PCIe-NVLink", "H100", "PCIe", 80),
        ("H100_PCIE_BAREMETAL", "H100", "PCIe", None),
        ("H100-NVLINK", "H100", "unknown", None),
        ("H100_NVL", "H100", "NVL", None),
        ("H100NVL", "H100", "NVL", None),
        ("ＨＧＸ　Ｈ１００", "H100", "SXM", None),
        ("DGX A100", "A100", "SXM", None),
        ("GH200", "GH200", "superchip", None),
        ("GH200 480GB", "GH200", "superchip", None),
        ("GB200 NVL72", "GB200", "superchip", 186),
        ("H200", "H200", "unknown", 141),
        ("H200-NVL", "H200", "NVL", 141),
        ("B200 NVL", "B200", "SXM", 180),
        ("B300 SXM6 AC", "B300", "SXM", 288),
        ("A100 40GB", "A100", "unknown", 40),
        ("A100 80", "A100", "unknown", 80),
        ("A100_80G_SXM4", "A100", "SXM", 80),
        ("A100-PCIE-40GB", "A100", "PCIe", 40),
        ("Tesla V100-SXM2-32GB", "V100", "SXM", 32),
        ("Tesla P100-PCIE-16GB", "P100", "PCIe", 16),
        ("nvidia-tesla-t4", "T4", "PCIe", 16),
        ("L40S-SXM", "L40S", "PCIe", 48),
        ("RTX6000", "RTX 6000 (Turing)", "PCIe", 24),
        ("RTX6000-Ada", "RTX 6000 Ada", "PCIe", 48),
        ("RTX 6000 Ada Generation", "RTX 6000 Ada", "PCIe", 48),
        ("A6000", "RTX A6000", "PCIe", 48),
        ("RTX-A6000", "RTX A6000", "PCIe", 48),
        ("RTXPRO6000", "RTX PRO 6000", "PCIe", 96),
        ("RTXPRO6000WS", "RTX PRO 6000", "PCIe", 96),
        ("RTX PRO Server 6000", "RTX PRO 6000", "PCIe", 96),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTX PRO 6000", "PCIe", 96),
        ("RTX 6000 Pro", "RTX PRO 6000", "PCIe", 96),
        ("4090", "RTX 4090", "PCIe", 24),
        ("RTX 4090 (48 GB mod)", "RTX 4090", "PCIe", 48),
        ("RTX 4070Ti Super", "RTX 4070 Ti SUPER", "PCIe", 16),
        ("GTX1660S", "GTX 1660 Super", "PCIe", 6),
        ("8x MI300X", "MI300X", "OAM", 192),
        ("AMD Instinct MI355X", "MI355X", "OAM", 288),
        ("Radeon MI25", "MI25", "PCIe", 16),
        ("GAUDI2", "Gaudi 2", "OAM", 96),
        ("Gaudi HL-205", "Gaudi", "OAM", 32),
        ("tpu-v6e-1", "TPU v6e", "unknown", 32),
        ("tpu-v5litepod-8", "TPU v5e", "unknown", 16),
    ],
)
def test_resolve(text, gpu, variant, memory):
    assert resolve_gpu(text) == (gpu, variant, memory)


@pytest.mark.parametrize("text", ["H1000", "A10000", "SXM", "", "NVLink", "80GB", "weather", "RTX"])
def test_no_model_is_made_up(text):
    assert resolve_gpu(text) is None


def test_memory_tells_models_of_one_name_apart():
    assert resolve_gpu("RTX 6000", 48).gpu == "RTX 6000 Ada"
    assert resolve_gpu("RTX 6000", 24).gpu == "RTX 6000 (Turing)"
    assert resolve_gpu("RTX 6000 48GB").gpu == "RTX 6000 Ada"
    assert [model.gpu for model in parse_gpu("RTX 6000").candidates] == ["RTX 6000 (Turing)", "RTX 6000 Ada"]


@pytest.mark.parametrize(
    ("gpu", "mib", "memory"),
    [
        ("H100", 81559, 80),
        ("L4", 22888, 24),
        ("L40S", 45776, 48),
        ("L40S", 46080, 48),
        ("RTX A6000", 48384, 48),
        ("B200", 183359, 180),
        ("B300", 268288, 288),
        ("B300", 275456, 288),
        ("RTX 5090", 32607, 32),
        ("A100", 40960, 40),
        ("A100", 81920, 80),
        ("H200", 144384, 141),
        ("A100", 60000, None),
        ("nobody's", 1000, None),
    ],
)
def test_snap_memory(gpu, mib, memory):
    assert snap_memory(gpu, mib) == memory


def test_only_what_the_text_states_is_stated():
    assert parse_gpu("A100").memory_gb is None
    assert parse_gpu("A100").variant is None
    assert parse_gpu("A100 SXM 80GB").variant == "SXM"
    assert parse_gpu("L40S PCIe").variant == "PCIe"
    assert parse_gpu("L40S SXM").variant is None


def test_nearest_names():
    assert nearest("H10O") == ["H100"] or "H100" in nearest("H10O")
    assert "RTX 4090" in nearest("RTX 4O90")
    assert nearest("zzzzzz") == []


def test_the_table_is_whole():
    for name in gpu_table().values():
        assert name.source.startswith("https://"), name.gpu
        assert name.as_of and name.vendor and name.architecture
        assert name.usual_memory_gb and min(name.memory_gb) > 0
        assert resolve_gpu(name.gpu).gpu == name.gpu
        for alias in name.aliases:
            assert name in parse_gpu(alias).candidates, alias
    assert vendor_of("MI300X") == "amd"
    assert vendor_of("H100") == "nvidia"
    assert vendor_of("H1000") is None
