"""Peer access between GPUs, the NVSwitch fabric and NVLink SHARP."""

from __future__ import annotations

from collections.abc import Iterator

from advisor.reasoning.diagnose import tables
from advisor.reasoning.diagnose.facts import Reading, Setting
from advisor.reasoning.diagnose.verdict import Verdict, is_rdma_name, link_count, topo_matrices

from .base import Finding

_REFUSED = {"GNS", "CNS", "TNS", "NS", "DR"}


def settings(reading: Reading, name: str, *values: str) -> Iterator[Setting]:
    """Where the text shows `name` set to one of `values` (any case)."""
    for setting in reading.settings:
        if setting.name.removeprefix("R") == name and setting.value.strip("\"'").lower() in values:
            yield setting


def p2p_unsupported(reading: Reading, verdict: Verdict) -> Iterator[Finding]:
    """The driver, the chipset or the topology refuses peer access."""
    for matrix in reading.matrices:
        if not matrix.view.startswith("p2p") or matrix.view == "p2p:n":
            continue
        bad = [(a, b, cell) for a, b, cell in matrix.pairs() if cell in _REFUSED]
        if bad:
            a, b, cell = bad[0]
            vague = matrix.view == "p2p:" and {mark for _, _, mark in bad} == {"NS"}
            values = {"pairs": len(bad), "all": sum(1 for _ in matrix.pairs()), "state": cell}
            yield Finding("p2p_unsupported", matrix.place(a, b), "info" if vague else None, "", values)
            return
    if evidence := reading.first("p2p_refused"):
        yield Finding("p2p_unsupported", evidence, None, "log", {"pairs": "?", "all": "?", "state": "refused"})


def p2p_disabled_by_env(reading: Reading, verdict: Verdict) -> Iterator[Finding]:
    """NCCL was told not to use peer access."""
    told = [
        *settings(reading, "NCCL_P2P_DISABLE", "1", "true", "yes"),
        *settings(reading, "NCCL_P2P_LEVEL", "loc", "0"),
    ]
    for setting in told[:1]:
        yield Finding("p2p_disabled_by_env", setting.evidence, None, "", {"name": setting.name, "value": setting.value})


def fabric_not_ready(reading: Reading, verdict: Verdict) -> Iterator[Finding]:
    """The NVSwitch fabric is not up: its state, its health, the fabric manager, or CUDA error 802."""
    for name, value, evidence in reading.fabric:
        lower = value.lower()
        if name == "State" and lower in {"in progress", "not started", "failed", "error"}:
            yield Finding("fabric_not_ready", evidence, None, "", {"state": value})
            return
        if name == "Status" and lower not in {"success", "n/a", "not supported"}:
            yield Finding("fabric_not_ready", evidence, None, "", {"state": value})
            return
        if name in {"Summary", "Health Summary"} and lower in {"unhealthy", "limited capacity"}:
            yield Finding("fabric_not_ready", evidence, None, "", {"state": value})
            return
    if place := reading.first("fabric_error"):
        yield Finding("fabric_not_ready", place, None, "log", {"state": "error"})


def nvls_unavailable(reading: Reading, verdict: Verdict) -> Iterator[Finding]:
    """NVLink SHARP is missing on eight Hopper GPUs or newer. Elsewhere it does not exist, and silence proves nothing."""
    off = next(settings(reading, "NCCL_NVLS_ENABLE", "0"), None)
    if off:
        expected = False in reading.nvls and _has_nvls(reading) and _local_gpus(reading) >= 8
        yield Finding("nvls_unavailable", off.evidence, None if expected else "info", "env")
        return
    if evidence := reading.first("nvls_failed"):
        yield Finding("nvls_unavailable", evidence, None, "failed")
        return
    evidence = reading.nvls.get(False)
    if evidence is None or True in reading.nvls or not _has_nvls(reading) or _local_gpus(reading) < 8:
        return
    yield Finding("nvls_unavailable", evidence)


def _has_nvls(reading: Reading) -> bool:
    """Whether the text itself shows Hopper or newer behind NVSwitch."""
    boards = [tables.board_of(name) for name in reading.gpu_names]
    if boards:
        return all(board is not None and board.nvls for board in boards)
    if any((link_count(cell) or 0) >= 18 for matrix in topo_matrices(reading) for _, _, cell in matrix.pairs()):
        return True
    speeds = [
        speed for line in reading.graph for device, _, speed, kind in line.paths if device == "NVS" and kind == "NVL"
    ]
    speeds += [reading.graph_links["NVL_NVS"][0]] if "NVL_NVS" in reading.graph_links else []
    if speeds and max(speeds) > 300:
        return True
    if reading.xml_sm and min(reading.xml_sm) >= 90 and reading.xml_nvswitch is not None:
        return True
    return any(speed > 26 and len(links.active) == 18 for links in reading.links for speed in links.active.values())


def _local_gpus(reading: Reading) -> int:
    """GPUs of one node that take part, as far as the text shows; 0 where it does not."""
    counts = [reading.local_ranks or 0, len(reading.xml_gpus)]
    per_host: dict[str, int] = {}
    for host in reading.rank_hosts.values():
        per_host[host] = per_host.get(host, 0) + 1
    counts += per_host.values()
    counts += (len(devices) for devices in reading.local_devices.values())
    counts += (max(devices, default=-1) + 1 for devices in reading.local_devices.values())
    counts += (len(matrix.gpus()) for matrix in reading.matrices)
    counts += (sum(1 for device, _, _, _ in line.paths if device == "GPU") for line in reading.graph)
    if "one_process" in reading.versions:
        counts.append(int(reading.versions["one_process"]))
    return max(counts)


def topology_hidden_by_vm(reading: Reading, verdict: Verdict) -> Iterator[Finding]:
    """NVSwitch is seen, yet no network card is near any GPU: the guest does not see the PCIe switches."""
    lines = [line for line in reading.graph if line.origin.startswith("GPU/")]
    switched = [line for line in lines if any(device == "NVS" for device, _, _, _ in line.paths)]
    near = [kind for line in lines for device, _, _, kind in line.paths if device == "NET"]
    coherent = any(kind in {"C2C", "P2C"} for line in lines for _, _, _, kind in line.paths)
    if switched and near and not coherent and not set(near) & {"PIX", "PXB", "PXN", "LOC"}:
        cards = len({name for line in switched for device, name, _, _ in line.paths if device == "NET"})
        if cards >= 2:
            yield Finding("topology_hidden_by_vm", switched[0].evidence, None, "", {"nics": cards})
            return
    switched_tree = any(link.startswith("NVS") for links in reading.graph_nvlink.values() for link in links)
    cards = len(reading.signals.get("graph_card", []))
    if switched_tree and cards >= 2 and not reading.first("pci_switch") and not lines:
        yield Finding("topology_hidden_by_vm", reading.signals["graph_card"][0], None, "", {"nics": cards})
        return
    for matrix in topo_matrices(reading):
        cells = [cell for _, _, cell in matrix.pairs()]
        nics = matrix.nics()
        if len(matrix.gpus()) < 8 or len(nics) < 4 or not all(link_count(cell) is not None for cell in cells):
            continue
        seen = [cell for gpu in matrix.gpus() for nic in nics if (cell := matrix.cell(gpu, nic)) is not None]
        if len(matrix.rows) >= 4 and seen and not set(seen) & {"PIX", "PXB"}:
            evidence = matrix.place(matrix.gpus()[0], nics[0])
            yield Finding("topology_hidden_by_vm", evidence, None, "", {"nics": len(nics)})
            return
    if reading.xml_nvswitch is not None and len(reading.xml_nets) >= 2:
        rdma = [(net, switched, place) for net, switched, place in reading.xml_nets if is_rdma_name(net["name"])]
        if len(rdma) >= 2 and not any(switched for _, switched, _ in rdma):
            yield Finding("topology_hidden_by_vm", rdma[0][2], None, "", {"nics": len(rdma)})
