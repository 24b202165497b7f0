"""A link that is there and not used is a trouble; what no computer does is declined; ordinary words beside work are not."""

import pytest

from advisor.planner.reading import read


@pytest.mark.parametrize(
    "text",
    [
        "best GPU for training a pizza classifier",
        "Which GPU for my small startup?",
        "I need a GPU for a coffee shop chatbot with a 7B model",
        "GPU for my cat pictures generator",
        "GPU for a pet shop website with image search",
        "感情分析モデルの学習にいいGPUは？",
        "このGPU構成の意味は？",
        "ペットの写真で画像生成したい",
        "犬と猫の画像分類を学習したい。どのGPU？",
        "学習でGPUのメモリを食べ尽くしてしまいます",
    ],
)
def test_ordinary_words_beside_work_are_no_nonsense(text):
    assert read(text).intent != "refuse"


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("NCCL does not use InfiniBand on my nodes", "NET/Socket"),
        ("EFA is not detected on the p5", "EFA"),
        ("NVLinkが認識されていない", "NCCL_P2P"),
        ("GPUDirect RDMA is not being used", "peermem"),
    ],
)
def test_an_unused_link_is_searched_with_the_words_of_its_signs(text, term):
    reading = read(text)
    assert "unused_link" in reading.acts and term in reading.search_query


def test_a_link_in_use_is_searched_as_it_was_asked():
    assert "NET/Socket" not in read("What does InfiniBand cost?").search_query
