"""One JSON line a turn on standard error: what kind of turn, which tools, how long, on which versions; never what was asked.

The text of a question is written only where `ADVISOR_LOG_QUESTIONS` is on. Threads are written as a short digest: whoever
knows a thread's name can read the conversation.
"""

from __future__ import annotations

import hashlib
import json
import logging
import sys
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from advisor.answer import Done, Step, TextDelta
from advisor.errors import AdvisorError, Unavailable
from advisor.tracing import Tracer, make_tracer

if TYPE_CHECKING:
    from advisor.answer import Answer
    from advisor.settings import Settings

log = logging.getLogger("advisor.turns")


class JsonLines(logging.Formatter):
    """Every record as one JSON object; turns bring their fields, other records their message."""

    def format(self, record: logging.LogRecord) -> str:
        """One line without line breaks inside."""
        line = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
        }
        fields = getattr(record, "fields", None)
        line |= fields if isinstance(fields, dict) else {"message": record.getMessage()}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def start_logging(stream: Any = None) -> None:
    """Send this process's own records (loggers `advisor`, `knowledge`, `ingest`) to `stream` as JSON lines."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("advisor", "knowledge", "ingest"):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(logging.INFO)
        logger.propagate = False


def package_version() -> str:
    """The installed version, "unknown" where the package runs from its source alone."""
    try:
        return version("interconnect-advisor")
    except PackageNotFoundError:
        return "unknown"


def short(thread: str | None) -> str | None:
    """A thread's name as the log has it: enough to find one conversation's turns, not enough to open it."""
    return hashlib.sha256(thread.encode()).hexdigest()[:12] if thread else None


class Observed:
    """An advisor whose turns are logged and traced; everything else passes through."""

    def __init__(self, advisor: Any, settings: Settings, tracer: Tracer | None = None) -> None:
        self._advisor, self._settings = advisor, settings
        self._tracer = tracer or make_tracer(settings.traces)
        self._package = package_version()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._advisor, name)

    def ask(self, question: str, thread: str | None = None, lang: Any = "auto", **edited: Any) -> Answer:
        """As `Advisor.ask`."""
        for event in self.stream(question, thread, lang, **edited):
            if isinstance(event, Done):
                return event.answer
        raise Unavailable("The turn ended without an answer; ask again.")

    def stream(
        self, question: str, thread: str | None = None, lang: Any = "auto", **edited: Any
    ) -> Iterator[Step | TextDelta | Done]:
        """As `Advisor.stream`; one log line and one trace when the turn ends, however it ends."""
        start, wall = time.perf_counter(), time.time_ns()
        answer: Answer | None = None
        failure: str | None = None
        steps: list[tuple[Step, int]] = []
        try:
            for event in self._advisor.stream(question, thread, lang, **edited):
                if isinstance(event, Step) and event.state != "running":
                    steps.append((event, time.time_ns()))
                if isinstance(event, Done):
                    answer = event.answer
                yield event
        except AdvisorError as error:
            failure = error.code
            raise
        except GeneratorExit:
            failure = None if answer else "stopped"
            raise
        except Exception as error:
            failure = type(error).__name__
            raise
        finally:
            fields = self._fields(question, thread, answer, failure, steps, (time.perf_counter() - start) * 1000)
            log.log(logging.INFO if failure in (None, "stopped") else logging.WARNING, "turn", extra={"fields": fields})
            self._tracer.turn(fields, steps, wall)

    def _fields(
        self,
        question: str,
        thread: str | None,
        answer: Answer | None,
        failure: str | None,
        steps: list[tuple[Step, int]],
        ms: float,
    ) -> Mapping[str, Any]:
        fields: dict[str, Any] = {
            "event": "turn",
            "thread": short(thread),
            "intent": answer.intent if answer else None,
            "lang": answer.lang if answer else None,
            "error": failure,
            "ms": round(ms, 1),
            "tools": [{"name": step.name, "state": step.state, "ms": step.ms} for step, _ in steps],
            "picks": len(answer.picks) if answer else 0,
            "citations": len(answer.citations) if answer else 0,
            "notes": list(answer.notes) if answer else [],
            "chars": len(question),
            "model": self._settings.model,
            "version": self._package,
            **self._versions(),
        }
        if self._settings.log_questions:
            fields["question"] = question
        return fields

    def _versions(self) -> dict[str, Any]:
        """Which knowledge and which prices answered; nothing where they cannot be read, which the turn then says itself."""
        from knowledge.errors import KnowledgeError

        found: dict[str, Any] = {}
        for name, read in (
            ("knowledge_version", lambda: self._advisor.passages.version),
            ("offers_as_of", lambda: self._advisor.offers.as_of),
        ):
            try:
                found[name] = read()
            except (AdvisorError, KnowledgeError, AttributeError):
                found[name] = None
        return found
