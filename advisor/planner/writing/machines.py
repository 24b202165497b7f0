"""Words about machines for a job: link verdicts in numbers, machines that the person named, a summary."""

from __future__ import annotations

from typing import Any

from advisor.messages import text
from advisor.planner.writing.figures import amd_only, number, table
from advisor.planner.writing.jobfacts import fact_lines
from advisor.planner.writing.opening import pick_sentence
from advisor.reasoning.verdicts import HELPFUL_FROM

ITEMS = frozenset({"render", "batch_inference", "embeddings", "hpc", "video"})
"""Jobs of many frames, documents or runs, each on one card."""
INDEPENDENT = frozenset({"render", "batch_inference", "embeddings"})


def job_lines(recommendation: Any, reading: Any, lang: str) -> list[str]:
    """The two link verdicts for the job, then its reasons in numbers."""
    needs = recommendation.needs
    if needs is None:
        return []
    return [
        "  \n".join(link_verdicts(recommendation, lang)),
        *[f"- {line}" for line in (*fact_lines(recommendation, reading, lang), *telling(needs.reasons, lang))],
    ]


def link_verdicts(recommendation: Any, lang: str) -> list[str]:
    """NVLink, then the network between nodes: needed or not, with the number that decides."""
    needs, picks = recommendation.needs, recommendation.picks or recommendation.nearest
    multi = any(p.total_gpus > 1 for p in picks)
    if needs.nvlink == "no" and needs.internode_rdma == "no":
        key = "independent" if multi and recommendation.workload.kind in INDEPENDENT else None if multi else "none"
        apart = multi and all((p.estimate.parallelism if p.estimate else "").startswith("1 GPU") for p in picks)
        known = bool(picks) and picks[0].gpu_memory_gb and memory_held(picks[0], recommendation)
        if known and (key in ("none", "independent") or apart):
            values = {"need": number(float(known)), "have": number(picks[0].gpu_memory_gb), "gpu": picks[0].gpu}
            kind = recommendation.workload.kind
            form = "copies" if apart else "items" if kind in ITEMS else "one_gpu"
            return [text(f"writing.links.{form}", lang, n=f"{picks[0].total_gpus:g}", **values)]
        if key:
            return [text(f"writing.links.{key}", lang)]
    one_node = bool(picks) and all(p.nodes == 1 for p in picks) and needs.internode_rdma == "no"
    mixed = needs.internode_rdma != "no" and any(p.nodes == 1 for p in picks)
    rdma = "one_node" if one_node else "mixed" if mixed else needs.internode_rdma
    alone = bool(picks) and picks[0].total_gpus <= 1 and needs.nvlink != "no"
    slow = needs.nvlink_slowdown
    link = "amd" if needs.nvlink != "no" and amd_only(picks) else "nvlink"
    named = {"gpu": picks[0].gpu} if link == "amd" else {}
    if alone or not slow or slow < HELPFUL_FROM or needs.nvlink == "no":
        nvlink = text(f"writing.links.{link}.{'alone.' if alone else ''}{needs.nvlink}", lang, **named)
    else:
        nvlink = text(f"writing.links.{link}.{needs.nvlink}.by", lang, slowdown=f"{slow:.2g}", **named)
    most = max((p.total_gpus for p in picks), default=1)
    if rdma == "one_node" and most > 1:
        return [nvlink, text("writing.links.rdma.one_node.of", lang, gpus=f"{most:g}")]
    return [nvlink, text(f"writing.links.rdma.{rdma}", lang)]


def memory_held(pick: Any, recommendation: Any) -> float | None:
    """GB that the job takes on the card of a pick, as estimated or as the person said."""
    estimate = pick.estimate
    return (estimate.memory_gb_per_gpu if estimate else None) or recommendation.workload.memory_gb


def telling(reasons: Any, lang: str) -> list[str]:
    """The reasons without those that the verdict above them says already."""
    said = {text(f"reasoning.link.{key}", lang) for key in ("none", "one_node", "independent")}
    return [reason for reason in reasons if reason not in said]


def summary_parts(recommendation: Any, reading: Any, lang: str) -> list[str]:
    """The recommendation once more, whole, in the language asked for."""
    if not recommendation.picks:
        return []
    return [pick_sentence(recommendation, reading, lang), table(recommendation.picks, lang, reading.fx)]
