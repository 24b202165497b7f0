"""The limit on a server's time: slow costs two seconds once, away costs nothing, back is noticed."""

import threading

import pytest

from knowledge.deadline import Deadline
from knowledge.errors import StoreUnavailable


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def _fail():
    raise StoreUnavailable("refused")


def test_results_and_errors_pass_through():
    deadline = Deadline()
    assert deadline.run(lambda: 41 + 1) == 42
    with pytest.raises(StoreUnavailable, match="refused"):
        deadline.run(_fail)


def test_after_a_failure_the_server_is_left_alone_for_a_while():
    clock, calls = Clock(), []
    deadline = Deadline(pause_s=5, clock=clock)
    with pytest.raises(StoreUnavailable):
        deadline.run(_fail)
    with pytest.raises(StoreUnavailable, match="refused"):
        deadline.run(lambda: calls.append(1))
    assert calls == []
    clock.now = 6
    deadline.run(lambda: calls.append(1))
    deadline.run(lambda: calls.append(1))
    assert calls == [1, 1]


def test_a_server_that_hangs_is_given_up_and_not_asked_while_the_call_hangs():
    clock, release, calls = Clock(), threading.Event(), []
    deadline = Deadline(wait_s=0.05, pause_s=1, clock=clock)
    with pytest.raises(StoreUnavailable, match="within"):
        deadline.run(release.wait)
    clock.now = 10
    with pytest.raises(StoreUnavailable):
        deadline.run(lambda: calls.append(1))
    assert calls == []
    release.set()
    for thread in deadline._hung:
        thread.join(10)
    deadline.run(lambda: calls.append(1))
    assert calls == [1]


def test_only_one_call_tries_a_server_that_was_away():
    clock, entered, release, results = Clock(), threading.Event(), threading.Event(), []
    deadline = Deadline(wait_s=30, pause_s=1, clock=clock)
    with pytest.raises(StoreUnavailable):
        deadline.run(_fail)
    clock.now = 2

    def slow():
        entered.set()
        release.wait(20)
        return "back"

    first = threading.Thread(target=lambda: results.append(deadline.run(slow)))
    first.start()
    assert entered.wait(20)
    with pytest.raises(StoreUnavailable):
        deadline.run(lambda: results.append("second"))
    release.set()
    first.join(20)
    assert results == ["back"]
    assert deadline.run(lambda: "again") == "again"
