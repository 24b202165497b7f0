"""The data files of the diagnosis, read once."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

DATA = Path(__file__).resolve().parent / "data"


def rows(name: str) -> list[dict[str, str]]:
    """The rows of data/`name`."""
    with (DATA / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@dataclass(frozen=True, slots=True)
class Board:
    """What a board gives: NVLink links in all, usual links a pair, whether it is bridged in pairs, whether NVLS exists."""

    name: re.Pattern[str]
    board: str
    board_links: int
    pair_links: frozenset[int]
    bridged: bool
    nvls: bool


@cache
def boards() -> tuple[Board, ...]:
    """Boards in the order they are tried; the first whose pattern is in the GPU's name counts."""
    return tuple(
        Board(
            re.compile(row["name"]),
            row["board"],
            int(row["board_links"]),
            frozenset(int(n) for n in row["pair_links"].split(";")),
            row["bridge_pairs"] == "yes",
            row["nvls"] == "yes",
        )
        for row in rows("boards.csv")
    )


def board_of(gpu_name: str) -> Board | None:
    """The board a driver's GPU name stands for; None where the name does not settle the form."""
    return next((board for board in boards() if board.name.search(gpu_name)), None)


@cache
def usual_counts() -> frozenset[int]:
    """Link counts a pair has on machines in order."""
    return frozenset(int(row["links"]) for row in rows("counts.csv"))


@cache
def networks() -> tuple[tuple[re.Pattern[str], str], ...]:
    """(name as NCCL prints it, transport or "verbs")."""
    return tuple((re.compile(row["network"]), row["transport"]) for row in rows("networks.csv"))


def transport_of(network: str) -> str:
    """The transport of a network name of NCCL: "socket", "efa", "tcpx", "tcpxo", "roce", "verbs" or "unknown"."""
    return next((transport for name, transport in networks() if name.fullmatch(network)), "unknown")


@cache
def xid_codes() -> dict[int, tuple[str, str]]:
    """Xid number → (code, severity); other numbers are the program's own fault or unknown."""
    return {int(row["xid"]): (row["code"], row["severity"]) for row in rows("xids.csv")}


@cache
def codes() -> dict[str, dict[str, str]]:
    """code → its row of diagnose_codes.csv (severity, source, as_of)."""
    return {row["code"]: row for row in rows("diagnose_codes.csv")}


@cache
def rows_cached(name: str) -> tuple[dict[str, str], ...]:
    """The rows of data/`name`, read once."""
    return tuple(rows(name))
