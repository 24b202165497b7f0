"""What a rule gives back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from advisor.reasoning.diagnose.facts import Reading
from advisor.reasoning.diagnose.model import Evidence, Severity
from advisor.reasoning.diagnose.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem code on one line. `variant` picks another wording; `values` fill the fields of the texts."""

    code: str
    evidence: Evidence
    severity: Severity | None = None
    variant: str = ""
    values: dict[str, Any] = field(default_factory=dict)


Rule = Callable[[Reading, Verdict], Iterator[Finding]]
