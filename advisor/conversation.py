"""One agent loop for every model: a question in, steps and text while it runs, one Answer out."""

from __future__ import annotations

import sqlite3
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from advisor.answer import Answer, Constraints, Done, Lang, Step, TextDelta, Workload
from advisor.engine import Engine
from advisor.errors import BadRequest, Unavailable
from advisor.settings import Settings

if TYPE_CHECKING:
    from advisor.reasoning.diagnose import Diagnosis
    from knowledge.offers import OfferStore
    from knowledge.passages import PassageStore

Event = Step | TextDelta | Done
MAX_STEPS = 40


class Advisor:
    """Answers questions in threads that a checkpointer keeps; safe to use from many threads at once."""

    def __init__(self, settings: Settings, engine: Engine, graph: Any, planner_graph: Any):
        self.settings = settings
        self.engine = engine
        self._graph = graph
        self._planner_graph = planner_graph
        self._locks: dict[str, list[Any]] = {}
        self._locks_guard = threading.Lock()

    @property
    def offers(self) -> OfferStore:
        """The offers table."""
        return self.engine.offers

    @property
    def passages(self) -> PassageStore:
        """The passages."""
        return self.engine.passages

    def diagnose(self, texts: Mapping[str, str], lang: Lang = "en", instance_type: str | None = None) -> Diagnosis:
        """Read pasted outputs; see `advisor.reasoning.diagnose`."""
        return self.engine.diagnose(texts, lang, instance_type)

    def health(self) -> dict[str, Any]:
        """Counts and dates of what is loaded."""
        return self.engine.health()

    def ask(
        self, question: str, thread: str | None = None, lang: Literal["auto", "ja", "en"] = "auto", **edited: Any
    ) -> Answer:
        """Answer one question. Raises BadRequest where it is too long."""
        answer = None
        for event in self.stream(question, thread, lang, **edited):
            if isinstance(event, Done):
                answer = event.answer
        if answer is None:
            raise Unavailable("The turn ended without an answer; ask again.")
        return answer

    def stream(
        self,
        question: str,
        thread: str | None = None,
        lang: Literal["auto", "ja", "en"] = "auto",
        workload: Workload | None = None,
        constraints: Constraints | None = None,
        lang_hint: Lang | None = None,
    ) -> Iterator[Event]:
        """Answer one question, yielding steps, text and, last, Done.

        `workload` and `constraints` replace what is read from the question; `lang_hint` decides the language where the
        text does not show one. Raises BadRequest where the question is longer than the setting allows.
        """
        from langchain_core.messages import HumanMessage

        from advisor.history import keep_latest, lightened
        from advisor.planner.reading import Reading, read
        from advisor.results import BRIEFS, earlier_briefs

        limit = self.settings.max_input_chars
        if len(question) > limit:
            raise BadRequest(
                f"The question has {len(question):,} characters; at most {limit:,} are read (ADVISOR_MAX_INPUT_CHARS). "
                "Shorten it, or give long logs to `advisor diagnose`."
            )
        start = time.perf_counter()
        thread = thread or uuid.uuid4().hex
        config = {"configurable": {"thread_id": thread}, "recursion_limit": MAX_STEPS}
        with self._one_at_a_time(thread):
            graph = self._graph if question.strip() else self._planner_graph
            before = graph.get_state(config).values.get("messages", [])
            previous = next(
                (m.additional_kwargs["reading"] for m in reversed(before) if "reading" in m.additional_kwargs), None
            )
            reading = read(question, Reading.model_validate(previous) if previous else None)
            reading = _with_choices(reading, lang, lang_hint or self.settings.lang, workload, constraints)
            message = HumanMessage(
                content=question,
                id=uuid.uuid4().hex,
                additional_kwargs={
                    "reading": reading.model_dump(mode="json", by_alias=True),
                    BRIEFS: earlier_briefs(before),
                },
            )
            # The built-in planner has its text all at once: to take it to pieces first would only cost time.
            yield from _events(graph, [*lightened(before), message], config, graph is not self._planner_graph)
            messages = graph.get_state(config).values["messages"]
            keep_latest(graph.checkpointer, thread)
            answer = self._finish(messages, reading, (time.perf_counter() - start) * 1000)
        yield Done(answer=answer)

    def branch(self, thread: str, questions: Sequence[str]) -> str | None:
        """A new thread that knows what `thread` knew after the last of `questions`; None where it does not hold them all.

        `questions` are its first ones in their order, each as it was asked; the empty text for a job changed with the controls.
        """
        from advisor.history import up_to

        config = {"configurable": {"thread_id": thread}}
        with self._one_at_a_time(thread):
            kept = up_to(self._graph.get_state(config).values.get("messages", []), questions)
        if kept is None:
            return None
        fresh = uuid.uuid4().hex
        if kept:
            self._graph.update_state({"configurable": {"thread_id": fresh}}, {"messages": kept}, as_node="model")
        return fresh

    def _finish(self, messages: list[Any], reading: Any, ms: float) -> Answer:
        from advisor.grounding import gpu_link_facts, ground
        from advisor.planner.model import PLANNER
        from advisor.planner.writing import write
        from advisor.planner.written import WRITTEN
        from advisor.results import after_last_human, collect

        notes: list[str] = []
        final = next((m for m in reversed(after_last_human(messages)) if m.type == "ai" and not m.tool_calls), None)
        by_planner = final is not None and final.response_metadata.get("model_name") == PLANNER
        written = WRITTEN.take(final.id) if final is not None and by_planner else None
        if written is not None:
            answer, results = written
        else:
            results = collect(messages)
            answer = write(reading, results)
        if self.settings.model != "planner":
            if by_planner or final is None or not str(final.text).strip():
                from advisor.messages import text

                notes.append("fallback")
                note = text("writing.fallback", answer.lang, model=self.settings.model)
                answer = answer.model_copy(update={"text": f"{answer.text}\n\n> {note}"})
            else:
                grounded = ground(
                    str(final.text), answer, results, reading.text, gpu_link_facts(self.engine.facts.gpus)
                )
                answer = answer.model_copy(update={"text": grounded.text, "citations": grounded.citations})
                notes += grounded.notes
        notes += [f"failed:{name}" for name in results.failed]
        if "search_guides" in results.done and (degraded := self.engine.degraded()):
            from advisor.messages import text

            notes.append(degraded)
            answer = answer.model_copy(
                update={"text": f"{answer.text}\n\n> {text('operations.' + degraded, answer.lang)}"}
            )
        return answer.model_copy(update={"tool_calls": results.calls, "notes": tuple(notes), "ms": round(ms, 1)})

    def _one_at_a_time(self, thread: str) -> _ThreadTurn:
        return _ThreadTurn(self._locks, self._locks_guard, thread)


class _ThreadTurn:
    """Holds one conversation for one turn, and forgets its lock when nobody waits."""

    def __init__(self, locks: dict[str, list[Any]], guard: threading.Lock, thread: str):
        self._locks, self._guard, self._thread = locks, guard, thread

    def __enter__(self) -> None:
        with self._guard:
            entry = self._locks.setdefault(self._thread, [threading.Lock(), 0])
            entry[1] += 1
        entry[0].acquire()

    def __exit__(self, *_: object) -> None:
        with self._guard:
            entry = self._locks[self._thread]
            entry[0].release()
            entry[1] -= 1
            if not entry[1]:
                del self._locks[self._thread]


def _with_choices(
    reading: Any, lang: str, hint: Lang, workload: Workload | None, constraints: Constraints | None
) -> Any:
    changes: dict[str, Any] = {}
    if lang != "auto":
        changes["answer_lang"] = lang
    elif reading.lang == "unknown":
        changes["answer_lang"] = hint
    if workload is not None or constraints is not None:
        changes["intent"] = "picks"
        changes["acts"] = reading.acts | {"edited"}
    if workload is not None:
        changes["workload"] = workload
    if constraints is not None:
        changes["constraints"] = constraints
    return reading.model_copy(update=changes)


def _events(graph: Any, messages: list[Any], config: dict[str, Any], by_words: bool) -> Iterator[Event]:
    """What happens in a turn. `by_words`: text as the model says it, else each text once it is whole."""
    modes = ["messages", "updates"] if by_words else ["updates"]
    stream = graph.stream({"messages": messages}, config, stream_mode=modes, durability="exit")
    for mode, payload in stream:
        if mode == "messages":
            chunk, _meta = payload
            if chunk.type == "AIMessageChunk" and chunk.text:
                yield TextDelta(text=chunk.text)
            continue
        for update in payload.values():
            for item in (update or {}).get("messages", []) if isinstance(update, dict) else []:
                if item.type == "ai":
                    if item.text and not by_words:
                        yield TextDelta(text=str(item.text))
                    for call in item.tool_calls:
                        yield Step(name=call["name"], args=call["args"], state="running")
                elif item.type == "tool":
                    failed = item.status == "error"
                    yield Step(
                        name=item.name or "",
                        state="failed" if failed else "done",
                        summary=str(item.content)[:200] if failed else "",
                        ms=item.additional_kwargs.get("ms"),
                    )


def make_checkpointer(settings: Settings) -> Any:
    """Where conversations are kept: SQLite under the home, or Postgres where `ADVISOR_DATABASE_URL` is set."""
    if settings.database_url:
        from advisor.postgres import postgres_checkpointer

        return postgres_checkpointer(settings.database_url.get_secret_value())
    from advisor.history import LocalSaver

    path = settings.home / "conversations.sqlite"
    try:
        settings.home.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, check_same_thread=False, timeout=30)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        saver = LocalSaver(connection)
        saver.setup()
    except (OSError, sqlite3.Error) as error:
        raise Unavailable(
            f"Conversations cannot be kept in {str(path)!r} ({error}). Set ADVISOR_HOME to a folder that you may write to; "
            "if the file is damaged, move it away and start again."
        ) from None
    return saver


class _Here:
    """Runs what it is given in the thread that gives it, in the manner of an executor."""

    def __enter__(self) -> _Here:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def map(self, function: Any, *arguments: Any) -> Iterator[Any]:
        """As `Executor.map`."""
        return map(function, *arguments)


def _run_tools_where_they_are() -> None:
    """Let LangGraph start no second thread for a tool call: an agent's calls are a task each, with a thread of its own."""
    from langgraph.prebuilt import tool_node

    tool_node.get_executor_for_config = lambda config: _Here()  # type: ignore[assignment, return-value]


def build_advisor(settings: Settings) -> Advisor:
    """The whole advisor: stores, tools, guards, model, checkpointer."""
    from langchain.agents import create_agent

    from advisor.middleware import make_middleware
    from advisor.models import make_model
    from advisor.planner.model import PlannerModel
    from advisor.prompts import system_prompt
    from advisor.tools import make_tools

    _run_tools_where_they_are()
    engine = Engine(settings)
    checkpointer = make_checkpointer(settings)
    tools = make_tools(engine)
    planner = PlannerModel()

    def agent(model: Any) -> Any:
        return create_agent(
            model,
            tools,
            system_prompt=system_prompt(),
            middleware=make_middleware(settings, model, planner),
            checkpointer=checkpointer,
        )

    planner_graph = agent(planner)
    graph = planner_graph if settings.model == "planner" else agent(make_model(settings))
    return Advisor(settings, engine, graph, planner_graph)
