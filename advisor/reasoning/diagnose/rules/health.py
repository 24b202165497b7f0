"""Codes beyond the links themselves: lost GPUs, kernel errors, limits, isolation, versions, tests that failed."""

from __future__ import annotations

from collections.abc import Iterator

from advisor.reasoning.diagnose import tables
from advisor.reasoning.diagnose.facts import Reading
from advisor.reasoning.diagnose.verdict import Verdict

from .base import Finding

_SIGNALS = {
    "gpu_lost": "gpu_lost",
    "memlock_low": "memlock_low",
    "acs_on": "acs_enabled",
    "version_mismatch": "version_mismatch",
    "collective_timeout": "collective_timeout",
    "dcgm_failure": "dcgm_failure",
    "nvswitch_error": "nvlink_error",
    "link_errors": "nvlink_error",
    "peermem_failed": "peermem_failed",
}


def health(reading: Reading, verdict: Verdict) -> Iterator[Finding]:
    """Findings that a telling line or an Xid settles alone, each code once."""
    done = set()
    for number, places in sorted(reading.xids.items()):
        code, severity = tables.xid_codes().get(number, ("gpu_program_error", "info"))
        if code not in done:
            done.add(code)
            yield Finding(code, places[0], severity, "", {"xid": number})  # type: ignore[arg-type]
    for signal, code in _SIGNALS.items():
        evidence = reading.first(signal)
        if evidence and code not in done:
            done.add(code)
            yield Finding(code, evidence, None, "", {"xid": "-"})


def gpu_missing(reading: Reading, verdict: Verdict) -> Iterator[Finding]:
    """Seven or five GPUs: no machine is built so, while three and six are sold."""
    if reading.gpu_count and reading.gpu_count[0] in {5, 7}:
        yield Finding("gpu_missing", reading.gpu_count[1], None, "", {"gpus": reading.gpu_count[0]})


def only_small_messages(reading: Reading, verdict: Verdict) -> Iterator[Finding]:
    """A benchmark table that ends before bandwidth can show."""
    rows = [row for row in reading.tests if row.size_bytes]
    if rows and max(row.size_bytes or 0 for row in rows) < 64 << 20:
        last = max(rows, key=lambda row: row.size_bytes or 0)
        yield Finding("only_small_messages", last.evidence, "info", "", {"size": last.size_bytes})
