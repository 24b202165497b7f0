"""Odd, cut, shuffled and random text never raises, and evidence always stands in the text."""

from __future__ import annotations

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from advisor.reasoning.diagnose import diagnose, looks_like_diagnostic, mask_secrets, topology_svg, topology_text
from advisor.reasoning.diagnose.tables import rows

CASES = Path(__file__).parent / "cases"
LINES = sorted(
    {line for path in CASES.glob("*.txt") for line in path.read_bytes().decode("utf-8", "replace").splitlines() if line}
)
NEEDLES = [row["text"] for row in rows("signals.csv")]
PIECES = st.one_of(
    st.sampled_from(LINES),
    st.sampled_from(NEEDLES),
    st.text(max_size=60),
    st.sampled_from(
        [
            "GPU0",
            "NV12",
            "X",
            "\t",
            " via NET/IB/0",
            "NCCL INFO ",
            "[0]",
            "\x1b[31m",
            "::",
            "Rate: ",
            "Link 0:",
            "=" * 9,
        ]
    ),
)
MANGLED = st.lists(
    st.tuples(PIECES, st.integers(0, 40), st.integers(0, 400)).map(lambda t: t[0][t[1] % (len(t[0]) + 1) :][: t[2]]),
    max_size=25,
).flatmap(lambda parts: st.sampled_from(["\n", "\r\n", "\r", " ", "\x0b\n"]).map(lambda glue: glue.join(parts)))
SLOW = settings(deadline=None, max_examples=150, suppress_health_check=list(HealthCheck))


def check(text: str) -> None:
    for lang in ("en", "ja"):
        found = diagnose({"paste": text}, lang=lang)
        for problem in found.problems:
            assert problem.evidence.text and problem.evidence.text in text
        topology_text(found)
        topology_svg(found)
        found.masked().model_dump_json()


@SLOW
@given(MANGLED)
def test_mangled_lines(text):
    check(text)


@SLOW
@given(st.text(max_size=2000))
def test_any_text(text):
    check(text)
    looks_like_diagnostic(text)
    mask_secrets(text)


@SLOW
@given(st.lists(st.sampled_from(LINES), max_size=80))
def test_shuffled_real_lines(lines):
    check("\n".join(lines))


@SLOW
@given(st.sampled_from(sorted(CASES.glob("*.txt"))), st.integers(0, 4000), st.integers(0, 4000))
def test_cut_files(path, start, length):
    text = path.read_bytes().decode("utf-8", "replace")
    check(text[start : start + length])


def test_long_lines_and_deep_nesting():
    check("NCCL INFO " + "x" * 200_000)
    check("<pci busid='1' class=\"0x060400\">" * 5000)
    check("(" * 50_000)
    check("A=" * 20_000 + "NCCL_P2P_DISABLE=1")
    check("export " * 5_000 + "NCCL_P2P_DISABLE=1")
    check("-x " * 5_000 + "NCCL_IB_DISABLE")
    check("0" * 10_000 + ":1:2 [0] NCCL INFO a")


def test_lone_surrogates_do_not_break_the_output():
    text = "x\ud800\nGPU0\t X \tNV3 \udfff\nGPU1\tNV3\t X \nNo IB devices found \ud800\n"
    found = diagnose({"a\udcff": text})
    assert found.problems and found.model_dump_json() and found.masked().model_dump_json()
