"""Which readers and signals can care about a line, decided once a shape of line.

Logs repeat themselves: most lines differ in figures only. A line's shape is the line with all hexadecimal digits
replaced by one mark; the same replacement in the texts looked for keeps the test sound (a text that stands in a line
stands, marked, in its shape), so what is known about a shape holds for every line of it. Chosen because testing some
150 texts on every line of a 50 MB log takes ten times as long.
"""

from __future__ import annotations

from .facts import Reading
from .lines import Place
from .readers import READERS, SignalReader
from .readers.base import Reader
from .readers.nccl import NcclReader

_MARK = {ord(char): "0" for char in "0123456789abcdef"}
_SHAPES = 40_000
"""Shapes kept; beyond it new ones are tested anew, so memory stays small on text that never repeats."""
_SHAPE_CHARS = 1_000

Choice = tuple[tuple[Reader, ...], tuple[int, ...]]


class Dispatcher:
    """Feeds each line to the readers whose hints it holds, to the open ones, and to the signals that may fit."""

    def __init__(self, reading: Reading) -> None:
        self.readers = [kind(reading) for kind in READERS]
        self._signals = SignalReader(reading)
        self._hints = [(hint.translate(_MARK), reader) for reader in self.readers for hint in reader.hints]
        self._needles = [(needle.translate(_MARK), number) for number, needle in self._signals.needles()]
        self._known: dict[str, Choice] = {}
        self._nccl = next(reader for reader in self.readers if isinstance(reader, NcclReader))

    def begin(self) -> None:
        """A new file starts."""
        for reader in self.readers:
            reader.begin()

    def end(self) -> None:
        """The file ends."""
        for reader in self.readers:
            reader.end()

    def _choose(self, shape: str) -> Choice:
        readers = tuple(dict.fromkeys(reader for hint, reader in self._hints if hint in shape))
        signals = tuple(number for needle, number in self._needles if needle in shape)
        choice = (readers, signals)
        if len(self._known) < _SHAPES and len(shape) <= _SHAPE_CHARS:
            self._known[shape] = choice
        return choice

    def feed(self, text: str, place: Place) -> None:
        """Read one line (colours removed)."""
        if " via " in text and "NCCL INFO" in text and "->" in text:
            self._nccl.channel(text, place)
            return
        shape = text.translate(_MARK)
        readers, signals = self._known.get(shape) or self._choose(shape)
        for reader in readers:
            reader.feed(text, place)
        for reader in self.readers:
            if reader.open and reader not in readers:
                reader.feed(text, place)
        if signals:
            self._signals.feed_rows(signals, text, place)
