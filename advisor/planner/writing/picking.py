"""The answer to "what do I rent": verdict, machines named, picks, links in numbers, counterfactual, what to check, sources."""

from __future__ import annotations

from typing import Any

from advisor.answer import Answer, Pick
from advisor.messages import text
from advisor.planner.plan import capacity, fleet_size
from advisor.planner.writing import machines
from advisor.planner.writing.ages import age_note
from advisor.planner.writing.citing import Citations
from advisor.planner.writing.explaining import order
from advisor.planner.writing.figures import HOURS_A_MONTH, money, number, rate_note, table
from advisor.planner.writing.links import corrections
from advisor.planner.writing.loosening import loosened_words, nothing_matches
from advisor.planner.writing.short import questions_back

ALIKE = 0.25
"""Beside picks a guide is heard only where one of its questions is this near to the one asked."""
CAVEATS = 2
CAVEATS_DEEP = 6
BACKGROUND = 1
BACKGROUND_DEEP = 3
LABEL = 16
"""Characters that tell two machines' names apart at the head of a line."""
MONTH_ACTS = frozenset({"monthly"})


def write(reading: Any, results: Any, stale_days: int) -> Answer:
    """One of picks, no_match or infeasible, as the recommendation came out."""
    lang, rec = reading.answer_lang, results.recommendation
    citations = Citations()
    parts = corrections(reading.premises, results.links, lang)
    intent = "picks"
    alternatives: tuple[Pick, ...] = ()
    if rec.outcome == "no_match" or not rec.picks:
        intent = "infeasible" if rec.outcome == "infeasible" else "no_match"
        alternatives = rec.nearest
        parts += _infeasible(rec, reading, lang) if intent == "infeasible" else _no_match(rec, reading, results, lang)
    else:
        parts.append(machines.verdict(rec.picks[0], lang, reading.fx))
    shown = rec.picks or alternatives
    fleet = fleet_size(reading)
    if fleet:
        streams = {"peak": reading.workload.concurrency, "each": number(capacity(reading) or 1.0)}
        parts.append(text("writing.fleet", lang, gpus=fleet, **streams))
    assessed = machines.assessed_lines(
        results.assessments, lang, ran_out="oom" in reading.acts, deadline_hours=rec.workload.deadline_hours
    )
    if assessed:
        parts.append("\n".join(f"- {line}" for line in assessed))
    if shown:
        parts.append(table(shown, lang, reading.fx))
    if intent == "picks":
        parts.append("\n".join(machines.job_lines(rec, lang)))
        parts += [c.verdict for c in rec.counterfactuals if c.verdict and c.with_ and c.without]
        parts += _trade(rec, reading, lang)
    parts += background(reading, results, citations, BACKGROUND_DEEP if deep(reading) else BACKGROUND)
    if shown:
        checks = [
            *checks_before_renting(shown[0], lang),
            *shown[0].caveats[: CAVEATS_DEEP if deep(reading) else CAVEATS],
        ]
        parts.append(f"**{text('writing.head.check', lang)}**\n" + "\n".join(f"- {c}" for c in checks))
        parts.append(" ".join(_notes(shown, rec, reading, lang, stale_days)))
    return Answer(
        lang=lang,
        intent=intent,  # type: ignore[arg-type]
        text="\n\n".join(part for part in parts if part),
        workload=rec.workload,
        constraints=reading.constraints,
        needs=rec.needs,
        picks=rec.picks,
        alternatives=alternatives,
        relaxed=(*rec.relaxed, *rec.loosened),
        counterfactual=next(iter(rec.counterfactuals), None),
        assumptions=rec.assumptions,
        fx=reading.fx,
        citations=citations.rows(),
        charts=rec.charts,
    )


def deep(reading: Any) -> bool:
    """Does the person ask for more than the short answer?"""
    return bool(reading.acts >= {"more_detail", "follow_up"})


def checks_before_renting(pick: Pick, lang: str) -> list[str]:
    """What to ask and what to run for this pick: its links as they should show, what nobody states, and stock."""
    checks = []
    if pick.gpu_count > 1 and pick.nvlink in ("yes", "partial", "unknown"):
        checks.append(text(f"writing.check.nvlink.{pick.nvlink}", lang, gpus=f"{pick.gpu_count:g}"))
    if pick.nodes > 1:
        key = pick.internode_fabric if pick.internode_fabric in ("infiniband", "roce", "efa", "unknown") else "other"
        checks.append(text(f"writing.check.network.{key}", lang, nodes=pick.nodes))
    region = pick.region if pick.region != "unknown" else text("writing.check.somewhere", lang)
    stock = "writing.check.stock.cluster" if pick.nodes > 1 else "writing.check.stock"
    checks.append(text(stock, lang, region=region))
    return checks


def background(reading: Any, results: Any, citations: Citations, count: int) -> list[str]:
    """What the passages add to the picks: a sentence or two each, with the mark."""
    from advisor.planner.writing.explaining import asked_alike, by_question, gist
    from knowledge.tokens import tokens

    query = tokens(reading.search_query or reading.text, stop=True)
    lines: list[str] = []
    asked = reading.search_query or reading.text
    for hit in by_question(reading, order(results.hits, reading.answer_lang))[:count]:
        if hit.asks and asked_alike(asked, hit.asks) < ALIKE:
            continue
        found = gist(hit, query, "\n".join(lines))
        if found:
            lines.append(f"- {found[0]} {citations.mark(hit, found[1])}")
    if not lines:
        return []
    return [f"**{text('writing.head.background', reading.answer_lang)}**\n" + "\n".join(lines)]


def _infeasible(rec: Any, reading: Any, lang: str) -> list[str]:
    words = text("writing.infeasible", lang)
    parts = [" ".join([words, *rec.problem]) if lang == "en" else "".join([words, *rec.problem])]
    if rec.nearest:
        parts.append(text("writing.infeasible.nearest", lang))
    return parts


def _no_match(rec: Any, reading: Any, results: Any, lang: str) -> list[str]:
    parts = nothing_matches(reading, results, lang)
    parts += list(rec.problem)
    if rec.nearest and rec.loosened:
        parts.append(text("writing.no_match.nearest", lang, what=loosened_words(rec.loosened, lang)))
    return parts


def _trade(rec: Any, reading: Any, lang: str) -> list[str]:
    other = [line for line in rec.why_not_runner_up if not any(line[:LABEL] == flip[:LABEL] for flip in rec.flips[:1])]
    lines = [*rec.flips[:1], *other[:1]]
    if deep(reading):
        lines = [*rec.flips, *rec.why_not_runner_up, text("writing.formula", lang, formula=rec.formula)]
    return [f"**{text('writing.head.trade', lang)}**\n" + "\n".join(f"- {line}" for line in lines)] if lines else []


def _notes(shown: tuple[Pick, ...], rec: Any, reading: Any, lang: str, stale_days: int) -> list[str]:
    notes = []
    if rec.assumptions:
        notes.append(text("writing.assumed", lang, items=text("writing.join", lang).join(rec.assumptions)))
    if reading.acts & MONTH_ACTS or reading.constraints.budget_usd_month:
        items = [
            f"`{p.instance_type}` {money((p.total_usd_hour or 0) * HOURS_A_MONTH, reading.fx)}"
            for p in shown
            if p.total_usd_hour
        ]
        notes.append(text("writing.month", lang, items=text("writing.join", lang).join(items)))
    month = reading.constraints.budget_usd_month
    if month and shown[0].total_usd_hour:
        n = number(month / shown[0].total_usd_hour)
        notes.append(
            text("writing.month.hours", lang, budget=money(month, reading.fx), type=shown[0].instance_type, n=n)
        )
    if reading.fx:
        notes.append(rate_note(reading.fx, lang))
    notes.append(age_note(shown, lang, stale_days))
    back = questions_back(reading)
    if back:
        notes.append(text("writing.ask_back", lang, items=back))
    return [note for note in notes if note]
