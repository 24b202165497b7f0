"""`nvidia-smi`: `nvlink -s`, `-q` (fabric, PCIe), `-L`, the summary table, and `--query-gpu` CSV."""

from __future__ import annotations

import re

from advisor.reasoning.diagnose.facts import LIMIT, LinkList, Reading
from advisor.reasoning.diagnose.lines import Place

from .base import Reader, note, unprefix

_GPU_LINE = re.compile(r"\bGPU (\d+): (.+?)(?:\s*\(UUID: [^)]*\)?)?\s*$")
_GPU_WORD = re.compile(r"NVIDIA|Tesla|GeForce|Quadro|RTX|GRID|TITAN|AMD|Instinct|\b[ABHLTVP]\d{2,3}\b|\bG[BH]\d{3}\b")
_DCGM_GPU = re.compile(r"^\s*gpuId (\d+):\s*$")
_DCGM_LINKS = re.compile(r"^\s*((?:[UDX_] ?){4,})\s*$")
_LINK_LINE = re.compile(r"\bLink (\d+): (?:<inactive>|([\d.]+) GB/s)")
_TABLE_NAME = re.compile(
    r"^\s*\|\s+(\d+)\s+((?:NVIDIA|Tesla|GeForce|Quadro|GRID|GH200|A100|H100|RTX)\S*.*?)\s+(?:On|Off)\s*\|"
)
_PRODUCT = re.compile(r"Product Name\s*:\s*(\S.*?)\s*$")
_RANK_DEVICE = re.compile(r"\bdevice\s+\d+ \[[0-9a-fA-Fx:.]+\] (\S.*?)\s*$")
_ATTACHED = re.compile(r"Attached GPUs\s*:\s*(\d+)")
_FIELD = re.compile(r"^\s*([A-Za-z][\w /\-]*?)\s*:\s*(\S.*?)\s*$")
_CSV_WIDTH = re.compile(r"pcie\.link\.(gen|width)\.(current|max|gpucurrent|gpumax|hostmax)(?:\s*\[[^\]]*\])?")


class NvlinkReader(Reader):
    """Per-GPU NVLink lines and GPU names."""

    hints = (
        "GPU ",
        "Link ",
        "inactive",
        "NVIDIA ",
        "Tesla ",
        "Product Name",
        "device ",
        "GeForce",
        "gpuId ",
        "U U",
        "D D",
        "U D",
        "D U",
    )

    def __init__(self, reading: Reading) -> None:
        super().__init__(reading)
        self._gpu: dict[str, LinkList | None] = {}
        self._dcgm_gpu: int | None = None

    def begin(self) -> None:
        """Forget the GPU of the last file."""
        super().begin()
        self._gpu.clear()
        self._dcgm_gpu = None

    def feed(self, text: str, place: Place) -> None:
        """Read a GPU heading, a link line or a name."""
        found = _LINK_LINE.search(text)
        if found:
            self._link(text, found, place)
            return
        if found := _DCGM_GPU.match(text):
            self._dcgm_gpu = int(found.group(1))
            return
        if self._dcgm_gpu is not None and (found := _DCGM_LINKS.match(text)):
            self._dcgm(found.group(1).split(), place)
            return
        if "..." in text and "ink" in text:
            for links in self._gpu.values():
                if links:
                    links.cut = True
            return
        if found := _GPU_LINE.search(text):
            prefix, _ = unprefix(text)
            self._name(found.group(2), place)
            old = self._gpu.get(prefix)
            if old:
                old.closed = True
            self._gpu[prefix] = LinkList(int(found.group(1)), found.group(2), place.evidence(found.group(0).strip()))
            return
        found = _RANK_DEVICE.search(text) or _PRODUCT.search(text)
        if found:
            self._name(found.group(1), place)
        elif "|" in text and (found := _TABLE_NAME.match(unprefix(text)[1])):
            self._name(found.group(2), place)
            self.reading.kind("nvidia-smi")

    def _dcgm(self, marks: list[str], place: Place) -> None:
        """`dcgmi nvlink -s`: U up, D down, X disabled, _ not there."""
        links = LinkList(self._dcgm_gpu or 0, "", place.evidence(), closed=True)
        links.active = {n: 0.0 for n, mark in enumerate(marks) if mark == "U"}
        links.inactive = {n: place.evidence() for n, mark in enumerate(marks) if mark == "D"}
        if (links.active or links.inactive) and len(self.reading.links) < LIMIT:
            self.reading.links.append(links)
            self.reading.kind("dcgmi nvlink -s")
        self._dcgm_gpu = None

    def _name(self, name: str, place: Place) -> None:
        if not _GPU_WORD.search(name):
            return
        clean = re.sub(r"\s{2,}.*|\.\.\.$", "", name).strip()
        if clean and len(self.reading.gpu_names) < 64:
            note(self.reading.gpu_names, clean, place, clean)

    def _link(self, text: str, found: re.Match[str], place: Place) -> None:
        prefix, _ = unprefix(text)
        links = self._gpu.get(prefix)
        number = int(found.group(1))
        if links is None or number in links.active or number in links.inactive:
            following = links.gpu + 1 if links else 0
            if links:
                links.closed = True
            links = LinkList(following, "", place.evidence(found.group(0)))
            self._gpu[prefix] = links
        if not links.kept:
            links.kept = True
            if len(self.reading.links) < LIMIT:
                self.reading.links.append(links)
            self.reading.kind("nvidia-smi nvlink -s")
        if found.group(2):
            links.active[number] = float(found.group(2))
        else:
            links.inactive[number] = place.evidence(found.group(0))


class QueryReader(Reader):
    """`nvidia-smi -q`: NVSwitch fabric state and PCIe link; and the CSV of `--query-gpu=pcie.link.*`."""

    hints = (
        "Fabric",
        "GPU Link Info",
        "PCIe Generation",
        "Link Width",
        "Attached GPUs",
        "pcie.link.",
        "fabric.state",
        "Virtualization Mode",
    )

    def __init__(self, reading: Reading) -> None:
        super().__init__(reading)
        self._block = ""
        self._part = ""
        self._max = ""
        self._left = 0
        self._columns: list[str] = []

    def begin(self) -> None:
        """Leave every block."""
        super().begin()
        self._block = ""
        self._columns = []

    def feed(self, text: str, place: Place) -> None:
        """Read a block heading or a field of the open block."""
        if found := _ATTACHED.search(text):
            self.reading.gpu_count = (int(found.group(1)), place.evidence(found.group(0)))
            if ":" in text and not text.lstrip().startswith("("):
                self.reading.kind("nvidia-smi -q")
            return
        if (_CSV_WIDTH.search(text) or "fabric.state" in text) and "," in text and "query-gpu" not in text:
            self._columns = [part.strip().split(" ")[0] for part in unprefix(text)[1].split(",")]
            self.open = True
            self.reading.kind("nvidia-smi --query-gpu")
            return
        if self._columns:
            self._csv(text, place)
            return
        body = text.strip()
        if body == "Fabric" or (body.endswith(" Fabric") and ":" not in body):
            self._enter("fabric")
            return
        if body.startswith("GPU Link Info"):
            self._enter("pcie")
            return
        if body.startswith("PCIe Generation"):
            self._enter("pcie")
            self._part = "gen"
            return
        if body.startswith("Link Width") and ":" not in body:
            if self._block != "pcie":
                self._enter("pcie")
            self._part = "width"
            return
        if self._block:
            self._field(text, place)

    def _enter(self, block: str) -> None:
        self._block, self._part, self._max, self._left, self.open = block, "", "", 16, True

    def _field(self, text: str, place: Place) -> None:
        self._left -= 1
        found = _FIELD.match(unprefix(text)[1])
        if self._left <= 0:
            self._block, self.open = "", False
        if not found:
            return
        name, value = found.group(1).strip(), found.group(2)
        if self._block == "fabric":
            self.reading.kind("nvidia-smi -q (fabric)")
            if len(self.reading.fabric) < LIMIT:
                self.reading.fabric.append((name, value, place.evidence(found.group(0).strip())))
            if name in {"Processes", "Process ID"}:
                self._block, self.open = "", False
        elif self._part:
            if name == "Max":
                self._max = value
            elif name == "Current":
                self.reading.kind("nvidia-smi -q (PCIe)")
                if len(self.reading.pcie) < LIMIT:
                    self.reading.pcie.append(
                        (self._part, self._max, value, "nvidia-smi", place.evidence(found.group(0).strip()))
                    )
                self._part = ""
            elif name.startswith(("Bridge", "Replays", "Tx")):
                self._block, self.open = "", False

    def _csv(self, text: str, place: Place) -> None:
        cells = [part.strip() for part in unprefix(text)[1].split(",")]
        if len(cells) != len(self._columns):
            self._columns, self.open = [], False
            return
        if len(self.reading.pcie) >= LIMIT:
            return
        row = dict(zip(self._columns, cells, strict=True))
        current = row.get("pcie.link.width.current")
        if current:
            self.reading.pcie.append(("width", row.get("pcie.link.width.max", ""), current, "query", place.evidence()))
        speed = row.get("pcie.link.gen.current")
        if speed:
            self.reading.pcie.append(("gen", row.get("pcie.link.gen.max", ""), speed, "query", place.evidence()))
        if row.get("fabric.state"):
            self.reading.fabric.append(("State", row["fabric.state"], place.evidence()))
        if row.get("name"):
            note(self.reading.gpu_names, row["name"], place, row["name"])
