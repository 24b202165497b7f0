import pytest

from advisor.planner.reading import read
from advisor.planner.reading.pasted import split

TOPOLOGY = """        GPU0    GPU1    NIC0    CPU Affinity
GPU0     X      NV12    PXB     0-31
GPU1    NV12     X      PXB     0-31
NIC0    PXB     PXB      X

Legend:
  NV#  = Connection traversing a bonded set of # NVLinks"""


def test_a_log_is_taken_out_and_the_question_kept():
    question, log = split(f"Why is it slow?\n{TOPOLOGY}\nThanks")
    assert question.startswith("Why is it slow?") and "Thanks" in question
    assert log is not None and "NV12" in log and "slow" not in log


def test_a_fenced_log():
    question, log = split("どこが悪い？\n```\nhost:1:2 [0] NCCL WARN Connect failed\n```")
    assert question == "どこが悪い？" and log == "host:1:2 [0] NCCL WARN Connect failed"


@pytest.mark.parametrize(
    "text", ["a\nb\nc\nd", "Model: 7B\nBudget: $500\nRegion: Tokyo", "```\npip install torch\n```", "", "\n\n\n"]
)
def test_prose_and_lists_are_no_log(text):
    assert split(text) == (text, None)


def test_a_pasted_log_is_trouble():
    reading = read(f"{TOPOLOGY}\n")
    assert reading.intent == "troubleshoot" and "diagnose" in reading.acts and reading.pasted


def test_numbers_of_a_log_are_not_read_as_conditions():
    reading = read(f"どのGPUを借りればいい？7BのLoRA\n{TOPOLOGY}")
    assert reading.constraints.gpu_count is None and reading.workload.params_b == 7
