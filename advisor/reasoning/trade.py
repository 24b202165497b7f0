"""What the choice trades: the job without a link, why not the others, what flips the choice, what is missing."""

from __future__ import annotations

from collections.abc import Sequence

from advisor.answer import Constraints, Counterfactual, Lang
from advisor.reasoning.candidates import Candidate, Result
from advisor.reasoning.counterfactuals import Links
from advisor.reasoning.picking import Role, by_hour, duration, scores, wants_cheap
from advisor.reasoning.rows import pick
from advisor.reasoning.series import label
from advisor.reasoning.verdicts import HELPFUL_FROM, verdict
from advisor.reasoning.wording import say, span, times
from advisor.reasoning.workload import Sizing
from knowledge.facts import Facts
from knowledge.offer_model import Offer


def counterfactuals(
    sizing: Sizing,
    chosen: Sequence[tuple[Role, Candidate]],
    candidates: Sequence[Candidate],
    links: Links,
    facts: Facts,
    lang: Lang,
) -> tuple[Counterfactual, ...]:
    """The job without NVLink and without RDMA, each with its verdict in one sentence."""
    out: list[Counterfactual] = []
    if links.on is None or not chosen:
        return ()
    empty = Constraints()
    if links.nvlink is not None and links.on.offer.gpu_count > 1 and any(c.gpus > 1 for _, c in chosen):
        on = links.on
        other = min(
            (
                c
                for c in candidates
                if c.offer.nvlink in ("no", "unknown")
                and c.gpus >= on.gpus * 0.5
                and c.offer.gpu_count > 1
                and not links.stated
            ),
            key=lambda c: (c.usd_hour, c.offer.offer_id),
            default=None,
        )
        saved = None if other is None else round(on.usd_hour - other.usd_hour, 4)
        out.append(
            Counterfactual.model_validate(
                {
                    "question": say("counter.nvlink.question", lang),
                    "with": None if links.stated else pick("match", on, sizing, links, empty, facts, lang),
                    "without": pick("match", other, sizing, links, empty, facts, lang) if other else None,
                    "slowdown": round(links.nvlink, 3),
                    "price_difference_usd_hour": saved,
                    "verdict": _counter_words(
                        say("nvlink.name", lang), links.nvlink, links.without_link, on, other, lang
                    ),
                }
            )
        )
    if sizing.mode == "train" and links.rdma is not None and links.with_net is not None:
        words = _counter_words(say("net.name", lang), links.rdma, links.without_net, None, None, lang)
        out.append(
            Counterfactual.model_validate(
                {
                    "question": say("counter.rdma.question", lang),
                    "slowdown": round(links.rdma, 3),
                    "verdict": say("counter.nodes", lang, nodes=links.nodes) + words,
                }
            )
        )
    return tuple(out)


def _counter_words(
    link: str, slow: float, without: Result | None, on: Candidate | None, other: Candidate | None, lang: Lang
) -> str:
    if without is None:
        return say("counter.impossible", lang, link=link)
    if slow < HELPFUL_FROM:
        return say("counter.same", lang, link=link)
    if on is not None and other is not None and other.usd_hour < on.usd_hour:
        saved = on.usd_hour - other.usd_hour
        return say(
            "counter.slower_cheaper",
            lang,
            link=link,
            slowdown=times(slow),
            other=label(other),
            saved=saved,
            percent=saved / on.usd_hour,
        )
    return say("counter.slower", lang, link=link, slowdown=times(slow))


FABRIC_NAMES = {"infiniband": "InfiniBand", "efa": "EFA", "roce": "RoCE"}
CLOSE = 0.05
"""Differences up to this are within the error of the estimate and told as equal."""


def compared(other: Candidate, first: Candidate, sizing: Sizing, constraints: Constraints, lang: Lang) -> str:
    """One line on a row that is not first: what it costs and how long it takes beside the first, by the measure that ordered them."""
    name = label(other)
    an_hour = other.usd_hour / first.usd_hour - 1.0
    if other.errand_hours is None or by_hour([other, first], sizing, constraints):
        if abs(an_hour) <= CLOSE:
            return say("whynot.close_hour", lang, other=name)
        return say(
            "whynot.dearer_hour" if an_hour > 0 else "whynot.cheaper_hour", lang, other=name, percent=abs(an_hour)
        )
    work = other.price_of_work / first.price_of_work - 1.0
    slower = duration(other) / duration(first)
    if work > CLOSE:
        return say("whynot.dearer", lang, other=name, percent=work)
    if slower > 1.0 + CLOSE:
        if work < -CLOSE:
            return say("whynot.slower_cheaper", lang, other=name, factor=slower, percent=-work)
        return say("whynot.slower", lang, other=name, factor=slower)
    if work >= -CLOSE:
        return say("whynot.close" if slower >= 1.0 - CLOSE else "whynot.faster", lang, other=name)
    if an_hour > CLOSE:
        return say("whynot.dearer_now", lang, other=name, hour=an_hour, percent=-work)
    return say("whynot.cheaper", lang, other=name, percent=-work)


def flip_row(
    chosen: Sequence[tuple[Role, Candidate]], sizing: Sizing, constraints: Constraints
) -> tuple[int, float] | None:
    """(position of the row that would come first next, share by which its price must fall); None where none is near."""
    ordered = constraints.sort is not None or wants_cheap(sizing, constraints)
    if len(chosen) < 2 or sizing.mode == "memory" or ordered:
        return None
    score = scores([candidate for _, candidate in chosen])
    second = min(range(1, len(chosen)), key=lambda i: score[i])
    gap = 1.0 - score[0] / score[second]
    return (second, gap) if CLOSE <= gap < 0.6 else None


def why_not(
    chosen: Sequence[tuple[Role, Candidate]], sizing: Sizing, constraints: Constraints, lang: Lang
) -> tuple[str, ...]:
    """Why the other rows are not first; the row that `flips` names is left to it, and no row is named twice."""
    if len(chosen) < 2:
        return ()
    flip = flip_row(chosen, sizing, constraints)
    named = {label(chosen[0][1])} | ({label(chosen[flip[0]][1])} if flip else set())
    lines = []
    for _, other in chosen[1:]:
        if label(other) not in named:
            named.add(label(other))
            lines.append(compared(other, chosen[0][1], sizing, constraints, lang))
    return tuple(lines)


def flips(
    sizing: Sizing,
    chosen: Sequence[tuple[Role, Candidate]],
    links: Links,
    constraints: Constraints,
    lang: Lang,
) -> tuple[str, ...]:
    """What would change the choice."""
    if not chosen:
        return ()
    lines = []
    first = chosen[0][1]
    if flip := flip_row(chosen, sizing, constraints):
        second = chosen[flip[0]][1]
        if label(second) != label(first):
            lines.append(say("flip.price", lang, other=label(second), percent=flip[1], price=second.usd_hour))
    if sizing.mode == "train" and sizing.job is not None:
        if first.hours is not None and not sizing.workload.deadline_hours:
            lines.append(say("flip.deadline", lang, hours=first.hours))
        card = first.offer.gpu_memory_gb
        if card and first.result.memory_gb > 0.6 * card:
            lines.append(say("flip.seq", lang, seq=sizing.job.seq_len * 2))
        if all(c.nodes == 1 for _, c in chosen) and links.rdma is not None and verdict(links.rdma) == "yes":
            lines.append(say("flip.nodes", lang, slowdown=times(links.rdma)))
    if sizing.mode == "serve" and sizing.streams:
        lines.append(say("flip.streams", lang, streams=capacity(sizing, first)))
    return tuple(lines)


def capacity(sizing: Sizing, candidate: Candidate) -> int:
    """Requests that the free memory of the pick would hold."""
    parts = candidate.result.parts
    card = candidate.offer.gpu_memory_gb or (candidate.gpu.memory_gb if candidate.gpu else 0.0)
    free = 0.94 * card - candidate.result.memory_gb
    each = parts.get("kv_cache", 0.0) / max(1, sizing.streams)
    return sizing.streams + (int(free / each) if each > 0 and free > 0 else 0)


def formula(chosen: Sequence[tuple[Role, Candidate]], sizing: Sizing, constraints: Constraints, lang: Lang) -> str:
    """The ranking formula, as printed."""
    rows = [candidate for _, candidate in chosen]
    if by_hour(rows, sizing, constraints):
        return say("formula.price", lang)
    if not wants_cheap(sizing, constraints):
        return say("formula.score", lang)
    ends = all(c.errand_hours is not None for c in rows)
    return say("formula.cost" if ends else "formula.price", lang)


def problems(
    sizing: Sizing,
    constraints: Constraints,
    required: dict[str, float],
    nearest: Sequence[Candidate],
    lang: Lang,
    on_request: Offer | None = None,
) -> tuple[str, ...]:
    """What is missing, in numbers; with the cluster that is sold on request, where the machines themselves cannot be joined."""
    lines = []
    if "budget_usd" in required and "budget_usd_one_hour" not in required:
        lines.append(say("problem.budget", lang, need=required["budget_usd"], have=constraints.budget_usd or 0.0))
    if "budget_usd_one_hour" in required:
        need, have = required["budget_usd_one_hour"], constraints.budget_usd or 0.0
        lines.append(say("problem.budget_one_hour", lang, need=need, have=have))
    if "budget_usd_month" in required:
        lines.append(
            say(
                "problem.budget_month",
                lang,
                need=required["budget_usd_month"],
                have=constraints.budget_usd_month or 0.0,
            )
        )
    if "hours" in required:
        lines.append(
            say(
                "problem.deadline",
                lang,
                hours=span(required["hours"], lang),
                deadline=span(sizing.workload.deadline_hours or 0.0, lang),
                gpus=required.get("gpus", 0.0),
            )
        )
    elif "memory_gb" in required:
        card = required.get("card_gb", 0.0)
        asked = constraints.gpu_count or (constraints.nodes or 0) * required.get("machine_gpus", 0.0)
        largest = required.get("machine_gpus", 0.0)
        if sizing.mode == "train" and card and asked >= required["gpus"] and asked > largest:
            lines.append(say("problem.no_cluster", lang, gpus=asked, largest=largest))
            if on_request is not None:
                lines.append(
                    say(
                        "problem.on_request",
                        lang,
                        provider=on_request.provider,
                        type=on_request.instance_type,
                        fabric=FABRIC_NAMES.get(on_request.internode_fabric, on_request.internode_fabric),
                    )
                )
            return tuple(lines)
        if sizing.mode == "memory":
            lines.append(say("problem.card", lang, need=required["memory_gb"], card=card))
        elif card:
            lines.append(say("problem.memory", lang, need=required["memory_gb"], gpus=required["gpus"], card=card))
        if nearest:
            lines.append(say("problem.count", lang))
    return tuple(lines) or (say("problem.unknown", lang),)
