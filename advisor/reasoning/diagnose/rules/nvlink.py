"""NVLink inside the node: partial, degraded, missing, hidden, out of order; PCIe across sockets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from advisor.reasoning.diagnose import tables
from advisor.reasoning.diagnose.facts import Matrix, Reading
from advisor.reasoning.diagnose.model import Severity
from advisor.reasoning.diagnose.verdict import Verdict, link_count, topo_matrices

from .base import Finding


def groups(matrix: Matrix) -> list[set[str]]:
    """GPUs that reach each other over NVLink, directly or through another GPU; lone GPUs are groups of one."""
    parent = {name: name for name in matrix.gpus()}

    def root(name: str) -> str:
        while parent[name] != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    for a, b, cell in matrix.pairs():
        if link_count(cell) is not None:
            parent[root(a)] = root(b)
    found: dict[str, set[str]] = {}
    for name in parent:
        found.setdefault(root(name), set()).add(name)
    return list(found.values())


def _is_complete(matrix: Matrix) -> bool:
    """Whether the text shows every GPU pair; a cut matrix cannot show that a group ends."""
    size = len(matrix.gpus())
    return sum(1 for _ in matrix.pairs()) == size * (size - 1) // 2


def nvlink_partial(reading: Reading, verdict: Verdict) -> Iterator[Finding]:
    """Some pairs are linked and others are not; where NVLink still joins all GPUs (a mesh) it is only worth knowing."""
    for matrix in topo_matrices(reading):
        cells = [(a, b, cell) for a, b, cell in matrix.pairs()]
        linked = [(a, b) for a, b, cell in cells if link_count(cell) is not None]
        if not linked or len(linked) == len(cells):
            continue
        parts = groups(matrix)
        mesh = len(parts) == 1
        a, b, _ = next((a, b, cell) for a, b, cell in cells if link_count(cell) is None)
        evidence = matrix.places.get(a) or matrix.place(a, b)
        largest = max(len(part) for part in parts)
        pairs = ", ".join(f"{x[3:]}-{y[3:]}" for x, y in linked[:8])
        variant = "mesh" if mesh else ""
        yield Finding("nvlink_partial", evidence, "info" if mesh else None, variant, {"pairs": pairs, "group": largest})
        return
    for matrix in reading.matrices:
        if matrix.view == "p2p:n" and not topo_matrices(reading):
            marks = [(a, b, cell == "OK") for a, b, cell in matrix.pairs()]
            good = [(a, b) for a, b, ok in marks if ok]
            if good and len(good) < len(marks):
                a, b, _ = next(mark for mark in marks if not mark[2])
                pairs = ", ".join(f"{x[3:]}-{y[3:]}" for x, y in good[:8])
                yield Finding("nvlink_partial", matrix.place(a, b), None, "", {"pairs": pairs, "group": 2})
                return
    if reading.matrices:
        return
    for line in reading.graph:
        kinds = [kind for device, _, _, kind in line.paths if device == "GPU" and kind != "LOC"]
        near = sum(kind in {"NVL", "NVB"} for kind in kinds)
        if line.origin.startswith("GPU/") and 0 < near < len(kinds):
            yield Finding("nvlink_partial", line.evidence, None, "graph", {"pairs": "?", "group": near + 1})
            return


def nvlink_degraded(reading: Reading, verdict: Verdict) -> Iterator[Finding]:
    """Fewer links than the board gives: a count no board has, a pair below its equals, or a link that is down."""
    boards = [board for name in reading.gpu_names if (board := tables.board_of(name))]
    allowed = set(tables.usual_counts()).union(*(board.pair_links for board in boards))
    if boards:
        allowed = set().union(*(board.pair_links for board in boards))
    for matrix in topo_matrices(reading):
        counted = [(a, b, n) for a, b, cell in matrix.pairs() if (n := link_count(cell)) is not None]
        if not counted:
            continue
        usual = Counter(n for _, _, n in counted).most_common(1)[0][0]
        meshed = max(n for _, _, n in counted) <= 2
        for a, b, n in counted:
            below = n < max(x for _, _, x in counted) and not meshed and n != usual
            odd = n not in allowed
            if odd or below:
                expected = max((x for x in allowed if x > n), default=usual) if odd and n == usual else max(usual, n)
                if boards or odd:
                    expected = min((x for x in allowed if x > n), default=usual)
                yield Finding(
                    "nvlink_degraded",
                    matrix.place(a, b),
                    None,
                    "",
                    {"links": n, "expected": expected, "pair": f"{a}-{b}"},
                )
                return
    counts = [(count, place) for count, place in reading.xml_gpus.values() if count]
    if counts and not topo_matrices(reading):
        most = max(count for count, _ in counts)
        for gpu, (count, place) in enumerate(counts):
            if count < most:
                values = {"gpu": gpu, "links": count, "expected": most, "link": count}
                yield Finding("nvlink_degraded", place, None, "inactive", values)
                return
    yield from _inactive_links(reading)


def _inactive_links(reading: Reading) -> Iterator[Finding]:
    for links in reading.links:
        if links.active and links.inactive:
            number, evidence = next(iter(links.inactive.items()))
            total = len(links.active) + len(links.inactive)
            values = {"gpu": links.gpu, "links": len(links.active), "expected": total, "link": number}
            yield Finding("nvlink_degraded", evidence, None, "inactive", values)
            return
    whole = [ls for ls in reading.links if ls.closed and not ls.cut and not ls.inactive and ls.active]
    whole = [ls for ls in whole if sorted(ls.active) == list(range(len(ls.active)))]
    if whole:
        most = max(len(ls.active) for ls in whole)
        for ls in whole:
            if len(ls.active) < most:
                values = {"gpu": ls.gpu, "links": len(ls.active), "expected": most, "link": len(ls.active)}
                yield Finding("nvlink_degraded", ls.head, None, "inactive", values)
                return


def nvlink_missing(reading: Reading, verdict: Verdict) -> Iterator[Finding]:
    """No NVLink though the GPU's name settles a board that always has it (SXM); bridged cards prove nothing."""
    named = [(name, board) for name in reading.gpu_names if (board := tables.board_of(name))]
    if not named or any(board.bridged for _, board in named) or len(named) != len(reading.gpu_names):
        return
    name = named[0][0]
    for matrix in topo_matrices(reading):
        cells = list(matrix.pairs())
        if cells and all(link_count(cell) is None for _, _, cell in cells):
            a, b, _ = cells[0]
            size = len(matrix.gpus())
            severity: Severity = "error" if size >= 8 else "warning"
            yield Finding("nvlink_missing", matrix.place(a, b), severity, "", {"gpu": name, "gpus": size})
            return
    bare = [place for count, place in reading.xml_gpus.values() if count == 0]
    if len(bare) > 1 and len(bare) == len(reading.xml_gpus) and not topo_matrices(reading):
        level: Severity = "error" if len(bare) >= 8 else "warning"
        yield Finding("nvlink_missing", bare[0], level, "", {"gpu": name, "gpus": len(bare)})
        return
    down = [links for links in reading.links if links.inactive and not links.active]
    if len(down) > 1 and len(down) == len(reading.links) and not topo_matrices(reading):
        evidence = next(iter(down[0].inactive.values()))
        yield Finding("nvlink_missing", evidence, "warning", "", {"gpu": name, "gpus": len(reading.links)})


def topo_view_hides_nvlink(reading: Reading, verdict: Verdict) -> Iterator[Finding]:
    """A matrix of `topo -mp` alone; once `topo -m` is there too it does no harm."""
    shown = bool(topo_matrices(reading)) or bool(reading.links)
    for matrix in reading.matrices:
        if matrix.view == "topo" and matrix.hides_nvlink is not None and len(matrix.gpus()) > 1:
            yield Finding("topo_view_hides_nvlink", matrix.hides_nvlink, "info" if shown else None)
            return


def rank_order(reading: Reading, verdict: Verdict) -> Iterator[Finding]:
    """Linked GPUs stand apart in the default order, so groups of neighbours straddle the links."""
    for matrix in topo_matrices(reading):
        parts = [part for part in groups(matrix) if len(part) > 1]
        if not parts or len(groups(matrix)) == 1:
            continue
        order = [int(name[3:]) for name in matrix.gpus()]
        places = {f"GPU{number}": at for at, number in enumerate(order)}
        for part in parts:
            spots = sorted(places[name] for name in part)
            if spots[-1] - spots[0] >= len(spots):
                wanted = [
                    name[3:]
                    for group in sorted(parts, key=lambda g: min(places[n] for n in g))
                    for name in sorted(group, key=places.__getitem__)
                ]
                rest = [str(n) for n in order if str(n) not in wanted]
                first = matrix.gpus()[spots[0]]
                values = {"order": ",".join(wanted + rest), "gpus": "-".join(sorted((n[3:] for n in part), key=int))}
                yield Finding("rank_order", matrix.place(first, first), None, "", values)
                return


def cross_socket_pcie(reading: Reading, verdict: Verdict) -> Iterator[Finding]:
    """GPU pairs without a direct link that meet only across CPU sockets (SYS; or three hops in ROCm)."""
    for matrix in reading.matrices:
        if matrix.view == "topo":
            cells = list(matrix.pairs())
            far = [(a, b) for a, b, cell in cells if cell in {"SYS", "SOC"}]
            if not far:
                continue
            a, b = far[0]
            linked = any(link_count(cell) is not None for _, _, cell in cells)
            hidden = matrix.hides_nvlink is not None or linked
            values = {"pairs": len(far), "all": len(cells)}
            yield Finding("cross_socket_pcie", matrix.place(a, b), "info" if hidden else None, "", values)
            return
    yield from _rocm_sockets(reading)


def _rocm_sockets(reading: Reading) -> Iterator[Finding]:
    types = next((m for m in reading.matrices if m.view == "rocm:type"), None)
    for view, limit in (("rocm:hops", 3), ("rocm:weight", 41)):
        for matrix in (m for m in reading.matrices if m.view == view):
            far = []
            for a, b, cell in matrix.pairs():
                over_pcie = types is None or types.cell(a, b) in {None, "PCIE"}
                if cell.isdigit() and int(cell) >= limit and over_pcie and (types is not None or view == "rocm:hops"):
                    far.append((a, b))
            if far:
                a, b = far[0]
                values = {"pairs": len(far), "all": sum(1 for _ in matrix.pairs())}
                yield Finding("cross_socket_pcie", matrix.place(a, b), None, "", values)
                return
