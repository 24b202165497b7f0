"""What to run in the first five minutes on an instance type, and what good output looks like: from data."""

from __future__ import annotations

import re
from typing import Any

from pydantic import BaseModel, ConfigDict

from advisor.messages import text as say

from . import sold, tables
from .model import Lang


class VerifyStep(BaseModel):
    """One command with what it should print; `source` is a page about the command."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    step: str
    title: str
    command: str
    good: str
    source: str


class VerifyPlan(BaseModel):
    """The commands for one instance type. `known` is false where nothing is known about it: then the general list."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    lang: Lang
    instance_type: str
    known: bool
    provider: str | None = None
    steps: tuple[VerifyStep, ...]
    refund: str
    script: str


def verify_plan(
    instance_type: str,
    lang: Lang = "en",
    *,
    offers_lookup: sold.Lookup | None = None,
    gpu: str | None = None,
    gpu_count: float | None = None,
    fabric: str | None = None,
) -> VerifyPlan:
    """Commands in order, each with good output for this type.

    `offers_lookup` gives the type's row (link fields of an offer); `gpu`, `gpu_count` and `fabric` fill what it does
    not know. What nobody knows leaves the general wording, never a made-up figure.
    """
    fields = sold.promise(instance_type, offers_lookup)
    known = bool(fields)
    name = _driver_name(fields, gpu)
    count = int(fields.get("gpu_count") or gpu_count or 0)
    network = str(fields.get("internode_fabric") or fabric or "unknown")
    tags = _tags(fields, name, count, network)
    board = tables.board_of(name) if name else None
    facts: dict[str, Any] = {
        "lang": lang,
        "gpus": count or 8,
        "ranks": 2 * (count or 8),
        "devices": fields.get("devices"),
        "links": board.board_links if board and count >= 8 else None,
        "rate": fields.get("internode_gbit_s_per_node"),
    }
    steps = []
    for row in tables.rows_cached("verify_commands.csv"):
        if all(part in tags for part in row["when"].split("&")):
            steps.append(
                VerifyStep(
                    step=row["step"],
                    title=say(f"diagnose.verify.{row['step']}.title", lang),
                    command=re.sub(r"\{(\w+)\}", lambda m: str(facts[m.group(1)]), row["command"]),
                    good=_good(row["step"], facts, name, count, network, lang),
                    source=row["source"],
                )
            )
    script = "\n".join(f"# {step.title}\n{step.command}" for step in steps)
    return VerifyPlan(
        lang=lang,
        instance_type=instance_type,
        known=known,
        provider=fields.get("provider"),
        steps=tuple(steps),
        refund=say("diagnose.verify.refund", lang),
        script=script,
    )


def _driver_name(fields: dict[str, Any], gpu: str | None) -> str:
    """The name the driver prints, as far as the form is settled: "H100" + SXM → "H100 SXM"."""
    if fields.get("gpu_name"):
        return str(fields["gpu_name"])
    model = str(fields.get("gpu") or gpu or "")
    variant = str(fields.get("gpu_variant") or "")
    form = {"SXM": "-SXM", "PCIe": " PCIe", "NVL": " NVL"}.get(variant, "")
    return f"{model}{form}" if form else f"{model}?" if re.search(r"H200|A100|H100", model) else model


def _tags(fields: dict[str, Any], name: str, count: int, network: str) -> set[str]:
    tags = {"any"}
    amd = bool(re.search(r"\bMI\d{2,3}", name))
    other = bool(re.search(r"Gaudi|TPU|Trainium|Inferentia", name))
    if amd:
        tags.add("amd")
    elif not other:
        tags.add("nvidia")
    if count != 1:
        tags.add("multi")
    board = tables.board_of(name) if name else None
    promised = fields.get("nvlink")
    if promised != "no":
        tags.add("nvlink")
    if "nvlink" in tags and board is not None and board.nvls:
        tags.add("switch")
    if network in {"infiniband", "roce", "unknown"}:
        tags |= {"rdma", "cluster"}
    if network == "roce":
        tags.add("roce")
    if network in {"efa", "tcpx", "tcpxo"}:
        tags |= {"cluster", network}
    return tags


def _good(step: str, facts: dict[str, Any], name: str, count: int, network: str, lang: Lang) -> str:
    general = f"diagnose.verify.{step}.good"
    board = tables.board_of(name) if name else None
    if step == "gpus" and count:
        return say(f"{general}.counted", lang, gpus=count)
    if step == "topo" and facts["links"] and board and not board.bridged:
        return say(f"{general}.board", lang, links=facts["links"])
    if step == "topo" and board and board.bridged:
        return say(f"{general}.pairs", lang, links=max(board.pair_links))
    if step == "nvlink" and facts["links"]:
        return say(f"{general}.counted", lang, links=facts["links"])
    if step in {"efa_devices", "rdma_devices"} and facts["devices"]:
        return say(f"{general}.counted", lang, devices=facts["devices"], rate=f"{facts['rate']:g}")
    if step in {"one_node", "several_nodes"}:
        nodes, ranks = (1, facts["gpus"]) if step == "one_node" else (2, facts["ranks"])
        for row in tables.rows_cached("measured_bandwidth.csv"):
            fits = board is not None and row["board"] == ("PCIe" if board.board == "NVL" else board.board)
            same = not row["transport"] or row["transport"] == network
            if (
                fits
                and same
                and int(row["ranks"]) == ranks
                and int(row["nodes"]) == nodes
                and re.search(row["gpu"], name)
            ):
                figure, floor = float(row["good_gb_s"]), float(row["floor_gb_s"])
                reference = row[f"reference_{lang}"]
                return say(f"{general}.figure", lang, reference=reference, expected=figure, floor=floor)
    return say(general, lang)
