"""Environment variables that the text shows as set, and the signals of data/signals.csv."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from advisor.reasoning.diagnose.facts import Reading, Setting
from advisor.reasoning.diagnose.lines import Place

from .base import Reader, unprefix

DATA = Path(__file__).resolve().parent.parent / "data"
_NAME = r"(?:NCCL|RCCL|FI|OFI_NCCL|UCX|HSA|OMPI_MCA)_[A-Z0-9_]+"
_LOGGED = re.compile(rf"\b({_NAME}) set (?:by environment )?to (\S+?)\.?(?:\s|$)")
_ASSIGNED = re.compile(rf"\b({_NAME})=([\"']?)([^\s\"';,)]+)\2")
_MAPPED = re.compile(rf"[\"']({_NAME})[\"']\s*(?:\]\s*=|:|,)\s*[\"']?([^\s\"',}})]+)")
_YAML_NAME = re.compile(rf"\bname:\s*[\"']?({_NAME})[\"']?\s*$")
_YAML_VALUE = re.compile(r"^\s*value:\s*[\"']?([^\s\"']+)")
_PROMPT = re.compile(r"\S*[#$%>❯]|[+>|*\-]")
_BEFORE = {
    "export",
    "env",
    "sudo",
    "set",
    "setenv",
    "declare",
    "typeset",
    "time",
    "nohup",
    "exec",
    "ENV",
    "&&",
    ";",
    "then",
    "do",
}
_LAUNCHERS = re.compile(
    r"(?:\S*/)?(?:mpirun|mpiexec|srun|torchrun|docker|podman|singularity|apptainer|python[\d.]*|deepspeed|kubectl|sbatch"
    r"|accelerate|horovodrun|salloc|bash|sh|ssh|pdsh|prterun|orterun)[\w.]*"
)


def is_command(lead: str) -> bool:
    """Whether the text before an assignment is a command line (a prompt, other assignments, a launcher) and not prose."""
    option = False
    for number, token in enumerate(lead.split()):
        if _LAUNCHERS.fullmatch(token):
            return True
        known = token in _BEFORE or token.startswith("-") or re.match(r"[A-Za-z_]\w*=", token)
        if not known and not option and not (number < 3 and _PROMPT.fullmatch(token)):
            return False
        option = token.startswith("-") and "=" not in token
    return True


class SettingReader(Reader):
    """A variable counts where NCCL logs it or a command, file or manifest sets it; prose that names one does not."""

    hints = ("NCCL_", "RCCL_", "FI_", "UCX_", "value:")

    def __init__(self, reading: Reading) -> None:
        super().__init__(reading)
        self._pending: tuple[str, Place] | None = None
        self._known: set[tuple[str, str]] = set()

    def feed(self, text: str, place: Place) -> None:
        """Read assignments of one line."""
        if self._pending:
            if found := _YAML_VALUE.match(text):
                self._add(self._pending[0], found.group(1), place, found.group(0).strip())
            self._pending, self.open = None, False
            return
        if found := _LOGGED.search(text):
            self._add(found.group(1), found.group(2), place, found.group(0).strip())
            return
        if "=" in text and "NCCL INFO" not in text:
            body = unprefix(text)[1]
            lead = body.lstrip()
            if not lead.startswith("(") and not (lead.startswith("#") and not lead.startswith("# ")):
                for found in _ASSIGNED.finditer(body):
                    if is_command(body[: found.start()]):
                        self._add(found.group(1), found.group(3), place, found.group(0))
        if '"' in text or "'" in text:
            for found in _MAPPED.finditer(text):
                self._add(found.group(1), found.group(2), place, found.group(0))
        if "name:" in text and (found := _YAML_NAME.search(text)):
            self._pending, self.open = (found.group(1), place), True

    def _add(self, name: str, value: str, place: Place, needle: str) -> None:
        key = (name, value)
        if key not in self._known and len(self._known) < 512:
            self._known.add(key)
            self.reading.settings.append(Setting(name, value, place.evidence(needle)))


@cache
def signal_rows() -> tuple[tuple[str, str, re.Pattern[str] | None, str], ...]:
    """(signal, text to look for, pattern or None, kind of output or "") of data/signals.csv."""
    rows = []
    with (DATA / "signals.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            pattern = re.compile(row["pattern"]) if row["pattern"] else None
            rows.append((row["signal"], row["text"], pattern, row["kind"]))
    return tuple(rows)


class SignalReader(Reader):
    """Single telling lines, each a row of data: an error message, a state, a missing file."""

    def __init__(self, reading: Reading) -> None:
        super().__init__(reading)
        self._rows = signal_rows()
        self._counts: dict[str, int] = {}

    def needles(self) -> list[tuple[int, str]]:
        """(row number, text that a line must hold) of every signal."""
        return [(number, row[1]) for number, row in enumerate(self._rows)]

    def feed(self, text: str, place: Place) -> None:
        """Look for every signal."""
        self.feed_rows(range(len(self._rows)), text, place)

    def feed_rows(self, numbers: Iterable[int], text: str, place: Place) -> None:
        """Look for some signals, each until it has been seen often enough."""
        for number in numbers:
            name, needle, pattern, kind = self._rows[number]
            if needle in text and self._counts.get(name, 0) < 8:
                if pattern is not None and not pattern.search(text):
                    continue
                self._counts[name] = self._counts.get(name, 0) + 1
                self.reading.signal(name, place.evidence(needle))
                if kind:
                    self.reading.kind(kind)
