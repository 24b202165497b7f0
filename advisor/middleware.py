"""What guards a turn, one job each: tool errors, budgets, identical calls, slow or failing language models."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from langchain.agents.middleware import (
    AgentMiddleware,
    ModelFallbackMiddleware,
    ModelRetryMiddleware,
    SummarizationMiddleware,
    ToolCallLimitMiddleware,
)
from langchain_core.messages import AIMessage, ToolMessage

from advisor.errors import AdvisorError
from advisor.planner.model import PLANNER
from advisor.results import after_last_human, first_number
from advisor.settings import Settings
from knowledge.errors import KnowledgeError

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

SUMMARY_TRIGGER_TOKENS = 24_000
SUMMARY_KEEP_MESSAGES = 12
END_MARKS = ("finish_reason", "stop_reason", "done_reason")
"""Where the three protocols say that a reply is complete."""


class ToolGuard(AgentMiddleware):
    """Times each tool call, turns its errors into messages, and answers a repeated identical call from the first one."""

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Run one tool call. Errors meant for people become the message; others name only their type."""
        call = request.tool_call
        earlier = _same_call(request.state["messages"], call)
        if earlier is not None:
            return ToolMessage(
                content="The same call was made before in this turn; its result stands above.",
                artifact=earlier.artifact,
                name=call["name"],
                tool_call_id=call["id"],
                status=earlier.status,
            )
        start = time.perf_counter()
        try:
            message = handler(request)
        except (AdvisorError, KnowledgeError) as error:
            message = _failure(call, str(error))
        except Exception as error:  # a tool must never end the turn: the model is told, the person sees a note
            message = _failure(call, f"{call['name']} failed ({type(error).__name__}).")
        if isinstance(message, ToolMessage):
            if call["name"] == "search_guides" and message.artifact:
                message.content = _numbered(
                    message.artifact, first_number(after_last_human(request.state["messages"]), call["id"])
                )
            message.additional_kwargs["ms"] = round((time.perf_counter() - start) * 1000, 2)
        return message


class Budget(AgentMiddleware):
    """Hands a turn that used up its calls or tokens to the planner, which answers from what was found so far."""

    def __init__(self, calls: int, tokens: int, planner: BaseChatModel):
        super().__init__()
        self.calls, self.tokens, self.planner = calls, tokens, planner

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Ask the model, or the planner once the budget is gone."""
        said = [m for m in after_last_human(request.state["messages"]) if isinstance(m, AIMessage)]
        used = sum(m.usage_metadata["total_tokens"] for m in said if m.usage_metadata)
        spent = len(said) > self.calls or used > self.tokens
        return handler(request.override(model=self.planner) if spent else request)


class IncompleteReply(Exception):
    """The model's stream ended before it was done, or it said nothing."""


class WholeReply(AgentMiddleware):
    """Takes a reply without an end mark, or without any content, for a failure, so that it is retried or replaced."""

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Raises IncompleteReply."""
        response = handler(request)
        messages = response.result if hasattr(response, "result") else [response]
        last = messages[-1]
        whole = last.response_metadata.get("model_name") == PLANNER or any(
            last.response_metadata.get(k) for k in END_MARKS
        )
        if not whole or not (last.tool_calls or last.invalid_tool_calls or str(last.text).strip()):
            raise IncompleteReply("the reply is not whole")
        return response


def passing_fault(error: Exception) -> bool:
    """Is it worth asking again? Not where the server said that the request itself is wrong."""
    code = getattr(error, "status_code", None)
    return code is None or code == 429 or code >= 500


def _numbered(rows: list[dict[str, Any]], base: int) -> str:
    return "\n\n".join(
        f"[{n}] {row['title']} ({row['source']}, {row['as_of']})\n{row['text']}" for n, row in enumerate(rows, base)
    )


def _failure(call: Any, text: str) -> ToolMessage:
    return ToolMessage(content=text, name=call["name"], tool_call_id=call["id"], status="error")


def _same_call(messages: list[Any], call: Any) -> ToolMessage | None:
    wanted = json.dumps(call["args"], sort_keys=True, default=str)
    turn = after_last_human(messages)
    ids = {
        c["id"]
        for m in turn
        if isinstance(m, AIMessage)
        for c in m.tool_calls
        if c["id"] != call["id"]
        and c["name"] == call["name"]
        and json.dumps(c["args"], sort_keys=True, default=str) == wanted
    }
    return next(
        (m for m in turn if isinstance(m, ToolMessage) and m.tool_call_id in ids and m.status == "success"), None
    )


def make_middleware(
    settings: Settings, model: BaseChatModel, planner: BaseChatModel
) -> list[AgentMiddleware[Any, Any, Any]]:
    """The guards of one agent; a language model also gets retries, a fallback to the planner, a summary and a budget."""
    guards: list[AgentMiddleware[Any, Any, Any]] = [ToolGuard()]
    if model is not planner:
        guards += [
            ToolCallLimitMiddleware(run_limit=settings.max_tool_calls, exit_behavior="continue"),
            Budget(settings.max_tool_calls + 2, settings.max_model_tokens, planner),
            SummarizationMiddleware(
                model, trigger=("tokens", SUMMARY_TRIGGER_TOKENS), keep=("messages", SUMMARY_KEEP_MESSAGES)
            ),
            ModelFallbackMiddleware(planner),
            ModelRetryMiddleware(
                max_retries=1, retry_on=passing_fault, initial_delay=0.5, max_delay=4.0, on_failure="error"
            ),
            WholeReply(),
        ]
    return guards
