"""Pacing, sessions, turns, messages: the chat without a browser."""

import json
import threading
import time
from types import SimpleNamespace

import pytest
from fake_advisor import HOSTILE, FakeAdvisor

from advisor.answer import Step, ToolCall
from advisor.web import messages
from advisor.web.guards import RateLimit, TooManyRequests, check_question
from advisor.web.metrics import Metrics
from advisor.web.pacing import FIRST_S, Paced
from advisor.web.session import MAX_TURNS, Session, Turn, held_or_mine, pack, restored, saved, unpack
from advisor.web.turns import Turns


@pytest.fixture
def settings(tmp_path):
    return SimpleNamespace(rate_limit_per_minute=1000, max_input_chars=2000, log_questions=False, home=tmp_path)


@pytest.fixture
def turns(settings):
    return Turns(FakeAdvisor(settings), settings, Metrics())


def run(turns, question, session=None, **more):
    return list(turns.run(question, session or Session(), more.pop("lang", "en"), more.pop("address", "a"), **more))


def test_paced_groups_everything_in_order():
    groups = list(Paced(iter(range(100)), interval_s=0.01))
    assert [x for group in groups for x in group] == list(range(100))
    assert len(groups) < 20


def test_paced_gives_a_short_source_in_one_list():
    assert list(Paced(iter(range(20)), interval_s=5)) == [list(range(20))]


def test_paced_gives_what_there_is_while_the_source_works_on():
    go = threading.Event()

    def slow():
        yield "first"
        go.wait(20)
        yield "last"

    groups = iter(Paced(slow(), interval_s=0.01))
    assert next(groups) == ["first"]
    go.set()
    assert list(groups) == [["last"]]


def test_paced_passes_errors_after_what_came_before():
    def broken():
        yield 1
        raise ValueError("x")

    seen = []
    with pytest.raises(ValueError, match="x"):
        for group in Paced(broken(), interval_s=0.01):
            seen += group
    assert seen == [1]


def test_paced_stops_and_closes_its_source():
    closed = threading.Event()

    def endless():
        try:
            while True:
                yield 1
                time.sleep(0.01)
        finally:
            closed.set()

    stop = threading.Event()
    for _ in Paced(endless(), stop.is_set, interval_s=0.02):
        stop.set()
    assert closed.wait(2)


def test_a_turn_streams_steps_and_text_and_ends_with_the_answer(turns):
    turns.advisor.delay_s = 0.15
    states = run(turns, "Full fine-tune of a 7B model")
    assert states[0].text == "" and states[-1].text is None
    assert states[-1].session.turns[-1].answer.intent == "picks"
    assert turns.metrics.registry.get_sample_value("advisor_turns_total", {"intent": "picks"}) == 1
    assert turns.metrics.registry.get_sample_value("advisor_turn_seconds_count") == 1


def test_an_error_becomes_words_and_nothing_is_raised(turns):
    turn = run(turns, "crash")[-1].session.turns[-1]
    assert turn.answer is None and "cannot be opened" in turn.error
    assert turns.metrics.registry.get_sample_value("advisor_errors_total", {"code": "unavailable"}) == 1


def test_an_unforeseen_error_shows_no_inner_detail(turns):
    turns.advisor.stream = lambda *args, **more: (_ for _ in ()).throw(RuntimeError("/secret/path"))
    turn = run(turns, "x", lang="ja")[-1].session.turns[-1]
    assert "RuntimeError" in turn.error and "/secret" not in turn.error and "内部" in turn.error


@pytest.mark.parametrize("question", ["", "   ", "x" * 2001])
def test_empty_and_long_questions_are_refused(turns, question):
    assert run(turns, question)[-1].session.turns[-1].error
    assert turns.advisor.asked == []


def test_stop_ends_the_turn_with_what_was_there(turns):
    turns.advisor.delay_s = 0.2
    session = Session()
    states = []
    for state in turns.run("Full fine-tune of a 7B model", session, "en", "a"):
        states.append(state)
        if state.text:
            turns.stop(state.session)
    last = states[-1].session.turns[-1]
    assert last.stopped and last.answer is None and last.partial
    assert turns._stops == {}


def test_stop_without_a_running_turn_does_nothing(turns):
    turns.stop(Session())
    assert run(turns, "7B")[-1].session.turns[-1].answer


def test_edited_assumptions_go_to_the_advisor_in_the_answers_language(turns):
    session = run(turns, "7Bを学習したい")[-1].session
    answer = session.turns[-1].answer
    more = answer.workload.model_copy(update={"tokens": 8e8})
    session = run(turns, "変更", session, workload=more, constraints=answer.constraints)[-1].session
    assert session.turns[-1].edited and session.turns[-1].answer.workload.tokens == 8e8
    assert turns.advisor.asked[-1] == ("", session.thread, "ja")


def test_a_turn_shows_itself_once_it_takes_longer_and_a_quick_one_only_its_end(turns):
    states = run(turns, "7B")
    assert [state.text for state in states] == [None]
    states = run(turns, "7B slow")
    assert states[0].text == "" and states[0].session.turns[-1].question == "7B slow" and states[-1].text is None


def test_a_source_that_says_nothing_for_long_gives_an_empty_group_first():
    def late():
        time.sleep(FIRST_S + 0.2)
        yield 1

    assert list(Paced(late(), interval_s=0.01)) == [[], [1]]


def test_turns_that_run_at_once_share_the_updates(turns, monkeypatch):
    from advisor.web import turns as module

    paces = []

    class Noted(Paced):
        def __init__(self, source, stopped, interval_s):
            paces.append(interval_s)
            super().__init__(source, stopped, interval_s)

    monkeypatch.setattr(module, "Paced", Noted)
    first = turns.run("7B slow", Session(), "en", "a")
    second = turns.run("13B slow", Session(), "en", "b")
    assert next(first).text is not None and next(second).text is not None
    list(second), list(first)
    run(turns, "30B")
    assert paces == [pytest.approx(module.UPDATE_S), pytest.approx(2 * module.UPDATE_S), pytest.approx(module.UPDATE_S)]
    assert turns._stops == {}


def test_a_branch_takes_the_advisors_memory_along(turns):
    session = run(turns, "7B")[-1].session
    session = run(turns, "and 13B", session)[-1].session
    turns.advisor.asked.clear()
    fresh = turns.branch(session, 1)
    assert fresh.thread == turns.advisor.branch(session.thread, ["7B"]) and fresh.turns == session.turns[:1]
    assert turns.advisor.asked == []


def test_a_branch_of_a_forgotten_conversation_hears_the_kept_questions_in_a_new_thread(turns):
    turns.advisor.remembers = False
    session = run(turns, "7B")[-1].session
    session = run(turns, "and 13B", session)[-1].session
    turns.advisor.asked.clear()
    fresh = turns.branch(session, 1)
    assert fresh.thread != session.thread and len(fresh.turns) == 1
    assert turns.advisor.asked == [("7B", fresh.thread, "auto")]


def test_rate_limit_counts_by_address_and_recovers():
    now = [0.0]
    limit = RateLimit(2, clock=lambda: now[0])
    limit.check("a")
    limit.check("a")
    limit.check("b")
    with pytest.raises(TooManyRequests) as refused:
        limit.check("a")
    assert refused.value.wait_s == 60
    now[0] = 61
    limit.check("a")


def test_rate_limit_reaches_the_visitor_in_words(settings):
    settings.rate_limit_per_minute = 1
    turns = Turns(FakeAdvisor(settings), settings, Metrics())
    run(turns, "7B")
    assert "1 questions a minute" in run(turns, "7B")[-1].session.turns[-1].error


def test_check_question():
    assert check_question("  hi ", 10) == "hi"


def test_sessions_have_threads_that_cannot_be_guessed():
    threads = {Session().thread for _ in range(50)}
    assert len(threads) == 50 and all(len(thread) >= 20 for thread in threads)


def test_a_session_survives_the_browsers_storage(turns):
    session = run(turns, "7B")[-1].session
    back = restored(saved(session))
    assert back.thread == session.thread
    assert back.turns[0].answer.picks == session.turns[0].answer.picks
    assert back.turns[0].answer.counterfactual.with_ is not None


@pytest.mark.parametrize(
    "text", ["", "{}x", "[]", '{"thread": "../../etc/passwd"}', '{"turns": 3}', '{"thread": "short"}', '{"evil": 1}']
)
def test_what_is_no_conversation_is_not_restored(text):
    assert restored(text) is None


def test_what_the_server_holds_counts_before_what_the_browser_says(turns):
    held = run(turns, "7B")[-1].session
    said = json.dumps({"id": "y" * 22, "session": saved(Session(thread="z" * 22))})
    assert held_or_mine(pack(held), said) == held


def test_a_forgotten_conversation_comes_back_from_the_browser(turns):
    session = run(turns, "7B")[-1].session
    back = held_or_mine(None, json.dumps({"id": session.thread, "session": saved(session)}))
    assert back.thread == session.thread and back.turns[0].question == "7B"
    back = held_or_mine(None, json.dumps({"id": session.thread, "session": ""}))
    assert back.thread == session.thread and back.turns == []


@pytest.mark.parametrize("said", [None, "", "{", "[]", "3", "{}", '{"id": "../../x"}', '{"id": 3, "session": {}}'])
def test_what_names_no_conversation_begins_a_new_one(said):
    fresh = held_or_mine(None, said)
    assert fresh.turns == [] and len(fresh.thread) >= 20 and fresh.thread != held_or_mine(None, said).thread


def test_old_turns_leave_a_long_conversation():
    session = Session()
    for i in range(MAX_TURNS + 5):
        session = session.with_turn(Turn(question=str(i)))
    assert len(session.turns) == MAX_TURNS and session.turns[0].question == "5"


def test_messages_of_a_finished_turn(turns):
    session = run(turns, f"7B {HOSTILE}")[-1].session
    shown = messages.conversation(session, "en")
    assert [m["role"] for m in shown] == ["user", "assistant", "assistant"]
    assert all("<script" not in message["content"] for message in shown)
    assert shown[1]["metadata"]["status"] == "done" and "(#src-0-1)" in shown[2]["content"]


def test_tool_calls_show_as_one_folded_message(turns):
    session = run(turns, "7B")[-1].session
    answer = session.turns[0].answer.model_copy(update={"tool_calls": (ToolCall(name="recommend", ms=12),)})
    shown = messages.turn_messages(session.turns[0].model_copy(update={"answer": answer}), 0, "ja")
    assert shown[1]["metadata"]["status"] == "done" and "候補を順位付け (12 ms)" in shown[1]["content"]


def test_steps_pair_their_start_with_their_end():
    steps = [
        Step(name="search_guides", state="running"),
        Step(name="search_guides", state="running"),
        Step(name="search_guides", state="done", summary="2 <b>", ms=3),
        Step(name="recommend", state="failed", summary="no"),
    ]
    lines = messages.steps_text(steps, "en").splitlines()
    assert lines[0].startswith("- ✓ Searched the guides: 2 &lt;b>") and lines[1].startswith("- …")
    assert lines[2].startswith("- ✗")


@pytest.mark.parametrize(("index", "turn"), [(0, 0), (2, 0), (3, 1), (5, 1), (9, 1)])
def test_a_message_belongs_to_its_turn(turns, index, turn):
    session = run(turns, "7B")[-1].session
    session = run(turns, "13B", session)[-1].session
    assert messages.turn_at(session, index, "en") == turn


def test_stopped_and_failed_turns_have_words():
    stopped = messages.turn_messages(Turn(question="q", stopped=True, partial="half"), 0, "en")
    failed = messages.turn_messages(Turn(question="q", error="no <b>"), 0, "en")
    assert stopped[1]["content"].startswith("half") and "*Stopped*" in stopped[1]["content"]
    assert "no &lt;b>" in failed[1]["content"]


def test_ten_visitors_at_once_do_not_mix(turns):
    turns.advisor.delay_s = 0.02
    results = {}

    def visitor(i):
        session = Session()
        for k in range(3):
            session = run(turns, f"visitor {i} turn {k}", session, address=str(i))[-1].session
        results[i] = session

    threads = [threading.Thread(target=visitor, args=(i,)) for i in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, session in results.items():
        assert [t.question for t in session.turns] == [f"visitor {i} turn {k}" for k in range(3)]
        assert all(f"visitor {i} turn {k}" in t.answer.text for k, t in enumerate(session.turns))


def test_a_held_conversation_is_the_same_and_each_finished_turn_is_compressed_once(turns, monkeypatch):
    import advisor.web.session as module

    session = run(turns, "7B")[-1].session
    session = run(turns, "and 13B", session)[-1].session
    held = pack(session)
    assert unpack(held) == session and unpack(None).turns == []
    compressed = []
    packed = module._packed
    monkeypatch.setattr(module, "_packed", lambda turn: compressed.append(turn.question) or packed(turn))
    again = unpack(held)
    longer = again.with_turn(Turn(question="third", answer=again.turns[1].answer))
    assert unpack(pack(longer)) == longer
    assert compressed == ["and 13B", "third"]
    compressed.clear()
    last = longer.turns[-1].model_copy(update={"question": "changed"})
    changed = longer.model_copy(update={"turns": [*longer.turns[:-1], last]})
    assert unpack(pack(changed)).turns[-1].question == "changed"
    assert compressed == ["changed"]
