"""The answer to "which offers are there": a count, the best row of each type, and what does not match."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from advisor.answer import Answer, Estimate, Needs, Pick
from advisor.messages import text
from advisor.planner.writing.ages import age_note
from advisor.planner.writing.checking import applies
from advisor.planner.writing.citing import Citations
from advisor.planner.writing.figures import amd_only, gpus, money, number, place, provider_label, rate_note, table
from advisor.planner.writing.links import corrections, named_lines
from advisor.planner.writing.loosening import constraint_words, loosened_words, nothing_matches
from advisor.planner.writing.picking import MONTH_ACTS, background
from advisor.planner.writing.prices import a_month, an_hour, list_note, month_note, yen_a_month
from advisor.planner.writing.residency import residency_note
from knowledge.providers import provider_table

SHOWN = 8
ALTERNATIVES = 3
ALIKE_LIST = 0.35
"""Beside a list a guide is heard only where one of its questions is this near to the one asked."""


def write(reading: Any, results: Any, stale_days: int) -> Answer:
    """Picks where rows match, else no_match with the nearest rows."""
    lang, page = reading.answer_lang, results.page
    citations = Citations()
    parts = corrections(reading, results.links, lang)
    rows, beyond = within_limits(page.offers, reading)
    rows = full_machines(rows, reading)
    rows = rows if reading.constraints.spot else on_demand_first(rows)
    picks = tuple(pick_of(offer, nodes_of(offer, reading.constraints)) for offer in one_a_type(rows, SHOWN))
    weighed = [pick_of(offer, nodes_of(offer, reading.constraints)) for _, offer in side_rows(rows, reading)]
    ids = {p.offer_id for p in weighed}
    picks = tuple([*weighed, *(p for p in picks if p.offer_id not in ids)][:SHOWN])
    picks = tuple(for_hours(p, rented_hours(reading)) for p in picks)
    anyway = reading.constraints.spot is not None
    picks = tuple(sorted(picks, key=lambda p: (p.spot and not anyway, *sort_key(p, reading.constraints.sort))))
    unknown = bool(reading.mentions.unknown_gpus or reading.mentions.unknown_instance_types)
    alternatives: tuple[Pick, ...] = ()
    if picks and not unknown:
        count = page.count if len(rows) == len(page.offers) else len(rows)
        parts += type_facts(reading, results, lang)
        parts.append(_heading(count, picks, rows, reading, lang))
        parts.append(table(picks, lang, reading.fx))
        regions = list(dict.fromkeys(place(offer, lang) for offer in rows))
        if "region" in reading.acts or reading.question_type == "where":
            parts.append(text("writing.list.regions", lang, items=", ".join(regions[:12])))
    elif beyond and not unknown:
        name, least = next(iter(beyond.items()))
        what = constraint_words(name, lang)
        parts.append(text("writing.no_match.budget", lang, what=what, least=money(least, reading.fx)))
        cheapest = sorted(page.offers, key=lambda o: (o.price_usd_hour is None, o.price_usd_hour or 0.0))
        alternatives = tuple(pick_of(o, 1) for o in one_a_type(cheapest, ALTERNATIVES))
        parts.append(table(alternatives, lang, reading.fx))
    else:
        parts += nothing_matches(reading, results, lang)
        alternatives = tuple(pick_of(offer, 1) for offer in one_a_type(nearest_first(results, reading), ALTERNATIVES))
        picks = ()
        if alternatives:
            if results.loosened and not unknown:
                parts.append(text("writing.no_match.nearest", lang, what=loosened_words(results.loosened, lang)))
            parts.append(table(alternatives, lang, reading.fx))
    named = named_lines(results.links, lang) if not picks else []
    if named:
        parts.append("\n".join(f"- {line}" for line in named))
    if page.unknown and picks:
        parts.append(text("writing.list.unknown", lang, count=page.unknown_count))
    parts += background(reading, results, citations, 2, alike=ALIKE_LIST)
    parts += residency_note(picks or alternatives, reading, lang)
    parts.append((" " if lang == "en" else "").join(_notes(picks or alternatives, reading, lang, stale_days)))
    return Answer(
        lang=lang,
        intent="picks" if picks else "no_match",
        text="\n\n".join(part for part in parts if part),
        workload=reading.workload,
        constraints=reading.constraints,
        needs=asked_links(reading, picks, lang),
        picks=picks,
        alternatives=alternatives,
        relaxed=results.loosened if alternatives else (),
        fx=reading.fx,
        citations=citations.rows(),
    )


def rented_hours(reading: Any) -> float | None:
    """Hours of rental that the turn names beside a list ("for 100 hours"); None where it names none."""
    return next((q.value for q in reading.quantities if q.meaning == "rent_hours" and q.value > 0), None)


def for_hours(pick: Pick, hours_named: float | None) -> Pick:
    """The row with its cost for the hours named, where there is a price."""
    if hours_named is None or pick.total_usd_hour is None:
        return pick
    estimate = Estimate(hours=hours_named, cost_usd=round(pick.total_usd_hour * hours_named, 2))
    return pick.model_copy(update={"estimate": estimate})


def type_facts(reading: Any, results: Any, lang: str) -> list[str]:
    """The links of named types before their prices, where the turn asks about links or how the types differ."""
    types = tuple(row for row in results.links if row["kind"] == "type")
    if not types or not (reading.mentions.fabrics or "difference" in reading.acts):
        return []
    return ["\n".join(f"- {line}" for line in named_lines(types, lang))]


def nearest_first(results: Any, reading: Any) -> list[Any]:
    """The near rows, on-demand before spot; where the number of GPUs was let go, one row a number, the nearest above first."""
    rows = on_demand_first(results.near) if reading.constraints.spot is None else list(results.near)
    asked = reading.constraints.gpus_per_node or reading.constraints.gpu_count
    if not asked or not set(results.loosened) & {"min_gpus", "max_gpus"}:
        return rows
    rows = sorted(rows, key=lambda o: (o.spot, o.gpu_count < asked, abs(o.gpu_count - asked)))
    firsts: dict[float, Any] = {}
    for row in rows:
        firsts.setdefault(row.gpu_count, row)
    return list(firsts.values())


def within_limits(offers: list[Any], reading: Any) -> tuple[list[Any], dict[str, float]]:
    """(rows that the budgets pay for and that can span the nodes asked for, what the cheapest would cost where none is)."""
    from advisor.reasoning.candidates import can_cluster
    from advisor.reasoning.picking import offers_within_budget

    constraints = reading.constraints
    rows = [o for o in offers if nodes_of(o, constraints) == 1 or can_cluster(o)]
    limit = reading.workload.deadline_hours if reading.workload else None
    month = constraints.budget_usd_month
    rate = reading.fx.rate if reading.fx else None
    by_month = [o for o in rows if o.price_usd_hour is None and month and rate and _fits_month(o, month * rate)]
    affordable, beyond = offers_within_budget(rows, constraints, limit)
    return [*affordable, *by_month], {} if by_month else beyond


def _fits_month(offer: Any, yen: float) -> bool:
    """Is a monthly plan printed in yen within this many yen?"""
    printed = yen_a_month(offer)
    return printed is not None and printed <= yen


def nodes_of(offer: Any, constraints: Any) -> int:
    """How many of this instance make the GPUs asked for; one where nobody asked for several."""
    total = constraints.gpu_count
    if constraints.nodes or not total or total <= offer.gpu_count or total % offer.gpu_count:
        return constraints.nodes or 1
    return int(total // offer.gpu_count)


def asked_links(reading: Any, picks: tuple[Pick, ...], lang: str) -> Needs | None:
    """The links that the question asks for, as needs; None where it speaks of none."""
    c = reading.constraints
    amd = amd_only(picks)
    rdma = c.internode is not None or bool(set(c.fabrics) & {"infiniband", "efa", "roce"})
    if amd and not rdma:
        return Needs(nvlink="no", internode_rdma="no", reasons=(text("writing.list.need.amd", lang),))
    if rdma:
        return Needs(
            nvlink="no" if amd else "yes", internode_rdma="yes", reasons=(text("writing.list.need.rdma", lang),)
        )
    return Needs(nvlink="yes", reasons=(text("writing.list.need.nvlink", lang),)) if c.nvlink else None


def on_demand_first(offers: Iterable[Any]) -> list[Any]:
    """The same rows, those that can be interrupted last; the order within each kind stays."""
    return sorted(offers, key=lambda offer: offer.spot)


def sort_key(pick: Pick, sort: str | None) -> tuple[Any, ...]:
    """The order of the table: price per GPU-hour unless another was asked for; rows without a price last."""
    if sort == "memory":
        return (-(pick.total_gpu_memory_gb or 0.0), pick.price_usd_hour or 1e9)
    if sort == "bandwidth":
        return (
            -(pick.nvlink_gb_s_per_gpu or 0.0),
            -(pick.internode_gbit_s_per_node or 0.0),
            pick.price_usd_hour or 1e9,
        )
    price = pick.price_usd_hour if sort == "price" else pick.price_usd_gpu_hour
    month = yen_a_month(pick)
    unpriced = 0 if price is not None else 1 if month is not None else 2
    return (unpriced, price or month or 0.0, pick.provider, pick.instance_type)


def one_a_type(offers: Iterable[Any], count: int) -> list[Any]:
    """The first row of each provider and type, in the order given."""
    seen: set[tuple[str, str]] = set()
    kept = []
    for offer in offers:
        key = (offer.provider, offer.instance_type)
        if key not in seen:
            seen.add(key)
            kept.append(offer)
        if len(kept) == count:
            break
    return kept


def pick_of(offer: Any, nodes: int) -> Pick:
    """A row of the offers table as a pick, times a number of nodes."""
    count = int(offer.gpu_count) if float(offer.gpu_count).is_integer() else offer.gpu_count
    memory, printed = offer.gpu_memory_gb, offer.price_original_hour
    shared = {name: getattr(offer, name) for name in Pick.model_fields if name in type(offer).model_fields}
    return Pick(
        **{
            **shared,
            "gpu_count": count,
            "nodes": nodes,
            "total_gpus": count * nodes,
            "total_gpu_memory_gb": None if memory is None else round(memory * count * nodes, 1),
            "price_original_gpu_hour": None if printed is None else round(printed / count, 2),
            "total_original_hour": None if printed is None else printed * nodes,
            "total_usd_hour": None if offer.price_usd_hour is None else round(offer.price_usd_hour * nodes, 4),
        }
    )


def _heading(count: int, picks: tuple[Pick, ...], rows: list[Any], reading: Any, lang: str) -> str:
    """The first row with its prices, then how many match; where two sellers or markets are weighed, the better of them."""
    first, fx = picks[0], reading.fx
    sort = reading.constraints.sort if reading.constraints.sort in ("price", "memory", "bandwidth") else "price_gpu"
    parts = sides(rows, reading, lang)
    values = {"offer": provider_label(first), "price": an_hour(first, fx, lang, nodes=first.nodes)}
    values |= {"each": an_hour(first, fx, lang, share=1 / first.gpu_count), "size": gpus(first)}
    if first.spot:
        values["offer"] += f" ({text('writing.spot', lang)})"
    priced = first.price_usd_hour is not None
    one = first.total_gpus <= 1
    key = "one" if count == 1 else sort
    monthly = not priced and yen_a_month(first) is not None
    form = ".single" if one and priced else "" if priced else ".monthly" if monthly else ".unpriced"
    if not parts:
        parts.append(text(f"writing.list.lead.{key if priced else 'any'}{form}", lang, **values))
    month = a_month(first, fx) if reading.acts & MONTH_ACTS and not monthly else None
    if month:
        parts.append(text("writing.open.month", lang, price=month))
    e = first.estimate
    if e and e.hours is not None and e.cost_usd is not None:
        parts.append(
            text(
                "writing.open.total",
                lang,
                time=text("writing.hours", lang, n=number(e.hours)),
                cost=money(e.cost_usd, fx),
            )
        )
    if count > 1:
        order_words = text(f"writing.list.order.{sort}", lang)
        parts.append(text("writing.list.count", lang, count=count, shown=len(picks), order=order_words))
    return (" " if lang == "en" else "").join(parts)


def full_machines(offers: list[Any], reading: Any) -> list[Any]:
    """The rows without the part machines of a family that is weighed by its bare name ("p5 or A3 Ultra?"), where nobody said a number."""
    families = [side.types for side in reading.alternatives if side.kind == "instance_type" and len(side.types) > 1]
    c = reading.constraints
    if not families or c.gpu_count or c.gpus_per_node or c.min_gpus or c.max_gpus:
        return offers
    most = {
        name: max((o.gpu_count for o in offers if o.instance_type in types), default=0)
        for types in families
        for name in types
    }
    return [o for o in offers if o.gpu_count >= most.get(o.instance_type, 0)]


def side_rows(offers: list[Any], reading: Any) -> list[tuple[str, Any]]:
    """Where the turn weighs sellers, types, GPUs or spot against on-demand: (side, its cheapest row), the lowest first."""
    found: dict[str, Any] = {}
    for side in reading.alternatives:
        either = side.kind == "market" or reading.constraints.spot
        priced = [o for o in offers if o.price_usd_gpu_hour is not None and (either or not o.spot)]
        rows = [o for o in priced if _on_side(o, side)]
        if rows:
            found[side.name] = min(rows, key=lambda o: o.price_usd_gpu_hour or 0.0)
    return sorted(found.items(), key=lambda one: one[1].price_usd_gpu_hour or 0.0) if len(found) > 1 else []


def sides(offers: list[Any], reading: Any, lang: str) -> list[str]:
    """The better of the sides that are weighed, with both prices; the same type is told once."""
    ordered = side_rows(offers, reading)
    if not ordered:
        return []
    (a, first), (b, second) = ordered[0], ordered[1]
    typed = {side.name for side in reading.alternatives if side.kind == "instance_type"}
    values = {
        "a": first.instance_type if a in typed else _side_name(a, lang),
        "b": second.instance_type if b in typed else _side_name(b, lang),
    }
    values |= {"pa": an_hour(first, reading.fx, lang, share=1 / first.gpu_count)}
    values |= {"pb": an_hour(second, reading.fx, lang, share=1 / second.gpu_count)}
    return [text("writing.list.sides", lang, ta=first.instance_type, tb=second.instance_type, **values)]


def _on_side(pick: Any, side: Any) -> bool:
    if side.kind == "provider":
        return bool(pick.provider == side.name)
    if side.kind == "market":
        return pick.spot == (side.name == "spot")
    if side.kind == "instance_type":
        return pick.instance_type in (side.types or (side.name,))
    return bool(side.kind == "gpu" and pick.gpu == side.gpu)


def _side_name(name: str, lang: str) -> str:
    if name in ("spot", "on_demand"):
        return text(f"writing.market.{name}", lang)
    seller = provider_table().get(name)
    return seller.name if seller else name


def _notes(shown: tuple[Pick, ...], reading: Any, lang: str, stale_days: int) -> list[str]:
    notes = []
    if shown and reading.acts & MONTH_ACTS:
        notes.append(month_note(shown, reading.fx, lang))
    if reading.fx:
        notes.append(rate_note(reading.fx, lang))
    applied = list(dict.fromkeys(p.provider for p in shown if applies(p)))
    if applied:
        notes.append(text("writing.list.application", lang, names=", ".join(applied)))
    if shown:
        notes.append(list_note(shown, lang))
        notes.append(age_note(shown, lang, stale_days))
    return [note for note in notes if note]
