"""Bold in Japanese text: what CommonMark would leave as asterisks is made smaller or plain."""

import pytest
from markdown_it import MarkdownIt

from advisor.planner.writing.bold import shown


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("最安は**sakura `DOK 8`**の¥374です", "最安は**sakura** `DOK 8`の¥374です"),
        ("**verda `x`**（1枚）です", "**verda `x`**（1枚）です"),
        ("**いいえ、足りません。** 次は", "**いいえ、足りません。** 次は"),
        ("速さは**28%**下がる", "速さは28%下がる"),
        ("は**「枚」**です", "は「枚」です"),
        ("**NVLink: needed**, and **RDMA: no**.", "**NVLink: needed**, and **RDMA: no**."),
    ],
)
def test_marks(text, wanted):
    assert shown(text) == wanted
    assert "**" not in MarkdownIt().render(shown(text))


QUESTIONS = (
    "さくらのH100の料金は？",
    "70Bを2ノードでフルファインチューニングしたい",
    "H100とA100、どっちが安い？",
    "NVLinkとは",
)


@pytest.mark.parametrize("question", QUESTIONS)
def test_no_asterisks_are_left_in_an_answer(advisor, question):
    assert "**" not in MarkdownIt().enable("table").render(advisor.ask(question).text)
