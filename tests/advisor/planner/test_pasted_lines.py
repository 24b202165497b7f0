"""One or two lines of output in a question are read as output; a sentence that only names the signs is not."""

import pytest

from advisor.planner.plan import promised_board
from advisor.planner.reading import read
from advisor.planner.reading.pasted import split


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


def test_the_promised_board_is_held_against_the_matrix(advisor):
    text = (
        "Seller says 4x A100 SXM. Is that true?\n        GPU0 GPU1 GPU2 GPU3\nGPU0  X  NODE SYS SYS\n"
        "GPU1 NODE  X  SYS SYS\nGPU2 SYS SYS  X  NODE\nGPU3 SYS SYS NODE  X"
    )
    assert promised_board(read(text)) == "A100-SXM"
    assert "nvlink_missing" in advisor.ask(text).text
    assert "nvlink_missing" not in advisor.ask(text.replace(" SXM", " PCIe")).text


def test_a_board_is_promised_by_the_name_of_its_system():
    matrix = "\n        GPU0 GPU1\nGPU0  X  NV18\nGPU1 NV18  X"
    assert promised_board(read(f"Seller says HGX H100. Is that true?{matrix}")) == "H100-SXM"
    assert promised_board(read(f"Seller says H100 PCIe. Is that true?{matrix}")) == "H100-PCIe"
    assert promised_board(read(f"Seller says H100. Is that true?{matrix}")) == "H100"
