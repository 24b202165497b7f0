"""NCCL's own view of the machine: GRAPH lines of the log and the topology XML (`NCCL_TOPO_DUMP_FILE`)."""

from __future__ import annotations

import re

from advisor.reasoning.diagnose import tables
from advisor.reasoning.diagnose.facts import GraphPaths, Reading
from advisor.reasoning.diagnose.lines import Place

from .base import Reader, note

_ORIGIN = re.compile(r"\b(GPU|NET|NVS|CPU|NIC)/([0-9A-Fa-f\-]+) ?:(?=\s?(?:GPU|NET|NVS|CPU|NIC)/)")
_PATH = re.compile(r"\b(GPU|NET|NVS|CPU|GIN)/([0-9A-Fa-f\-]+) \((\d+)/([\d.]+)/(\w+)\)")
_LINK = re.compile(r"\+ (NVL|PCI|NET|XGMI|SYS|C2C)\[([\d.]+)\] - (\w+)/([\w\-]+)")
_PATTERN = re.compile(r"Pattern \d+, crossNic \d.*?\btype (\w+)/(\w+)")
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
_TAG = re.compile(r"<(/?)(system|cpu|pci|gpu|nic|net|nvlink|xgmi|c2c)\b([^>]*?)(/?)>")


class GraphReader(Reader):
    """Path tables and link trees printed with NCCL_DEBUG_SUBSYS=GRAPH."""

    hints = ("/LOC)", "/NVL)", "/SYS)", "/PHB)", "/PIX)", "NVL[", "PCI[", "NET[", "XGMI[", "Pattern ")

    def __init__(self, reading: Reading) -> None:
        super().__init__(reading)
        self._gpu = ""

    def feed(self, text: str, place: Place) -> None:
        """Read a path line, a link line or a search result."""
        if "+ " in text and (found := _LINK.search(text)):
            self._link(found, place)
            return
        origin = _ORIGIN.search(text)
        if origin:
            if len(self.reading.graph) < 4096:
                paths = [(m[1], m[2].lower(), float(m[4]), m[5]) for m in _PATH.finditer(text, origin.end())]
                if paths:
                    name = f"{origin.group(1)}/{origin.group(2).lower()}"
                    evidence = place.evidence(origin.group(0))
                    self.reading.graph.append(GraphPaths(name, paths, evidence))
                    self.reading.kind("NCCL graph")
            return
        if found := _PATTERN.search(text):
            self.reading.kind("NCCL graph")
            if found.group(1) == "NVL":
                self.reading.signal("graph_nvl", place.evidence(found.group(0)))

    def _link(self, found: re.Match[str], place: Place) -> None:
        kind, speed, target, name = found.group(1), float(found.group(2)), found.group(3), found.group(4)
        reading = self.reading
        reading.kind("NCCL graph")
        if target == "GPU" and kind == "PCI":
            self._gpu = name
            reading.graph_nvlink.setdefault(name, set())
        if kind == "NVL":
            reading.graph_nvlink.setdefault(self._gpu, set()).add(f"{target}/{name}")
        if kind == "PCI" and target == "PCI":
            reading.signal("pci_switch", place.evidence(found.group(0)))
        if kind == "PCI" and target == "NIC":
            reading.signal("graph_card", place.evidence(found.group(0)))
        if kind == "XGMI":
            reading.signal("xgmi", place.evidence(found.group(0)))
        key = (
            "NVL_NVS" if kind == "NVL" and target == "NVS" else "PCI_GPU" if (kind, target) == ("PCI", "GPU") else kind
        )
        best = reading.graph_links.get(key)
        if best is None or speed > best[0]:
            reading.graph_links[key] = (speed, place.evidence(found.group(0)))


class XmlReader(Reader):
    """The topology file. Read tag by tag, so a cut file is no error."""

    hints = ("<system", "<cpu", "<pci", "<gpu", "<net", "<nvlink", "<xgmi", "</", "<nic")

    def __init__(self, reading: Reading) -> None:
        super().__init__(reading)
        self._stack: list[tuple[str, bool]] = []
        self._gpu = ""
        self._bus = ""

    def begin(self) -> None:
        """Leave open tags."""
        super().begin()
        self._stack = []
        self._gpu = self._bus = ""

    def feed(self, text: str, place: Place) -> None:
        """Read the tags of one line."""
        for closing, tag, body, empty in _TAG.findall(text):
            if closing:
                while self._stack:
                    if self._stack.pop()[0] == tag:
                        break
                continue
            attributes = dict(_ATTRIBUTE.findall(body))
            self._open(tag, attributes, place)
            if not empty:
                if len(self._stack) > 64:
                    self._stack.clear()
                self._stack.append((tag, attributes.get("class", "").startswith("0x0604")))

    def _open(self, tag: str, attributes: dict[str, str], place: Place) -> None:
        reading = self.reading
        if tag == "pci":
            self._bus = attributes.get("busid", "")
            vendor, device = attributes.get("vendor", "")[2:], attributes.get("device", "")[2:]
            for row in tables.rows_cached("pci_devices.csv"):
                if (row["vendor"], row["device"]) == (vendor, device):
                    note(reading.gpu_names, row["name"], place, "<pci")
        elif tag == "gpu":
            reading.kind("NCCL topology XML")
            self._gpu = f"{place.file} {self._bus or place.number}"
            reading.xml_gpus.setdefault(self._gpu, (0, place.evidence("<gpu")))
            reading.xml_peers.setdefault(self._gpu, set())
            if attributes.get("sm", "").isdigit():
                reading.xml_sm.add(int(attributes["sm"]))
        elif tag == "nvlink" and self._gpu in reading.xml_gpus:
            count, evidence = reading.xml_gpus[self._gpu]
            more = int(attributes["count"]) if attributes.get("count", "").isdigit() else 1
            reading.xml_gpus[self._gpu] = (count + more, evidence)
            switch = attributes.get("tclass", "").startswith("0x0680")
            reading.xml_peers[self._gpu].add(f"{'NVS' if switch else 'GPU'} {attributes.get('target', '')}")
            if switch:
                reading.xml_nvswitch = reading.xml_nvswitch or place.evidence("<nvlink")
        elif tag == "xgmi":
            reading.signal("xgmi", place.evidence("<xgmi"))
        elif tag == "net" and "name" in attributes:
            reading.kind("NCCL topology XML")
            switched = any(bridge for _, bridge in self._stack)
            if len(reading.xml_nets) < 1024:
                reading.xml_nets.append((attributes, switched, place.evidence("<net")))
