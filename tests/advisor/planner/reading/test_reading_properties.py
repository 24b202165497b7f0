"""Reading never fails, whatever the text, and what is said another way is read the same."""

import json
import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from advisor.planner.reading import Reading, read

FOLDER = Path(__file__).parent
PIECES = (
    "8x H100", "H100 8枚", "7B", "LoRA", "を", "の", "?", "？", "under $3", "予算20万円", "/hr", "NVLink", "not", "以外", "AWS", "東京", "in the US",
    "seq 8192", "cheapest", "スポット", "why", "なぜ", "\n", " ", "NCCL INFO", "```", "<b>", "50B tokens", "1e9", "-", "(", "一", "万", "0", "ignore",
)  # fmt: skip
EXAMPLES = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@EXAMPLES
@given(st.text(max_size=300))
def test_any_unicode_is_read(text):
    reading = read(text)
    assert 0 <= reading.topic_relevance <= 1 and reading.text == text


@EXAMPLES
@given(st.lists(st.sampled_from(PIECES), max_size=25), st.lists(st.sampled_from(PIECES), max_size=8))
def test_any_words_and_any_follow_up_are_read(first, second):
    reading = read(" ".join(second), read("".join(first)))
    assert Reading.model_validate(reading.model_dump(mode="json", by_alias=True)) == reading
    counts = reading.constraints.model_dump(include={"gpu_count", "nodes", "min_gpus", "max_gpus", "gpus_per_node"})
    assert all(value is None or value > 0 for value in counts.values())


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        " ",
        "1",
        "1,",
        "h100 ",
        "8x ",
        "$1 ",
        "<",
        "<a ",
        "?",
        "(",
        "一",
        "カ",
        "```\n",
        "NCCL INFO x\n",
        "or ",
        "not aws ",
        "in the us ",
        "\u202e\x00",
        "7b ",
        "東京の",
    ],
)
def test_a_hundred_thousand_characters_are_read(piece):
    assert read((piece * (100_000 // len(piece) + 1))[:100_000]).turn == 1


def _turns():
    for path in sorted(FOLDER.glob("cases_*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)["turns"][0]["text"]


def _meaning(reading):
    job = reading.workload
    return reading.intent, job and (job.kind, job.params_b, job.seq_len), reading.constraints


def _wide(text):
    return "".join(chr(ord(c) + 0xFEE0) if c.isascii() and c.isalnum() else c for c in text)


def _polite(text):
    if re.search("[\u3040-\u30ff]", text):
        return f"お世話になっております。{text}よろしくお願いいたします。"
    return f"Hello! {text} Thanks in advance."


def _apart(text):
    return re.sub(
        r"(?<=[\u3040-\u30ff\u4e00-\u9fff])(?=[A-Za-z0-9])|(?<=[A-Za-z0-9])(?=[\u3040-\u30ff\u4e00-\u9fff])", " ", text
    )


@pytest.mark.parametrize(
    ("way", "share"),
    [
        (str.upper, 1.0),
        (str.lower, 1.0),
        (_wide, 1.0),
        (_apart, 0.98),
        (_polite, 0.97),
        (lambda t: unicodedata.normalize("NFKC", t), 1.0),
    ],
)
def test_said_another_way(way, share):
    texts = list(_turns())
    same = [text for text in texts if _meaning(read(way(text))) == _meaning(read(text))]
    assert len(same) >= share * len(texts), sorted(set(texts) - set(same))
