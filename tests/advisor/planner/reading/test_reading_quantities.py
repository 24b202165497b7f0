import pytest

from advisor.planner.reading.normalize import normalize
from advisor.planner.reading.quantities import deadline_hours, number_patterns, read_numbers


def _first(text, meaning):
    return next((q.value for q in read_numbers(normalize(text)) if q.meaning == meaning), None)


@pytest.mark.parametrize(
    ("text", "meaning", "value"),
    [
        ("seq 8192", "seq_len", 8192),
        ("seq_len=4096", "seq_len", 4096),
        ("16k context", "seq_len", 16384),
        ("context length of 100k", "seq_len", 100_000),
        ("コンテキスト８ｋ", "seq_len", 8192),
        ("応答長32k", "seq_len", 32768),
        ("系列長4096", "seq_len", 4096),
        ("50B tokens", "tokens", 5e10),
        ("３００億トークン", "tokens", 3e10),
        ("1.5兆トークン", "tokens", 1.5e12),
        ("20 million images", "images", 2e7),
        ("14M images", "images", 1.4e7),
        ("画像10万枚", "images", 1e5),
        ("30-50 concurrent streams", "concurrency", 50),
        ("同時２０リクエスト", "concurrency", 20),
        ("200人", "users", 200),
        ("25 QPS", "requests_per_s", 25),
        ("120 requests per minute", "requests_per_s", 2),
        ("毎秒5リクエスト", "requests_per_s", 5),
        ("micro batch 1", "micro_batch", 1),
        ("バッチサイズは4", "micro_batch", 4),
        ("global batch size of 1024", "global_batch_seqs", 1024),
        ("TP=4", "tensor_parallel", 4),
        ("expert parallel 8", "expert_parallel", 8),
        ("パイプライン並列2", "pipeline_parallel", 2),
        ("rank 64", "lora_rank", 64),
        ("prompts of 3k tokens", "input_tokens", 3000),
        ("入力2000トークン", "input_tokens", 2000),
        ("the scene needs about 30 GB of VRAM", "job_memory_gb", 30),
        ("VRAM 48GB以上", "min_gpu_memory_gb", 48),
        ("at least 80 GB", "min_gpu_memory_gb", 80),
        ("2,400 frames", "frames", 2400),
        ("MDを200本", "jobs", 200),
        ("within 3 days", "deadline_hours", 72),
        ("1週間以内", "deadline_hours", 168),
        ("期限は10日", "deadline_hours", 240),
        ("8 per node", "gpus_per_node", 8),
    ],
)
def test_a_number_means_what_its_words_say(text, meaning, value):
    assert _first(text, meaning) == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("deepseek-r1", "lora_rank"),
        ("640 GB", "min_gpu_memory_gb"),
        ("7B", "tokens"),
        ("1時間100円", "deadline_hours"),
        ("10 hours of audio", "deadline_hours"),
        ("how many hours", "deadline_hours"),
    ],
)
def test_a_number_does_not_mean_more(text, meaning):
    assert _first(text, meaning) is None


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("by tonight", 12),
        ("今日中に", 12),
        ("over the weekend", 60),
        ("来週までに", 168),
        ("by tomorrow", 24),
        ("no hurry", None),
    ],
)
def test_deadlines_in_words(text, hours):
    norm = normalize(text)
    found = deadline_hours(norm, read_numbers(norm))
    assert (found[0] if found else None) == hours


def test_every_pattern_names_one_number():
    for row in number_patterns():
        assert "n" in row.pattern.groupindex, row
        assert row.unit != "duration" or "u" in row.pattern.groupindex, row


def test_spans_point_into_the_text():
    text = normalize("7B, seq 8192, 50B tokens, 20 concurrent requests")
    for quantity in read_numbers(text):
        assert text[quantity.start : quantity.end].strip() == quantity.text
