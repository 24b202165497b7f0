"""The topology as a value, as text and as SVG."""

from __future__ import annotations

import math
import re
import zlib
from collections import Counter
from html import escape

from advisor.messages import text as say

from . import tables
from .facts import Matrix, Reading
from .model import Diagnosis, Edge, Lang, Node, Topology
from .verdict import link_count

_ORDER = ("XGMI", "C2C", "PIX", "PXB", "PHB", "NODE", "PCIE", "SYS", "SOC")
_BOUND = 64
"""GPUs drawn at most; a matrix printed by one machine has 16."""


def link_rank(link: str) -> int:
    """0 is best. NVLink comes first, more links before fewer; then xGMI and the PCIe distances."""
    count = link_count(link)
    if count is not None:
        return max(0, 36 - count)
    return 40 + _ORDER.index(link) if link in _ORDER else 60


def topology_of(reading: Reading) -> Topology | None:
    """The graph of the first matrix that shows connections; None without one."""
    matrix = next((m for m in reading.matrices if m.view == "topo" and m.hides_nvlink is None and m.rows), None)
    matrix = matrix or next((m for m in reading.matrices if m.view in {"topo", "rocm:type"} and m.rows), None)
    if matrix is None or len(matrix.gpus()) > _BOUND:
        return None
    nodes = [Node(id=name, kind="gpu", label=name) for name in matrix.gpus()]
    nodes += [Node(id=n, kind="nic", label=_nic_label(matrix, n)) for n in matrix.nics()]
    edges = [_edge(a, b, cell, reading) for a, b, cell in matrix.pairs()]
    for gpu in matrix.gpus():
        for nic in matrix.nics():
            cell = matrix.cell(gpu, nic)
            if cell is not None and cell != "X":
                edges.append(_edge(gpu, nic, cell, reading))
    between = [edge for edge in edges if edge.b.startswith("GPU")]
    ranks = {edge.rank for edge in between}
    weakest = [edge for edge in between if edge.rank == max(ranks)] if len(ranks) > 1 else []
    return Topology(nodes=tuple(nodes), edges=tuple(edges), weakest=tuple(weakest))


def _nic_label(matrix: Matrix, name: str) -> str:
    device = matrix.nic_names.get(name)
    return f"{name} ({device})" if device else name


def _edge(a: str, b: str, cell: str, reading: Reading) -> Edge:
    return Edge(a=a, b=b, link=cell, rank=link_rank(cell), gb_s=_speed(cell, reading))


def _speed(cell: str, reading: Reading) -> float | None:
    """GB/s both ways of an NVLink bundle where the GPU's generation is known from its name."""
    count = link_count(cell)
    if count is None:
        return None
    for name in reading.gpu_names:
        for row in tables.rows_cached("link_speeds.csv"):
            if re.search(row["name"], name):
                return round(count * float(row["gb_s_per_link"]), 1)
    return None


def direct_mesh_links(reading: Reading) -> int | None:
    """Links a pair where four GPUs are joined directly without NVSwitch (NV4 or NV6 everywhere); else None."""
    for matrix in reading.matrices:
        if matrix.view == "topo" and len(matrix.gpus()) == 4:
            counts = {link_count(cell) for _, _, cell in matrix.pairs()}
            if len(counts) == 1 and counts <= {4, 6}:
                return counts.pop()
    return None


def topology_text(diagnosis: Diagnosis) -> str:
    """The picture in characters: a row a GPU, then how many pairs have which link; empty without a matrix."""
    topology = diagnosis.topology
    if topology is None:
        return ""
    lang = diagnosis.lang
    gpus = [node.id for node in topology.nodes if node.kind == "gpu"]
    cells = {(edge.a, edge.b): edge.link for edge in topology.edges}
    weak = {(edge.a, edge.b) for edge in topology.weakest}
    nics = len(topology.nodes) - len(gpus)
    lines = [say("diagnose.picture.title", lang, gpus=len(gpus), nics=nics), " " * 7 + "".join(f"{g:>7}" for g in gpus)]
    for a in gpus:
        row = ""
        for b in gpus:
            pair = (a, b) if (a, b) in cells else (b, a)
            link = "·" if a == b else cells.get(pair, "?")
            row += f"{link + ('!' if pair in weak else ''):>7}"
        lines.append(f"{a:<7}{row}")
    near: dict[str, list[str]] = {}
    for node in topology.nodes:
        if node.kind == "nic":
            reach = [edge for edge in topology.edges if edge.b == node.id]
            best = min((edge.rank for edge in reach), default=None)
            near[node.label] = [f"{edge.a} {edge.link}" for edge in reach if edge.rank == best][:8]
    lines += [f"{label}: {', '.join(where)}" for label, where in near.items() if where]
    lines += _legend(diagnosis, topology)
    return "\n".join(lines)


def _legend(diagnosis: Diagnosis, topology: Topology) -> list[str]:
    lang = diagnosis.lang
    counts = Counter(edge.link for edge in topology.edges if edge.b.startswith("GPU"))
    if not counts:
        return []
    if len(counts) == 1:
        return [say("diagnose.picture.uniform", lang, link=next(iter(counts)))]
    ordered = sorted(counts, key=link_rank)
    lines = [say("diagnose.picture.legend", lang, link=link, count=counts[link]) for link in ordered]
    pairs = ", ".join(f"{e.a}-{e.b} ({e.link})" for e in topology.weakest[:3]) + (
        " …" if len(topology.weakest) > 3 else ""
    )
    if topology.weakest:
        lines.append(say("diagnose.picture.weakest", lang, pairs=pairs))
    return lines


def topology_svg(diagnosis: Diagnosis, lang: Lang | None = None) -> str:
    """The picture as SVG with a title and a description for screen readers; empty without a matrix.

    Strokes take the page's text colour, so it reads on light and dark grounds; line styles differ as well as widths,
    so nothing rests on colour alone. The weakest GPU pairs are dashed red.
    """
    topology = diagnosis.topology
    if topology is None:
        return ""
    shown = diagnosis if lang in {None, diagnosis.lang} else diagnosis.model_copy(update={"lang": lang})
    gpus = [node for node in topology.nodes if node.kind == "gpu"]
    nics = [node for node in topology.nodes if node.kind == "nic"]
    spots = _circle([node.id for node in gpus], 260, 240, 150)
    near = _nic_spots(topology, [node.id for node in nics], spots)
    title = say("diagnose.picture.title", shown.lang, gpus=len(gpus), nics=len(nics))
    legend = _legend(shown, topology)
    mark = f"topology-{zlib.crc32(topology.model_dump_json().encode()):08x}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 520 {500 + 20 * len(legend)}" role="img" '
        f'aria-labelledby="{mark}-title {mark}-desc" font-family="system-ui, sans-serif" font-size="13" '
        'fill="currentColor" style="max-width:100%;height:auto">',
        f'<title id="{mark}-title">{escape(title)}</title>',
        f'<desc id="{mark}-desc">{escape(". ".join(legend))}</desc>',
    ]
    weak = {(edge.a, edge.b) for edge in topology.weakest}
    for edge in sorted(topology.edges, key=lambda e: -e.rank):
        if edge.b in spots:
            parts.append(_line(edge, spots[edge.a], spots[edge.b], (edge.a, edge.b) in weak))
    for node in nics:
        if node.id in near:
            edge, spot = near[node.id]
            parts.append(_line(edge, spots[edge.a], spot, False))
            parts.append(_box(spot, node.label, f"{node.label} – {edge.a}: {edge.link}"))
    parts += [_disc(spots[node.id], node.id) for node in gpus]
    parts += [f'<text x="16" y="{505 + 20 * i}">{escape(line)}</text>' for i, line in enumerate(legend)]
    parts.append("</svg>")
    return "".join(parts)


def _circle(names: list[str], x: float, y: float, radius: float) -> dict[str, tuple[float, float]]:
    step = 2 * math.pi / max(1, len(names))
    return {
        name: (x + radius * math.sin(i * step + step / 2), y - radius * math.cos(i * step + step / 2))
        for i, name in enumerate(names)
    }


def _nic_spots(
    topology: Topology, nics: list[str], spots: dict[str, tuple[float, float]]
) -> dict[str, tuple[Edge, tuple[float, float]]]:
    """Each card beside the GPU it is nearest to, the least crowded one where several are alike."""
    load: Counter[str] = Counter()
    placed = {}
    for nic in nics:
        reach = [edge for edge in topology.edges if edge.b == nic]
        if not reach:
            continue
        edge = min(reach, key=lambda e: (e.rank, load[e.a]))
        x, y = spots[edge.a]
        turn = (load[edge.a] - 0.5 * (load[edge.a] > 0)) * 0.22
        angle = math.atan2(y - 240, x - 260) + turn
        load[edge.a] += 1
        placed[nic] = (edge, (260 + 215 * math.cos(angle), 240 + 215 * math.sin(angle)))
    return placed


def _line(edge: Edge, a: tuple[float, float], b: tuple[float, float], weak: bool) -> str:
    wide = link_count(edge.link)
    width = (1.8 if weak else 1.0) if wide is None else min(5.0, 1.5 + wide / 5)
    style = 'stroke="#e5484d" stroke-dasharray="6 4"' if weak else 'stroke="currentColor"'
    if not weak and wide is None:
        style += ' stroke-dasharray="2 3"'
    opacity = 0.9 if weak or wide is not None or edge.link == "XGMI" else 0.35
    speed = f", {edge.gb_s:g} GB/s" if edge.gb_s else ""
    return (
        f'<line x1="{a[0]:.0f}" y1="{a[1]:.0f}" x2="{b[0]:.0f}" y2="{b[1]:.0f}" {style} stroke-width="{width:g}" '
        f'stroke-opacity="{opacity}"><title>{escape(f"{edge.a} – {edge.b}: {edge.link}{speed}")}</title></line>'
    )


def _disc(spot: tuple[float, float], name: str) -> str:
    return (
        f'<circle cx="{spot[0]:.0f}" cy="{spot[1]:.0f}" r="24" fill="#4f7cac" stroke="currentColor"/>'
        f'<text x="{spot[0]:.0f}" y="{spot[1] + 4:.0f}" text-anchor="middle" fill="#fff" font-size="11">{escape(name)}</text>'
    )


def _box(spot: tuple[float, float], label: str, title: str) -> str:
    short = label.split(" ")[0]
    return (
        f'<g><title>{escape(title)}</title><rect x="{spot[0] - 22:.0f}" y="{spot[1] - 9:.0f}" width="44" height="18" rx="4" '
        f'fill="#7a7f87" stroke="currentColor"/><text x="{spot[0]:.0f}" y="{spot[1] + 4:.0f}" text-anchor="middle" '
        f'fill="#fff" font-size="10">{escape(short[:8])}</text></g>'
    )
