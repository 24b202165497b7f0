"""For a trouble with a link and nothing pasted: the commands whose output tells the cause."""

from __future__ import annotations

from typing import Any

from advisor.messages import text

INSIDE = ("topo", "nvlink", "p2p", "environment", "one_node")
BETWEEN = ("rdma_devices", "efa_devices", "gids", "gdr", "environment", "several_nodes")
NETWORKS = ("efa", "roce", "tcpxo", "tcpx", "infiniband")
LINK_ACTS = frozenset({"unused_link", "poor_scaling", "tools"})


def outputs_asked(reading: Any, lang: str) -> list[str]:
    """The request for outputs with its commands; empty where the trouble is not one of links."""
    if reading.intent != "troubleshoot" or not (reading.acts & LINK_ACTS or reading.mentions.fabrics):
        return []
    from advisor.reasoning.diagnose import verify_plan

    network = next((name for name in NETWORKS if name in reading.mentions.fabrics), None)
    inside = network is None and "nvlink" in reading.mentions.fabrics
    plan = verify_plan("", lang="ja" if lang == "ja" else "en", fabric=network)
    wanted = INSIDE if inside else BETWEEN
    steps = [step for step in plan.steps if step.step in wanted]
    commands = "\n".join(f"# {step.title}\n{step.command}" for step in steps)
    return [f"{text('writing.outputs.ask', lang)}\n\n```bash\n{commands}\n```"]
