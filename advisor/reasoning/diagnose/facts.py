"""What the readers found, before any judgement. One `Reading` collects all files of a diagnosis."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from .model import Evidence

Pair = tuple[int, int]
LIMIT = 2_000
"""Findings of one kind kept; a log that repeats an output for days says no more after that."""


@dataclass(slots=True)
class Matrix:
    """A device matrix. `view`: "topo" (nvidia-smi topo), "p2p:<caps>", or "rocm:weight|hops|type|access"."""

    view: str
    columns: list[str]
    head: Evidence
    hides_nvlink: Evidence | None = None
    rows: dict[str, list[str]] = field(default_factory=dict)
    places: dict[str, Evidence] = field(default_factory=dict)
    nic_names: dict[str, str] = field(default_factory=dict)

    def gpus(self) -> list[str]:
        """The GPU columns, in the printed order."""
        return [name for name in self.columns if name.startswith("GPU")]

    def nics(self) -> list[str]:
        """The network card columns."""
        return [name for name in self.columns if not name.startswith("GPU")]

    def cell(self, a: str, b: str) -> str | None:
        """What is printed for `a` and `b`, from either side; None where both rows are cut off."""
        for row, column in ((a, b), (b, a)):
            cells = self.rows.get(row)
            if cells is not None and column in self.columns:
                at = self.columns.index(column)
                if at < len(cells):
                    return cells[at]
        return None

    def place(self, a: str, b: str) -> Evidence:
        """The row that shows the pair, else the head."""
        return self.places.get(a) or self.places.get(b) or self.head

    def pairs(self) -> Iterator[tuple[str, str, str]]:
        """GPU pairs with their cell, each once; pairs whose rows are cut off are left out."""
        gpus = self.gpus()
        for i, a in enumerate(gpus):
            for b in gpus[i + 1 :]:
                cell = self.cell(a, b)
                if cell is not None and cell not in {"X", "0", ""}:
                    yield a, b, cell


@dataclass(slots=True)
class LinkList:
    """The NVLink lines of one GPU (`nvidia-smi nvlink -s`)."""

    gpu: int
    name: str
    head: Evidence
    active: dict[int, float] = field(default_factory=dict)
    inactive: dict[int, Evidence] = field(default_factory=dict)
    cut: bool = False
    closed: bool = False
    kept: bool = False


@dataclass(slots=True)
class Channel:
    """A kind of NCCL network connection on one host: which network, which direction, with GPUDirect or not."""

    host: str
    network: str
    direction: str
    gdr: bool
    evidence: Evidence
    count: int = 1


@dataclass(slots=True)
class Port:
    """A port of an RDMA device as ibstat, ibv_devinfo, ibdev2netdev or rdma print it."""

    device: str
    port: int
    evidence: Evidence
    state: str = "unknown"
    physical: str = "unknown"
    rate_gbit_s: float | None = None
    rate_evidence: Evidence | None = None
    layer: str = "unknown"
    model: str = ""
    tool: str = ""


@dataclass(slots=True)
class TestRow:
    """One row or summary of a collective benchmark."""

    collective: str
    size_bytes: int | None
    busbw: float
    evidence: Evidence
    ranks: int | None = None
    nodes: int | None = None


@dataclass(slots=True)
class Setting:
    """An environment variable that the text shows as set."""

    name: str
    value: str
    evidence: Evidence


@dataclass(slots=True)
class GraphPaths:
    """A line of NCCL's path table: from one device to all others, as (kind, id, bandwidth GB/s, path type)."""

    origin: str
    paths: list[tuple[str, str, float, str]]
    evidence: Evidence


@dataclass(slots=True)
class Reading:
    """Everything seen, by kind. Lists keep the order of the text."""

    kinds: dict[str, None] = field(default_factory=dict)
    matrices: list[Matrix] = field(default_factory=list)
    links: list[LinkList] = field(default_factory=list)
    channels: dict[tuple[str, str, str, bool], Channel] = field(default_factory=dict)
    using: dict[str, tuple[str, Evidence]] = field(default_factory=dict)
    inits: dict[tuple[str, str], Evidence] = field(default_factory=dict)
    hcas: dict[str, dict[str, tuple[str, Evidence]]] = field(default_factory=dict)
    gdr_hca: dict[tuple[str, bool], Evidence] = field(default_factory=dict)
    gdr_pair: dict[tuple[str, str], tuple[bool, Evidence]] = field(default_factory=dict)
    gdr_ring: dict[bool, Evidence] = field(default_factory=dict)
    hosts: dict[str, Evidence] = field(default_factory=dict)
    rank_hosts: dict[int, str] = field(default_factory=dict)
    local_devices: dict[str, set[int]] = field(default_factory=dict)
    same_node: list[Pair] = field(default_factory=list)
    nranks: int | None = None
    nnodes: int | None = None
    local_ranks: int | None = None
    nvls: dict[bool, Evidence] = field(default_factory=dict)
    channel_kinds: dict[str, Evidence] = field(default_factory=dict)
    graph: list[GraphPaths] = field(default_factory=list)
    graph_links: dict[str, tuple[float, Evidence]] = field(default_factory=dict)
    graph_nvlink: dict[str, set[str]] = field(default_factory=dict)
    xml_gpus: dict[str, tuple[int, Evidence]] = field(default_factory=dict)
    xml_nets: list[tuple[dict[str, str], bool, Evidence]] = field(default_factory=list)
    xml_peers: dict[str, set[str]] = field(default_factory=dict)
    xml_nvswitch: Evidence | None = None
    xml_sm: set[int] = field(default_factory=set)
    gpu_names: dict[str, Evidence] = field(default_factory=dict)
    gpu_count: tuple[int, Evidence] | None = None
    instance_names: dict[str, Evidence] = field(default_factory=dict)
    settings: list[Setting] = field(default_factory=list)
    signals: dict[str, list[Evidence]] = field(default_factory=dict)
    ports: list[Port] = field(default_factory=list)
    gids: list[tuple[str, int, str, str, Evidence]] = field(default_factory=list)
    providers: dict[str, Evidence] = field(default_factory=dict)
    domains: dict[str, Evidence] = field(default_factory=dict)
    fabric: list[tuple[str, str, Evidence]] = field(default_factory=list)
    pcie: list[tuple[str, str, str, str, Evidence]] = field(default_factory=list)
    tests: list[TestRow] = field(default_factory=list)
    xids: dict[int, list[Evidence]] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    def kind(self, name: str) -> None:
        """Note a kind of output, once."""
        self.kinds.setdefault(name)

    def signal(self, name: str, evidence: Evidence) -> None:
        """Keep a signal's first few lines; a log can repeat one a million times."""
        found = self.signals.setdefault(name, [])
        if len(found) < 8:
            found.append(evidence)

    def first(self, *names: str) -> Evidence | None:
        """The first evidence of any of the signals, in the order asked."""
        for name in names:
            if self.signals.get(name):
                return self.signals[name][0]
        return None
