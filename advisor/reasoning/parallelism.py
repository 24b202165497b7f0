"""Plan search: how a training job is cut on a machine. Few candidates, each of which an engineer would try; the fastest that fits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from advisor.reasoning.compute import Constants
from advisor.reasoning.job import Job, Machine, Plan, Recompute
from advisor.reasoning.memory import Memory, train_memory
from advisor.reasoning.steptime import StepTime, step_time

MICRO_TOKENS = 16384
"""Tokens a micro-batch is filled up to: larger ones gain little and cost activations (MPT rows from 8k to 64k tokens)."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A plan that fits, with the job as it was settled (micro-batch, recomputation)."""

    job: Job
    plan: Plan
    memory: Memory
    step: StepTime


@dataclass(frozen=True, slots=True)
class Wanted:
    """Degrees that the user stated."""

    sharding: str | None = None
    tp: int | None = None
    pp: int | None = None
    ep: int | None = None
    cp: int | None = None
    recompute: bool | None = None
    micro_batch: int | None = None


def plans(job: Job, machine: Machine, wanted: Wanted) -> Iterator[Plan]:
    """The candidate plans for all GPUs of the machine."""
    n = machine.gpus
    shape = job.shape
    node = machine.gpus_per_node
    if n == 1:
        yield Plan(sharding="ddp")
        return
    adapters = job.method != "full"
    tensor = [t for t in (2, 4, 8) if t <= node and n % t == 0 and shape.heads % t == 0]
    long = [c for c in (2, 4, 8, 16) if job.seq_len >= 16384 and n % c == 0 and c <= n]
    yield Plan(dp=n, sharding="ddp")
    if not adapters:
        yield Plan(dp=n, sharding="zero1")
    yield Plan(dp=n, sharding="zero3")
    if machine.nodes > 1 and node > 1:
        yield Plan(dp=n, sharding="hsdp", shard_group=node)
    for c in long:
        yield Plan(dp=n // c, cp=c, sharding="zero3")
    big = shape.params > 8e9
    for t in tensor[-2:] if big else tensor[-1:]:
        yield Plan(dp=n // t, tp=t, sharding="zero3" if n > t else "ddp")
        if not adapters and n > t:
            yield Plan(dp=n // t, tp=t, sharding="zero1")
        for c in long[-2:]:
            if n % (t * c) == 0:
                yield Plan(dp=n // (t * c), tp=t, cp=c, sharding="zero3")
    if big and machine.nodes > 1:
        top = tensor[-1] if tensor else 1
        for p in (2, 4, 8, 16, 32):
            if n % (top * p) == 0 and p <= machine.nodes * max(1, node // top) and shape.layers >= 2 * p:
                yield Plan(dp=n // (top * p), tp=top, pp=p, virtual=2 if shape.layers >= 4 * p else 1, sharding="zero1")
    elif big and tensor and not adapters:
        for t in tensor[:-1]:
            if n % (t * 2) == 0:
                yield Plan(dp=n // (t * 2), tp=t, pp=2, sharding="zero1")
    if shape.is_moe:
        for e in (4, 8, 16, 32, 64):
            if n % e == 0 and shape.experts % e == 0 and e <= max(node, machine.domain) * 8:
                yield Plan(dp=n, ep=e, sharding="zero1")
                for p in (4, 8, 16):
                    if shape.params > 1e11 and n % (p * e) == 0 and shape.layers >= 2 * p:
                        yield Plan(dp=n // p, ep=e, pp=p, virtual=2, sharding="zero1")


def allowed(plan: Plan, wanted: Wanted) -> bool:
    """Whether the plan keeps to what the user stated."""
    if wanted.sharding and plan.dp > 1:
        name = "zero3" if wanted.sharding == "fsdp" else wanted.sharding
        if plan.sharding != name:
            return False
    return (
        wanted.tp in (None, plan.tp)
        and wanted.pp in (None, plan.pp)
        and wanted.ep in (None, plan.ep)
        and wanted.cp in (None, plan.cp)
    )


def settle(job: Job, plan: Plan, room_gb: float, wanted: Wanted, k: Constants) -> tuple[Job, Memory] | None:
    """The largest micro-batch that fits without recomputation, else with; None where not even one sequence fits."""
    batch = job.global_batch_seqs or plan.dp
    most = max(1, min(MICRO_TOKENS // max(1, job.seq_len // plan.cp), batch // max(1, plan.dp)))
    if plan.pp > 1:
        most = max(1, min(most, batch // max(1, plan.dp * plan.pp * 4)))
    if wanted.micro_batch:
        most = wanted.micro_batch
    recomputes: tuple[Recompute, ...] = ("none", "full")
    if wanted.recompute is not None:
        recomputes = ("full",) if wanted.recompute else ("none",)
    for recompute in recomputes:
        one = replace(job, micro_batch=wanted.micro_batch or 1, recompute=recompute)
        memory = train_memory(one, plan, k)
        if memory.total > room_gb:
            continue
        if most > 1 and not wanted.micro_batch:
            two = train_memory(replace(one, micro_batch=2), plan, k)
            each = max(1e-9, two.total - memory.total)
            count = int(min(most, 1 + max(0.0, (room_gb - memory.total) / each)))
            if count > 1:
                more = replace(one, micro_batch=count)
                filled = train_memory(more, plan, k)
                if filled.total <= room_gb:
                    one, memory = more, filled
        return one, memory
    return None


def best_plan(job: Job, machine: Machine, room_gb: float, wanted: Wanted, k: Constants) -> Fit | None:
    """The fastest plan that fits `room_gb` on each GPU; None where none does. Ties go to the plan listed first."""
    best: Fit | None = None
    for plan in plans(job, machine, wanted):
        if not allowed(plan, wanted) or (job.global_batch_seqs and plan.dp > job.global_batch_seqs):
            continue
        settled = settle(job, plan, room_gb, wanted, k)
        if settled is None:
            continue
        step = step_time(settled[0], plan, machine, k)
        if best is None or step.tokens / step.seconds > 1.01 * best.step.tokens / best.step.seconds:
            best = Fit(settled[0], plan, settled[1], step)
    return best
