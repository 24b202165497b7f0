"""The text that the passage search is asked: the turn without logs and small talk, with the job where the turn is short."""

from __future__ import annotations

import re

from advisor.answer import Workload
from advisor.planner.reading.intent import Guess
from advisor.planner.reading.phrases import first, hits, says
from advisor.planner.reading.result import Reading

_LONGEST = 400
_SHORT = 60
_TERM_CHARS = 160
_SENTENCE = re.compile(r"[^。.!！?？]+(?:\.\d[^。.!！?？]*)*[。.!！?？]?")
_TERMS = {
    "unused_link": "unused_terms",
    "poor_scaling": "scaling_terms",
    "network_enough": "network_terms",
    "board_asked": "board_terms",
}
"""Acts whose subject is told in other words than the passages about it; the words to add are rows of a phrase table."""
_SAYS_NOTHING = {"summarize", "translate"}


def search_query(norm: str, found: Guess, before: Reading | None, workload: Workload | None) -> str:
    """At most 400 characters; empty where the turn is refused.

    A wish to have the answer summed up or in another language names no subject, so the job and its links are asked for.
    """
    if found.intent == "refuse":
        return ""
    query = re.sub(r"\s+", " ", norm).strip()[:_LONGEST]
    if found.intent == "explain" and (core := _term_question(query)):
        return core
    for act, topic in _TERMS.items():
        if act in found.acts and (terms := first(topic, norm)):
            return f"{query} {terms.value}"[:_LONGEST]
    if before is None:
        return query
    if found.acts & _SAYS_NOTHING:
        fabrics = before.mentions.fabrics[:2] or ("nvlink",)
        return " ".join([*_job(workload), *fabrics, "gpu memory", "tensor parallel" if workload else ""]).strip()
    if len(query) < _SHORT:
        parts = [query, *_job(workload)]
        if "nvlink" not in query and "infiniband" not in query:
            parts += before.mentions.fabrics[:2]
        query = " ".join(parts)
    return query[:_LONGEST]


def _term_question(query: str) -> str | None:
    """The one sentence that asks what a term is ("すみません、初心者です。NVLinkって何ですか?"), or None."""
    if len(query) > _TERM_CHARS:
        return None
    asking = [s.strip() for s in _SENTENCE.findall(query) if any(h.value == "explain:what_is" for h in hits("act", s))]
    return asking[0] if len(asking) == 1 and says("link_word", asking[0]) and len(asking[0]) < _SHORT else None


def _job(workload: Workload | None) -> list[str]:
    """The job in a few words, empty where there is none."""
    if workload is None:
        return []
    return [part for part in (workload.model or "", workload.kind.replace("_", " ")) if part]
