"""The built-in chat model: it turns the state of the conversation into tool calls, then into the answer. No network, no key."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable

from advisor.planner.written import WRITTEN

PLANNER = "planner"
_PIECE_CHARS = 240


class PlannerModel(BaseChatModel):
    """Deterministic: the same conversation gives the same calls and the same words."""

    @property
    def _llm_type(self) -> str:
        return PLANNER

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, Any]:
        """The planner knows its tools; binding changes nothing."""
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=_next_message(messages))])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        import json

        message = _next_message(messages)
        chunks = [
            tool_call_chunk(name=c["name"], args=json.dumps(c["args"]), id=c["id"], index=n)
            for n, c in enumerate(message.tool_calls)
        ]
        pieces = pieces_of(str(message.content)) or [""]
        for n, piece in enumerate(pieces):
            last = n == len(pieces) - 1
            chunk = AIMessageChunk(
                content=piece,
                id=message.id,
                tool_call_chunks=chunks if last else [],
                response_metadata=message.response_metadata if last else {},
            )
            if run_manager:
                run_manager.on_llm_new_token(piece, chunk=ChatGenerationChunk(message=chunk))
            yield ChatGenerationChunk(message=chunk)


def pieces_of(text: str) -> list[str]:
    """The text in pieces of a few words, for streaming; joined they are the text."""
    pieces: list[str] = []
    for start in range(0, len(text), _PIECE_CHARS):
        pieces.append(text[start : start + _PIECE_CHARS])
    return pieces


def _next_message(messages: Sequence[BaseMessage]) -> AIMessage:
    from advisor.planner.plan import next_calls
    from advisor.planner.writing import write
    from advisor.results import after_last_human, collect

    reading = current_reading(messages)
    metadata = {"model_name": PLANNER}
    turn = after_last_human(messages)
    mine = any(m.type == "ai" and m.tool_calls and m.response_metadata.get("model_name") == PLANNER for m in turn)
    called = {m.name for m in turn if m.type == "tool" and m.status == "success"}
    calls = [] if mine else [call for call in next_calls(reading) if call[0] not in called]
    if calls:
        tool_calls = [{"name": n, "args": a, "id": uuid.uuid4().hex, "type": "tool_call"} for n, a in calls]
        return AIMessage(content="", tool_calls=tool_calls, id=uuid.uuid4().hex, response_metadata=metadata)
    results = collect(messages)
    answer = write(reading, results)
    message = AIMessage(content=answer.text, id=uuid.uuid4().hex, response_metadata=metadata)
    WRITTEN.keep(str(message.id), answer, results)
    return message


def current_reading(messages: Sequence[BaseMessage]) -> Any:
    """The reading of the last human message: the one attached to it, else read here over the whole conversation."""
    from advisor.planner.reading import Reading, read

    humans = [m for m in messages if m.type == "human"]
    if not humans:
        return read("")
    attached = humans[-1].additional_kwargs.get("reading")
    if attached is not None:
        return Reading.model_validate(attached)
    reading = None
    for message in humans:
        reading = read(str(message.text), reading)
    return reading
