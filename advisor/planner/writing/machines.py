"""Words about machines for a job: link verdicts in numbers, machines that the person named, a summary."""

from __future__ import annotations

from typing import Any

from advisor.messages import text
from advisor.planner.writing.figures import gpus, money, number, provider_label, table

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
    lines = [text(f"writing.links.nvlink.{needs.nvlink}", lang)]
    lines.append(text(f"writing.links.rdma.{'one_node' if one_node else needs.internode_rdma}", lang))
    return ["  \n".join(lines), *[f"- {reason}" for reason in needs.reasons]]


def assessed_lines(assessments: tuple[dict[str, Any], ...], lang: str) -> list[str]:
    """Does the job fit the machines that the person named?"""
    lines = []
    for found in assessments:
        if found.get("need_gb") is None:
            continue
        key = "fits" if found["fits"] else "not"
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
        )
    return lines


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
