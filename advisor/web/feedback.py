"""Thumbs and comments into a local file, one JSON object a line."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime
from pathlib import Path

from advisor.errors import Unavailable
from advisor.web.session import Turn

MAX_COMMENT = 2000
_lock = threading.Lock()


def save_feedback(
    home: Path, turn: Turn, liked: bool | None, comment: str = "", database_url: str | None = None
) -> Path | None:
    """Append one line to `home/feedback.jsonl`: when, the question, the vote, the comment, what was answered.

    The person chose to send it, so the question is in it. With `database_url` the line goes to Postgres instead (None is
    returned). Raises Unavailable where it cannot be written.
    """
    path = home / "feedback.jsonl"
    answer = turn.answer
    line = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "liked": liked,
        "comment": comment.strip()[:MAX_COMMENT],
        "question": turn.question,
        "lang": answer.lang if answer else None,
        "intent": answer.intent if answer else None,
        "offer_ids": [pick.offer_id for pick in answer.picks] if answer else [],
        "text": answer.text if answer else turn.partial,
    }
    if database_url:
        from advisor.postgres import save_feedback_line

        save_feedback_line(database_url, line)
        return None
    try:
        home.mkdir(parents=True, exist_ok=True)
        with _lock, path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
    except OSError as error:
        raise Unavailable(
            f"The feedback could not be written to {str(path)!r} ({error.strerror}). Check ADVISOR_HOME."
        ) from None
    return path
