"""What leaves the page as text: a conversation in Markdown, picks in CSV and Markdown, launch files."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from advisor.answer import Answer, Pick
from advisor.web import numbers
from advisor.web.session import Session
from advisor.web.words import known, role_word, word

PICK_COLUMNS = (
    "role",
    "provider",
    "instance_type",
    "gpu",
    "gpu_variant",
    "gpu_count",
    "gpu_memory_gb",
    "nodes",
    "total_gpus",
    "region",
    "country",
    "spot",
    "price_usd_hour",
    "price_usd_gpu_hour",
    "total_usd_hour",
    "nvlink",
    "nvlink_gb_s_per_gpu",
    "nvlink_domain_gpus",
    "internode_fabric",
    "internode_gbit_s_per_node",
    "internode_rdma",
    "as_of",
    "source",
    "fabric_source",
    "offer_id",
)
ESTIMATE_COLUMNS = ("tokens_per_s", "hours", "cost_usd", "mfu", "comm_share", "memory_gb_per_gpu")
OFFER_COLUMNS = tuple(name for name in PICK_COLUMNS if name not in ("role", "nodes", "total_gpus", "total_usd_hour"))


@cache
def _launchers() -> dict[str, dict[str, str]]:
    with (Path(__file__).parent / "launchers.csv").open(encoding="utf-8", newline="") as file:
        return {row["provider_key"]: row for row in csv.DictReader(file)}


DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
"""The same text in a third of the time where PyYAML was built with its C library."""


def _launcher(pick: Pick, tool: str) -> str | None:
    """The provider's name in `tool` ("skypilot" or "dstack"); None where the tool does not know it or the card is sliced."""
    if pick.gpu_count != int(pick.gpu_count) or pick.gpu_count < 1:
        return None
    return _launchers().get(re.sub(r"[^a-z0-9]", "", pick.provider.lower()), {}).get(tool) or None


def _cell(value: Any) -> Any:
    """A CSV cell; text that a spreadsheet would run as a formula gets a leading apostrophe."""
    if value is None:
        return ""
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return "'" + value
    return value


def table_csv(rows: list[dict[str, Any]], columns: tuple[str, ...]) -> str:
    """Rows as CSV with a header; unknown (None) is an empty cell."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(row.get(name)) for name in columns] for row in rows)
    return out.getvalue()


def _pick_row(pick: Pick) -> dict[str, Any]:
    estimate = pick.estimate.model_dump() if pick.estimate else {}
    return {**pick.model_dump(exclude={"estimate"}), **{name: estimate.get(name) for name in ESTIMATE_COLUMNS}}


def picks_csv(answer: Answer) -> str:
    """The picks with their link facts and estimates, one row each."""
    return table_csv([_pick_row(pick) for pick in answer.picks], PICK_COLUMNS + ESTIMATE_COLUMNS)


def offers_csv(offers: list[Any]) -> str:
    """Offers, one row each."""
    return table_csv([offer.model_dump() for offer in offers], OFFER_COLUMNS)


def _md(value: Any) -> str:
    return str(value).replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def _said(name: str, row: dict[str, Any], roles: Sequence[str], lang: str) -> Any:
    """A cell of the Markdown table: codes in words, figures as the page writes them, a dash for what is not known."""
    value = row[name]
    if name == "role":
        return role_word(value, roles, lang)
    if name == "spot":
        return word("spot" if value else "on_demand", lang)
    if name in ("nvlink", "internode_rdma", "internode_fabric"):
        kind = {"internode_rdma": "value", "internode_fabric": "transport"}.get(name, name)
        return known(f"{kind}.{value}", lang, str(value))
    if name == "hours":
        return numbers.hours(value, lang)
    if value == "unknown":
        return word("unknown", lang)
    if name in ("total_usd_hour", "price_usd_gpu_hour", "cost_usd"):
        return numbers.money(value)
    return numbers.number(value) if value is None or isinstance(value, int | float) else value


def picks_markdown(answer: Answer, lang: str) -> str:
    """The picks as a Markdown table with words in `lang`."""
    roles = [pick.role for pick in answer.picks]
    columns = ("role", "provider", "instance_type", "gpu", "gpu_variant", "nodes", "total_gpus", "gpu_memory_gb", "region", "spot",
               "total_usd_hour", "price_usd_gpu_hour", "nvlink", "internode_fabric", "internode_rdma", "hours", "cost_usd",
               "as_of", "source")  # fmt: skip
    lines = ["| " + " | ".join(word(f"column.{name}", lang) for name in columns) + " |", "|" + " --- |" * len(columns)]
    lines += [
        "| " + " | ".join(_md(_said(name, _pick_row(pick), roles, lang)) for name in columns) + " |"
        for pick in answer.picks
    ]
    return "\n".join(lines) + "\n"


def pick_files(answer: Answer, lang: str) -> dict[str, str]:
    """File name → content of the exports of an answer's picks."""
    return {"picks.csv": picks_csv(answer), "picks.md": picks_markdown(answer, lang)}


def conversation_markdown(session: Session, lang: str) -> str:
    """The whole conversation: questions, answers, picks, sources with their quotes and dates."""
    lines = [f"# {word('title', lang)}", ""]
    for turn in session.turns:
        lines += [f"## {word('export.question', lang)}", "", *(f"> {line}" for line in turn.question.splitlines()), ""]
        if turn.answer is None:
            lines += [turn.error or turn.partial or word("stopped", lang), ""]
            continue
        answer = turn.answer
        lines += [f"## {word('export.answer', lang)}", "", answer.text, ""]
        if answer.picks:
            lines += [picks_markdown(answer, lang)]
        if answer.assumptions:
            lines += [f"### {word('assumptions', lang)}", "", *(f"- {text}" for text in answer.assumptions), ""]
        for citation in answer.citations:
            where = citation.url or citation.source
            title = f"{citation.title}, {citation.section}" if citation.section else citation.title
            date = word("age.unknown", lang) if citation.as_of == "unknown" else citation.as_of
            quote = (f"> {line}" for line in citation.quote.splitlines())
            lines += [f"[{citation.n}] {title} ({where}, {date})", "", *quote, ""]
    return "\n".join(lines).rstrip() + "\n"


def _dump(document: dict[str, Any]) -> str:
    return str(yaml.dump(document, Dumper=DUMPER, sort_keys=False, allow_unicode=True, default_flow_style=False))


def _gpu_name(pick: Pick) -> str:
    return pick.gpu.replace(" ", "")


def dstack_yaml(pick: Pick) -> str | None:
    """A dstack task that asks for this pick; None where its provider is no backend of dstack or the card is sliced."""
    backend = _launcher(pick, "dstack")
    if backend is None:
        return None
    memory = f"{pick.gpu_memory_gb:.0f}GB:" if pick.gpu_memory_gb else ""
    task: dict[str, Any] = {"type": "task", "name": "train"}
    if pick.nodes > 1:
        task["nodes"] = pick.nodes
    task["commands"] = ["nvidia-smi topo -m"]
    task["backends"] = [backend]
    if pick.region != "unknown":
        task["regions"] = [pick.region]
    task["instance_types"] = [pick.instance_type]
    task["spot_policy"] = "spot" if pick.spot else "on-demand"
    task["resources"] = {"gpu": f"{_gpu_name(pick)}:{memory}{int(pick.gpu_count)}"}
    if pick.price_usd_hour:
        task["max_price"] = pick.price_usd_hour
    return _dump(task)


def skypilot_yaml(pick: Pick) -> str | None:
    """A SkyPilot task that asks for this pick; None where its provider is no cloud of SkyPilot or the card is sliced."""
    cloud = _launcher(pick, "skypilot")
    if cloud is None:
        return None
    place = cloud if pick.region == "unknown" else f"{cloud}/{pick.region}"
    resources: dict[str, Any] = {"infra": place, "instance_type": pick.instance_type}
    if pick.spot:
        resources["use_spot"] = True
    return _dump({"name": "train", "num_nodes": pick.nodes, "resources": resources, "run": "nvidia-smi topo -m\n"})
