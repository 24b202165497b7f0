"""Hiding what pasted text must not carry further: tokens, addresses, host names, ids."""

from __future__ import annotations

import re

_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"[^\s:\[\]()<>|,\"']+(?=:\d+:\d+ \[-?\d+\])"), "[host]"),
    (re.compile(r"(?<= on )\s*[\w.\-]+(?= device +\d+ \[)"), " [host]"),
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)", re.DOTALL), "[key]"),
    (
        re.compile(r"\b(?:hf|sk|ghp|gho|ghs|github_pat|glpat|xox[abp]|pk|rk|nvapi|wandb_v1)[_-][A-Za-z0-9_\-]{12,}"),
        "[token]",
    ),
    (re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{12,}\b"), "[token]"),
    (re.compile(r"\beyJ[\w\-]{8,}\.[\w\-]{8,}(?:\.[\w\-]*)?"), "[token]"),
    (re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9+/_.=\-]{8,}"), r"\1 [token]"),
    (
        re.compile(
            r"(?i)([\w\-]*(?:token|secret|passw(?:or)?d|passphrase|api[_-]?key|access[_-]?key|credential)[\w\-]*[\"']?\s*[=:]\s*[\"']?)(?!\[)[^\s\"',;]+"
        ),
        r"\1[secret]",
    ),
    (re.compile(r"(?i)(://)[^/\s:@]+:[^/\s@]+@"), r"\1[secret]@"),
    (re.compile(r"\b[\w.+\-]+@[A-Za-z0-9\-]+\.[A-Za-z]{2,}(?:\.[A-Za-z]{2,})*\b"), "[mail]"),
    (re.compile(r"\b[\w.\-]+@[\w.\-]+(?=[:~$# ])"), "[user@host]"),
    (re.compile(r"\b(?:GPU|MIG)-[0-9a-fA-F]{8}-[0-9a-fA-F\-]{20,}"), "[uuid]"),
    (re.compile(r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b"), "[uuid]"),
    (re.compile(r"\b(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}\b"), "[mac]"),
    (re.compile(r"::ffff:\d{1,3}(?:\.\d{1,3}){3}"), "[ip]"),
    (re.compile(r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])"), "[ip]"),
    (
        re.compile(
            r"\b(?:[0-9a-fA-F]{1,4}:){3,7}[0-9a-fA-F]{1,4}\b|\b(?:[0-9a-fA-F]{1,4}:){1,7}:(?:[0-9a-fA-F]{1,4}(?::[0-9a-fA-F]{1,4})*)?"
        ),
        "[ip]",
    ),
    (re.compile(r"\b0x[0-9a-fA-F]{12,}\b"), "[id]"),
    (re.compile(r"\bip-\d+-\d+-\d+-\d+(?:[\w.\-]*)"), "[host]"),
    (
        re.compile(
            r"\b(?:[a-zA-Z0-9\-]+\.)+(?:internal|local|lan|corp|cluster|svc|compute|net|com|org|io|jp|cloud)\b(?!/)"
        ),
        "[host]",
    ),
    (re.compile(r"(?<=/home/)[^/\s:]+"), "[user]"),
    (re.compile(r"(?<=/Users/)[^/\s:]+"), "[user]"),
    (re.compile(r"(?i)(\bhost(?:name)?[\"']?\s*[=:]\s*[\"']?)[\w.\-]+"), r"\1[host]"),
)


def mask_secrets(text: str) -> str:
    """`text` with tokens, passwords, keys, addresses, host and user names, and ids replaced by marks such as `[ip]`.

    PCI addresses, device names and figures stay: they are what a diagnosis is about.
    """
    for pattern, mark in _RULES:
        text = pattern.sub(mark, text)
    return text
