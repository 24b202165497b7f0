"""Recognising pasted diagnostic output inside a question."""

from __future__ import annotations

import re

_STRONG = re.compile(
    r"NCCL (?:INFO|WARN)|NCCL version \d|\bGPU\d+\s+(?:\S+\s+)*?X\s|\bGPU0\s+GPU1\b|\bvia (?:NET|P2P|SHM)/"
    r"|^\s*Link \d+: (?:[\d.]+ GB/s|<inactive>)|^CA '\w+'|\bhca_id:\s*\w|\bport \d+ ==> |^provider: \w+"
    r"|\bXid \(PCI:|#\s+Rank\s+\d+\s|Avg bus bandwidth|busbw #wrong|<system version=|<nvlink target="
    r"|between two GPUs|NET/(?:IB|OFI|Socket|FasTrak)\b|GPU Link Info|CliqueId\s*:|set by environment to"
    r"|^\s*\d+\s+\d+\s+(?:float|half|bfloat16)\s+\w+\s+-?\d+\s+[\d.]+\s+[\d.]+|\+ (?:PCI|NET|NVL)\[[\d.]+\] - ",
    re.MULTILINE,
)


def looks_like_diagnostic(text: str) -> bool:
    """Whether `text` holds output that `diagnose` can read, as against a question that only names a tool."""
    return bool(_STRONG.search(text[:200_000]))
