"""What to ask and what to run before renting a pick: only what follows from this machine and this job."""

from __future__ import annotations

from typing import Any

from advisor.answer import Pick
from advisor.messages import text
from knowledge.providers import provider_table

SWITCHED = {400: "NV8", 600: "NV12", 900: "NV18", 1800: "NV18"}
"""What `nvidia-smi topo -m` shows between two GPUs of a switched 8-GPU board, by GB/s a GPU in both directions."""
BY_APPLICATION = "by application"
ALWAYS_ON = frozenset({"inference", "moe_inference", "embeddings"})


def checks_before_renting(pick: Pick, recommendation: Any, lang: str) -> list[str]:
    """Links as they should show on the machine, what nobody states, who may use it, and whose host it is."""
    needs, w = recommendation.needs, recommendation.workload
    checks = []
    matters = needs is None or needs.nvlink != "no"
    if pick.gpu_count > 1 and matters and pick.nvlink in ("yes", "partial", "unknown"):
        links = {"links": nv_links(pick), "gpus": f"{pick.gpu_count:g}", "gpu": pick.gpu}
        checks.append(text(f"writing.check.nvlink.{pick.nvlink}", lang, **links))
    if pick.nodes > 1 and needs is not None and needs.internode_rdma != "no":
        key = pick.internode_fabric if pick.internode_fabric in ("infiniband", "roce", "efa", "unknown") else "other"
        checks.append(text(f"writing.check.network.{key}", lang, nodes=pick.nodes))
        where = text("writing.check.in", lang, region=pick.region) if pick.region != "unknown" else ""
        checks.append(text("writing.check.stock.cluster", lang, nodes=pick.nodes, where=where))
    checks += seller_checks(pick, lang)
    if applies(pick) and w.kind in ALWAYS_ON:
        checks.append(text("writing.check.batch_queue", lang, provider=pick.provider))
    return checks


def seller_checks(pick: Any, lang: str) -> list[str]:
    """A marketplace's hosts differ; a broker sells another's machine; a list without a region must be asked for it."""
    seller = provider_table().get(pick.provider)
    kind = seller.kind if seller else ""
    checks = []
    if kind in ("marketplace", "broker"):
        checks.append(text(f"writing.check.{kind}", lang, provider=seller.name if seller else pick.provider))
    elif pick.region in ("unknown", "default") and not pick.country:
        checks.append(text("writing.check.region", lang, type=pick.instance_type))
    return checks


def applies(pick: Any) -> bool:
    """Is the machine given out by application only?"""
    seller = provider_table().get(pick.provider)
    return BY_APPLICATION in (pick.price_note or "").lower() or (seller is not None and seller.kind == "academic")


def nv_links(pick: Any) -> str:
    """What `nvidia-smi topo -m` shows between two GPUs; NV# where the board is none of the switched ones."""
    return SWITCHED.get(round(pick.nvlink_gb_s_per_gpu or 0), "NV#") if pick.gpu_count == 8 else "NV#"
