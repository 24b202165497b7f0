"""The three verdicts of a diagnosis (NVLink, network between nodes, GPUDirect) and whether the job has several nodes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from . import tables
from .facts import Channel, Matrix, Reading
from .model import Transport, YesPartialNo

Nodes = Literal["one", "several", "unknown"]
_NVLINK = re.compile(r"NV(\d+)")
RDMA_TRANSPORTS = {"infiniband", "roce", "efa"}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What all the evidence together says."""

    nvlink: YesPartialNo
    nvlink_pairs: tuple[tuple[int, int], ...] | None
    transport: Transport
    gpudirect: YesPartialNo
    nodes: Nodes


def judge(reading: Reading) -> Verdict:
    """Weigh the reading. What the text does not show stays `unknown`."""
    nodes = node_count(reading)
    transport = network(reading, nodes)
    nvlink, pairs = nvlink_state(reading)
    return Verdict(nvlink, pairs, transport, gpudirect_state(reading, transport), nodes)


def link_count(cell: str) -> int | None:
    """NV12 → 12; anything else → None."""
    found = _NVLINK.fullmatch(cell)
    return int(found.group(1)) if found else None


def topo_matrices(reading: Reading) -> list[Matrix]:
    """NVIDIA connection matrices that can show NVLink and have at least one pair."""
    return [m for m in reading.matrices if m.view == "topo" and m.hides_nvlink is None and any(True for _ in m.pairs())]


def nvlink_state(reading: Reading) -> tuple[YesPartialNo, tuple[tuple[int, int], ...] | None]:
    """NVLink between the GPUs, from the strongest kind of output present: matrix, path table, link list, NVLS."""
    matrices = topo_matrices(reading)
    if matrices:
        states = []
        pairs: list[tuple[int, int]] = []
        for matrix in matrices:
            cells = list(matrix.pairs())
            linked = [(int(a[3:]), int(b[3:])) for a, b, cell in cells if link_count(cell) is not None]
            states.append("yes" if len(linked) == len(cells) else "partial" if linked else "no")
            pairs = pairs or linked
        return _merge(states), tuple(pairs)
    caps = [m for m in reading.matrices if m.view == "p2p:n"]
    for matrix in caps:
        marks = [(int(a[3:]), int(b[3:]), cell == "OK") for a, b, cell in matrix.pairs()]
        if marks:
            linked = [(a, b) for a, b, ok in marks if ok]
            return ("yes" if len(linked) == len(marks) else "partial" if linked else "no"), tuple(linked)
    return _without_matrix(reading), None


def _without_matrix(reading: Reading) -> YesPartialNo:
    states = []
    for line in reading.graph:
        if line.origin.startswith("GPU/"):
            kinds = [kind for device, _, _, kind in line.paths if device == "GPU" and kind != "LOC"]
            if kinds:
                near = sum(kind in {"NVL", "NVB"} for kind in kinds)
                states.append("yes" if near == len(kinds) else "partial" if near else "no")
    if states:
        return _merge(states)
    for peers in (reading.graph_nvlink, reading.xml_peers):
        if len(peers) > 1 or any(link.startswith("NVS") for links in peers.values() for link in links):
            full = sum(_reaches_all(links, len(peers)) for links in peers.values())
            return "yes" if full == len(peers) else "partial" if any(peers.values()) else "no"
    if reading.links:
        up = sum(bool(links.active) for links in reading.links)
        return "yes" if up == len(reading.links) else "partial" if up else "no"
    if reading.nvls.get(True) or reading.first("graph_nvl", "mnnvl"):
        return "yes"
    if any(m.view.startswith("rocm:") and m.view != "rocm:access" for m in reading.matrices) or reading.first("xgmi"):
        return "no"
    return "unknown"


def _reaches_all(links: set[str], gpus: int) -> bool:
    """Whether a GPU's NVLinks end at a switch or at every other GPU."""
    return any(link.startswith("NVS") for link in links) or len(links) >= gpus - 1


def over_xgmi(reading: Reading) -> bool:
    """Whether AMD's own links join all GPUs shown."""
    for matrix in reading.matrices:
        if matrix.view == "rocm:type":
            cells = [cell for _, _, cell in matrix.pairs()]
            return bool(cells) and all(cell == "XGMI" for cell in cells)
    return False


def _merge(states: list[str]) -> YesPartialNo:
    if all(state == states[0] for state in states):
        return states[0]  # type: ignore[return-value]
    return "partial"


def node_count(reading: Reading) -> Nodes:
    """Whether one node or several take part, where the text settles it."""
    if reading.nnodes is not None and reading.nnodes > 1:
        return "several"
    hosts = set(reading.hosts)
    if len(hosts) > 1:
        return "several"
    total, local = reading.nranks, reading.local_ranks
    if total and local and total > local:
        return "several"
    if total and total > max(
        8, *(len(m.gpus()) for m in reading.matrices), *(len(d) for d in reading.local_devices.values()), 0
    ):
        return "several"
    if reading.first("same_slot_twice") or any(row.nodes and row.nodes > 1 for row in reading.tests):
        return "several"
    if reading.nnodes == 1:
        return "one"
    placed = len(reading.rank_hosts)
    if len(hosts) == 1 and placed and placed >= (total or 2) and len(set(reading.rank_hosts.values())) == 1:
        return "one"
    if len(hosts) <= 1 and total and _joined(reading.same_node) >= total and not reading.channels:
        return "one"
    if "one_process" in reading.versions and len(hosts) <= 1 and not reading.channels:
        wanted = int(reading.versions["one_process"])
        if total is None or total <= wanted:
            return "one"
    if reading.channels:
        return "several"
    return "unknown"


def _joined(pairs: list[tuple[int, int]]) -> int:
    """Size of the largest set of ranks that P2P or shared memory joins."""
    parent: dict[int, int] = {}

    def root(rank: int) -> int:
        while parent.setdefault(rank, rank) != rank:
            parent[rank] = parent[parent[rank]]
            rank = parent[rank]
        return rank

    for a, b in pairs:
        parent[root(a)] = root(b)
    sizes: dict[int, int] = {}
    for rank in list(parent):
        sizes[root(rank)] = sizes.get(root(rank), 0) + 1
    return max(sizes.values(), default=0)


def verbs_layer(reading: Reading) -> Transport:
    """InfiniBand or RoCE, by the link layer of the devices in use; NCCL prints `NET/IB` for both."""
    layers = {layer.split("/")[0] for devices in reading.hcas.values() for layer, _ in devices.values()}
    if not layers:
        layers = {
            "IB" if port.layer == "InfiniBand" else "RoCE"
            for port in reading.ports
            if port.layer in {"InfiniBand", "Ethernet"} and port.state in {"Active", "unknown"}
        }
    if "IB" in layers:
        return "infiniband"
    if "RoCE" in layers:
        return "roce"
    if reading.first("ib_seen"):
        return "infiniband"
    if reading.first("roce_seen") or any(s.name == "NCCL_IB_GID_INDEX" for s in reading.settings):
        return "roce"
    return "infiniband"


def _transport(reading: Reading, name: str) -> str:
    kind = tables.transport_of(name)
    if kind == "verbs":
        return verbs_layer(reading)
    if kind == "efa" and reading.providers:
        providers = ";".join(reading.providers)
        if "efa" not in providers:
            return "socket" if re.search(r"tcp|sockets|udp", providers) else "verbs-like"
    return kind


def network(reading: Reading, nodes: Nodes) -> Transport:
    """The network between nodes: channels first, then the network chosen, then what was found, then bare devices."""
    seen = {_transport(reading, channel.network) for channel in reading.channels.values()}
    named = _prefer(seen)
    if named == "unknown":
        named = _chosen(reading)
    if named == "socket":
        return "none" if nodes == "one" else "socket"
    if named != "unknown":
        return named
    return _devices(reading)


def _prefer(seen: set[str]) -> Transport:
    for name in ("infiniband", "roce", "efa", "tcpxo", "tcpx", "socket"):
        if name in seen:
            return name  # type: ignore[return-value]
    return "unknown"


def _chosen(reading: Reading) -> Transport:
    per_host: dict[str, str] = {}
    for (host, name), _ in reading.inits.items():
        kind = _transport(reading, name)
        if kind != "unknown" and per_host.get(host, "socket") == "socket":
            per_host[host] = kind
    for host, (name, _) in reading.using.items():
        kind = _transport(reading, name)
        if kind != "unknown":
            per_host[host] = kind
    kinds = set(per_host.values())
    if "socket" in kinds:
        return "socket"
    return _prefer(kinds)


def _devices(reading: Reading) -> Transport:
    providers = ";".join(reading.providers)
    if "efa" in providers:
        return "efa"
    usable = {
        p.layer for p in reading.ports if p.state == "Active" or (p.tool == "ibdev2netdev" and p.layer == "InfiniBand")
    }
    if "InfiniBand" in usable:
        return "infiniband"
    if reading.first("verbs_used"):
        return verbs_layer(reading)
    if any(port.layer == "InfiniBand" for port in reading.ports):
        return "unknown"
    if "Ethernet" in usable:
        return "roce"
    return "unknown"


def network_channels(reading: Reading) -> list[Channel]:
    """Channels over a network that can do GPUDirect RDMA."""
    return [c for c in reading.channels.values() if tables.transport_of(c.network) not in {"socket", "tcpx", "tcpxo"}]


def gpudirect_state(reading: Reading, transport: Transport) -> YesPartialNo:
    """Whether network cards read and write GPU memory themselves."""
    flags = {c.gdr for c in reading.channels.values() if tables.transport_of(c.network) != "socket"}
    if transport in {"tcpx", "tcpxo"} and flags == {False}:
        return "unknown"
    if flags:
        return "partial" if len(flags) == 2 else "yes" if flags == {True} else "no"
    if transport == "socket":
        return "no"
    states = {on for (_, on) in reading.gdr_hca}
    if states:
        return "partial" if len(states) == 2 else "yes" if states == {True} else "no"
    if reading.gdr_pair:
        near = {on for on, _ in reading.gdr_pair.values()}
        return "partial" if len(near) == 2 else "yes" if near == {True} else "no"
    if reading.gdr_ring and (transport in RDMA_TRANSPORTS or True not in reading.gdr_ring):
        return "partial" if len(reading.gdr_ring) == 2 else "yes" if True in reading.gdr_ring else "no"
    if transport == "efa" and reading.first("gdr_unsupported"):
        return "no"
    marks = {net["gdr"] for net, _, _ in reading.xml_nets if net.get("gdr") in {"0", "1"} and is_rdma_name(net["name"])}
    return "no" if marks == {"0"} else "unknown"


def is_rdma_name(name: str) -> bool:
    """Whether a network device name of NCCL's topology file is that of an RDMA device."""
    return bool(re.match(r"mlx|ib|roce|bnxt|efa|rdma|rocep|ionic|irdma|erdma|hfi|cxi", name))
