"""Values worked out once, also by several threads at once; failures are not remembered."""

import threading

import pytest

from knowledge.remembered import Remembered


def test_a_value_is_worked_out_once_and_the_longest_unused_leaves():
    known, worked = Remembered(2), []

    def work(key):
        return lambda: worked.append(key) or key.upper()

    assert [known.get(key, work(key)) for key in "abacb"] == ["A", "B", "A", "C", "B"]
    assert worked == ["a", "b", "c", "b"]


def test_threads_that_ask_at_once_wait_for_the_first():
    known, worked, found = Remembered(4), [], []
    started, go = threading.Event(), threading.Event()

    def slow():
        worked.append(1)
        started.set()
        assert go.wait(10)
        return "value"

    threads = [threading.Thread(target=lambda: found.append(known.get("k", slow))) for _ in range(5)]
    threads[0].start()
    assert started.wait(10)
    for thread in threads[1:]:
        thread.start()
    go.set()
    for thread in threads:
        thread.join(10)
    assert found == ["value"] * 5 and worked == [1]


def test_a_failure_reaches_whoever_asked_and_is_tried_again():
    known = Remembered(2)
    with pytest.raises(ZeroDivisionError):
        known.get("k", lambda: 1 / 0)
    assert known.get("k", lambda: 5) == 5


def test_what_is_not_to_be_kept_is_worked_out_again():
    known = Remembered(2)
    assert known.get("k", lambda: 1, keep=lambda value: value > 1) == 1
    assert known.get("k", lambda: 2, keep=lambda value: value > 1) == 2
    assert known.get("k", lambda: 3) == 2
