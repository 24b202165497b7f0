"""Plain text for the terminal. Pure: values in, text out (the progress bar aside)."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from advisor.answer import Answer


def answer_text(answer: Answer) -> str:
    """The answer's Markdown, then its sources with their quotes."""
    lines = [answer.text]
    if answer.citations:
        lines.append("\n" + ("出典" if answer.lang == "ja" else "Sources"))
        for c in answer.citations:
            origin = f"; from {c.url}" if c.url and c.url != c.source else ""
            lines.append(f"[{c.n}] {c.title} ({c.source}, {c.as_of}{origin})\n    “{c.quote}”")
    return "\n".join(lines)


def offers_text(page: Any) -> str:
    """A table of offers, the count, and, where nothing matches, what to loosen."""
    from rich.console import Console
    from rich.table import Table

    buffer = io.StringIO()
    console = Console(file=buffer, width=150)
    table = Table(box=None, pad_edge=False)
    for name in ("provider", "type", "GPUs", "NVLink", "network", "RDMA", "region", "$/h", "$/GPU-h", "spot", "as of"):
        table.add_column(name, justify="right" if name.startswith("$") else "left", overflow="fold")
    for o in page.offers:
        variant = "" if o.gpu_variant == "unknown" else f" {o.gpu_variant}"
        memory = "" if o.gpu_memory_gb is None else f" {o.gpu_memory_gb:g} GB"
        rate = "" if o.internode_gbit_s_per_node is None else f" {o.internode_gbit_s_per_node:g} Gb/s"
        table.add_row(
            o.provider,
            o.instance_type,
            f"{o.gpu_count:g}x {o.gpu}{variant}{memory}",
            o.nvlink,
            o.internode_fabric + rate,
            o.internode_rdma,
            o.region,
            _money(o.price_usd_hour),
            _money(o.price_usd_gpu_hour),
            "spot" if o.spot else "",
            o.as_of,
        )
    console.print(table)
    lines = [buffer.getvalue().rstrip(), f"{len(page.offers)} of {page.count} shown"]
    if page.unknown:
        lines.append(f"{len(page.unknown)} more would match, but their NVLink or network facts are unknown.")
    if not page.count:
        lines[:] = ["Nothing matches."]
        lines += [f"Without {n.field} {n.value}: {n.count} offers." for n in page.near_misses]
    return "\n".join(lines)


def offers_csv(page: Any) -> str:
    """The offers as CSV with a header."""
    from knowledge.offers import Offer

    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, fieldnames=list(Offer.model_fields), lineterminator="\n")
    writer.writeheader()
    for offer in page.offers:
        writer.writerow(offer.model_dump(mode="json"))
    return buffer.getvalue().rstrip("\n")


def diagnosis_text(diagnosis: Any, picture: str) -> str:
    """What was read, the topology, and each problem with its evidence and what to do."""
    lines = [diagnosis.summary, "", picture] if picture else [diagnosis.summary]
    for p in diagnosis.problems:
        lines.append(f"\n[{p.severity}] {p.code}: {p.title}\n  {p.evidence.file}:{p.evidence.line}: {p.evidence.text}")
        lines.append(f"  {p.explanation}\n  → {p.action}")
    return "\n".join(lines)


def verify_text(plan: Any) -> str:
    """The commands one by one, with what good output looks like."""
    lines = [plan.title] if getattr(plan, "title", "") else []
    for step in plan.steps:
        lines.append(f"\n$ {step.command}\n  {step.good}")
    return "\n".join(lines)


def report_text(report: Any) -> str:
    """Counts, then what was rejected and why (the first forty), then warnings."""
    counts = ("added", "updated", "unchanged", "removed")
    lines = [", ".join(f"{name} {getattr(report, name)}" for name in counts) + f", rejected {len(report.rejected)}"]
    for r in report.rejected[:40]:
        where = r.source + (f":{r.row}" if r.row is not None else "")
        what = f" {r.field}={r.value!r}" if r.field else ""
        lines.append(f"  rejected {where}{what}: {r.reason}")
    if len(report.rejected) > 40:
        lines.append(f"  … and {len(report.rejected) - 40} more (--json lists all)")
    lines += [f"  {change}" for change in getattr(report, "changes", [])[:40]]
    lines += [f"  warning: {warning}" for warning in report.warnings]
    return "\n".join(lines)


def sources_text(found: dict[str, list[Any]]) -> str:
    """Each catalogue and document with its size and date."""
    lines = []
    for kind, rows in found.items():
        lines.append(f"{kind}:")
        for row in rows:
            lines.append(
                "  " + ", ".join(f"{key} {value}" for key, value in row.items() if value not in (None, "", []))
            )
    return "\n".join(lines)


@contextmanager
def progress_bar() -> Iterator[Callable[[str, int, int | None], None] | None]:
    """A progress callback (what, done, total) that draws on a terminal; None where there is none."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("…", total=None)
        yield lambda what, done, total: progress.update(task, description=what, completed=done, total=total)


def _money(value: float | None) -> str:
    return "unknown" if value is None else f"{value:,.2f}"
