"""The 0/1 table of CUDA's p2pBandwidthLatencyTest."""

from __future__ import annotations

import re

from advisor.reasoning.diagnose.facts import Reading
from advisor.reasoning.diagnose.lines import Place

from .base import Reader, unprefix

_ROW = re.compile(r"^\s*(\d{1,3})((?:\s+[01]){2,})\s*$")


class PeerTableReader(Reader):
    """A 0 off the diagonal is a pair without peer access."""

    hints = ("P2P Connectivity Matrix",)

    def __init__(self, reading: Reading) -> None:
        super().__init__(reading)
        self._rows = 0

    def feed(self, text: str, place: Place) -> None:
        """Read the title, the column heads and the rows."""
        if self.hints[0] in text:
            self.open, self._rows = True, 0
            self.reading.kind("p2pBandwidthLatencyTest")
            return
        found = _ROW.match(unprefix(text)[1])
        if found is None:
            self.open = "D\\D" in text
            return
        self._rows += 1
        cells = found.group(2).split()
        own = int(found.group(1))
        if any(cell == "0" for column, cell in enumerate(cells) if column != own):
            self.reading.signal("p2p_refused", place.evidence(text.strip()))
        self.open = self._rows < 128
