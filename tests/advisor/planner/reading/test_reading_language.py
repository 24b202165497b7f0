import pytest

from advisor.planner.reading import read
from advisor.planner.reading.language import asked_for, detect
from advisor.planner.reading.normalize import normalize


@pytest.mark.parametrize(
    ("text", "lang"),
    [
        ("H100 8枚いくら", "ja"),
        ("Which GPU for 7B?", "en"),
        ("Qwen2.5-72Bをbf16でserveしたい", "ja"),
        ("最安 H100", "ja"),
        ("What does 推論 mean here, and which GPU should I rent for it in the end?", "en"),
        ("???", "unknown"),
        ("12345", "unknown"),
        ("🙂", "unknown"),
        ("8x H100", "en"),
    ],
)
def test_language_of_a_turn(text, lang):
    assert detect(normalize(text)) == lang


@pytest.mark.parametrize(
    ("text", "lang"),
    [
        ("Could you summarize this in English for my boss?", "en"),
        ("日本語で説明して", "ja"),
        ("英語で要約してください", "en"),
        ("Answer in Japanese please", "ja"),
        ("fine-tune on text in English", None),
        ("a chatbot that answers in Japanese", None),
        ("英語のコーパスで学習", None),
    ],
)
def test_language_asked_for(text, lang):
    assert asked_for(normalize(text)) == lang


def test_answer_language_is_that_of_the_turn():
    first = read("7BのLoRAにおすすめのGPUは？")
    second = read("and cheaper?", first)
    third = read("???", second)
    assert [first.answer_lang, second.answer_lang, third.answer_lang] == ["ja", "en", "en"]


def test_a_log_does_not_decide_the_language():
    log = "\n".join(
        [
            "node1:42:43 [0] NCCL INFO NET/Socket : Using [0]eth0",
            "node1:42:43 [0] NCCL INFO Channel 00",
            "NCCL WARN timeout",
        ]
    )
    assert read(f"{log}\nこれは何が悪いですか").lang == "ja"
