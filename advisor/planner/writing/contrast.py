"""A follow-up beside the turns before it: what changed in price, speed, memory and links."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from advisor.messages import text
from advisor.planner.writing.figures import gpus, network, number, nvlink
from advisor.planner.writing.jobfacts import TRAINING
from advisor.planner.writing.prices import an_hour
from knowledge.places import country_name

SAME = 0.02


def change_line(earlier: Sequence[Any], recommendation: Any, reading: Any, lang: str) -> list[str]:
    """The first pick beside the first pick of the last turn that had one; nothing where it is the same machine."""
    before = next((r for _, r in reversed(earlier) if r.picks), None)
    if before is None or not recommendation.picks or "follow_up" not in reading.acts:
        return []
    old, new = before.picks[0], recommendation.picks[0]
    if _same(old, new):
        key = "cheapest" if reading.acts & {"cheaper", "sort_price"} else "same"
        return [text(f"writing.change.{key}", lang, old=_name(old))]
    said = [
        _price(old, new, reading.fx, lang),
        *_speed(before, old, recommendation, new, lang),
        *_links(old, new, lang),
    ]
    said += _method(before.workload, recommendation.workload, lang)
    items = text("writing.join", lang).join(part for part in said if part)
    return [text("writing.change", lang, old=_name(old), items=items)]


def why_lines(earlier: Sequence[Any], recommendation: Any, lang: str) -> list[str]:
    """For "why": the latest earlier turn whose verdict on a link was another one, and what differs in the job."""
    needs = recommendation.needs
    if needs is None:
        return []
    differing = [(turn, r) for turn, r in earlier if r.needs and r.picks and _verdicts(r) != _verdicts(recommendation)]
    if not differing or not recommendation.picks:
        return []
    kind = differing[-1][1].workload.kind
    turn, before = next((turn, r) for turn, r in differing if r.workload.kind == kind)
    old = before.needs
    nvlink_changed = old.nvlink != needs.nvlink
    slow = old.nvlink_slowdown if nvlink_changed else old.rdma_slowdown
    now_slow = needs.nvlink_slowdown if nvlink_changed else needs.rdma_slowdown
    link = "NVLink" if nvlink_changed else "RDMA"
    values = {"turn": turn, "then": _job(before, lang), "now": _job(recommendation, lang)}
    values |= {"then_effect": _effect(slow, link, lang), "now_effect": _effect(now_slow, link, lang)}
    return [text("writing.change.why", lang, **values)]


def _verdicts(recommendation: Any) -> tuple[str, str]:
    return recommendation.needs.nvlink, recommendation.needs.internode_rdma


def compared_with(earlier: Sequence[Any], recommendation: Any, reading: Any) -> Any:
    """The earlier pick that `change_line` compares with; None where it says nothing of one."""
    before = next((r for _, r in reversed(earlier) if r.picks), None)
    return before.picks[0] if before is not None and recommendation.picks and "follow_up" in reading.acts else None


def _effect(slowdown: float | None, link: str, lang: str) -> str:
    if slowdown is None:
        return text("writing.change.effect.none", lang, link=link)
    if slowdown < 1.05:
        return text("writing.change.effect.little", lang, link=link)
    return text("writing.change.effect", lang, link=link, slowdown=f"{slowdown:.2g}")


def _job(recommendation: Any, lang: str) -> str:
    w, pick = recommendation.workload, recommendation.picks[0]
    plan = pick.estimate.parallelism if pick.estimate else ""
    kind = text(f"writing.kind.{w.kind}", lang)
    size = gpus(pick) if pick.nodes == 1 else f"{pick.nodes} × ({gpus(pick)})"
    form = "split" if pick.total_gpus > 1 and plan else "job"
    plans = {"plan": plan} if form == "split" else {}
    return text(f"writing.change.{form}", lang, kind=kind, gpus=size, **plans)


def _same(old: Any, new: Any) -> bool:
    return (old.provider, old.instance_type, old.nodes, old.region, old.spot) == (
        new.provider,
        new.instance_type,
        new.nodes,
        new.region,
        new.spot,
    )


def _name(pick: Any) -> str:
    size = gpus(pick) if pick.nodes == 1 else f"{pick.nodes} × ({gpus(pick)})"
    return f"{size} ({pick.provider})"


def _price(old: Any, new: Any, fx: Any, lang: str) -> str:
    if not old.total_usd_hour or not new.total_usd_hour:
        return ""
    share = new.total_usd_hour / old.total_usd_hour - 1.0
    key = "same" if abs(share) < SAME else "less" if share < 0 else "more"
    prices = {"old": an_hour(old, fx, lang, nodes=old.nodes), "new": an_hour(new, fx, lang, nodes=new.nodes)}
    if share >= 1:
        return text("writing.change.price.times", lang, factor=number(share + 1), **prices)
    return text(f"writing.change.price.{key}", lang, percent=f"{abs(share):.0%}", **prices)


def _speed(before: Any, old: Any, now: Any, new: Any, lang: str) -> list[str]:
    """The pace of both, where the job is the same kind."""
    a = old.estimate.tokens_per_s if old.estimate else None
    b = new.estimate.tokens_per_s if new.estimate else None
    same_job = before.workload.kind == now.workload.kind and before.workload.params_b == now.workload.params_b
    if not (a and b and same_job) or abs(b / a - 1.0) < SAME:
        return []
    key = "slower" if b < a else "quicker"
    values = {"factor": number(max(a, b) / min(a, b)), "old": number(a), "new": number(b)}
    return [text(f"writing.change.speed.{key}", lang, **values)]


def _links(old: Any, new: Any, lang: str) -> list[str]:
    lines = []
    if old.total_gpus != new.total_gpus:
        counts = {"old": f"{old.total_gpus:g}", "new": f"{new.total_gpus:g}"}
        lines.append(text("writing.change.gpus", lang, **counts))
    if max(old.total_gpus, new.total_gpus) > 1 and nvlink(old, lang) != nvlink(new, lang):
        lines.append(text("writing.change.nvlink", lang, old=nvlink(old, lang), new=nvlink(new, lang)))
    if max(old.nodes, new.nodes) > 1 and network(old, lang) != network(new, lang):
        lines.append(text("writing.change.network", lang, old=network(old, lang), new=network(new, lang)))
    if old.country and new.country and old.country != new.country:
        lines.append(
            text("writing.change.place", lang, old=country_name(old.country, lang), new=country_name(new.country, lang))
        )
    return lines


def _method(old: Any, new: Any, lang: str) -> list[str]:
    if old.kind == new.kind:
        return []
    kinds = {"old": text(f"writing.kind.{old.kind}", lang), "new": text(f"writing.kind.{new.kind}", lang)}
    lines = [text("writing.change.kind", lang, **kinds)]
    if old.kind in TRAINING and new.kind in ("lora", "qlora") and old.params_b:
        lines.append(text("writing.change.states", lang, gb=number(old.params_b * 16)))
    return lines
