"""Asking: a question and a conversation in, page states out. No Gradio here, so that it is tested as plain Python."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from advisor.answer import Constraints, Done, Step, TextDelta, Workload
from advisor.errors import AdvisorError
from advisor.web.guards import RateLimit, check_question
from advisor.web.metrics import Metrics
from advisor.web.pacing import UPDATE_S, Paced
from advisor.web.session import Session, Turn
from advisor.web.words import in_words, word

log = logging.getLogger("advisor.web")


@dataclass
class State:
    """What the page shows of a turn: the conversation, and the steps and text so far while the turn runs."""

    session: Session
    steps: list[Step] = field(default_factory=list)
    text: str | None = None
    """None once the turn is over."""


class Turns:
    """Runs turns for every visitor: limits, streaming, stopping, metrics."""

    def __init__(self, advisor: Any, settings: Any, metrics: Metrics):
        self.advisor, self.settings, self.metrics = advisor, settings, metrics
        self.rate = RateLimit(settings.rate_limit_per_minute)
        self._stops: dict[str, threading.Event] = {}

    def stop(self, session: Session) -> None:
        """Ask the running turn of this conversation to end; nothing happens where none runs."""
        if stop := self._stops.get(session.thread):
            stop.set()

    def run(
        self,
        question: str,
        session: Session,
        lang: str,
        address: str,
        workload: Workload | None = None,
        constraints: Constraints | None = None,
    ) -> Iterator[State]:
        """One turn. With `workload`, `question` is only the record of what was changed with the controls.

        Yields at most five states a second for all turns that run; the last has `text` None. An error becomes the turn's error text in `lang`;
        nothing is raised.
        """
        edited = workload is not None
        turn = Turn(question=question, edited=edited)
        stop = self._stops[session.thread] = threading.Event()
        start = time.perf_counter()
        state = State(session.with_turn(turn), text="")
        try:
            self.rate.check(address)
            asked = check_question(question, self.settings.max_input_chars)
            state.session = session.with_turn(turn.model_copy(update={"question": asked}))
            answer_lang = (session.last_lang() or lang) if edited else "auto"
            extra = {"workload": workload, "constraints": constraints} if edited else {"lang_hint": lang}
            events = self.advisor.stream("" if edited else asked, session.thread, answer_lang, **extra)
            for group in Paced(events, stop.is_set, UPDATE_S * max(1, len(self._stops))):
                for event in group:
                    if isinstance(event, Step):
                        state.steps.append(event)
                    elif isinstance(event, TextDelta):
                        state.text = (state.text or "") + event.text
                    elif isinstance(event, Done):
                        turn = turn.model_copy(update={"answer": event.answer})
                if turn.answer is None:
                    yield State(state.session, list(state.steps), state.text)
            if turn.answer is None:
                turn = turn.model_copy(update={"stopped": True, "partial": state.text or ""})
        except AdvisorError as error:
            turn = turn.model_copy(update={"error": in_words(error, lang)})
            self.metrics.errors.labels(error.code).inc()
        except Exception as error:  # a visitor's turn must end with words, whatever broke; the log has the traceback
            log.exception("a turn failed")
            turn = turn.model_copy(update={"error": word("error.internal", lang, kind=type(error).__name__)})
            self.metrics.errors.labels("internal").inc()
        finally:
            if self._stops.get(session.thread) is stop:
                del self._stops[session.thread]
        intent = turn.answer.intent if turn.answer else "stopped" if turn.stopped else "error"
        self.metrics.turns.labels(intent).inc()
        self.metrics.seconds.observe(time.perf_counter() - start)
        if self.settings.log_questions:
            log.info("question %r → %s", question, intent)
        yield State(session.with_turn(turn))

    def branch(self, session: Session, keep: int) -> Session:
        """A new conversation with the first `keep` turns, so that a question can be asked anew or otherwise from there.

        The advisor's own memory of them goes along and nothing that was taken back. Where it has none, for a conversation
        that the browser brought back, it hears the kept questions again.
        """
        turns = session.turns[:keep]
        answered = ["" if turn.edited else turn.question for turn in turns if turn.answer is not None]
        try:
            thread = self.advisor.branch(session.thread, answered)
        except AdvisorError as error:
            log.warning("a conversation could not be branched: %s", error)
            thread = None
        if thread is not None:
            return Session(thread=thread, turns=turns)
        fresh = Session(turns=turns)
        for turn in turns:
            self._hear(turn, fresh.thread)
        return fresh

    def _hear(self, turn: Turn, thread: str) -> None:
        answer = turn.answer
        if answer is None:
            return
        try:
            if turn.edited:
                self.advisor.ask("", thread, answer.lang, workload=answer.workload, constraints=answer.constraints)
            else:
                self.advisor.ask(turn.question, thread, "auto")
        except AdvisorError as error:
            log.warning("a kept turn could not be heard again: %s", error)
