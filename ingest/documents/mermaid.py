"""Mermaid diagrams to text: the labels of nodes and edges, without styles and set-up."""

from __future__ import annotations

import html
import re

_DROP = re.compile(
    r"^\s*(%%|style\b|classDef\b|class\b|linkStyle\b|click\b|direction\b|theme\b|init\b|graph\b|flowchart\b|end\b|sequenceDiagram|"
    r"autonumber|participant\s+\w+\s*$)"
)
_NODE = re.compile(
    r"(\w[\w.-]*)\s*(?:\[\[|\[\(|\(\[|\(\(|\{\{|\[|\(|\{|>)\s*\"?([^\"\[\](){}]+?)\"?\s*(?:\]\]|\)\]|\]\)|\)\)|\}\}|\]|\)|\})"
)
_EDGE_LABEL = re.compile(r"\|\s*\"?([^|\"]+)\"?\s*\||--\s+\"?([^->|\"]+?)\"?\s+-->")
_LINK = re.compile(r"\s*(?:<?(?:-{2,}|={2,}|-\.+-)[>ox]?)\s*")


def mermaid_text(source: str) -> str:
    """The sentences of a diagram: one line a statement, ids replaced by their labels.

    >>> mermaid_text('graph TD\\n  A["P5 node"] -->|EFA v3| B[switch]')
    'P5 node → EFA v3 → switch'
    """
    source = re.sub(r"%%\{.*?\}%%", "", source, flags=re.DOTALL)
    source = re.sub(r"<br\s*/?>", " ", source)
    labels: dict[str, str] = {}
    for name, label in _NODE.findall(source):
        labels.setdefault(name, label.strip())
    out: list[str] = []
    for line in source.splitlines():
        if _DROP.match(line) or not line.strip():
            continue
        line = re.sub(r"^\s*subgraph\s+(\S+?)\s*\[\"?(.*?)\"?\]\s*$", r"\2", line)
        line = re.sub(r"^\s*subgraph\s+", "", line)
        line = re.sub(r":::\w+", "", line)
        line = _EDGE_LABEL.sub(lambda match: f"--> {(match.group(1) or match.group(2)).strip()} -->", line)
        line = _NODE.sub(lambda match: match.group(2).strip(), line)
        parts = [part.strip().strip('"') for part in _LINK.split(line)]
        words = [labels.get(part, part) for part in parts if part]
        text = " → ".join(words)
        if text and text not in out:
            out.append(html.unescape(text))
    return "\n".join(out)
