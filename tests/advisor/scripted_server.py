"""A local HTTP server that speaks the chat protocols of OpenAI, Anthropic and Ollama from a script, and records requests."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Say:
    text: str


@dataclass(frozen=True)
class Call:
    """One or more tool calls; `raw` replaces the JSON arguments of each (for malformed ones)."""

    calls: tuple[tuple[str, dict[str, Any]], ...]
    raw: str | None = None

    @staticmethod
    def one(name: str, **args: Any) -> Call:
        return Call(((name, args),))


@dataclass(frozen=True)
class Status:
    code: int
    text: str = "scripted failure"


@dataclass(frozen=True)
class Cut:
    """Starts to stream this text, then drops the connection."""

    text: str


@dataclass(frozen=True)
class Hang:
    seconds: float


@dataclass
class Server:
    url: str
    requests: list[dict[str, Any]] = field(default_factory=list)


@contextmanager
def scripted(protocol: str, *script: Any, forever: Any = None) -> Iterator[Server]:
    """Serve the script, one entry a request; `forever` is given when it has run out (a failing status by default)."""
    queue = list(script)
    lock = threading.Lock()
    server_info = Server(url="")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.0"

        def log_message(self, *args: Any) -> None:
            pass

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                server_info.requests.append(body)
                entry = queue.pop(0) if queue else (forever or Status(500, "the script has run out"))
            if isinstance(entry, Hang):
                time.sleep(entry.seconds)
                entry = Status(504)
            if isinstance(entry, Status):
                payload = json.dumps({"error": {"message": entry.text, "type": "scripted"}}).encode()
                self.send_response(entry.code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)
                return
            lines = list({"openai": openai, "anthropic": anthropic, "ollama": ollama}[protocol](entry, body))
            self.send_response(200)
            kind = "application/x-ndjson" if protocol == "ollama" else "text/event-stream"
            self.send_header("Content-Type", kind if body.get("stream") else "application/json")
            self.end_headers()
            if isinstance(entry, Cut):
                lines = lines[: max(1, len(lines) // 2)]
            for line in lines:
                self.wfile.write(line.encode())
                self.wfile.flush()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server_info.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server_info
    finally:
        server.shutdown()
        server.server_close()


def _text(entry: Any) -> str:
    return entry.text if isinstance(entry, Say | Cut) else ""


def _calls(entry: Any) -> list[tuple[str, str]]:
    if not isinstance(entry, Call):
        return []
    return [(name, entry.raw if entry.raw is not None else json.dumps(args)) for name, args in entry.calls]


def _pieces(text: str) -> list[str]:
    return [text[n : n + 9] for n in range(0, len(text), 9)]


def openai(entry: Any, body: dict[str, Any]) -> Iterator[str]:
    base = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}
    calls = _calls(entry)
    finish = "tool_calls" if calls else "stop"
    usage = {"prompt_tokens": 50, "completion_tokens": 20, "total_tokens": 70}
    if not body.get("stream"):
        tool_calls = [
            {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": args}}
            for n, (name, args) in enumerate(calls)
        ]
        message = {"role": "assistant", "content": _text(entry), **({"tool_calls": tool_calls} if calls else {})}
        choice = {"index": 0, "message": message, "finish_reason": finish}
        yield json.dumps({**base, "object": "chat.completion", "choices": [choice], "usage": usage})
        return
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": piece} for piece in _pieces(_text(entry))]
    for n, (name, args) in enumerate(calls):
        head = {"index": n, "id": f"call_{n}_{len(body['messages'])}", "type": "function"}
        deltas.append({"tool_calls": [{**head, "function": {"name": name, "arguments": ""}}]})
        deltas += [{"tool_calls": [{"index": n, "function": {"arguments": piece}}]} for piece in _pieces(args)]
    for delta in deltas:
        yield "data: " + json.dumps({**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}) + "\n\n"
    yield "data: " + json.dumps({**base, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}) + "\n\n"
    yield "data: " + json.dumps({**base, "choices": [], "usage": usage}) + "\n\n"
    yield "data: [DONE]\n\n"


def anthropic(entry: Any, body: dict[str, Any]) -> Iterator[str]:
    calls = _calls(entry)
    stop = "tool_use" if calls else "end_turn"
    usage = {"input_tokens": 50, "output_tokens": 20}
    message = {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [],
        "usage": usage,
    }
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    if _text(entry):
        blocks.append(
            ({"type": "text", "text": ""}, [{"type": "text_delta", "text": p} for p in _pieces(_text(entry))])
        )
    for n, (name, args) in enumerate(calls):
        start = {"type": "tool_use", "id": f"toolu_{n}_{len(body['messages'])}", "name": name, "input": {}}
        blocks.append((start, [{"type": "input_json_delta", "partial_json": p} for p in _pieces(args)]))
    if not body.get("stream"):
        content = [{"type": "text", "text": _text(entry)}] if _text(entry) else []
        content += [
            {"type": "tool_use", "id": f"toolu_{n}", "name": name, "input": json.loads(args)}
            for n, (name, args) in enumerate(calls)
        ]
        yield json.dumps({**message, "content": content, "stop_reason": stop, "stop_sequence": None})
        return

    def event(kind: str, **data: Any) -> str:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n"

    yield event("message_start", message={**message, "stop_reason": None, "stop_sequence": None})
    for n, (start, deltas) in enumerate(blocks):
        yield event("content_block_start", index=n, content_block=start)
        for delta in deltas:
            yield event("content_block_delta", index=n, delta=delta)
        yield event("content_block_stop", index=n)
    yield event("message_delta", delta={"stop_reason": stop, "stop_sequence": None}, usage=usage)
    yield event("message_stop")


def ollama(entry: Any, body: dict[str, Any]) -> Iterator[str]:
    base = {"model": body["model"], "created_at": "2026-01-01T00:00:00Z"}
    tool_calls = [{"function": {"name": name, "arguments": json.loads(args)}} for name, args in _calls(entry)]
    for piece in _pieces(_text(entry)):
        yield json.dumps({**base, "message": {"role": "assistant", "content": piece}, "done": False}) + "\n"
    if tool_calls:
        message = {"role": "assistant", "content": "", "tool_calls": tool_calls}
        yield json.dumps({**base, "message": message, "done": False}) + "\n"
    last = {"done": True, "done_reason": "stop", "prompt_eval_count": 50, "eval_count": 20, "total_duration": 1}
    yield json.dumps({**base, "message": {"role": "assistant", "content": ""}, **last}) + "\n"
