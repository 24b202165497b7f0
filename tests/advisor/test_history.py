"""A long conversation: its words stay, older states and tables of old turns go, in one file that does not pile up."""

import sqlite3

import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage

from advisor.conversation import build_advisor
from advisor.history import TURNS_WITH_TOOLS, keep_latest, lightened, up_to
from advisor.settings import Settings

QUESTIONS = ("LoRA of a 34B model in Japan", "cheaper?", "in the US instead", "why?", "and with H100?", "フルFTなら？")


def _turn(number, artifact):
    call = {"name": "recommend", "args": {}, "id": f"c{number}"}
    return [
        HumanMessage(content="q", id=f"h{number}"),
        AIMessage(content="", tool_calls=[call], id=f"a{number}"),
        ToolMessage(content="r", artifact=artifact, tool_call_id=f"c{number}", id=f"t{number}"),
        AIMessage(content="answer", id=f"f{number}"),
    ]


def test_tables_go_at_once_and_calls_after_some_turns():
    turns = TURNS_WITH_TOOLS + 2
    messages = [message for number in range(turns) for message in _turn(number, {"rows": number})]
    sent = {message.id: message for message in lightened(messages)}
    old = range(turns - TURNS_WITH_TOOLS)
    assert {key for key, message in sent.items() if isinstance(message, RemoveMessage)} == {
        f"{kind}{number}" for number in old for kind in "at"
    }
    kept = [message for message in sent.values() if not isinstance(message, RemoveMessage)]
    assert len(kept) == TURNS_WITH_TOOLS
    assert all(message.artifact is None and message.content == "r" for message in kept)


def test_a_conversation_keeps_its_words_and_one_state(built_home):
    advisor = build_advisor(Settings(home=built_home))
    answers = [advisor.ask(question, "long").text for question in QUESTIONS]
    config = {"configurable": {"thread_id": "long"}}
    assert len(list(advisor._graph.checkpointer.list(config))) == 1
    messages = advisor._graph.get_state(config).values["messages"]
    assert [m.content for m in messages if m.type == "human"] == list(QUESTIONS)
    assert [m.content for m in messages if m.type == "ai" and not m.tool_calls] == answers


def test_a_remembered_state_is_the_one_in_the_file(built_home):
    advisor = build_advisor(Settings(home=built_home))
    saver, config = advisor._graph.checkpointer, {"configurable": {"thread_id": "long"}}
    for question in QUESTIONS:
        advisor.ask(question, "long")
        remembered = saver.get_tuple(config)
        saver._written.clear()
        read = saver.get_tuple(config)
        assert remembered.config == read.config and remembered.metadata == read.metadata
        assert remembered.checkpoint["channel_versions"] == read.checkpoint["channel_versions"]
        mine, stored = (t.checkpoint["channel_values"]["messages"] for t in (remembered, read))
        assert [m.model_dump() for m in mine] == [m.model_dump() for m in stored]


def test_what_another_process_wrote_is_noticed(built_home):
    one, other = build_advisor(Settings(home=built_home)), build_advisor(Settings(home=built_home))
    one.ask("LoRA of a 34B model", "shared")
    assert other.ask("Full fine-tune of a 7B model on 8 H100", "shared").workload.params_b == 7
    assert one.ask("cheaper?", "shared").workload.params_b == 7
    config = {"configurable": {"thread_id": "shared"}}
    assert len([m for m in one._graph.get_state(config).values["messages"] if m.type == "human"]) == 3


def test_only_so_many_threads_are_remembered(built_home, monkeypatch):
    monkeypatch.setattr("advisor.history.REMEMBERED", 2)
    advisor = build_advisor(Settings(home=built_home))
    for name in "abc":
        advisor.ask("LoRA of a 34B model", name)
    assert [thread for thread, _ in advisor._graph.checkpointer._written] == ["b", "c"]
    advisor._graph.checkpointer.delete_thread("c")
    assert [thread for thread, _ in advisor._graph.checkpointer._written] == ["b"]
    assert advisor.ask("cheaper?", "a").workload.params_b == 34


def _asked(*questions):
    return [
        m for n, q in enumerate(questions) for m in (HumanMessage(content=q, id=f"h{n}"), AIMessage(content=f"to {q}"))
    ]


@pytest.mark.parametrize(
    ("questions", "kept"),
    [((), 0), (("a",), 2), (("a", "b"), 4), (("a", "a"), 6), (("b",), 4), (("a", "x"), None), (("b", "b"), None)],
)
def test_a_branch_ends_after_the_last_kept_answer(questions, kept):
    messages = _asked("a", "b", "a", "c")
    found = up_to(messages, questions)
    assert found == (None if kept is None else messages[:kept])


def test_a_branch_knows_what_was_kept_and_nothing_that_was_taken_back(built_home):
    advisor = build_advisor(Settings(home=built_home))
    advisor.ask("LoRA of a 34B model in Japan", "root")
    advisor.ask("and a 70B one?", "root")
    assert advisor.branch("root", ["never asked"]) is None and advisor.branch("unknown thread", ["a"]) is None
    fresh = advisor.branch("root", ["LoRA of a 34B model in Japan"])
    answer = advisor.ask("cheaper?", fresh)
    assert answer.workload.params_b == 34
    assert advisor.ask("cheaper?", "root").workload.params_b == 70
    empty = advisor.branch("root", [])
    assert not advisor._graph.get_state({"configurable": {"thread_id": empty}}).values.get("messages")


def test_a_branch_of_a_conversation_changed_by_hand(built_home):
    advisor = build_advisor(Settings(home=built_home))
    first = advisor.ask("LoRA of a 34B model", "root")
    changed = first.workload.model_copy(update={"params_b": 13.0})
    advisor.ask("", "root", "en", workload=changed, constraints=first.constraints)
    fresh = advisor.branch("root", ["LoRA of a 34B model", ""])
    assert advisor.ask("cheaper?", fresh).workload.params_b == 13


def test_other_conversations_are_left_alone(built_home):
    advisor = build_advisor(Settings(home=built_home))
    advisor.ask("LoRA of a 34B model", "one")
    advisor.ask("Full fine-tune of a 7B model", "two")
    advisor._graph.checkpointer.prune(["one"], strategy="delete")
    assert advisor.ask("cheaper?", "two").workload.params_b == 7
    assert not advisor._graph.get_state({"configurable": {"thread_id": "one"}}).values


def test_states_that_cannot_be_dropped_cost_no_answer(caplog):
    class Full:
        def prune(self, threads):
            raise sqlite3.OperationalError("database or disk is full")

    keep_latest(Full(), "a-thread")
    assert "disk is full" in caplog.text
