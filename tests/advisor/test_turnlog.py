"""The log of turns and the traces: what they hold, and what they never hold."""

import io
import json
import logging

import pytest

from advisor.answer import Done, Step
from advisor.errors import Unavailable
from advisor.settings import Settings
from advisor.tracing import NoTraces, OpenTelemetry, make_tracer
from advisor.turnlog import JsonLines, Observed, short, start_logging

QUESTION = "Train Xylophone-9B\nwith a secretword"


class Failing:
    def stream(self, question, thread=None, lang="auto", **edited):
        yield Step(name="recommend", args={}, state="running")
        raise Unavailable("the database does not answer")


@pytest.fixture
def lines():
    stream = io.StringIO()
    kept = {name: list(logging.getLogger(name).handlers) for name in ("advisor", "knowledge", "ingest")}
    start_logging(stream)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    for name, handlers in kept.items():
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = handlers, True
        logger.setLevel(logging.NOTSET)


def _turns(lines):
    return [line for line in lines() if line.get("event") == "turn"]


def test_one_line_a_turn_with_tools_times_and_versions(advisor, lines):
    answer = Observed(advisor, Settings()).ask("Full fine-tune of a 7B model, one node", "thread-of-a-person")
    (line,) = _turns(lines)
    assert line["intent"] == answer.intent == "picks"
    assert sorted(tool["name"] for tool in line["tools"]) == sorted(call.name for call in answer.tool_calls)
    assert all(tool["ms"] >= 0 for tool in line["tools"])
    assert line["knowledge_version"] == advisor.passages.version
    assert line["offers_as_of"] == advisor.offers.as_of
    assert line["picks"] == len(answer.picks)
    assert line["ms"] > 0


def test_no_question_and_no_thread_name_in_the_log(advisor, lines):
    Observed(advisor, Settings()).ask(QUESTION, "thread-of-a-person")
    text = json.dumps(lines())
    assert "secretword" not in text
    assert "thread-of-a-person" not in text
    assert _turns(lines)[0]["thread"] == short("thread-of-a-person")


def test_the_question_is_logged_where_it_is_switched_on(advisor, lines):
    Observed(advisor, Settings(log_questions=True)).ask(QUESTION)
    assert _turns(lines)[0]["question"] == QUESTION


def test_a_failed_turn_is_a_warning_with_its_code(lines):
    with pytest.raises(Unavailable):
        Observed(Failing(), Settings()).ask(QUESTION)
    (line,) = _turns(lines)
    assert (line["level"], line["error"], line["intent"]) == ("warning", "unavailable", None)


def test_a_stopped_turn_is_logged_as_stopped(advisor, lines):
    events = Observed(advisor, Settings()).stream("Full fine-tune of a 7B model")
    next(events)
    events.close()
    assert _turns(lines)[0]["error"] == "stopped"


def test_a_record_with_line_breaks_and_a_traceback_is_still_one_line():
    try:
        raise ValueError("two\nlines")
    except ValueError:
        import sys

        record = logging.LogRecord("advisor.x", logging.ERROR, "f", 1, "a\nb %s", ("c",), sys.exc_info())
    text = JsonLines().format(record)
    assert "\n" not in text
    assert json.loads(text)["message"] == "a\nb c"


def test_what_is_not_of_turns_passes_through(advisor):
    watched = Observed(advisor, Settings())
    assert watched.offers is advisor.offers
    assert watched.health()["status"] == "ok"


def test_spans_of_a_turn_and_its_tools(advisor):
    pytest.importorskip("opentelemetry.sdk")
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    provider, exporter = TracerProvider(), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    watched = Observed(advisor, Settings(), OpenTelemetry(provider))
    answer = next(event.answer for event in watched.stream(QUESTION) if isinstance(event, Done))
    spans = exporter.get_finished_spans()
    (turn,) = [span for span in spans if span.name == "turn"]
    tools = [span for span in spans if span.name != "turn"]
    assert sorted(span.name for span in tools) == sorted(f"tool {call.name}" for call in answer.tool_calls)
    assert all(span.parent.span_id == turn.context.span_id for span in tools)
    assert all(turn.start_time <= span.start_time <= span.end_time for span in tools)
    assert turn.attributes["advisor.intent"] == answer.intent
    assert "secretword" not in str([dict(span.attributes) for span in spans])


def test_no_collector_no_traces():
    assert isinstance(make_tracer(None), NoTraces)
