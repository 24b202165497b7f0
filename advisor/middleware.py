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
    hook_config,
)
from langchain_core.messages import AIMessage, ToolMessage

from advisor.errors import AdvisorError
from advisor.results import after_last_human, first_number
from advisor.settings import Settings
from knowledge.errors import KnowledgeError

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

SUMMARY_TRIGGER_TOKENS = 24_000
SUMMARY_KEEP_MESSAGES = 12


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


class TokenBudget(AgentMiddleware):
    """Ends a turn whose language-model calls used more tokens than the setting allows."""

    def __init__(self, limit: int):
        super().__init__()
        self.limit = limit

    @hook_config(can_jump_to=["end"])
    def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Stop asking for more tools when the budget is used up."""
        turn = after_last_human(state["messages"])
        used = sum((m.usage_metadata or {}).get("total_tokens", 0) for m in turn if isinstance(m, AIMessage))
        if used <= self.limit or not turn[-1].tool_calls:
            return None
        return {
            "jump_to": "end",
            "messages": [AIMessage(content="", id=turn[-1].id, additional_kwargs={"stopped": "token_budget"})],
        }


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


def make_middleware(settings: Settings, model: BaseChatModel, planner: BaseChatModel) -> list[AgentMiddleware]:
    """The guards of one agent; a language model also gets retries, a fallback to the planner, a summary and a budget."""
    guards: list[AgentMiddleware] = [ToolGuard()]
    if model is not planner:
        guards += [
            ToolCallLimitMiddleware(run_limit=settings.max_tool_calls, exit_behavior="continue"),
            TokenBudget(settings.max_model_tokens),
            SummarizationMiddleware(
                model, trigger=("tokens", SUMMARY_TRIGGER_TOKENS), keep=("messages", SUMMARY_KEEP_MESSAGES)
            ),
            ModelFallbackMiddleware(planner),
            ModelRetryMiddleware(max_retries=1, initial_delay=0.5, max_delay=4.0, on_failure="error"),
        ]
    return guards
