"""Kernel log and DCGM: NVIDIA Xid and NVSwitch SXid numbers."""

from __future__ import annotations

import re

from advisor.reasoning.diagnose.lines import Place

from .base import Reader, note

_XID = re.compile(r"\bXid \(PCI:[^)]*\): (\d+)|(?i:\bXID(?: error)?[ :]+)(\d+)\b")
_INSTANCE = re.compile(
    r"\b(?:instance[-_ ]?type|machine[-_ ]?type|vmSize|flavor|InstanceType)\"?\s*[:=]\s*\"?([A-Za-z0-9][\w.\-]{2,40})"
    r"|\b((?:p[3-6]\w*|g[4-7]\w*)\.(?:\d*x?large|metal\w*))\b|\b(Standard_N[CD]\w+)\b|\b((?:a2|a3|a4|a4x)-(?:high|mega|ultra)gpu-\d+g)\b|\b(BM\.GPU[\w.\-]*\d)"
)


class KernelReader(Reader):
    """Xid lines, each number kept with its first places; and names of instance types that stand in the text."""

    hints = (
        "Xid",
        "XID",
        "nstance",
        "achine",
        "large",
        "Standard_N",
        "highgpu",
        "megagpu",
        "ultragpu",
        "BM.GPU",
        "vmSize",
        "flavor",
    )

    def feed(self, text: str, place: Place) -> None:
        """Read one line."""
        if "id" in text or "ID" in text:
            for found in _XID.finditer(text):
                if "SXid" in text:
                    continue
                number = int(found.group(1) or found.group(2))
                places = self.reading.xids.setdefault(number, []) if len(self.reading.xids) < 256 else []
                if len(places) < 8:
                    places.append(place.evidence(found.group(0)))
                    self.reading.kind("Xid")
        for found in _INSTANCE.finditer(text):
            name = next(part for part in found.groups() if part)
            if len(self.reading.instance_names) < 16:
                note(self.reading.instance_names, name, place, name)
