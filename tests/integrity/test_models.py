"""The shipped models, GPUs, fabrics and constants hold together."""

from collections import Counter

import pytest

from advisor.reasoning.shape import shape_of
from knowledge.facts import load_facts

FACTS = load_facts()
LANGUAGE = [m for m in FACTS.models if m.kind in ("dense_lm", "moe_lm") and m.layers and m.hidden and m.params_b]
PLAIN = [
    m
    for m in LANGUAGE
    if m.kind == "dense_lm"
    and m.confidence == "high"
    and m.attention in ("mha", "gqa", "mqa")
    and None not in (m.heads, m.kv_heads, m.head_dim, m.intermediate, m.vocab, m.mlp_gated)
]


def by_shape(m):
    """Parameters from the shape: attention, MLP, vocabulary tables."""
    attention = 2 * m.hidden * m.heads * m.head_dim + 2 * m.hidden * m.kv_heads * m.head_dim
    mlp = (3 if m.mlp_gated else 2) * m.hidden * m.intermediate
    tables = m.vocab * m.hidden * (1 if m.tied_embeddings else 2)
    return (m.layers * (attention + mlp) + tables) / 1e9


def test_there_are_hundreds_of_models_with_sources():
    assert len(FACTS.models) >= 300
    assert all(m.source.startswith("http") and m.as_of for m in FACTS.models)


def test_no_model_stands_twice():
    twice = [name for name, n in Counter(m.name for m in FACTS.models).items() if n > 1]
    assert not twice


@pytest.mark.parametrize("model", PLAIN, ids=lambda m: m.name)
def test_the_parameters_follow_from_the_shape(model):
    assert by_shape(model) == pytest.approx(model.params_b, rel=0.06)


def test_plain_shapes_are_many():
    assert len(PLAIN) > 100


@pytest.mark.parametrize("model", [m for m in LANGUAGE if m.kind == "moe_lm"], ids=lambda m: m.name)
def test_active_parameters_are_fewer_than_all(model):
    assert model.active_params_b is None or model.active_params_b < model.params_b


@pytest.mark.parametrize("model", LANGUAGE, ids=lambda m: m.name)
def test_every_model_gives_usable_numbers(model):
    shape = shape_of(model, FACTS.shape_for_size(model.params_b))
    assert 0 < shape.active <= shape.params
    assert 0 <= shape.routed <= shape.params
    assert 0 <= shape.global_layers <= shape.kv_layers <= 2 * shape.layers  # some have two attentions a layer
    assert shape.kv_bytes_per_token(2, 8192) >= 0
    assert shape.moe_width <= shape.hidden


@pytest.mark.parametrize(
    ("name", "kib"),
    [("Llama 3.1 8B", 128), ("Llama 3.1 70B", 320), ("Llama 3.1 405B", 504), ("DeepSeek V3", 70272 / 1024)],
)
def test_kv_cache_of_a_token_is_as_published(name, kib):
    model = FACTS.find_model(name)
    assert shape_of(model, model).kv_bytes_per_token(2) / 1024 == pytest.approx(kib, rel=0.01)


@pytest.mark.parametrize(
    "name", ["PLaMo", "Swallow", "ELYZA", "LLM-jp", "rinna", "Sarashina", "Stable Diffusion XL", "Whisper", "Wan"]
)
def test_models_that_people_in_japan_ask_for_are_there(name):
    assert any(name.lower() in m.name.lower() for m in FACTS.models)


def test_boards_are_plausible():
    for gpu in FACTS.gpus:
        assert gpu.source.startswith("http") and gpu.as_of
        assert 2 <= gpu.memory_gb <= 300 and 50 <= gpu.memory_bandwidth_gb_s <= 9000
        half, eighth = gpu.bf16_dense_tflops or gpu.fp16_dense_tflops, gpu.fp8_dense_tflops
        if half and eighth:
            assert 0.95 <= eighth / half <= 2.1, gpu  # a ratio of 4 would be the sparse figure
        if gpu.nvlink_gb_s:
            assert gpu.peer_link == "nvlink" and gpu.nvlink_generation


def test_no_board_stands_twice():
    twice = [k for k, n in Counter((g.gpu, g.gpu_variant, g.memory_gb) for g in FACTS.gpus).items() if n > 1]
    assert not twice


@pytest.mark.parametrize("gpu", ["L40S", "RTX 4090", "RTX 5090", "RTX PRO 6000", "L4", "A10G", "T4", "MI300X"])
def test_cards_without_nvlink_have_none(gpu):
    assert FACTS.gpu(gpu).nvlink_gb_s is None


def test_constants_say_what_they_were_chosen_on():
    for constant in FACTS.constants.values():
        assert constant.meaning and constant.chosen_on and constant.source.startswith("http"), constant.name
    assert len(FACTS.constants) < 60


def test_every_fabric_of_an_offer_is_known():
    assert {"infiniband", "efa", "roce", "tcpxo", "tcpx", "ethernet", "none", "unknown"} <= set(FACTS.fabrics)
    assert FACTS.fabrics["tcpx"].rdma == "no" and FACTS.fabrics["efa"].rdma == "yes"
