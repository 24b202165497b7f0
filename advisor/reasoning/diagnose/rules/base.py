"""What a rule gives back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ..facts import Reading
from ..model import Evidence, Severity
from ..verdict import Verdict


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem code on one line. `variant` picks another wording; `values` fill the fields of the texts."""

    code: str
    evidence: Evidence
    severity: Severity | None = None
    variant: str = ""
    values: dict[str, Any] = field(default_factory=dict)


Rule = Callable[[Reading, Verdict], Iterator[Finding]]
