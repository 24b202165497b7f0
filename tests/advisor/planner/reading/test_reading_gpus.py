import pytest

from advisor.planner.reading import load_lexicon
from advisor.planner.reading.gpus import read_gpus
from advisor.planner.reading.hardware import count_fields, gpu_fields
from advisor.planner.reading.normalize import normalize


def _read(text):
    return read_gpus(normalize(text), load_lexicon())


@pytest.mark.parametrize(
    ("text", "gpu", "variant", "memory", "count", "nodes"),
    [
        ("8x H100 SXM5 80GB", "H100", "SXM", 80, 8, None),
        ("2x 8xB200", "B200", None, None, 8, 2),
        ("A100-40GB:4", "A100", None, 40, 4, None),
        ("H200 141GBx8を4ノード", "H200", None, 141, 8, 4),
        ("32 H100 across 4 nodes", "H100", None, None, 8, 4),
        ("3 GH200 boxes", "GH200", None, None, None, 3),
        ("L40S 2枚", "L40S", None, None, 2, None),
        ("RTX4090×4", "RTX 4090", None, None, 4, None),
        ("rtx pro 6000", "RTX PRO 6000", None, None, None, None),
        ("RTX 6000 Ada", "RTX 6000 Ada", None, None, None, None),
        ("A6000を2枚", "RTX A6000", None, None, 2, None),
        ("PCIe版H100", "H100", "PCIe", None, None, None),
        ("H100のSXM版", "H100", "SXM", None, None, None),
        ("H100SXM", "H100", "SXM", None, None, None),
        ("H1OO 8枚", "H100", None, None, 8, None),
        ("4x MI300X", "MI300X", None, None, 4, None),
        ("a pair of 3090s", "RTX 3090", None, None, 2, None),
        ("L4x4", "L4", None, None, 4, None),
        ("H100 SXM 8枚", "H100", "SXM", None, 8, None),
        ("H100 SXM 4x", "H100", "SXM", None, 4, None),
        ("A100-SXM4-80GB x8", "A100", "SXM", 80, 8, None),
        ("2x8 H100", "H100", None, None, 8, 2),
        ("H100×8×2", "H100", None, None, 8, 2),
        ("H100が8枚載ったサーバーを2台", "H100", None, None, 8, 2),
        ("HGX H200を2台", "H200", None, None, 8, 2),
        ("DGX H100", "H100", None, None, 8, None),
        ("quad A100 80", "A100", None, 80, 4, None),
        ("an 8-way H100 server", "H100", None, None, 8, None),
        ("octo H100 box", "H100", None, None, 8, None),
        ("40 GB A100s", "A100", None, 40, None, None),
        ("A100は40GBの方", "A100", None, 40, None, None),
        ("H100 NVL pair", "H100", "NVL", None, 2, None),
        ("8️⃣枚のH100", "H100", None, None, 8, None),
        ("L40S2枚", "L40S", None, None, 2, None),
        ("4090を2まい", "RTX 4090", None, None, 2, None),
    ],
)
def test_one_mention(text, gpu, variant, memory, count, nodes):
    (mention,) = _read(text)
    assert (mention.gpu, mention.variant, mention.memory_gb, mention.count, mention.nodes) == (
        gpu,
        variant,
        memory,
        count,
        nodes,
    )
    assert mention.known


@pytest.mark.parametrize(
    "text",
    [
        "a 100 GPU cluster",
        "a 2-GPU VM",
        "a 40 GB card",
        "5000億パラメータ",
        "encode h264 and h265",
        "$4090",
        "a2-highgpu-1g",
    ],
)
def test_what_only_looks_like_a_gpu(text):
    assert [m for m in _read(text) if m.gpu] == []


@pytest.mark.parametrize(
    ("text", "name"),
    [("8x H300", "H300"), ("NVIDIA B450 96GB", "B450"), ("RTX 7090を2枚", "RTX 7090"), ("MI900X", "MI900X")],
)
def test_unknown_gpus_are_named_not_guessed(text, name):
    (mention,) = _read(text)
    assert mention.gpu == name and not mention.known


def test_unknown_gpu_has_neighbours():
    (mention,) = _read("4x H250")
    assert set(mention.nearest) & {"H200", "H20", "H100"}


@pytest.mark.parametrize(
    ("text", "roles"),
    [
        ("rent 8x H100", ["wanted"]),
        ("not H100, rather H200", ["excluded", "wanted"]),
        ("V100以外で", ["excluded"]),
        ("our 4x V100 runs out of memory, what should I rent", ["current"]),
        ("手元の3090だと足りない", ["current"]),
        ("Is 8x A100 enough for this?", ["candidate"]),
        ("L4とA10Gならどっちがいい？", ["candidate", "candidate"]),
        ("L4 or A10G for this job?", ["candidate", "candidate"]),
        ("Somebody quoted me 4x L40S. Fine?", ["candidate"]),
    ],
)
def test_roles(text, roles):
    assert [m.role for m in _read(text)] == roles


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("8x H100 in Europe", {"gpu_count": 8}),
        ("2x 8xH100", {"gpu_count": 16, "gpus_per_node": 8, "nodes": 2}),
        ("at least 4x L40S", {"min_gpus": 4}),
        ("H100を8枚以上", {"min_gpus": 8}),
        ("8枚で足りる?", {}),
        ("H100 8枚の1ノードで足りる?", {}),
        ("1台で済ませたい", {"max_nodes": 1}),
        ("one box only", {"max_nodes": 1}),
        ("2枚でお願いします", {"gpu_count": 2}),
        ("2枚借りたら速くなる?", {}),
        ("single GPU ok", {}),
        ("各ジョブは1GPUで完結", {}),
        ("how many nodes of 8x H100", {"gpus_per_node": 8}),
        ("画像を2000枚", {}),
    ],
)
def test_counts(text, fields):
    norm = normalize(text)
    assert count_fields(norm, read_gpus(norm, load_lexicon()), "en") == fields


def test_memory_is_part_of_the_name_only_where_it_tells_boards_apart():
    assert gpu_fields(_read("A100 80GB"))["gpus"] == ("A100 80GB",)
    assert gpu_fields(_read("L40S 48GB"))["gpus"] == ("L40S",)


@pytest.mark.parametrize(
    ("text", "gpu", "count", "nodes"),
    [
        ("9x HGX B200", "B200", 8, 9),
        ("2 DGX H100", "H100", 8, 2),
        ("8x HGX H100", "H100", 8, None),
        ("one GB200 NVL72", "GB200", 4, 18),
        ("2 GB300 NVL72 racks", "GB300", 4, 36),
        ("price of GB200 NVL72", "GB200", None, None),
        ("4x GB200", "GB200", 4, None),
    ],
)
def test_systems_and_racks_are_their_nodes(text, gpu, count, nodes):
    (mention,) = _read(text)
    assert (mention.gpu, mention.count, mention.nodes) == (gpu, count, nodes)
