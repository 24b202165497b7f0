"""What a reader is, and the launcher prefixes that stand before a line."""

from __future__ import annotations

import re
from collections.abc import Hashable, MutableMapping
from typing import ClassVar, TypeVar

from advisor.reasoning.diagnose.facts import Reading
from advisor.reasoning.diagnose.lines import Place
from advisor.reasoning.diagnose.model import Evidence

Key = TypeVar("Key", bound=Hashable)
_PREFIX = re.compile(
    r"""\s*(?:
      \[\d+,\d+\]<std(?:out|err)>:?             # Open MPI --tag-output
    | \[\d+,\d+\](?:\[[^\]]*\])?:?
    | \[\d{1,5}\](?::|(?=\s))                       # mpirun -l, torchrun
    | \[rank\s?\d+\]:?
    | \[default\d+\]:
    | \d{1,5}:(?=\s)                             # srun --label
    | \([A-Za-z_][\w:.\-]*\s?(?:pid=|rank=)[^)]*\)   # Ray, vLLM
    | \d{4}-\d\d-\d\d[T\ ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?(?:\s+std(?:out|err)\s+[FP])?
    | \[\d{4}-\d\d-\d\d[T\ ]\d\d:\d\d:\d\d(?:[.,]\d+)?\]
    | [\w.\-]+\s*\|(?=\s)                        # docker compose, stern
    | >                                          # quoted mail or issue text
    )\s?""",
    re.VERBOSE,
)
_HOST_PREFIX = re.compile(r"([A-Za-z][\w.\-]*):[ ]?(?=\s*(?:GPU\d|GPU \d|CA '|hca_id:|Link \d|provider:))")


def unprefix(text: str) -> tuple[str, str]:
    """(prefix, rest): what a launcher put before the line, and the line. The prefix tells interleaved outputs apart."""
    at = 0
    kept = []
    for _ in range(4):
        found = _PREFIX.match(text, at)
        if not found or found.end() == at:
            break
        mark = found.group(0).strip()
        if not mark[:5].lstrip("[").isdigit() or "," in mark or mark.endswith(":"):
            kept.append(mark)
        at = found.end()
    found = _HOST_PREFIX.match(text, at)
    if found and found.group(1) not in {"Note", "Legend", "Warning", "provider", "domain", "port"}:
        kept.append(found.group(1))
        at = found.end()
    return " ".join(kept), text[at:]


def note(store: MutableMapping[Key, Evidence], key: Key, place: Place, needle: str) -> None:
    """Keep the first line that shows `key`; later ones cost nothing."""
    if key not in store:
        store[key] = place.evidence(needle)


class Reader:
    """Reads one kind of output, line by line, into a `Reading`.

    The engine calls `feed` for a line that holds one of `hints`, and for every line while `open` is true (inside a
    table). A reader never raises on odd text and never judges.
    """

    hints: ClassVar[tuple[str, ...]] = ()

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.open = False

    def begin(self) -> None:
        """A new file starts."""
        self.open = False

    def feed(self, text: str, place: Place) -> None:
        """Read one line (colours removed)."""
        raise NotImplementedError

    def end(self) -> None:
        """The file ends."""
