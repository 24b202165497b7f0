"""One request a line in, one answer a line out, in order, in one process; a bad line never stops the others."""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from advisor.errors import AdvisorError, BadRequest
from knowledge.errors import KnowledgeError

Handler = Callable[[dict[str, Any]], dict[str, Any]]


def run(source: str, out: Path | None, handle: Handler) -> None:
    """Feed each line of `source` (a path, or "-") to `handle`; write what it returns, or the error, as one line."""
    with _reader(source) as lines, _writer(out) as write:
        for number, line in enumerate(lines, 1):
            if line.strip():
                write.write(json.dumps(_one(line, number, handle), ensure_ascii=False) + "\n")
                write.flush()


def _one(line: str, number: int, handle: Handler) -> dict[str, Any]:
    request_id: Any = None
    try:
        request = json.loads(line)
        if not isinstance(request, dict):
            raise BadRequest(f"Line {number} holds {type(request).__name__}, not a JSON object.")
        request_id = request.get("id")
        return {"id": request_id, **{k: v for k, v in handle(request).items() if k != "id"}}
    except json.JSONDecodeError as error:
        return _error(request_id, "bad_request", f"Line {number} is no JSON: {error.msg} at column {error.colno}.")
    except (AdvisorError, KnowledgeError) as error:
        return _error(request_id, getattr(error, "code", "error"), str(error))
    except Exception as error:  # one broken request must not stop the file
        return _error(request_id, "error", f"{type(error).__name__}: {error}")


def _error(request_id: Any, code: str, message: str) -> dict[str, Any]:
    return {"id": request_id, "error": {"code": code, "message": message}}


def ask_lines(advisor: Any, lang: Any) -> Handler:
    """`{"id", "question"}` or `{"id", "turns": [...]}` → `{"id", "turns": [Answer, ...]}`; `lang` in a line is a hint."""

    def handle(request: dict[str, Any]) -> dict[str, Any]:
        turns = request["turns"] if "turns" in request else [request.get("question")]
        turns = [turn.get("user", turn.get("question")) if isinstance(turn, dict) else turn for turn in turns]
        if not turns or not all(isinstance(turn, str) for turn in turns):
            raise BadRequest('A line needs "question": "…" or "turns": ["…", …].')
        hint = request.get("lang") if request.get("lang") in ("ja", "en") else None
        thread = uuid.uuid4().hex
        answers = [advisor.ask(turn, thread=thread, lang=lang, lang_hint=hint) for turn in turns]
        return {"turns": [answer.model_dump(mode="json", by_alias=True) for answer in answers]}

    return handle


def search_lines(passages: Any, k: int, lang: Any, provider: str | None) -> Handler:
    """`{"id", "question"}` → `{"id", "hits": [Hit, ...]}`."""

    def handle(request: dict[str, Any]) -> dict[str, Any]:
        query = request.get("question", request.get("query"))
        if not isinstance(query, str):
            raise BadRequest('A line needs "question": "…".')
        return {
            "hits": [hit.model_dump(mode="json") for hit in passages.search(query, k=k, lang=lang, provider=provider)]
        }

    return handle


@contextmanager
def _reader(source: str) -> Iterator[IO[str]]:
    if source == "-":
        yield sys.stdin
        return
    try:
        with open(source, encoding="utf-8-sig") as file:
            yield file
    except OSError as error:
        raise BadRequest(f"--jsonl {source!r} cannot be read: {error.strerror}.") from None


@contextmanager
def _writer(out: Path | None) -> Iterator[IO[str]]:
    if out is None:
        yield sys.stdout
        return
    try:
        with out.open("w", encoding="utf-8") as file:
            yield file
    except OSError as error:
        raise BadRequest(f"--out {str(out)!r} cannot be written: {error.strerror}.") from None
