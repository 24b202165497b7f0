"""Device matrices: `nvidia-smi topo -m | -mp | -p2p`, `rocm-smi --showtopo`, `amd-smi topology`."""

from __future__ import annotations

import re

from advisor.reasoning.diagnose.facts import Matrix, Reading
from advisor.reasoning.diagnose.lines import Place
from advisor.reasoning.diagnose.model import Evidence

from .base import Reader, unprefix

MATRICES = 64
"""Matrices kept: one a host of a paste, not one a minute of a monitoring log."""
_DEVICE = re.compile(
    r"(?:GPU|NIC|NVSW)\d+|(?:mlx|bnxt_re|ionic|erdma|irdma|efa|rocep|ibp|qedr|hfi1|cxi|mana)[\w.:/\-]*"
)
_BDF = re.compile(r"[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.\d")
_LINK = re.compile(r"X|NV\d+|PIX|PXB|PHB|NODE|SYS|SOC|PSB|C2C|N/A")
_CAPS = {"OK", "CNS", "GNS", "TNS", "NS", "DR", "U", "X"}
_ROCM = re.compile(r"XGMI|PCIE|UNKNOWN|SELF|ENABLED|DISABLED|True|False|N/A|\d+(?:-\d+)?")
_COMMAND = re.compile(r"\btopo\s+(?:-i\s+\S+\s+)?(?:(-mp|-m|--matrix\w*|-c\b|-n\b)|-p2p(?:\s+([a-z]+))?)")
_ROCM_TITLES = (
    ("Weight between two GPUs", "weight"),
    ("Hops between two GPUs", "hops"),
    ("Link Type between two GPUs", "type"),
    ("Link accessibility between two GPUs", "access"),
    ("WEIGHT TABLE", "weight"),
    ("HOPS TABLE", "hops"),
    ("LINK TYPE TABLE", "type"),
    ("ACCESS TABLE", "access"),
)
_NIC_NAME = re.compile(r"\b(NIC\d+)\s*:\s*([\w.\-]+)\s*$")


class MatrixReader(Reader):
    """Keeps one matrix open a launcher prefix, so interleaved hosts do not mix."""

    hints = ("GPU", "topo", "NIC", "TABLE", "= Connection", "NV#", ":00.0 ")

    def __init__(self, reading: Reading) -> None:
        super().__init__(reading)
        self._current: dict[str, Matrix] = {}
        self._alias: dict[str, dict[str, str]] = {}
        self._view: tuple[str, str] | None = None
        self._view_evidence: Evidence | None = None
        self._legend: set[str] = set()
        self._last_legend: Evidence | None = None

    def begin(self) -> None:
        """Forget open tables; a command line of another file says nothing here."""
        super().begin()
        self._current.clear()
        self._alias.clear()
        self._view = None
        self._view_evidence = None
        self._legend.clear()

    def feed(self, text: str, place: Place) -> None:
        """Read a header, a row, a title or a legend line."""
        if "NCCL" in text:
            return
        self._note_legend(text, place)
        command = _COMMAND.search(text)
        if command:
            option = command.group(1) or "-p2p"
            caps = (command.group(2) or "") if option == "-p2p" else ""
            self._view = ("p2p" if option == "-p2p" else "mp" if option in {"-mp", "--matrix_pci"} else "m", caps)
            self._view_evidence = place.evidence(command.group(0))
            self.reading.kind(f"nvidia-smi topo {option}")
            text = text[command.end() :]
        for title, view in _ROCM_TITLES:
            if title in text:
                self._view = ("rocm", view)
                self._current.clear()
                self.reading.kind("rocm-smi --showtopo" if "between" in title else "amd-smi topology")
                return
        name = _NIC_NAME.search(text)
        if name:
            for matrix in self.reading.matrices[-1:]:
                matrix.nic_names[name.group(1)] = name.group(2)
            return
        prefix, body = unprefix(text)
        tokens = body.split()
        if not tokens:
            return
        if not (_DEVICE.fullmatch(tokens[0]) or _BDF.fullmatch(tokens[0])):
            return
        if self._header(prefix, tokens, place):
            return
        self._row(prefix, tokens, place)

    def _header(self, prefix: str, tokens: list[str], place: Place) -> bool:
        columns: list[str] = []
        for token in tokens:
            if not (_DEVICE.fullmatch(token) or _BDF.fullmatch(token)):
                break
            columns.append(token)
        rest = tokens[len(columns) :]
        single = len(columns) == 1 and rest[:1] == ["CPU"]
        if not single and (len(columns) < 2 or (rest and (_LINK.fullmatch(rest[0]) or _ROCM.fullmatch(rest[0])))):
            return False
        alias = {}
        if all(_BDF.fullmatch(token) for token in columns):
            if self._view is None or self._view[0] != "rocm":
                return False
            alias = {token: f"GPU{i}" for i, token in enumerate(columns)}
            columns = list(alias.values())
        elif not any(token.startswith("GPU") for token in columns):
            return False
        self._start(prefix, columns, place, alias)
        return True

    def _start(self, prefix: str, columns: list[str], place: Place, alias: dict[str, str]) -> Matrix:
        view, detail = self._view or ("m", "")
        head = place.evidence()
        matrix = Matrix(view="topo", columns=columns, head=head)
        if view == "rocm":
            matrix.view = f"rocm:{detail}"
        elif view == "p2p":
            matrix.view = f"p2p:{detail}"
        elif view == "mp":
            matrix.hides_nvlink = self._view_evidence
        if view != "rocm":
            self._view = None
        self._legend.clear()
        self._current[prefix] = matrix
        self._alias[prefix] = alias
        if len(self.reading.matrices) < MATRICES:
            self.reading.matrices.append(matrix)
        return matrix

    def _row(self, prefix: str, tokens: list[str], place: Place) -> None:
        matrix = self._current.get(prefix)
        name = self._alias.get(prefix, {}).get(tokens[0], tokens[0])
        cells: list[str] = []
        limit = len(matrix.columns) if matrix else 64
        for token in tokens[1 : limit + 1]:
            if not (_LINK.fullmatch(token) or token in _CAPS or _ROCM.fullmatch(token)):
                break
            cells.append(token)
        if not cells:
            return
        if matrix is None or (matrix.rows and name not in matrix.columns):
            if "X" not in cells or len(cells) < 2 or not tokens[0].startswith("GPU"):
                return
            gpus = [f"GPU{i}" for i in range(len(cells))]
            if gpus.index(f"GPU{cells.index('X')}") != int(tokens[0][3:]):
                return
            matrix = self._start(prefix, gpus, place, {})
        if matrix.view in {"topo"} and any(cell in _CAPS - {"X"} for cell in cells):
            matrix.view = "p2p:"
        if matrix.view == "topo":
            if not any(_LINK.fullmatch(cell) for cell in cells):
                return
            self.reading.kind("nvidia-smi topo")
        elif matrix.view.startswith("p2p"):
            self.reading.kind("nvidia-smi topo -p2p")
        if name in matrix.rows:
            return
        matrix.rows[name] = cells
        matrix.places[name] = place.evidence()

    def _note_legend(self, text: str, place: Place) -> None:
        """A legend that ends without `NV#` belongs to `topo -mp`, which leaves NVLink out."""
        if not self._current:
            return
        if "NV#" in text:
            self._legend.clear()
            return
        for mark in ("SYS", "NODE", "PHB", "PXB", "PIX"):
            if f"{mark} " in text and "= Connection" in text:
                self._legend.add(mark)
                self._last_legend = place.evidence()
        if "NIC Legend" in text and len(self._legend) >= 5:
            for matrix in self._current.values():
                if matrix.view == "topo" and matrix.hides_nvlink is None:
                    matrix.hides_nvlink = self._last_legend
            self._legend.clear()
