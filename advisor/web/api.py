"""The operations as Gradio endpoints, for gradio_client and plain HTTP."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

import gradio as gr

from advisor.errors import AdvisorError
from advisor.web.chat import TURN, address_of
from advisor.web.operations import CALLER, NAMES, Operations

GROUPS = {"ask": TURN, "diagnose": "diagnose", "search": "search"}


def endpoint(operation: Callable[..., Any]) -> Callable[..., Any]:
    """An operation as Gradio calls it: with the request first, and refusals as `gr.Error`."""

    def call(request: gr.Request, *args: Any, **kwargs: Any) -> Any:
        token = CALLER.set(address_of(request))
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
    for name in NAMES:
        gr.api(
            endpoint(getattr(operations, name)),
            api_name=name,
            concurrency_limit=settings.workers,
            concurrency_id=GROUPS.get(name, "offers"),
        )
