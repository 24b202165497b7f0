"""The network between nodes: fallback to sockets, missing devices, GPUDirect, errors, shared or slow cards."""

from __future__ import annotations

import re
from collections.abc import Iterator

from advisor.reasoning.diagnose import tables
from advisor.reasoning.diagnose.facts import Channel, GraphPaths, Port, Reading
from advisor.reasoning.diagnose.verdict import RDMA_TRANSPORTS, Verdict, is_rdma_name, network_channels

from .base import Finding
from .peer import settings


def socket_fallback(reading: Reading, verdict: Verdict) -> Iterator[Finding]:
    """Several nodes take part and the traffic between them goes over TCP sockets."""
    sockets = [c for c in reading.channels.values() if tables.transport_of(c.network) == "socket"]
    if verdict.transport != "socket" and not sockets:
        return
    chosen = [place for name, place in reading.using.values() if tables.transport_of(name) == "socket"]
    found = [place for (_, name), place in reading.inits.items() if tables.transport_of(name) == "socket"]
    others = [place for (_, name), place in reading.inits.items() if name == "Libfabric"]
    evidence = next((c.evidence for c in sockets), None) or next(iter(chosen + found + others), None)
    if evidence is None or verdict.nodes == "one":
        return
    yield Finding(
        "socket_fallback",
        evidence,
        None if verdict.nodes == "several" else "info",
        "" if verdict.nodes == "several" else "maybe",
    )


def ib_disabled_by_env(reading: Reading, verdict: Verdict) -> Iterator[Finding]:
    """NCCL or libfabric was told to leave RDMA alone."""
    told = [
        *settings(reading, "NCCL_IB_DISABLE", "1", "true", "yes"),
        *settings(reading, "NCCL_NET", "socket"),
        *settings(reading, "FI_PROVIDER", "tcp", "sockets", "tcp;ofi_rxm", "udp"),
    ]
    for setting in told[:1]:
        yield Finding("ib_disabled_by_env", setting.evidence, None, "", {"name": setting.name, "value": setting.value})


def rdma_device_missing(reading: Reading, verdict: Verdict) -> Iterator[Finding]:
    """No verbs device is visible. It does no harm on one node or where another network is in use."""
    if evidence := reading.first("rdma_missing_hard"):
        yield Finding("rdma_device_missing", evidence)
        return
    evidence = reading.first("rdma_missing")
    if evidence is None or verdict.transport in {"infiniband", "roce", "efa", "tcpx", "tcpxo"}:
        return
    yield Finding("rdma_device_missing", evidence, "info" if verdict.nodes == "one" else None)


def efa_device_missing(reading: Reading, verdict: Verdict) -> Iterator[Finding]:
    """The plug-in or fi_info found no EFA interface."""
    evidence = reading.first("efa_missing", "efa_init_failed")
    if evidence and verdict.transport != "efa":
        yield Finding("efa_device_missing", evidence)
        return
    for provider, place in reading.providers.items():
        if re.search(r"tcp|sockets", provider) and "efa" not in ";".join(reading.providers) and reading.inits:
            yield Finding("efa_device_missing", place, "warning", "provider", {"provider": provider})
            return


def efa_completion_error(reading: Reading, verdict: Verdict) -> Iterator[Finding]:
    """EFA carried the traffic until a completion failed."""
    if evidence := reading.first("efa_completion"):
        yield Finding("efa_completion_error", evidence)


def gdr_disabled(reading: Reading, verdict: Verdict) -> Iterator[Finding]:
    """RDMA without GPUDirect: data is staged through host memory."""
    told = [
        *settings(reading, "NCCL_NET_GDR_LEVEL", "loc", "0"),
        *settings(reading, "NCCL_NET_GDR_DISABLE", "1"),
        *settings(reading, "NCCL_IB_CUDA_SUPPORT", "0"),
        *settings(reading, "FI_EFA_USE_DEVICE_RDMA", "0"),
    ]
    if told:
        yield Finding("gdr_disabled", told[0].evidence, None, "env", {"name": told[0].name, "value": told[0].value})
        return
    if verdict.gpudirect in {"yes", "partial"}:
        return
    if evidence := reading.first("gdr_unsupported"):
        yield Finding("gdr_disabled", evidence)
        return
    if verdict.gpudirect != "no" or verdict.transport in {"socket", "none"}:
        return
    channels = network_channels(reading)
    places = [place for (_, on), place in reading.gdr_hca.items() if not on]
    places += [c.evidence for c in channels if not c.gdr]
    places += [place for on, place in reading.gdr_pair.values() if not on]
    places += [reading.gdr_ring[False]] if False in reading.gdr_ring else []
    places += [place for net, _, place in reading.xml_nets if net.get("gdr") == "0" and is_rdma_name(net["name"])]
    for evidence in places[:1]:
        yield Finding("gdr_disabled", evidence)


def gdr_one_sided(reading: Reading, verdict: Verdict) -> Iterator[Finding]:
    """One host or one direction works with GPUDirect and the other does not."""
    channels = network_channels(reading)
    with_gdr = [c for c in channels if c.gdr]
    without = [c for c in channels if not c.gdr]
    if with_gdr and without:
        lame = _side(with_gdr, without)
        yield Finding("gdr_one_sided", (lame or without[0]).evidence, None, "" if lame else "mixed", {"side": "?"})
        return
    states = {on for (_, on) in reading.gdr_hca}
    if len(states) == 2:
        place = next(place for (_, on), place in reading.gdr_hca.items() if not on)
        yield Finding("gdr_one_sided", place, None, "", {"side": "?"})


def _side(with_gdr: list[Channel], without: list[Channel]) -> Channel | None:
    hosts = {c.host for c in with_gdr}
    directions = {c.direction for c in with_gdr}
    return next((c for c in without if c.host not in hosts or c.direction not in directions), None)


def rdma_retry_exceeded(reading: Reading, verdict: Verdict) -> Iterator[Finding]:
    """Status 12: the peer never answered over the fabric."""
    if evidence := reading.first("rdma_retry"):
        yield Finding("rdma_retry_exceeded", evidence)


def roce_gid(reading: Reading, verdict: Verdict) -> Iterator[Finding]:
    """A queue pair or GID that fails on RoCE; a table of GIDs without a routable RoCE v2 entry."""
    roce = verdict.transport == "roce" or bool(reading.first("roce_seen"))
    infiniband = bool(reading.first("ib_seen")) and not roce
    if evidence := reading.first("gid_failed", "gid_zero"):
        yield Finding("roce_gid", evidence)
        return
    failed = reading.first("qp_failed")
    if failed and not infiniband:
        yield Finding("roce_gid", failed, None, "qp")
        return
    link_local = reading.first("gid_link_local")
    if link_local and roce:
        yield Finding("roce_gid", link_local, None, "qp")
        return
    devices: dict[str, list[tuple[str, str]]] = {}
    for device, _, gid, version, _ in reading.gids:
        devices.setdefault(device, []).append((gid, version))
    for setting in reading.settings:
        chosen = [(gid, version) for _, index, gid, version, _ in reading.gids if str(index) == setting.value]
        if (
            setting.name == "NCCL_IB_GID_INDEX"
            and chosen
            and not any(_routable(gid, version) for gid, version in chosen)
        ):
            yield Finding("roce_gid", setting.evidence, None, "index", {"index": setting.value, "gid": chosen[0][0]})
            return
    if not any(version.startswith("v2") for rows in devices.values() for _, version in rows):
        return
    for device, rows in devices.items():
        if not any(_routable(gid, version) for gid, version in rows):
            place = next(place for name, _, _, _, place in reading.gids if name == device)
            yield Finding("roce_gid", place, None, "table", {"device": device})
            return


def _routable(gid: str, version: str) -> bool:
    return version.startswith("v2") and not gid.lower().startswith("fe80")


def nic_shared(reading: Reading, verdict: Verdict) -> Iterator[Finding]:
    """Fewer network cards than GPUs on a node."""
    for host, devices in reading.hcas.items():
        gpus = reading.local_ranks or 0
        used = reading.local_devices.get(host, set())
        gpus = max(gpus, len(used), max(used, default=-1) + 1 if len(used) > 1 else 0)
        cards = len({re.sub(r"^\[\d+\]", "", name) for name in devices})
        if gpus > cards > 0 and verdict.nodes != "one":
            place = next(iter(devices.values()))[1]
            yield Finding("nic_shared", place, None, "", {"nics": cards, "gpus": gpus})
            return
    for matrix in reading.matrices:
        gpus, cards = len(matrix.gpus()), len(matrix.nics())
        if matrix.view == "topo" and gpus > cards > 0:
            yield Finding("nic_shared", matrix.head, None, "", {"nics": cards, "gpus": gpus})
            return
    lines = [line for line in reading.graph if line.origin.startswith("GPU/")]
    for line in lines[:1]:
        cards = sum(1 for device, _, _, _ in line.paths if device == "NET")
        gpus = sum(1 for device, _, _, _ in line.paths if device == "GPU")
        if gpus > cards > 0:
            yield Finding("nic_shared", line.evidence, None, "", {"nics": cards, "gpus": gpus})


PCIE3_GB_S = 12.0
"""What NCCL counts for PCIe 3.0 x16, the slowest slot of a rented data-centre GPU; a network of a tenth is slow for any."""
TEN_GBIT = 10_000
"""Mb/s, as the topology file gives speeds."""
LARGE_MESSAGE = 64 << 20
"""Bytes from which a measured figure is bandwidth and not latency."""


def _path_speeds(reading: Reading) -> tuple[list[tuple[float, GraphPaths]], float]:
    """(network speeds with their line, best PCIe speed) of NCCL's path table, in GB/s."""
    networks: list[tuple[float, GraphPaths]] = []
    pcie = 0.0
    for line in reading.graph:
        kind = line.origin.partition("/")[0]
        for device, _, speed, path in line.paths:
            if (kind == "GPU" and device == "NET") or (kind == "NET" and device in {"GPU", "CPU"}):
                networks.append((speed, line))
            elif kind == "GPU" and device in {"GPU", "CPU"} and path in {"PHB", "PIX", "PXB", "SYS"}:
                pcie = max(pcie, speed)
    return networks, pcie


def slow_network(reading: Reading, verdict: Verdict) -> Iterator[Finding]:
    """The network gives a tenth of PCIe or less, by NCCL's own figures, the topology file, or a measured table."""
    if reading.first("net_speed_guessed") or verdict.nodes == "one":
        return
    speeds, pcie = _path_speeds(reading)
    if "PCI_GPU" in reading.graph_links:
        pcie = max(pcie, reading.graph_links["PCI_GPU"][0])
    limit = max(pcie, PCIE3_GB_S) / 10 * 1.05
    tree = reading.graph_links.get("NET")
    best = max((speed for speed, _ in speeds), default=0.0)
    if tree and 0 < tree[0] <= limit:
        yield Finding("slow_network", tree[1], None, "", {"speed": tree[0]})
        return
    if not tree and 0 < best <= limit:
        evidence = next(line.evidence for speed, line in speeds if speed == best)
        yield Finding("slow_network", evidence, None, "", {"speed": best})
        return
    rates = [
        (int(n["speed"]), place)
        for n, _, place in reading.xml_nets
        if re.fullmatch(r"[1-9]\d{0,8}", n.get("speed", ""))
    ]
    if rates and max(rate for rate, _ in rates) <= TEN_GBIT:
        yield Finding("slow_network", rates[0][1], None, "", {"speed": max(r for r, _ in rates) / 8000})
        return
    large = [row for row in reading.tests if (row.size_bytes or 0) >= LARGE_MESSAGE and row.busbw > 0]
    if verdict.nodes == "several" and large and max(row.busbw for row in large) <= PCIE3_GB_S / 10 * 1.05:
        row = max(large, key=lambda r: r.busbw)
        yield Finding("slow_network", row.evidence, None, "measured", {"speed": row.busbw})


def link_rate_low(reading: Reading, verdict: Verdict) -> Iterator[Finding]:
    """A port or a slot below its rate or width. A PCIe generation that idles down is no finding; a width is."""
    for part, most, current, _, place in reading.pcie:
        now, top = _number(current), _number(most)
        if part == "width" and now and now < (top or 16):
            yield Finding("link_rate_low", place, None, "width", {"now": now, "expected": top or 16})
            return
    if evidence := reading.first("pcie_limited", "pcie_downgraded"):
        yield Finding("link_rate_low", evidence, None, "slot")
        return
    rated = [port for port in reading.ports if port.rate_gbit_s and port.state in {"Active", "unknown"}]
    for port in rated:
        rate = port.rate_gbit_s or 0
        peers = [
            p.rate_gbit_s or 0 for p in rated if p.tool == port.tool and p.layer == port.layer and p.model == port.model
        ]
        slow = (port.layer == "InfiniBand" and rate < 56) or (
            len(peers) > 2 and rate < max(peers) and peers.count(rate) * 2 < len(peers)
        )
        if slow and port.rate_evidence:
            yield Finding(
                "link_rate_low",
                port.rate_evidence,
                None,
                "port",
                {"device": port.device, "now": f"{rate:g}", "expected": f"{max(peers):g}"},
            )
            return
    for port in reading.ports:
        if _is_down(port):
            fabric = port.layer == "InfiniBand"
            yield Finding(
                "link_rate_low",
                port.evidence,
                None if fabric else "info",
                "down",
                {"device": port.device, "now": port.state, "expected": "Active"},
            )
            return


def _is_down(port: Port) -> bool:
    """ibdev2netdev shows the IP interface, which an InfiniBand port does not need."""
    if port.tool == "ibdev2netdev":
        return port.state == "Down" and port.layer == "Ethernet"
    return port.state == "Down" or (
        port.physical.lower().startswith(("polling", "disabled")) and port.state not in {"Active"}
    )


def _number(text: str) -> int | None:
    found = re.search(r"\d+", text)
    return int(found.group(0)) if found else None


def uses_rdma(verdict: Verdict) -> str:
    """ "yes", "no" or "unknown" for the `rdma` field."""
    if verdict.transport in RDMA_TRANSPORTS:
        return "yes"
    return "no" if verdict.transport in {"socket", "tcpx", "tcpxo"} else "unknown"
