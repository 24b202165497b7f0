"""Machines weighed without a job, and one machine with and without a link: the first sentence, then a line each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from advisor.messages import text
from advisor.planner.reading.phrases import says
from advisor.planner.sizing import job_of, link_contrast
from advisor.planner.writing.figures import FABRIC_NAMES, network, number, nvlink, usd
from advisor.reasoning.verdicts import HELPFUL_FROM
from knowledge.offers import Offer

SAME = 0.01
NEAR = 0.8
"""A machine in fewer nodes with this share of the other's compute is the one to take: nothing crosses a network."""


def contrast_lines(reading: Any, assessments: Sequence[dict[str, Any]], lang: str) -> list[str]:
    """The same machine with the link and without it: how many times as fast, for each job that was worked out."""
    link = link_contrast(reading)
    if link is None:
        return []
    pairs = [(a, b) for a, b in zip(assessments[::2], assessments[1::2], strict=False) if a.get("tokens_per_s")]
    if not pairs:
        return [text("writing.contrast.none", lang, label=assessments[0]["label"])] if assessments else []
    first = pairs[0][0]
    name = _link_name(link.name, first)
    if link.name != "nvlink" and first["fabric"] in ("ethernet", "none", "unknown"):
        offer = Offer.model_validate(first["as_offer"])
        return [text("writing.contrast.nothing", lang, label=first["label"], network=network(offer, lang))]
    jobs = [text("writing.contrast.job", lang, **_job(reading, at, a, b, lang)) for at, (a, b) in enumerate(pairs)]
    values = {"link": name, "label": first["label"], "jobs": text("writing.join", lang).join(jobs)}
    key = "inside" if link.name == "nvlink" else "between"
    lines = [text("writing.contrast", lang, **values), text(f"writing.contrast.{key}", lang)]
    if reading.workload is None:
        lines.append(text("writing.contrast.assumed", lang))
    return [(" " if lang == "en" else "").join(lines)]


def _link_name(name: str, row: dict[str, Any]) -> str:
    """The link as the machine has it: who asks for "RDMA" on a machine with EFA reads of EFA."""
    if name == "nvlink":
        return "NVLink"
    own = row["fabric"] if row.get("type") else name
    return FABRIC_NAMES.get(own, "RDMA")


def _job(reading: Any, at: int, with_: dict[str, Any], without: dict[str, Any], lang: str) -> dict[str, Any]:
    from advisor.planner.sizing import REFERENCE_JOBS

    told = reading.workload
    kind = told.kind if told else REFERENCE_JOBS[at]["kind"]
    size = told.params_b if told else REFERENCE_JOBS[at]["params_b"]
    job = text(f"writing.kind.{kind}", lang) + (f" {size:g}B" if size else "")
    pace = without.get("tokens_per_s")
    if not pace:
        return {"job": job, "factor": text("writing.contrast.only", lang), "rates": number(with_["tokens_per_s"])}
    ratio = with_["tokens_per_s"] / pace
    same = ratio < HELPFUL_FROM
    factor = text("writing.contrast.same", lang) if same else text("writing.contrast.times", lang, n=number(ratio))
    return {"job": job, "factor": factor, "rates": f"{number(with_['tokens_per_s'])} / {number(pace)}"}


def machine_lines(reading: Any, assessments: Sequence[dict[str, Any]], lang: str) -> list[str]:
    """Which of the machines weighed, where no job is named: a verdict by compute, memory and nodes, then a line each."""
    rows = [row for row in assessments if row.get("dense_tflops") and row.get("total_gb")]
    if "difference" in reading.acts and not says("compared_pace", reading.text.lower()):
        return []  # what differs is told by the guides and the facts of the cards
    if job_of(reading) is not None or link_contrast(reading) is not None or len(rows) < 2:
        return []
    return [_verdict(rows, lang), "\n".join(f"- {_line(row, lang)}" for row in rows)]


def _verdict(rows: Sequence[dict[str, Any]], lang: str) -> str:
    most = max(row["dense_tflops"] for row in rows)
    fewest = min(row["nodes"] for row in rows)
    best = min(rows, key=lambda r: (r["dense_tflops"] < NEAR * most, r["nodes"], -r["dense_tflops"], r["label"]))
    other = next(row for row in rows if row is not best)
    same = abs(best["dense_tflops"] / other["dense_tflops"] - 1) < SAME and best["total_gb"] == other["total_gb"]
    values = {"a": best["label"], "b": other["label"]}
    values |= {"x": number(best["dense_tflops"] / 1000), "y": number(other["dense_tflops"] / 1000)}
    values |= {"m": number(best["total_gb"]), "n": number(other["total_gb"])}
    if same and best["nodes"] < other["nodes"]:
        return text("writing.weigh.same", lang, **values)
    if (pace := _bandwidth(rows, lang)) is not None:
        return pace
    if same and best["nodes"] == other["nodes"]:
        return text("writing.weigh.level", lang, **values)
    said = [text("writing.weigh.more", lang, **values)]
    if best["nodes"] == fewest < other["nodes"]:
        said.append(text("writing.weigh.nodes" + (".one" if best["nodes"] == 1 else ""), lang, **values))
    if other["total_gb"] > best["total_gb"]:
        said.append(text("writing.weigh.memory", lang, **values))
    a, b = best.get("usd_hour"), other.get("usd_hour")
    if a and b:
        share = (a / best["dense_tflops"]) / (b / other["dense_tflops"])
        key = "less" if share < 1 else "more"
        said.append(text(f"writing.weigh.price.{key}", lang, percent=f"{abs(1 - share):.0%}", **values))
    return (" " if lang == "en" else "").join(said)


def _bandwidth(rows: Sequence[dict[str, Any]], lang: str) -> str | None:
    """Of machines with the same compute and nodes: the one with the faster memory; None where they differ otherwise."""
    rated = sorted((row for row in rows if row.get("bandwidth_gb_s")), key=lambda row: -row["bandwidth_gb_s"])
    if len(rated) < 2 or rated[0]["nodes"] != rated[1]["nodes"]:
        return None
    a, b = rated[0], rated[1]
    if abs(a["dense_tflops"] / b["dense_tflops"] - 1) > SAME or a["bandwidth_gb_s"] == b["bandwidth_gb_s"]:
        return None
    values = {"a": a["label"], "b": b["label"], "factor": number(a["bandwidth_gb_s"] / b["bandwidth_gb_s"])}
    values |= {"x": number(a["bandwidth_gb_s"] / 1000), "y": number(b["bandwidth_gb_s"] / 1000)}
    values |= {"m": number(a["total_gb"]), "n": number(b["total_gb"])}
    return text("writing.weigh.bandwidth", lang, **values)


def _line(row: dict[str, Any], lang: str) -> str:
    offer = Offer.model_validate(row["as_offer"])
    values = {"label": row["label"], "gb": number(row["total_gb"]), "pflops": number(row["dense_tflops"] / 1000)}
    link = text("writing.weigh.unlinked", lang) if offer.nvlink == "unknown" else nvlink(offer, lang)
    words = text("writing.weigh.line", lang, link=link, **values)
    if row["nodes"] > 1 and not row.get("network_assumed"):
        words += text("writing.weigh.line.network", lang, network=network(offer, lang))
    if row.get("usd_hour"):
        words += text("writing.weigh.line.price", lang, price=usd(row["usd_hour"]), seller=row["seller"])
    return words
