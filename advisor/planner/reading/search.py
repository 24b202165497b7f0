"""The text that the passage search is asked: the turn without logs and small talk, with the job where the turn is short."""

from __future__ import annotations

import re

from advisor.answer import Workload
from advisor.planner.reading.intent import Guess
from advisor.planner.reading.result import Reading

_LONGEST = 400
_SHORT = 60


def search_query(norm: str, found: Guess, before: Reading | None, workload: Workload | None) -> str:
    """At most 400 characters; empty where the turn is refused."""
    if found.intent == "refuse":
        return ""
    query = re.sub(r"\s+", " ", norm).strip()[:_LONGEST]
    if before is not None and len(query) < _SHORT:
        parts = [query]
        if workload is not None:
            parts += [workload.model or "", workload.kind.replace("_", " ")]
        if "nvlink" not in query and "infiniband" not in query and before.mentions.fabrics:
            parts.append(" ".join(before.mentions.fabrics[:2]))
        query = " ".join(part for part in parts if part)
    return query[:_LONGEST]
