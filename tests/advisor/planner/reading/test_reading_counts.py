"""The number that a question asks about belongs to the card, however far from its name it stands."""

import pytest

from advisor.planner.reading import read


@pytest.mark.parametrize(
    ("text", "gpu", "count"),
    [
        ("405B on B200 - are four OK?", "B200", 4),
        ("Can I serve a 70B on H100, two of them?", "H100", 2),
        ("is H200 good for DeepSeek V3, would 8 be enough?", "H200", 8),
        ("70BのLoRA、A100なら2枚で大丈夫？", "A100", 2),
        ("L40Sだと4枚で34Bの推論に足りる？", "L40S", 4),
        ("B200で405Bを推論したい。4枚で足りますか？", "B200", 4),
        ("H200で足りる？ DeepSeek R1、8枚", "H200", 8),
        ("A100で70BのQLoRA、1枚でOK？", "A100", 1),
    ],
)
def test_the_number_asked_about_is_of_the_card(text, gpu, count):
    (mention,) = [m for m in read(text).mentions.gpus if m.gpu]
    assert (mention.gpu, mention.count, mention.role) == (gpu, count, "candidate")


@pytest.mark.parametrize(
    "text",
    [
        "A100で8枚の画像を生成したい",
        "I have an H100, are 4 hours enough for a LoRA of an 8B?",
        "H100を借りたい。データは500枚の写真です",
        "Is an A100 enough for two users of a 7B?",
    ],
)
def test_numbers_of_other_things_are_not(text):
    assert all(m.count in (None, 1) for m in read(text).mentions.gpus)
