"""Candidates: one physical machine times a number of nodes, with what the job does on it. Offers that differ only in seller,
region or price share one calculation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from advisor.answer import Constraints
from advisor.reasoning.inference import Serving, serve, serving_memory
from advisor.reasoning.job import Machine
from advisor.reasoning.machine import machine_of
from advisor.reasoning.parallelism import Memo, Wanted, best_plan
from advisor.reasoning.workload import Sizing
from knowledge.facts import Facts, GpuSpec
from knowledge.offer_model import Offer

NODE_COUNTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
MAX_NODES = 512
Signature = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """What the job does on a machine. `tokens_per_s` is of the whole job; None where speed is not modelled."""

    nodes: int
    memory_gb: float
    parts: dict[str, float]
    parallelism: str
    least_gb: float = 0.0
    """GB with one sequence and recomputation: how tight the card is at best."""
    recompute: bool = False
    """Activations are computed again in the backward pass."""
    pace: float | None = None
    """Tokens a second by which machines are compared; of the training part alone where the whole job is not modelled."""
    tokens_per_s: float | None = None
    step_s: float | None = None
    mfu: float | None = None
    comm_share: float | None = None
    ttft_s: float | None = None
    stream_tokens_per_s: float | None = None
    split: int = 1
    """GPUs that one replica of a served model is cut over; 1 where the replicas work for themselves."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An offer, a number of nodes, and the result; hours and cost where the amount of work is known."""

    offer: Offer
    gpu: GpuSpec | None
    result: Result
    usd_hour: float
    hours: float | None
    cost: float | None
    errand_hours: float | None = None
    """Hours that rank the row, set-up included; None for services and where the speed is not known."""

    @property
    def nodes(self) -> int:
        """Instances."""
        return self.result.nodes

    @property
    def gpus(self) -> float:
        """GPUs over all instances."""
        return self.offer.gpu_count * self.result.nodes

    @property
    def replicas(self) -> bool:
        """Whether several GPUs each serve a whole copy of the model."""
        return self.gpus > 1 and self.result.stream_tokens_per_s is not None and self.result.split == 1

    @property
    def price_of_work(self) -> float:
        """What ranks cost: dollars of the whole errand, set-up included; dollars an hour of a service and of unknown speeds."""
        return self.usd_hour if self.errand_hours is None else self.usd_hour * self.errand_hours


def signature(offer: Offer) -> Signature:
    """What decides speed and fit: offers with equal signatures share one calculation."""
    return (
        offer.gpu,
        offer.gpu_variant,
        offer.gpu_memory_gb,
        offer.gpu_count,
        offer.nvlink,
        offer.nvlink_gb_s_per_gpu,
        offer.nvlink_domain_gpus,
        offer.internode_fabric,
        offer.internode_gbit_s_per_node,
        offer.internode_rdma,
        offer.orderable_as_cluster,
    )


def can_cluster(offer: Offer) -> bool:
    """Whether several of these instances can be counted on to work as one machine."""
    if offer.orderable_as_cluster == "no" or offer.internode_fabric in ("none", "unknown"):
        return False
    return offer.orderable_as_cluster in ("yes", "reserved-only") or offer.internode_rdma == "yes"


def card_gb(offer: Offer, gpu: GpuSpec | None) -> float | None:
    """GB of one card (of the slice, where a card is shared)."""
    memory = offer.gpu_memory_gb or (gpu.memory_gb if gpu else None)
    if memory is None:
        return None
    return memory * min(1.0, offer.gpu_count) if offer.gpu_count < 1 and not offer.gpu_memory_gb else memory


class Task:
    """One completed job with what is kept between the machines that it is tried on."""

    def __init__(self, sizing: Sizing, wanted: Wanted, facts: Facts) -> None:
        self.sizing = sizing
        self.wanted = wanted
        self.facts = facts
        self._memos: dict[str, Memo] = {}

    def memo(self, precision: str) -> Memo:
        """The memo of the job at that precision."""
        job = self.sizing.job
        assert job is not None
        if precision not in self._memos:
            chosen = job if precision == job.precision else replace(job, precision=precision)
            self._memos[precision] = Memo(chosen, self.wanted, self.facts.values)
        return self._memos[precision]


def train_on(task: Task, machine: Machine, memory_gb: float) -> Result | None:
    """The best plan of the training job on the machine; None where none fits."""
    sizing = task.sizing
    assert sizing.job is not None
    precision = sizing.job.precision
    if precision == "fp8" and not machine.gpu.fp8_dense_tflops:
        precision = "bf16"
    k = task.facts.values
    kept = k["rollout_share"] if sizing.generates else 0.0
    fit = best_plan(task.memo(precision), machine, memory_gb * (k["usable_memory"] - kept))
    if fit is None:
        return None
    modelled = sizing.speed_modelled
    return Result(
        nodes=machine.nodes,
        memory_gb=fit.memory.total,
        parts=fit.memory.parts(),
        parallelism=fit.plan.text(),
        least_gb=task.memo(precision).memory(fit.plan, "full", sizing.job.micro_batch).total,
        recompute=fit.job.recompute == "full",
        pace=fit.step.tokens / fit.step.seconds,
        tokens_per_s=fit.step.tokens / fit.step.seconds if modelled else None,
        step_s=fit.step.seconds if modelled else None,
        mfu=fit.step.mfu if modelled else None,
        comm_share=fit.step.comm_share,
    )


def serve_on(
    sizing: Sizing,
    machine: Machine,
    memory_gb: float,
    facts: Facts,
    wanted_tp: int | None = None,
    clustered: bool = True,
) -> Result | None:
    """Replicas of the served model on the machine: the smallest power-of-two tensor degree that holds weights and cache.

    Streams are spread over the replicas. A model larger than a node is cut over nodes by pipeline.
    """
    assert sizing.shape is not None
    k = facts.values
    shape, streams = sizing.shape, sizing.streams
    room = memory_gb * k["usable_memory"]
    if sizing.lean:  # no CUDA graphs, and the card filled: sold in GiB, 24 GB are 25.8e9 bytes
        k = {**k, "serving_workspace_gb": k["serving_workspace_gb"] / 4.0}
        room = memory_gb
    precision = sizing.workload.precision or "bf16"
    node = machine.gpus_per_node
    best: tuple[int, int, dict[str, float], Serving, int] | None = None
    degrees = [t for t in (1, 2, 4, 8, 16) if t <= node] if not wanted_tp else [wanted_tp]
    options = [(t, 1) for t in degrees]
    if machine.nodes > 1 and clustered:
        options += [(max(degrees), p) for p in (2, 4, 8) if p <= machine.nodes]
    for tp, pp in options:
        replicas = (node // tp) * machine.nodes if pp == 1 else machine.nodes // pp
        if replicas < 1 or tp > node:
            continue
        share = -(-streams // replicas)
        parts = serving_memory(shape, precision, sizing.context, share, tp * pp, k)
        if sum(parts.values()) > room:
            continue
        speed = serve(shape, precision, machine, tp, share, sizing.input_tokens, sizing.output_tokens, k)
        latency = sizing.workload.priority == "latency"
        if best is None or (
            speed.token_s < 0.95 * best[3].token_s
            if latency
            else replicas * speed.tokens_per_s > 1.1 * best[4] * best[3].tokens_per_s
        ):
            best = (tp, pp, parts, speed, replicas)
        if pp == 1 and wanted_tp is None and tp >= 2 and not latency:
            break
    if best is None:
        return None
    tp, pp, parts, speed, replicas = best
    used = min(replicas, streams)
    tokens = speed.tokens_per_s * used
    if sizing.workload.kind == "embeddings":  # one pass over the input, nothing generated
        tokens = used * sizing.input_tokens / speed.ttft_s
    name = f"TP {tp}" if tp > 1 else "1 GPU"
    if pp > 1:
        name += f" × PP {pp}"
    return Result(
        nodes=machine.nodes,
        memory_gb=sum(parts.values()),
        least_gb=sum(parts.values()),
        parts={key: round(value, 3) for key, value in parts.items()},
        parallelism=f"{name} × {replicas}" if replicas > 1 else name,
        pace=tokens,
        tokens_per_s=tokens,
        comm_share=speed.comm_share,
        ttft_s=speed.ttft_s,
        stream_tokens_per_s=1.0 / speed.token_s,
        split=tp * pp,
    )


def evaluate(
    task: Task, offer: Offer, gpu: GpuSpec | None, nodes: int, *, link: bool = True, net: bool = True
) -> Result | None:
    """The job on `nodes` instances of the offer; None where it does not fit or the card is not known."""
    sizing, facts = task.sizing, task.facts
    memory = card_gb(offer, gpu)
    if memory is None:
        return None
    if sizing.mode == "memory":
        if memory < sizing.card_gb:
            return None
        return Result(nodes, sizing.card_gb, {"job": sizing.card_gb}, "1 GPU")
    if gpu is None or offer.gpu_count < 1 or not (gpu.bf16_dense_tflops or gpu.fp16_dense_tflops):
        return None
    machine = machine_of(offer, gpu, nodes, facts, link=link, net=net)
    if sizing.mode == "serve":
        return serve_on(sizing, machine, memory, facts, task.wanted.tp, can_cluster(offer))
    return train_on(task, machine, memory)


def work_tokens(sizing: Sizing) -> float | None:
    """Tokens of the whole job, where the question says how much."""
    workload = sizing.workload
    if workload.tokens:
        return float(workload.tokens)
    return None


def node_counts(offer: Offer, constraints: Constraints, sizing: Sizing) -> Sequence[int]:
    """Numbers of instances that the constraints and the offer allow, ascending."""
    c = constraints
    per = offer.gpu_count
    if c.gpus_per_node and round(per) != c.gpus_per_node:
        return ()
    counts: Sequence[int] = NODE_COUNTS if can_cluster(offer) or sizing.mode == "serve" else (1,)
    if sizing.mode == "memory":
        counts = (1,)
    if c.nodes:
        counts = (c.nodes,) if c.nodes == 1 or can_cluster(offer) else ()
    if c.gpu_count:
        if per > c.gpu_count or c.gpu_count % per:
            return ()
        need = round(c.gpu_count / per)
        if c.nodes and need != c.nodes:
            return ()
        alone = sizing.mode != "train" and not sizing.joint
        single = need == 1 or can_cluster(offer) or alone
        counts = (need,) if single else ()
    price, memory = offer.price_usd_hour or 0.0, offer.gpu_memory_gb or 0.0
    return [
        n
        for n in counts
        if price * n <= (c.max_price_usd_hour or float("inf"))
        and memory * per * n >= (c.min_total_gpu_memory_gb or 0.0)
        and n <= (c.max_nodes or MAX_NODES)
        and per * n <= (c.max_gpus or float("inf"))
        and per * n >= (c.min_gpus or 0)
    ]
