"""Pasted program output inside a turn: found by the shape of its lines, so that a question is read without it."""

from __future__ import annotations

import re

_FENCE = re.compile(r"```[^\n`]{0,40}\n(.*?)(?:```|\Z)", re.DOTALL)
_LINE = re.compile(
    r"NCCL (?:INFO|WARN|ERROR)|NET/(?:IB|Socket|OFI)|^\s*GPU\d+\s|^\s*mlx5_\d+|^\s*NIC\d"
    r"|^\s*(?:Traceback|File \"|  File )|^\s*at [\w.$]+\(|^\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|^\[\s*\d+\.\d+\]|^\w{3} +\d+ \d\d:\d\d:\d\d|^\s*#\s|^\s*\d+\s+\d+\s+(?:float|half|bfloat16|int)"
    r"|^\s*(?:Link|Port|CA|State|Physical state|hca_id|provider|fabric|domain|version|type|protocol)\b.*:|\b(?:RuntimeError|OutOfMemoryError|CUDA error|torch\.\w+Error|AssertionError|ncclSystemError|ncclInternalError)\b"
    r"|^\s*[|+][-=|+\w\s./%:]{20,}$|^\s*(?:ibv|fi)_|\[rank\d+\]|^\s*(?:INFO|WARN(?:ING)?|ERROR|DEBUG)\b|\(\w+\.(?:cc|cu|c|cpp|py):\d+\)|^\w[\w.-]*:\d+:\d+ \[\d\]|^\s*Legend:|^\s*Link \d+:|^(?:\$|root@|ubuntu@|#) ?\S+"
)
_ROW = re.compile(r"\b(?:NV\d{1,2}|PIX|PXB|PHB|SYS|NODE)\b.*\b(?:NV\d{1,2}|PIX|PXB|PHB|SYS|NODE|X)\b")
_PROSE = re.compile(r"(?:\b[a-z']{2,}\b[ ,]+(?:\S+ )?){3,}|[\u3040-\u30ff]{2,}|\?\s*$")
_SHELL = re.compile(r"^\s*(?:\$|>|#)\s*(?:nvidia-smi|rocm-smi|ib\w+|fi_info|mpirun|torchrun|\./|NCCL_)")
_FEW = 3
_ALONE = re.compile(
    r"NCCL (?:INFO|WARN|ERROR) [^\n]*(?: : |NET/\w+ [A-Z]|[<\[=])|fi_getinfo: ?-\d|NET/OFI (?:Selected|Failed|No|Unable)|Xid \(PCI"
    r"|\b(?:cuda|CUDA)\w*\b[^\n]{0,40}\b[Ee]rror\W{1,3}802\b"
)
"""Output of which one line says enough to be read."""
_FOREIGN = re.compile(r"[\u3000-\u9fff\uff00-\uffef]+")


def split(text: str) -> tuple[str, str | None]:
    """(the question, the pasted part or None).

    At least three loggy lines, a code fence that holds one, or a line of `_ALONE` make a log. A question in whose sentence
    output is quoted stays whole.
    """
    logs: list[str] = []

    def take(match: re.Match[str]) -> str:
        body = match.group(1)
        if any(_LINE.search(line[:400]) for line in body.splitlines()[:200]):
            logs.append(body.strip("\n"))
            return "\n"
        return match.group(0)

    rest = _FENCE.sub(take, text) if "```" in text else text
    lines = rest.splitlines()
    loggy = [_is_output(line[:400]) for line in lines]
    if sum(loggy) >= _FEW:
        first, last = loggy.index(True), len(loggy) - 1 - loggy[::-1].index(True)
        inside = [i for i in range(first, last + 1) if loggy[i] or _near(loggy, i) or not lines[i].strip()]
        chosen = set(inside)
        logs.append("\n".join(lines[i] for i in inside))
        rest = "\n".join(line for i, line in enumerate(lines) if i not in chosen)
    elif any(_ALONE.search(line[:400]) for line in lines):
        rest, said = _told(lines)
        logs.append(said)
    pasted = "\n".join(part for part in logs if part.strip())
    return (rest.strip(), pasted) if pasted else (text, None)


def _is_output(line: str) -> bool:
    """Whether a line has the shape of output; a sentence that names the signs of a matrix is none."""
    return bool(_LINE.search(line) or _SHELL.match(line) or (_ROW.search(line) and not _PROSE.search(line)))


def _told(lines: list[str]) -> tuple[str, str]:
    """(the question, the few lines of output in it): lines of their own are taken out, quoted ones stay in the sentence."""
    own = [bool(_ALONE.search(line[:400])) and not _FOREIGN.search(line) for line in lines]
    quoted = [part for line in lines for part in _FOREIGN.split(line) if _ALONE.search(part[:400])]
    rest = "\n".join(line for line, is_own in zip(lines, own, strict=True) if not is_own)
    said = "\n".join(part.strip() for part in quoted)
    return (rest, said) if re.search(r"\w", rest) else ("\n".join(lines), said)


def _near(loggy: list[bool], i: int) -> bool:
    """Lines between log lines two or fewer apart belong to the log."""
    return any(loggy[max(0, i - 2) : i]) and any(loggy[i + 1 : i + 3])
