"""What a diagnosis is: the JSON of `advisor diagnose`, frozen, with `unknown` wherever the text shows nothing."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Lang = Literal["ja", "en"]
Severity = Literal["error", "warning", "info"]
YesPartialNo = Literal["yes", "partial", "no", "unknown"]
Transport = Literal["infiniband", "roce", "efa", "tcpx", "tcpxo", "socket", "none", "unknown"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Evidence(_Frozen):
    """One line of what was pasted: `text` is a verbatim part of line `line` (from 1) of `file`."""

    file: str
    line: int
    text: str


class Problem(_Frozen):
    """One problem code with the line that shows it, what it means and what to do; `source` is a page about it."""

    code: str
    severity: Severity
    title: str = ""
    evidence: Evidence
    explanation: str
    action: str
    source: str | None = None


class Node(_Frozen):
    """A point of the topology: a GPU or a network card; `label` adds the device name where known."""

    id: str
    kind: Literal["gpu", "nic"]
    label: str


class Edge(_Frozen):
    """A connection as printed: NV12, XGMI, PIX, SYS … `rank` orders them, 0 best; `gb_s` is both directions together."""

    a: str
    b: str
    link: str
    rank: int
    gb_s: float | None = None


class Topology(_Frozen):
    """GPUs, network cards and the connections between them; `weakest` are the slowest GPU pairs that differ from the best."""

    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    weakest: tuple[Edge, ...] = ()


class Bandwidth(_Frozen):
    """One measured bus bandwidth (GB/s) and how it compares with what was published for that kind of machine."""

    collective: str
    size_bytes: int | None
    bus_bandwidth_gb_s: float
    ranks: int | None
    nodes: int | None
    verdict: Literal["good", "low", "suspicious", "too_small", "unknown"]
    reference_gb_s: float | None = None
    reference: str | None = None
    source: str | None = None
    text: str


class SoldItem(_Frozen):
    """One promise of the instance's row against what the text shows."""

    item: str
    promised: str
    seen: str
    verdict: Literal["ok", "missing", "unknown"]
    text: str


class Sold(_Frozen):
    """What the instance type promises; `guessed` where the type was read from the text and not named by the person."""

    instance_type: str
    provider: str | None = None
    guessed: bool = False
    items: tuple[SoldItem, ...] = ()


class Diagnosis(_Frozen):
    """What pasted outputs say about the links of a machine. Absence of a line is never a finding.

    `nvlink_pairs` are GPU indices joined by NVLink where a matrix shows them. `transport` is the network between nodes,
    `none` where the text shows that the job runs on one node without one. `seen` holds plain facts read on the way
    (GPU names, versions, counts).
    """

    lang: Lang = "en"
    kinds: tuple[str, ...] = ()
    nvlink: YesPartialNo = "unknown"
    nvlink_pairs: tuple[tuple[int, int], ...] | None = None
    transport: Transport = "unknown"
    rdma: Literal["yes", "no", "unknown"] = "unknown"
    gpudirect: YesPartialNo = "unknown"
    problems: tuple[Problem, ...] = ()
    summary: str = ""
    seen: dict[str, str | int | float | list[str]] = Field(default_factory=dict)
    sold: Sold | None = None
    bandwidth: tuple[Bandwidth, ...] = ()
    topology: Topology | None = None

    def masked(self) -> Diagnosis:
        """The same diagnosis with addresses, host names, tokens and ids hidden: the only form to store or to send on."""
        from .mask import mask_secrets

        problems = tuple(
            p.model_copy(
                update={
                    "evidence": p.evidence.model_copy(
                        update={"file": mask_secrets(p.evidence.file), "text": mask_secrets(p.evidence.text)}
                    )
                }
            )
            for p in self.problems
        )
        seen = {
            key: [mask_secrets(item) for item in value]
            if isinstance(value, list)
            else mask_secrets(value)
            if isinstance(value, str)
            else value
            for key, value in self.seen.items()
            if key not in {"hosts"}
        }
        return self.model_copy(update={"problems": problems, "seen": seen})
