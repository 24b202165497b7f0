"""A long conversation: its words stay, older states and tables of old turns go, in one file that does not pile up."""

import sqlite3

from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage

from advisor.conversation import build_advisor
from advisor.history import TURNS_WITH_TOOLS, keep_latest, lightened
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
