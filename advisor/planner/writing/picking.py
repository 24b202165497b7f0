"""The answer to "what do I rent": verdict, machines named, picks, links in numbers, counterfactual, what to check, sources."""

from __future__ import annotations

from typing import Any

from advisor.answer import Answer, Pick
from advisor.messages import text
from advisor.planner.plan import capacity, fleet_size
from advisor.planner.reading.methods import is_training
from advisor.planner.sizing import link_contrast
from advisor.planner.writing import machines
from advisor.planner.writing.ages import age_note
from advisor.planner.writing.assessing import assessed_lines, judged
from advisor.planner.writing.checking import checks_before_renting
from advisor.planner.writing.citing import Citations
from advisor.planner.writing.contrast import change_line, compared_with
from advisor.planner.writing.explaining import order
from advisor.planner.writing.figures import gpus, number, provider_label, rate_note, table
from advisor.planner.writing.jobfacts import within_reach
from advisor.planner.writing.links import corrections
from advisor.planner.writing.loosening import loosened_words, nothing_matches
from advisor.planner.writing.opening import SAME, counted_verdict, named_verdict, pick_sentence, spoken_of
from advisor.planner.writing.prices import list_note, month_note
from advisor.planner.writing.residency import residency_note
from advisor.planner.writing.short import questions_back
from advisor.planner.writing.weighing import contrast_lines

ALIKE = 0.25
"""Beside picks a guide is heard only where one of its questions is this near to the one asked."""
CAVEATS = 2
CAVEATS_DEEP = 6
BACKGROUND = 1
BACKGROUND_DEEP = 3
LABEL = 16
"""Characters that tell two machines' names apart at the head of a line."""
MONTH_ACTS = frozenset({"monthly"})
LINK_ACTS = frozenset({"about_links", "does_it", "verify", "why"})


def write(reading: Any, results: Any, stale_days: int) -> Answer:
    """One of picks, no_match or infeasible, as the recommendation came out."""
    lang, rec = reading.answer_lang, results.recommendation
    citations = Citations()
    parts = corrections(reading, results.links, lang)
    intent = "picks"
    alternatives: tuple[Pick, ...] = ()
    asks_link = bool(reading.mentions.fabrics) and bool(reading.acts & LINK_ACTS)
    if rec.outcome == "no_match" or not rec.picks:
        intent = "infeasible" if rec.outcome == "infeasible" else "no_match"
        alternatives = rec.nearest
        parts += _infeasible(rec, reading, lang) if intent == "infeasible" else _no_match(rec, reading, results, lang)
    else:
        judgement = contrast_lines(reading, results.assessments, lang) or named_verdict(reading, results, rec, lang)
        parts += judgement or counted_verdict(rec, reading, lang)
        if asks_link:
            parts += ["  \n".join(machines.link_verdicts(rec, lang))]
        parts.append(_fleet(reading, rec, lang))
        parts.append(pick_sentence(rec, reading, lang))
        parts += by_the_hour(rec, reading, lang)
        parts += change_line(results.earlier, rec, reading, lang)
    shown = rec.picks or alternatives
    spoken = [] if link_contrast(reading) else spoken_of(results.assessments, reading)
    assessed = assessed_lines(spoken, rec.workload.deadline_hours, lang)
    if assessed:
        parts.append("\n".join(f"- {line}" for line in assessed))
    if shown:
        parts.append(table(shown, lang, reading.fx))
    if intent == "picks":
        lines = machines.job_lines(rec, reading, lang)
        parts.append("\n".join(lines[1:] if asks_link else lines))
        parts += [c.verdict for c in rec.counterfactuals if c.verdict and c.with_ and c.without]
        parts += _trade(rec, reading, lang)
    parts += background(reading, results, citations, BACKGROUND_DEEP if deep(reading) else BACKGROUND)
    if shown:
        checks = [
            *checks_before_renting(shown[0], rec, lang),
            *shown[0].caveats[: CAVEATS_DEEP if deep(reading) else CAVEATS],
            *residency_note(shown, reading, lang),
        ]
        if checks:
            parts.append(f"**{text('writing.head.check', lang)}**\n" + "\n".join(f"- {c}" for c in checks))
    parts.append((" " if lang == "en" else "").join(_notes(shown, rec, reading, lang, stale_days)))
    return Answer(
        lang=lang,
        intent=intent,  # type: ignore[arg-type]
        text="\n\n".join(part for part in parts if part),
        workload=rec.workload,
        constraints=reading.constraints,
        needs=rec.needs,
        picks=rec.picks,
        alternatives=alternatives,
        machines=judged(results.assessments),
        compared_with=compared_with(results.earlier, rec, reading) if intent == "picks" else None,
        relaxed=(*rec.relaxed, *rec.loosened),
        counterfactual=next(iter(rec.counterfactuals), None),
        assumptions=(
            *rec.assumptions,
            *([text("writing.by_hour.assumed", lang)] if by_the_hour(rec, reading, lang) else []),
        ),
        fx=reading.fx,
        citations=citations.rows(),
        charts=rec.charts,
    )


def _fleet(reading: Any, rec: Any, lang: str) -> str:
    fleet = fleet_size(reading)
    if not fleet:
        return ""
    streams = {"peak": reading.workload.concurrency, "each": number(capacity(reading) or 1.0)}
    return text("writing.fleet", lang, gpus=fleet, **streams)


def by_the_hour(rec: Any, reading: Any, lang: str) -> list[str]:
    """Where the cheapest is asked for a training run of unknown length: that it is by the hour, and what is cheapest by the work."""
    w, first = rec.workload, next(iter(rec.picks), None)
    if (
        reading.constraints.sort not in ("price", "cost")
        or not is_training(w.kind)
        or w.tokens
        or w.images
        or first is None
    ):
        return []
    rated = [(price, p) for p in rec.picks if (price := price_of_tokens(p)) is not None]
    if not rated or rated[0][1] is not first:
        return [text("writing.by_hour", lang)]
    least, best = min(rated, key=lambda one: one[0])
    if least >= rated[0][0] * (1 - SAME):
        return [text("writing.by_hour.same", lang)]
    share = f"{1 - least / rated[0][0]:.0%}"
    return [text("writing.by_hour.other", lang, other=provider_label(best), gpus=gpus(best), percent=share)]


def price_of_tokens(pick: Any) -> float | None:
    """Dollars for a million tokens of training; None where the pace or the price is not known."""
    pace = pick.estimate.tokens_per_s if pick.estimate else None
    return pick.total_usd_hour / pace / 3600 * 1e6 if pace and pick.total_usd_hour else None


def deep(reading: Any) -> bool:
    """Does the person ask for more than the short answer?"""
    return bool(reading.acts >= {"more_detail", "follow_up"})


def background(reading: Any, results: Any, citations: Citations, count: int, alike: float = ALIKE) -> list[str]:
    """What the passages add to the picks: a sentence or two each, with the mark."""
    from advisor.planner.writing.explaining import asked_alike, by_question, gist
    from knowledge.tokens import tokens

    query = tokens(reading.search_query or reading.text, stop=True)
    lines: list[str] = []
    asked = reading.search_query or reading.text
    for hit in by_question(reading, order(results.hits, reading.answer_lang))[:count]:
        if hit.asks and asked_alike(asked, hit.asks) < alike:
            continue
        found = gist(hit, query, "\n".join(lines), money=False)
        if found:
            lines.append(f"- {found[0]} {citations.mark(hit, found[1])}")
    if not lines:
        return []
    return [f"**{text('writing.head.background', reading.answer_lang)}**\n" + "\n".join(lines)]


def _infeasible(rec: Any, reading: Any, lang: str) -> list[str]:
    words = text("writing.infeasible", lang)
    parts = [" ".join([words, *rec.problem]) if lang == "en" else "".join([words, *rec.problem])]
    reach = within_reach(rec, reading, lang)
    if reach:
        parts.append("\n".join([text("writing.reach", lang), *[f"- {line}" for line in reach]]))
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
    if rec.outcome == "not_modelled" and not deep(reading):
        return []
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
        notes.append(month_note(shown, reading.fx, lang))
    if any(p.spot for p in shown) and not all(p.spot for p in shown):
        notes.append(text("writing.spot.mixed", lang))
    if reading.fx:
        notes.append(rate_note(reading.fx, lang))
    notes.append(list_note(shown, lang))
    if shown:
        notes.append(age_note(shown, lang, stale_days))
    back = questions_back(reading)
    if back:
        notes.append(text("writing.ask_back", lang, items=back))
    return [note for note in notes if note]
