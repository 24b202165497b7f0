"""The processes that answer, apart from the page's: the same answers and errors, started anew when they die, gone with the page."""

import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client
from pathlib import Path

import pytest

from advisor.answer import Done, Step
from advisor.errors import AdvisorError, BadRequest, Unavailable
from advisor.settings import Settings
from advisor.web.apart import TRIES, Apart, Child, _folder, _sendable
from knowledge.offers import OfferFilter


def until(true, seconds=60):
    """Wait until `true()`; False where it does not come."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(0.05)
    return False


@pytest.fixture(scope="module")
def apart(built_home):
    advisor = Apart(Settings(home=built_home, max_input_chars=2000), 2)
    advisor.start()
    assert until(lambda: advisor.is_open)
    yield advisor
    advisor.close()


def pids(advisor):
    return [child._process.pid for child in advisor._children]


def test_what_the_page_needs_is_answered_there(apart):
    answer = apart.ask("Full fine-tune of a 7B model on one node", "t" * 20)
    assert answer.picks and answer.citations
    assert apart.ask("cheaper?", "t" * 20).workload.params_b == 7
    branched = apart.branch("t" * 20, ["Full fine-tune of a 7B model on one node"])
    assert apart.ask("cheaper?", branched).workload.params_b == 7
    assert apart.health()["status"] == "ok"
    page = apart.offers.search(OfferFilter(gpu=["H100"], limit=3))
    assert page.count > 3 and len(page.offers) == 3
    assert apart.passages.get(answer.citations[0].passage_id).text
    assert apart.engine.verify("p5.48xlarge", "en").instance_type == "p5.48xlarge"
    assert apart.diagnose({"log": "NCCL INFO Using network Socket"}, "en").transport


def test_steps_come_as_they_happen_and_a_conversation_stays_in_one_process(apart):
    events = list(apart.stream("NVLink とは？", "s" * 20))
    assert isinstance(events[0], Step) and isinstance(events[-1], Done)
    assert len({apart._of("s" * 20) for _ in range(5)}) == 1
    assert {apart._of(f"thread-{n}") for n in range(40)} == set(apart._children)


def test_errors_keep_their_kind_and_words(apart):
    with pytest.raises(BadRequest, match="at most 2,000 are read"):
        apart.ask("x" * 2001)
    with pytest.raises(BadRequest, match="at most 2,000 are read"):
        list(apart.stream("x" * 2001))
    with pytest.raises(AttributeError):
        apart.call("no_such_method")
    assert apart.ask("NVLink?").text  # the connection that brought an error is as good as before

    class Local(Exception):
        """Cannot be pickled: nobody finds it by its name."""

    assert str(_sendable(Local("why"))) == "Local: why" and _sendable(KeyError("a")).args == ("a",)

    class Refusal(BadRequest):
        """Meant for a person, and as local."""

    assert type(_sendable(Refusal("why"))) is AdvisorError and str(_sendable(Refusal("why"))) == "why"


def test_what_is_printed_there_goes_where_errors_go(apart):
    """Into the pipe that nobody reads any more it would go until that is full, and then wait for ever."""
    for pid in pids(apart):
        assert os.readlink(f"/proc/{pid}/fd/1") == os.readlink(f"/proc/{pid}/fd/2")


def test_arguments_that_cannot_be_sent_cost_no_connection(apart):
    with pytest.raises((TypeError, AttributeError, pickle.PicklingError)):
        apart.call("ask", lambda: "nobody can send this")
    assert apart.ask("NVLink?").text


def test_leaving_a_stream_early_leaves_no_connection_behind(apart):
    child = apart._of("e" * 20)
    idle = len(child._idle)
    stream = apart.stream("70B full fine-tune on 2 nodes", "e" * 20)
    next(stream)
    stream.close()
    assert len(child._idle) <= idle
    assert apart.ask("NVLink?", "e" * 20).text


def test_a_process_that_dies_is_started_anew(apart):
    before = pids(apart)
    os.kill(before[0], signal.SIGKILL)
    assert until(lambda: not apart._children[0].is_open)
    for n in range(6):  # some of them belong to the one that died
        assert apart.ask("NVLink?", f"again-{n}").text
    assert until(lambda: apart.is_open)
    assert pids(apart)[0] != before[0] and pids(apart)[1] == before[1]


def test_a_call_that_the_process_did_not_outlive_says_so(apart):
    child = apart._children[1]
    stream = child.items("stream", "70B full fine-tune on 2 nodes", "gone" * 5)
    next(stream)
    os.kill(child._process.pid, signal.SIGKILL)
    with pytest.raises(Unavailable, match="Ask again"):
        list(stream)
    assert child.call("ask", "NVLink?").text


def test_nobody_else_can_speak_to_it(apart):
    address, _ = apart._children[0]._address
    assert Path(address).parent.stat().st_mode & 0o077 == 0
    with pytest.raises(AuthenticationError):
        Client(address, authkey=b"a guess")
    assert apart._children[0].call("health")["status"] == "ok"


def test_a_long_folder_for_temporary_files_is_no_hindrance(monkeypatch, tmp_path):
    deep = tmp_path / ("d" * 60) / ("e" * 60)
    deep.mkdir(parents=True)
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    folder = Path(_folder())
    assert len(str(folder / "engine")) < 100 and not list(deep.iterdir())
    folder.rmdir()


def test_a_signal_to_the_whole_group_leaves_running_turns_to_the_page(apart):
    before = pids(apart)
    for pid in before:
        os.kill(pid, signal.SIGTERM)
        os.kill(pid, signal.SIGINT)
    assert apart.ask("NVLink?").text and pids(apart) == before


def test_a_process_that_cannot_start_is_given_up_with_words(built_home, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    child = Child(Settings(home=built_home))
    child.start()
    with pytest.raises(Unavailable, match=f"ended {TRIES} times"):
        child.call("health")
    assert child.is_open  # nothing is awaited any more


def test_what_cannot_be_opened_is_told_by_every_call(tmp_path):
    home = tmp_path / "file"
    home.write_text("not a folder")
    advisor = Apart(Settings(home=home))
    advisor.start()
    assert until(lambda: advisor.is_open)
    with pytest.raises(Unavailable, match="ADVISOR_HOME"):
        advisor.ask("NVLink?")
    advisor.close()


def test_the_processes_end_with_the_page(built_home):
    page = textwrap.dedent(
        f"""
        import time
        from advisor.settings import Settings
        from advisor.web.apart import Apart
        advisor = Apart(Settings(home={str(built_home)!r}))
        advisor.start()
        advisor.health()
        print(advisor._children[0]._process.pid, flush=True)
        time.sleep(600)
        """
    )
    process = subprocess.Popen([sys.executable, "-c", page], stdout=subprocess.PIPE, text=True)
    child = int(process.stdout.readline())
    process.kill()
    process.wait()
    assert until(lambda: not alive(child), 15)


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] != "Z"
