"""The answer to a pasted log: what it shows, each problem with its evidence and what to do, and what the guides add."""

from __future__ import annotations

from typing import Any

from advisor.answer import Answer
from advisor.messages import text
from advisor.planner.writing.citing import Citations
from advisor.planner.writing.picking import background


def _title(problem: Any, lang: str) -> str:
    """What is wrong, in words; the code beside it is what programs and the guides call it."""
    return f"{text(f'diagnose.severity.{problem.severity}', lang)}{problem.title} (`{problem.code}`)"


def write(reading: Any, results: Any) -> Answer:
    """Troubleshoot."""
    lang, diagnosis = reading.answer_lang, results.diagnosis
    citations = Citations()
    parts = [diagnosis.summary]
    for p in diagnosis.problems:
        line = p.evidence.text.replace("`", "'").strip()[:300]
        parts.append(f"**{_title(p, lang)}**\n\n> `{line}`\n\n{p.explanation}\n\n→ {p.action}")
    if not diagnosis.problems:
        parts.append(text("writing.diagnosis.none", lang))
    parts += background(reading, results, citations, 2)
    return Answer(
        lang=lang,
        intent="troubleshoot",
        text="\n\n".join(part for part in parts if part),
        workload=reading.workload,
        constraints=reading.constraints,
        fx=reading.fx,
        citations=citations.rows(),
    )
