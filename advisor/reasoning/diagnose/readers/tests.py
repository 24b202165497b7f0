"""Result tables of nccl-tests and rccl-tests, and one-line bandwidth notes."""

from __future__ import annotations

import re

from advisor.reasoning.diagnose.facts import Reading, TestRow
from advisor.reasoning.diagnose.lines import Place

from .base import Reader

_NUMBER = r"[\d.]+(?:e[+-]?\d+)?"
_ROW = re.compile(
    rf"(?:^|\s)(\d+)\s+(\d+)\s+(float|half|double|int8|uint8|int32|uint32|int64|uint64|bfloat16|f8e\w+|fp8\w*)\s+"
    rf"(?:(\w+)\s+)?(?:(-?\d+)\s+)?({_NUMBER})\s+({_NUMBER})\s+({_NUMBER})\s+(\S+)\s+({_NUMBER})\s+({_NUMBER})\s+({_NUMBER})\b"
)
_AVERAGE = re.compile(r"Avg bus bandwidth\s*:\s*([\d.]+)")
_BINARY = re.compile(
    r"\b((?:all_reduce|all_gather|reduce_scatter|alltoall|sendrecv|broadcast|reduce|gather|scatter|hypercube)_perf)\b"
)
_OPTION = re.compile(r"\s-(?P<name>[gtnN]|np|-ngpus|-nthreads)[ =](?P<value>\d+)")
_NOTE = re.compile(r"bus ?(?:bw|bandwidth)\b[^\d\n]{0,12}([\d.]+)\s*GB/s", re.IGNORECASE)


class TestsReader(Reader):
    """Rows of the table; ranks come from the command line or the header above it."""

    __test__ = False
    hints = ("_perf", " float ", " half ", " bfloat16 ", " double ", "int8 ", "us bandwidth", "busbw")

    def __init__(self, reading: Reading) -> None:
        super().__init__(reading)
        self._collective = "unknown"
        self._ranks: int | None = None
        self._nodes: int | None = None

    def begin(self) -> None:
        """A command line of another file says nothing about this one."""
        super().begin()
        self._collective, self._ranks, self._nodes = "unknown", None, None

    def feed(self, text: str, place: Place) -> None:
        """Read a command line, a row, an average or a note."""
        if found := _BINARY.search(text):
            self._command(text, found)
        if found := _NOTE.search(text):
            self._add(None, found.group(1), place, found.group(0))
            return
        if found := _AVERAGE.search(text):
            self.reading.kind("nccl-tests table")
            self._add(-1, found.group(1), place, found.group(0))
            return
        if found := _ROW.search(text):
            self.reading.kind("nccl-tests table")
            self._add(
                int(found.group(1)), max(found.group(8), found.group(12), key=float), place, found.group(0).strip()
            )

    def _command(self, text: str, found: re.Match[str]) -> None:
        self._collective = found.group(1).removesuffix("_perf")
        options = {m["name"].strip("-"): int(m["value"]) for m in _OPTION.finditer(text)}
        local = options.get("g", options.get("ngpus", 1)) * options.get("t", options.get("nthreads", 1))
        launched = "mpirun" in text or "mpiexec" in text or "srun" in text
        processes = options.get("np", options.get("n", 1)) if launched else 1
        self._ranks = local * processes
        per_node = options.get("N")
        self._nodes = 1 if not launched else (max(1, processes // per_node) if per_node and "mpi" in text else None)
        if not launched and self.reading.nnodes is None and "srun" not in text and local > 1:
            self.reading.versions.setdefault("one_process", str(local))

    def _add(self, size: int | None, value: str, place: Place, needle: str) -> None:
        try:
            busbw = float(value)
        except ValueError:
            return
        rows = self.reading.tests
        row = TestRow(
            self._collective, None if size == -1 else size, busbw, place.evidence(needle), self._ranks, self._nodes
        )
        if size == -1:
            row.size_bytes = 0
        if len(rows) < 20_000:
            rows.append(row)
