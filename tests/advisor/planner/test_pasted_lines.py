"""One or two lines of output in a question are read as output; a sentence that only names the signs is not."""

import pytest

from advisor.conversation import build_advisor
from advisor.planner.plan import promised_board
from advisor.planner.reading import read
from advisor.planner.reading.pasted import split
from advisor.settings import Settings


@pytest.mark.parametrize(
    ("text", "question", "log"),
    [
        (
            "NCCL INFO NET/IB : No device found.\nTwo nodes and very slow, what is wrong?",
            "Two nodes and very slow, what is wrong?",
            "NCCL INFO NET/IB : No device found.",
        ),
        (
            "efaのテストで fi_getinfo: -61 と表示されます",
            "efaのテストで fi_getinfo: -61 と表示されます",
            "fi_getinfo: -61",
        ),
        (
            "Error 802 from CUDA?\nCUDA failure: Error 802: system not yet initialized",
            "Error 802 from CUDA?",
            "CUDA failure: Error 802: system not yet initialized",
        ),
    ],
)
def test_one_telling_line_is_output(text, question, log):
    assert split(text) == (question, log)


@pytest.mark.parametrize(
    "text",
    [
        "What is the difference between PHB, NODE and SYS in topo -m?",
        "my matrix says SYS between gpu0 and gpu4 and NODE between 0 and 1, is that bad",
        "NCCL のログの見方を教えてください",
        "Does NCCL INFO level logging slow a job down?",
    ],
)
def test_a_sentence_about_output_is_a_question(text):
    assert split(text) == (text, None)


def test_the_promised_board_is_held_against_the_matrix(built_home):
    text = (
        "Seller says 4x A100 SXM. Is that true?\n        GPU0 GPU1 GPU2 GPU3\nGPU0  X  NODE SYS SYS\n"
        "GPU1 NODE  X  SYS SYS\nGPU2 SYS SYS  X  NODE\nGPU3 SYS SYS NODE  X"
    )
    assert promised_board(read(text)) == "A100-SXM"
    answer = build_advisor(Settings(home=built_home)).ask(text)
    assert "nvlink_missing" in answer.text
    plain = build_advisor(Settings(home=built_home)).ask(text.replace(" SXM", " PCIe"))
    assert "nvlink_missing" not in plain.text
