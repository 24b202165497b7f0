"""The first sentences: what was asked, answered from the machines named, the links asked about, or the first pick."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from advisor.messages import text
from advisor.planner.reading.phrases import says
from advisor.planner.writing.assessing import fp32_price, further
from advisor.planner.writing.figures import HOURS_A_MONTH, gpus, hours, money, number, provider_label, usd
from advisor.planner.writing.jobfacts import USABLE
from advisor.planner.writing.prices import a_month, an_hour

TIGHT_TIME = 0.8
SAME = 0.05
"""Differences up to this are within the error of the estimate."""
JUDGING = frozenset({"verify", "does_it", "size_ask", "compare", "choose", "rather"})


def state(row: dict[str, Any], deadline: float | None) -> str:
    """ "fits", "tight", "late" or "not": memory first, then time."""
    if not row["fits"]:
        return "tight" if row["need_gb"] <= row["have_gb"] else "not"
    if deadline and row.get("hours") and row["hours"] > deadline:
        return "late"
    return "fits"


def named_verdict(reading: Any, results: Any, recommendation: Any, lang: str) -> list[str]:
    """The judgement on the machines that the person named: whether one is enough, which of several, or why it failed."""
    deadline = recommendation.workload.deadline_hours
    rows = [row for row in spoken_of(results.assessments, reading) if row.get("need_gb") is not None]
    owned = {(m.gpu or "", m.total or 1) for m in reading.current}
    failed = [r for r in rows if any(r["gpu"].startswith(gpu) and r["gpus"] == n for gpu, n in owned)]
    asked = [r for r in rows if r not in failed]
    if not asked and "oom" not in reading.acts and reading.question_type == "yes_no":
        asked = failed
    lines = []
    if failed and "oom" in reading.acts:
        row = failed[0]
        lines.append(text(f"writing.open.oom.{'settings' if row['fits'] else 'too_small'}", lang, **_values(row)))
    if len(asked) > 1:
        lines.append(choice(asked, deadline, lang))
    elif asked:
        words = [enough(asked[0], deadline, lang)]
        if len(rows) == 1:
            words += further(asked[0], lang)
        lines.append((" " if lang == "en" else "").join(words))
    return lines


def spoken_of(assessments: Sequence[dict[str, Any]], reading: Any) -> list[dict[str, Any]]:
    """The machines that this turn is about: all of a first turn, of a follow-up those of the cards it names."""
    if reading.turn <= 1:
        return list(assessments)
    named = [m.gpu for m in reading.mentions.gpus]
    if not named:
        return list(assessments) if reading.question_type == "yes_no" else []
    return [row for row in assessments if any(gpu is None or row["gpu"].startswith(gpu) for gpu in named)]


def counted_verdict(recommendation: Any, reading: Any, lang: str) -> list[str]:
    """Where the question is how many GPUs, or whether the budget is enough: the number, or yes with what it costs."""
    needs, c = recommendation.needs, reading.constraints
    pick, e = recommendation.picks[0], recommendation.picks[0].estimate
    if paid := tokens_paid_for(recommendation, reading, lang):
        return paid
    if says("one_node_asked", reading.text.lower()) and not reading.alternatives:
        single = next((p for p in recommendation.picks if p.nodes == 1), None)
        if single is None:
            return [text("writing.open.one_node.no", lang, nodes=pick.nodes, gpus=gpus(pick))]
        return [text("writing.open.one_node.yes", lang, gpus=gpus(single))]
    if (
        c.budget_usd
        and reading.question_type == "yes_no"
        and e
        and e.cost_usd is not None
        and e.cost_usd <= c.budget_usd
    ):
        values = {"budget": money(c.budget_usd, reading.fx), "cost": money(e.cost_usd, reading.fx)}
        return [text("writing.open.budget.yes", lang, share=f"{e.cost_usd / c.budget_usd:.0%}", **values)]
    named = bool(c.gpus) and bool(c.gpu_count) and pick.gpu_memory_gb and e and e.memory_gb_per_gpu
    if reading.question_type == "yes_no" and named and not reading.mentions.fabrics:
        size = gpus(pick) if pick.nodes == 1 else f"{pick.nodes} × {gpus(pick)}"
        amounts = {"need": number(e.memory_gb_per_gpu or 0.0), "have": number(pick.gpu_memory_gb or 0.0)}
        return [text("writing.open.fits", lang, gpus=size, **amounts)]
    asks = reading.question_type == "how_many" or "size_ask" in reading.acts
    guessed = recommendation.workload.sources.get("memory_gb") == "assumed"
    if recommendation.outcome == "not_modelled" and (guessed or reading.question_type == "how_many"):
        return []
    told = c.gpu_count is not None and needs is not None and needs.gpus_min == c.gpu_count  # the person's own number
    if not asks or told or needs is None or not needs.gpus_min or not needs.min_gpu_memory_gb:
        return []
    each = needs.min_gpu_memory_gb
    if needs.gpus_min <= 1:
        if pick.total_gpus > 1:
            return []
        return [text("writing.open.least.one", lang, each=number(each), have=number(pick.gpu_memory_gb or each))]
    values = {"gpus": needs.gpus_min, "each": number(each), "total": number(needs.total_gpu_memory_gb or 0.0)}
    card = c.min_gpu_memory_gb
    if card and each > USABLE * card:
        total = number(card * needs.gpus_min)
        return [text("writing.open.least.class", lang, card=number(card), sum=total, **values)]
    return [text("writing.open.least", lang, **values)]


def tokens_paid_for(recommendation: Any, reading: Any, lang: str) -> list[str]:
    """Where the turn asks how many tokens a budget pays for: that number on the row that trains the most for it."""
    budget = reading.constraints.budget_usd
    if not budget or recommendation.workload.tokens or not says("tokens_asked", reading.text.lower()):
        return []
    paced = [p for p in recommendation.picks if p.estimate and p.estimate.tokens_per_s and p.total_usd_hour]
    if not paced:
        return []
    best = max(paced, key=lambda p: p.estimate.tokens_per_s / p.total_usd_hour)
    time = budget / best.total_usd_hour
    values = {"budget": money(budget, reading.fx), "time": hours(time, lang), "gpus": _short(best)}
    amount = best.estimate.tokens_per_s * time * 3600
    return [text("writing.open.tokens_paid", lang, tokens=in_billions(amount, lang), **values)]


def in_billions(amount: float, lang: str) -> str:
    """A number of tokens: millions and billions in English, 億 in Japanese."""
    if lang == "ja":
        return f"{number(amount / 1e8)}億"
    return f"{number(amount / 1e9)} billion" if amount >= 1e9 else f"{number(amount / 1e6)} million"


def enough(row: dict[str, Any], deadline: float | None, lang: str) -> str:
    """Is the one machine that was named enough?"""
    found = state(row, deadline)
    values = _values(row)
    if found == "late":
        return text(
            "writing.open.late", lang, time=hours(row["hours"], lang), deadline=hours(deadline or 0.0, lang), **values
        )
    if found == "fits" and deadline and row.get("hours"):
        return text(
            "writing.open.in_time", lang, time=hours(row["hours"], lang), deadline=hours(deadline, lang), **values
        )
    return text(f"writing.open.{found}", lang, **values)


def choice(rows: Sequence[dict[str, Any]], deadline: float | None, lang: str) -> str:
    """Which of the machines that were named: those that hold the job in time, then the price of the same work."""
    good = [r for r in rows if state(r, deadline) == "fits"]
    names = [str(r["label"]) for r in rows]
    if not good:
        return text("writing.open.none", lang, names=_or(names, lang))
    if len(good) == 1:
        others = text("writing.join", lang).join(_why_not(r, deadline, lang) for r in rows if r is not good[0])
        return text("writing.open.only", lang, others=others, **_values(good[0]))
    rated = sorted((r for r in good if r.get("rate_tflops")), key=lambda r: -r["rate_tflops"])
    if len(rated) > 1:
        a, b = rated[0], rated[1]
        x, y = a["rate_tflops"], b["rate_tflops"]
        values = {"a": a["label"], "b": b["label"], "x": number(x), "y": number(y)}
        more = {"factor": number(x / y)} if a["rate"] == "peak" else {}
        return text(f"writing.open.rate.{a['rate']}", lang, **values, **more)
    priced = [r for r in good if work_price(r) is not None]
    if len(priced) < 2:
        quick = [r for r in good if r.get("tokens_per_s")]
        if len(quick) < 2:
            return text("writing.open.all", lang, names=_or([str(r["label"]) for r in good], lang))
        best = max(quick, key=lambda r: r["tokens_per_s"])
        other = max((r for r in quick if r is not best), key=lambda r: r["tokens_per_s"])
        factor = number(best["tokens_per_s"] / other["tokens_per_s"])
        return text("writing.open.faster", lang, a=best["label"], b=other["label"], factor=factor)
    best = min(priced, key=lambda r: work_price(r) or 0.0)
    other = min((r for r in priced if r is not best), key=lambda r: work_price(r) or 0.0)
    return _cheaper(best, other, lang)


def _cheaper(best: dict[str, Any], other: dict[str, Any], lang: str) -> str:
    """The one whose work costs less, with both prices and what the other is better at."""
    values = {"a": best["label"], "b": other["label"]}
    values |= {"pa": _work(best, lang), "pb": _work(other, lang)}
    speed_a, speed_b = best.get("tokens_per_s"), other.get("tokens_per_s")
    close = (work_price(other) or 0.0) <= (work_price(best) or 0.0) * (1 + SAME)
    line = text("writing.open.close" if close else "writing.open.cheaper", lang, **values)
    if speed_a and speed_b:
        key = "slower" if speed_b > speed_a * (1 + SAME) else "quicker" if speed_a > speed_b * (1 + SAME) else ""
        if key:
            factor = number(max(speed_a, speed_b) / min(speed_a, speed_b))
            line += (" " if lang == "en" else "") + text(f"writing.open.{key}", lang, factor=factor, **values)
    return line


def work_price(row: dict[str, Any]) -> float | None:
    """Dollars for the whole job, else for a million tokens, else an hour; None where no offer is priced."""
    price = row.get("usd_hour")
    if price is None:
        return None
    if row.get("hours"):
        return float(price * row["hours"])
    if row.get("tokens_per_s"):
        return float(price / row["tokens_per_s"] / 3600 * 1e6)
    return fp32_price(row) or float(price)


def _work(row: dict[str, Any], lang: str) -> str:
    """The price of the work in words."""
    key = "job" if row.get("hours") else "tokens" if row.get("tokens_per_s") else "fp32" if fp32_price(row) else "hour"
    price = work_price(row) or 0.0
    return text(f"writing.open.per.{key}", lang, price=usd(price) if price < 100 else usd(price, 0))


def _why_not(row: dict[str, Any], deadline: float | None, lang: str) -> str:
    found = state(row, deadline)
    extra = {"time": hours(row["hours"], lang)} if found == "late" else {}
    return text(f"writing.open.why_not.{found}", lang, **extra, **_values(row))


def _values(row: dict[str, Any]) -> dict[str, Any]:
    return {"gpus": row["label"], "need": number(row["need_gb"]), "have": number(row["have_gb"])}


def _or(names: Sequence[str], lang: str) -> str:
    return text("writing.or", lang).join(names)


def pick_sentence(recommendation: Any, reading: Any, lang: str) -> str:
    """What to rent, at what price, and in numbers why it stands first."""
    pick, fx = recommendation.picks[0], reading.fx
    key = "writing.verdict.nodes" if pick.nodes > 1 else "writing.verdict"
    values = {
        "offer": provider_label(pick) + (f" ({text('writing.spot', lang)})" if pick.spot else ""),
        "gpus": gpus(pick),
        "price": an_hour(pick, fx, lang, nodes=pick.nodes),
        "reason": reason(recommendation.picks, lang),
    }
    line = text(key, lang, **values, **({"nodes": pick.nodes} if pick.nodes > 1 else {}))
    return line + amounts(pick, recommendation.workload, reading, lang)


def reason(picks: Sequence[Any], lang: str) -> str:
    """Why the first pick stands first, against the row that is nearest to replace it."""
    first = picks[0]
    others = [p for p in picks[1:] if (p.provider, p.instance_type) != (first.provider, first.instance_type)]
    if not others or not first.total_usd_hour:
        return text(f"writing.reason.{first.role}", lang)
    if first.role in ("balanced", "fastest"):
        cheap = min((p for p in others if p.total_usd_hour), key=lambda p: p.total_usd_hour, default=None)
        ratio = _speed_ratio(first, cheap)
        if cheap is not None and ratio and ratio > 1 + SAME:
            work = (first.total_usd_hour / cheap.total_usd_hour) / ratio - 1.0
            values = {"other": _short(cheap), "factor": number(ratio), "percent": f"{abs(work):.0%}"}
            key = "cheaper" if work < -SAME else "dearer" if work > SAME else "same"
            return text(f"writing.reason.{first.role}.{key}", lang, **values)
        if (dear := _dearer(first, others, lang)) is not None:
            return dear
    if first.role in ("cheapest", "match"):
        if (dear := _dearer_job(first, others, lang)) is not None:
            return dear
        other = next((p for p in others if p.total_usd_hour and p.total_usd_hour > first.total_usd_hour), None)
        if other is not None:
            ratio = other.total_usd_hour / first.total_usd_hour
            if ratio >= 2:
                return text("writing.reason.cheapest.times", lang, other=_short(other), factor=number(ratio))
            return text("writing.reason.cheapest.by", lang, other=_short(other), percent=f"{ratio - 1.0:.0%}")
    return text(f"writing.reason.{first.role}", lang)


def _dearer_job(first: Any, others: Sequence[Any], lang: str) -> str | None:
    """For a run of known length: what the whole of it costs more on the next row; an hour may cost less there."""
    mine = first.estimate.cost_usd if first.estimate else None
    costs = [(p.estimate.cost_usd, p) for p in others if p.estimate and p.estimate.cost_usd]
    dear = min((one for one in costs if mine and one[0] > mine), key=lambda one: one[0], default=None)
    if not mine or dear is None:
        return None
    return text("writing.reason.cheapest.job", lang, other=_short(dear[1]), percent=f"{dear[0] / mine - 1.0:.0%}")


def _dearer(first: Any, others: Sequence[Any], lang: str) -> str | None:
    """For a first row that no cheaper one stands beside: the next row, quicker or not, and what its work costs more."""
    for other in sorted((p for p in others if p.total_usd_hour), key=lambda p: p.total_usd_hour):
        ratio = _speed_ratio(other, first)
        hourly = other.total_usd_hour / first.total_usd_hour
        if ratio is None and hourly > 1 + SAME:
            return text("writing.reason.balanced.hour", lang, other=_short(other), percent=f"{hourly - 1.0:.0%}")
        if ratio and hourly / ratio > 1 + SAME:
            values = {"other": _short(other), "factor": number(ratio), "percent": f"{hourly / ratio - 1.0:.0%}"}
            key = "quicker" if ratio > 1 + SAME else "slower"
            return text(f"writing.reason.balanced.{key}", lang, **values)
    return None


def _short(pick: Any) -> str:
    size = gpus(pick) if pick.nodes == 1 else f"{pick.nodes} × {gpus(pick)}"
    return f"{size} ({pick.provider})"


def _speed_ratio(first: Any, other: Any) -> float | None:
    a = first.estimate.tokens_per_s if first.estimate else None
    b = other.estimate.tokens_per_s if other is not None and other.estimate else None
    return a / b if a and b else None


def amounts(pick: Any, workload: Any, reading: Any, lang: str) -> str:
    """Time and money in all, a month where it was asked, and how they stand to the budget and the deadline."""
    c, e, fx = reading.constraints, pick.estimate, reading.fx
    said = []
    if e and e.hours is not None and e.cost_usd is not None:
        said.append(text("writing.open.total", lang, time=hours(e.hours, lang), cost=money(e.cost_usd, fx)))
        if c.budget_usd:
            key = "within" if e.cost_usd <= c.budget_usd else "over"
            said.append(text(f"writing.open.budget.{key}", lang, budget=money(c.budget_usd, fx)))
        if workload.deadline_hours:
            key = "in" if e.hours <= workload.deadline_hours else "after"
            said.append(text(f"writing.open.deadline.{key}", lang, deadline=hours(workload.deadline_hours, lang)))
    month = a_month(pick, fx) if reading.acts & {"monthly"} or c.budget_usd_month else None
    if month:
        said.append(text("writing.open.month", lang, price=month))
        if c.budget_usd_month and pick.total_usd_hour:
            n = c.budget_usd_month / pick.total_usd_hour
            key = "all" if n >= HOURS_A_MONTH else "part"
            said.append(text(f"writing.open.month.{key}", lang, budget=money(c.budget_usd_month, fx), n=number(n)))
    return ((" " if lang == "en" else "") + (" " if lang == "en" else "").join(said)) if said else ""
