"""What an ingest did: counts, what was rejected and why, warnings and details for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from pydantic import BaseModel, ConfigDict, Field

Progress = Callable[[str, int, int | None], None]
"""Called as progress(what, done, total); total is None where it is not known."""


class Rejection(BaseModel):
    """One row, field or file that did not go in: where it is, what it held, and why it was refused.

    `row` is the line number in the file as an editor shows it (the header is line 1), None for a whole file.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    row: int | None = None
    field: str | None = None
    value: str | None = None
    reason: str


class Report(BaseModel):
    """The result of one ingest; `--json` prints it as it is.

    `rows_in` counts what was read; every row read is in `added`, `updated`, `unchanged`, `merged` (the same offer seen again)
    or `skipped` (rows of another kind, for instance machines without a GPU), or has an entry in `rejected`.
    """

    model_config = ConfigDict(extra="forbid")

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0
    rejected: list[Rejection] = Field(default_factory=list)
    warnings: list[str] = Field(default_factory=list)
    rows_in: int = 0
    merged: int = 0
    skipped: dict[str, int] = Field(default_factory=dict)
    changes: list[str] = Field(default_factory=list)
    """What changed since the last ingest, one line each: new, gone, price moves."""
    details: dict[str, dict[str, int]] = Field(default_factory=dict)
    """Counts for each part of the input (a provider, a file)."""

    def reject(
        self, source: str, reason: str, *, row: int | None = None, field: str | None = None, value: object = None
    ) -> None:
        """Note that something was refused."""
        shown = None if value is None else str(value)[:200]
        self.rejected.append(Rejection(source=source, row=row, field=field, value=shown, reason=reason))

    def skip(self, reason: str, count: int = 1) -> None:
        """Count rows that are of another kind and were left out on purpose."""
        self.skipped[reason] = self.skipped.get(reason, 0) + count

    def warn(self, message: str) -> None:
        """Note something a person should look at; the same message is kept once."""
        if message not in self.warnings:
            self.warnings.append(message)

    def merge(self, other: Report) -> None:
        """Add the counts and entries of another report to this one."""
        for name in ("added", "updated", "unchanged", "removed", "rows_in", "merged"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.rejected += other.rejected
        self.changes += other.changes
        for message in other.warnings:
            self.warn(message)
        for reason, count in other.skipped.items():
            self.skip(reason, count)
        for part, counts in other.details.items():
            mine = self.details.setdefault(part, {})
            for name, count in counts.items():
                mine[name] = mine.get(name, 0) + count

    def reasons(self) -> dict[str, int]:
        """How many entries were rejected for each reason, most first."""
        return dict(Counter(entry.reason for entry in self.rejected).most_common())
