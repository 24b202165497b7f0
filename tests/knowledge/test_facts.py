"""Finding GPUs, models and shapes by the names that people use."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.facts import load_facts, size_of

FACTS = load_facts()


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("Llama 3.1 70B", "Llama 3.1 70B"),
        ("meta-llama/Meta-Llama-3.1-70B", "Llama 3.1 70B"),
        ("llama3.1-70b-instruct", "Llama 3.1 70B"),
        ("ラマ3.1 70B", "Llama 3.1 70B"),
        ("Llama3 70B", "Llama 3 70B"),
        ("Qwen3_30B_a3B", "Qwen3 30B-A3B"),
        ("GPT3-175B", "GPT-3 175B"),
        ("Mixtral 8x7B", "Mixtral 8x7B"),
        ("mixtral-8x7b-instruct", "Mixtral 8x7B"),
        ("GPT-OSS 20B", "gpt-oss 20B"),
        ("ELYZA 8B", "Llama-3-ELYZA-JP 8B"),
        ("Kimi_K2", "Kimi K2"),
        ("DeepSeek-V4 Flash NVFP4", "DeepSeek V4-Flash"),
        ("Llama-3.1-70B-Instruct-FP8", "Llama 3.1 70B"),
        ("Qwen2.5-7B-Instruct-AWQ", "Qwen2.5 7B"),
        ("Wan2.2 14B", "Wan 2.2 T2V A14B"),
        ("FLUX.1", "FLUX.1 dev"),
        ("メタ ラマ3.1 70B", "Llama 3.1 70B"),
    ],
)
def test_a_model_is_found_by_its_names(name, found):
    model = FACTS.find_model(name)
    assert model is not None and model.name == found


@pytest.mark.parametrize("name", ["Foo 7B", "no such model", "7 apples", "Mixtral", ""])
def test_a_name_that_nobody_knows_is_not_guessed(name):
    assert FACTS.find_model(name) is None


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("7B", (7.0, None)),
        ("70b dense", (70.0, None)),
        ("30B-A3B", (30.0, 3.0)),
        ("1T", (1000.0, None)),
        ("500M", (0.5, None)),
        ("no size", None),
    ],
)
def test_a_bare_size_is_read(text, size):
    assert size_of(text) == size


@pytest.mark.parametrize("name", ["7B", "70B dense", "7Bモデル", "generic 13B dense", "30B-A3B"])
def test_a_model_known_by_size_says_whose_shape_it_borrows(name):
    model = FACTS.find_model(name)
    assert model is not None and model.stated_shape


def test_a_size_with_active_parameters_gives_experts():
    model = FACTS.shape_for_size(120, 6)
    assert model.experts and model.active_params_b == 6 and model.params_b == 120


@given(st.floats(0.05, 3000))
def test_every_size_gives_a_shape_of_about_that_many_parameters(size):
    model = FACTS.shape_for_size(size)
    assert model.params_b == size
    blocks = 12 * model.layers * model.hidden**2 / 1e9
    assert 0.3 * size < blocks + 2 * model.vocab * model.hidden / 1e9 < 3 * size


@pytest.mark.parametrize(("params", "active"), [(0, None), (-7, None), (7, 8)])
def test_an_impossible_size_is_refused(params, active):
    with pytest.raises(ValueError, match="cannot be"):
        FACTS.shape_for_size(params, active)


def test_memory_picks_the_board():
    assert FACTS.gpu("A100", "SXM", 40).memory_bandwidth_gb_s < FACTS.gpu("A100", "SXM", 80).memory_bandwidth_gb_s
    assert FACTS.gpu("B300", "SXM", 262).memory_gb == 288


def test_an_unknown_form_is_answered_by_the_slower_board():
    assert FACTS.gpu("H100", "unknown", 80).gpu_variant == "PCIe"
    assert FACTS.gpu("H100").bf16_dense_tflops == 756


def test_an_unknown_gpu_is_not_guessed():
    assert FACTS.gpu("H999") is None
