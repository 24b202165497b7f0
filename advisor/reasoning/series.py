"""Plain series for the charts of an answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from advisor.reasoning.candidates import Candidate, Task, evaluate
from advisor.reasoning.counterfactuals import networked

SHOWN = 60
NODES = (1, 2, 4, 8, 16)


def label(candidate: Candidate) -> str:
    """ "8× H100 SXM · provider", with the number of nodes where there are several."""
    o = candidate.offer
    form = "" if o.gpu_variant == "unknown" else f" {o.gpu_variant}"
    nodes = f"{candidate.nodes} × " if candidate.nodes > 1 else ""
    return f"{nodes}{o.gpu_count:g}× {o.gpu}{form} · {o.provider}"


def chart_series(
    task: Task, chosen: Sequence[tuple[str, Candidate]], candidates: Sequence[Candidate]
) -> dict[str, Any]:
    """cost_time: points of all candidates; speed_by_nodes: a line a fabric; memory: parts of each pick beside its card."""
    sizing = task.sizing
    charts: dict[str, Any] = {}
    points = [c for c in candidates if c.hours is not None and c.cost is not None][:SHOWN]
    if points:
        charts["cost_time"] = [
            {"hours": round(c.hours or 0, 2), "cost_usd": round(c.cost or 0, 2), "label": label(c)} for c in points
        ]
    charts["memory"] = [
        {"label": label(c), "parts_gb": c.result.parts, "card_gb": c.offer.gpu_memory_gb} for _, c in chosen
    ]
    charts["comm_share"] = [
        {"label": label(c), "share": round(c.result.comm_share, 4)}
        for _, c in chosen
        if c.result.comm_share is not None
    ]
    several = next((c for _, c in chosen if c.offer.gpu_count > 1), None)
    if sizing.mode == "train" and sizing.speed_modelled and several is not None:
        charts["speed_by_nodes"] = speed_by_nodes(task, several)
    return charts


def speed_by_nodes(task: Task, candidate: Candidate) -> list[dict[str, Any]]:
    """Tokens a second over 1 to 16 nodes of the pick's machine, with an RDMA network and with plain Ethernet."""
    facts = task.facts
    spread = facts.values["speed_spread"]
    lines = []
    offer = networked(candidate.offer)
    for net in (True, False):
        nodes, values = [], []
        for n in NODES:
            result = evaluate(task, offer, candidate.gpu, n, net=net)
            if result and result.tokens_per_s:
                nodes.append(n)
                values.append(round(result.tokens_per_s))
        if len(nodes) > 1:
            lines.append(
                {
                    "fabric": offer.internode_fabric if net else "ethernet",
                    "gbit_s": offer.internode_gbit_s_per_node
                    if net
                    else facts.fabrics["ethernet"].default_gbit_s_per_node,
                    "nodes": nodes,
                    "tokens_per_s": values,
                    "low": [round(v / spread) for v in values],
                    "high": [round(v * spread) for v in values],
                }
            )
    return lines
