"""Words about machines for a job: link verdicts in numbers, machines that the person named, a summary."""

from __future__ import annotations

from typing import Any

from advisor.messages import text
from advisor.planner.writing.figures import gpus, hours, money, number, provider_label, table

INDEPENDENT = frozenset({"render", "batch_inference", "embeddings"})


def job_lines(recommendation: Any, lang: str) -> list[str]:
    """The two link verdicts for the job, each with its reason in numbers."""
    needs = recommendation.needs
    if needs is None:
        return []
    picks = recommendation.picks or recommendation.nearest
    multi = any(p.total_gpus > 1 for p in picks)
    if needs.nvlink == "no" and needs.internode_rdma == "no":
        key = "independent" if multi and recommendation.workload.kind in INDEPENDENT else None if multi else "none"
        if key:
            return [text(f"writing.links.{key}", lang), *[f"- {reason}" for reason in needs.reasons]]
    one_node = bool(picks) and all(p.nodes == 1 for p in picks) and needs.internode_rdma == "no"
    mixed = needs.internode_rdma != "no" and any(p.nodes == 1 for p in picks)
    rdma = "one_node" if one_node else "mixed" if mixed else needs.internode_rdma
    alone = bool(picks) and picks[0].total_gpus <= 1 and needs.nvlink != "no"
    nvlink = f"writing.links.nvlink.{'alone.' if alone else ''}{needs.nvlink}"
    lines = [text(nvlink, lang), text(f"writing.links.rdma.{rdma}", lang)]
    return [
        "  \n".join(lines),
        *[f"- {line}" for line in (*compute_line(recommendation.workload, lang), *needs.reasons)],
    ]


TRAINING = frozenset({"full_ft", "pretrain", "continued_pretrain", "moe_train", "long_context_train"})


def compute_line(workload: Any, lang: str) -> list[str]:
    """The arithmetic of a training run whose tokens are known: 6 x active parameters x tokens."""
    active = workload.active_params_b or workload.params_b
    if workload.kind not in TRAINING or not workload.tokens or not active:
        return []
    flop = f"{6 * active * 1e9 * workload.tokens:.2g}".replace("e+", "e")
    return [text("writing.compute", lang, params=number(active), tokens=number(workload.tokens / 1e9), flop=flop)]


def assessed_lines(
    assessments: tuple[dict[str, Any], ...], lang: str, *, ran_out: bool = False, deadline_hours: float | None = None
) -> list[str]:
    """Does the job fit the machines that the person named, and in time? `ran_out`: it ran out of memory there."""
    lines = []
    for found in assessments:
        if found.get("need_gb") is None:
            continue
        key = "fits" if found["fits"] else "tight" if found["need_gb"] <= found["have_gb"] else "not"
        extra = (
            f" ({found['plan']})"
            if found.get("plan") and lang == "en"
            else f"（{found['plan']}）"
            if found.get("plan")
            else ""
        )
        lines.append(
            text(
                f"writing.assess.{key}",
                lang,
                gpus=found["label"],
                need=number(found["need_gb"]),
                have=number(found["have_gb"]),
                extra=extra,
            )
            + _time(found.get("hours"), deadline_hours, lang)
        )
    if ran_out and any(found.get("fits") for found in assessments):
        lines.append(text("writing.assess.ran_out", lang))
    return lines


def _time(needed: float | None, deadline: float | None, lang: str) -> str:
    """How long the job takes there, and whether that meets the deadline."""
    if needed is None:
        return ""
    if deadline is None:
        return " " + text("writing.assess.time", lang, time=hours(needed, lang))
    key = "late" if needed > deadline else "close" if needed > 0.8 * deadline else "in_time"
    return " " + text(f"writing.assess.{key}", lang, time=hours(needed, lang), deadline=hours(deadline, lang))


def verdict(pick: Any, lang: str, fx: Any, role: str | None = None) -> str:
    """The first sentence: what to rent, at what price, and why it is the first."""
    reason = text(f"writing.reason.{role or pick.role}", lang)
    key = "writing.verdict.nodes" if pick.nodes > 1 else "writing.verdict"
    values = {
        "offer": provider_label(pick),
        "gpus": gpus(pick),
        "price": money(pick.total_usd_hour, fx),
        "reason": reason,
    }
    return text(key, lang, **values, **({"nodes": pick.nodes} if pick.nodes > 1 else {}))


def summary_parts(recommendation: Any, reading: Any, lang: str) -> list[str]:
    """The recommendation once more, whole, in the language asked for."""
    if not recommendation.picks:
        return []
    return [verdict(recommendation.picks[0], lang, reading.fx), table(recommendation.picks, lang, reading.fx)]
