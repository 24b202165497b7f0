"""The operations as Gradio endpoints, for gradio_client and plain HTTP."""

from __future__ import annotations

import inspect
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, get_type_hints

import gradio as gr

from advisor.errors import AdvisorError
from advisor.web.chat import TURN, address_of
from advisor.web.operations import CALLER, NAMES, Operations

KEPT_SESSIONS = 64
"""Sessions of programs that are kept. Gradio makes one for each call without a session's name, and would keep 10,000 of them."""
GROUPS = {"ask": TURN, "diagnose": "diagnose", "search": "search"}


class ProgramSessions:
    """Drops the server's memory of programs' sessions once they are not among the newest: no endpoint keeps state in them."""

    def __init__(self, page: Any):
        self._page = page
        self._names: deque[str] = deque()
        self._lock = threading.Lock()

    def used(self, name: str | None) -> None:
        """A program's call came with this session."""
        holder = getattr(self._page, "state_holder", None)
        if name is None or holder is None:
            return
        with self._lock:
            if name in self._names:
                self._names.remove(name)
            self._names.append(name)
            gone = [self._names.popleft() for _ in range(len(self._names) - KEPT_SESSIONS)]
        with holder.lock:
            for old in gone:
                holder.session_data.pop(old, None)
                holder.time_last_used.pop(old, None)


def endpoint(operation: Callable[..., Any], sessions: ProgramSessions) -> Callable[..., Any]:
    """An operation as Gradio calls it: with the request first, and refusals as `gr.Error`."""

    def call(request: gr.Request, *args: Any, **kwargs: Any) -> Any:
        token = CALLER.set(address_of(request))
        sessions.used(request.session_hash)
        try:
            return operation(*args, **kwargs)
        except AdvisorError as error:
            raise gr.Error(str(error), print_exception=False) from None
        finally:
            CALLER.reset(token)

    signature = inspect.signature(operation)
    first = inspect.Parameter("request", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=gr.Request)
    hints = get_type_hints(operation)
    typed = [value.replace(annotation=hints[name]) for name, value in signature.parameters.items()]
    call.__signature__ = inspect.Signature([first, *typed], return_annotation=hints["return"])  # type: ignore[attr-defined]
    call.__annotations__ = {"request": gr.Request, **hints}
    call.__name__ = operation.__name__
    call.__doc__ = operation.__doc__
    return call


def add_api(operations: Operations, settings: Any) -> None:
    """Register the endpoints in the open Blocks."""
    sessions = ProgramSessions(gr.context.Context.root_block)
    for name in NAMES:
        gr.api(
            endpoint(getattr(operations, name), sessions),
            api_name=name,
            concurrency_limit=settings.workers,
            concurrency_id=GROUPS.get(name, "offers"),
        )
