"""The planner's answer is written once a turn, and what is kept for that leaves again."""

from types import SimpleNamespace

import pytest

from advisor.planner import written
from advisor.planner.written import WRITTEN, Written


def test_an_answer_is_taken_once():
    held = Written()
    answer = SimpleNamespace(text="x")
    results = SimpleNamespace(calls=())
    held.keep("a", answer, results)
    assert held.take("b") is None and held.take(None) is None
    assert held.take("a") == (answer, results) and held.take("a") is None


def test_the_oldest_leaves(monkeypatch):
    monkeypatch.setattr(written, "KEPT", 3)
    held = Written()
    for name in "abcd":
        held.keep(name, SimpleNamespace(text=name), None)
    assert held.take("a") is None and held.take("d")[0].text == "d"


@pytest.mark.parametrize("question", ["Full fine-tune of a 7B model on 8 H100", "NVLink と InfiniBand の違いは？"])
def test_a_turn_writes_its_answer_once_and_keeps_nothing(advisor, monkeypatch, question):
    from advisor.planner import writing

    calls = []
    write = writing.write

    def counted(*args, **options):
        calls.append(args)
        return write(*args, **options)

    monkeypatch.setattr(writing, "write", counted)
    answer = advisor.ask(question)
    assert len(calls) == 1 and answer.text
    assert WRITTEN._answers == {}
    reading, results = calls[0]
    assert write(reading, results).text == answer.text
