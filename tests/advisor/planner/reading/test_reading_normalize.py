import pytest

from advisor.planner.reading.normalize import READ_CHARS, clip, normalize, squash


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Ｈ１００　８枚", "h100 8枚"),
        ("八枚と二台", "8枚と2台"),
        ("十二ノード", "12ノード"),
        ("一番安い", "一番安い"),
        ("two nodes of eight H100s", "2 nodes of 8 h100s"),
        ("ONE T4", "1 t4"),
        ("a couple of L40S", "2 l40s"),
        ("half a dozen GPUs", "6 gpus"),
        ("1,234,567 tokens", "1234567 tokens"),
        ("1,5", "1,5"),
        ("8×80GB – fast", "8x80gb - fast"),
        ("<script>alert('x')</script><b>A100</b>", "alert('x') a100"),
        ("GCP で 8 枚", "gcpで8枚"),
        ("1万枚", "10000枚"),
        ("80 gigs", "80 gb"),
        ("H1008枚", "h100 8枚"),
        ("a\u200bb\u00adc", "abc"),
        ("¥３０，０００", "¥30000"),
    ],
)
def test_normalize(text, plain):
    assert normalize(text) == plain


def test_one_key_held_down_is_dropped():
    assert normalize("x" * 5_000 + " H100") == "h100"


def test_clip_keeps_beginning_and_end():
    text = "start" + "a" * 50_000 + "end"
    clipped = clip(text)
    assert clipped.startswith("start") and clipped.endswith("end") and len(clipped) <= READ_CHARS + 1


def test_squash_makes_spellings_one():
    assert squash("Llama-3.1 8B") == squash("llama3.1_8b") == "llama3.18b"
