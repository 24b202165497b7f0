"""Measured bus bandwidth against published figures for the same kind of machine (data/measured_bandwidth.csv).

Small messages measure latency, and two nodes flatter: a figure is only compared with one of the same ranks, nodes,
network and collective, from 1 GiB up, and only where the GPU's name settles the board.
"""

from __future__ import annotations

import re

from advisor.messages import text as say

from . import tables
from .facts import Reading, TestRow
from .model import Bandwidth, Lang
from .rules.base import Finding
from .verdict import Verdict

LARGE = 1 << 30
"""Bytes from which bus bandwidth is judged, as published figures are."""
SMALL = 64 << 20
"""Bytes below which a row measures latency."""


def best_rows(reading: Reading) -> list[TestRow]:
    """The fastest row of each collective and rank count at its largest sizes, and every note without a size."""
    best: dict[tuple[str, int | None], TestRow] = {}
    notes = []
    for row in reading.tests:
        if row.size_bytes is None:
            notes.append(row)
        elif row.size_bytes:
            key = (row.collective, row.ranks)
            old = best.get(key)
            large = row.size_bytes >= LARGE
            if (
                old is None
                or not old.size_bytes
                or (row.busbw > old.busbw if large and old.size_bytes >= LARGE else row.size_bytes > old.size_bytes)
            ):
                best[key] = row
    return [*best.values(), *notes][:32]


def _shape(row: TestRow, reading: Reading, verdict: Verdict) -> tuple[int | None, int | None]:
    ranks = row.ranks if row.ranks and row.ranks > 1 else reading.nranks or len(reading.rank_hosts) or row.ranks
    nodes = reading.nnodes or row.nodes
    hosts = len(set(reading.rank_hosts.values()))
    if ranks and len(reading.rank_hosts) >= ranks and hosts:
        nodes = hosts
    if nodes is None and verdict.nodes == "one":
        nodes = 1
    return ranks, nodes


def reference_for(row: TestRow, reading: Reading, verdict: Verdict) -> dict[str, str] | None:
    """The published row that fits, or None: an unknown machine is not judged."""
    ranks, nodes = _shape(row, reading, verdict)
    names = list(reading.gpu_names)
    if not names or ranks is None or nodes is None:
        return None
    for known in tables.rows_cached("measured_bandwidth.csv"):
        if int(known["ranks"]) != ranks or int(known["nodes"]) != nodes or known["collective"] != row.collective:
            continue
        if known["transport"] and known["transport"] != verdict.transport:
            continue
        if not all(re.search(known["gpu"], name) for name in names):
            continue
        board = tables.board_of(names[0])
        form = "PCIe" if board and board.board == "NVL" else board.board if board else None
        if form == known["board"] or (form is None and known["board"] in {"OAM", "PCIe"}):
            if known["board"] == "PCIe" and ranks == 2 and verdict.nvlink != "yes":
                continue
            return known
    return None


def judge_rows(reading: Reading, verdict: Verdict, lang: Lang) -> tuple[Bandwidth, ...]:
    """Every telling figure with its verdict."""
    judged = []
    for row in best_rows(reading):
        ranks, nodes = _shape(row, reading, verdict)
        known = reference_for(row, reading, verdict)
        word = "unknown"
        values: dict[str, object] = {"busbw": row.busbw, "size": row.size_bytes or 0}
        if row.size_bytes and row.size_bytes < SMALL:
            word = "too_small"
        elif known and (row.size_bytes or 0) >= LARGE:
            good, floor = float(known["good_gb_s"]), float(known["floor_gb_s"])
            word = "suspicious" if row.busbw < floor else "low" if row.busbw < 0.9 * good else "good"
            values |= {"reference": known[f"reference_{lang}"], "expected": good, "floor": floor}
        else:
            known = None
        judged.append(
            Bandwidth(
                collective=row.collective,
                size_bytes=row.size_bytes,
                bus_bandwidth_gb_s=row.busbw,
                ranks=ranks,
                nodes=nodes,
                verdict=word,  # type: ignore[arg-type]
                reference_gb_s=float(known["good_gb_s"]) if known and word != "too_small" else None,
                reference=known[f"reference_{lang}"] if known and word != "too_small" else None,
                source=known["source"] if known and word != "too_small" else None,
                text=say(f"diagnose.bandwidth.{word}", lang, **values),
            )
        )
    return tuple(judged)


def findings(reading: Reading, verdict: Verdict, lang: Lang = "en") -> list[Finding]:
    """`bandwidth_low` where a large message stays under the floor of its kind of machine."""
    found = []
    for row in best_rows(reading):
        known = reference_for(row, reading, verdict)
        if known and (row.size_bytes or 0) >= LARGE and row.busbw < float(known["floor_gb_s"]):
            values = {
                "busbw": row.busbw,
                "reference": known[f"reference_{lang}"],
                "expected": float(known["good_gb_s"]),
                "floor": float(known["floor_gb_s"]),
            }
            found.append(Finding("bandwidth_low", row.evidence, None, "", values))
    return found[:1]
