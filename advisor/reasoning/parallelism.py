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
    """Degrees that the user stated. `sharding` is set only where a plan of the user's is checked, not where one is looked for."""

    sharding: str | None = None
    tp: int | None = None
    pp: int | None = None
    ep: int | None = None
    cp: int | None = None
    recompute: bool | None = None
    micro_batch: int | None = None


def plans(job: Job, machine: Machine) -> Iterator[Plan]:
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
        yield Plan(dp=n, sharding="zero2")
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
        stages = {2, 4, 8, 16, 32, min(machine.nodes, 32)}  # one a node too: layers need not divide evenly
        for p in sorted(stages):
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
    """Whether the plan keeps to the degrees that the user stated."""
    if wanted.sharding:
        name = "zero3" if wanted.sharding == "fsdp" else wanted.sharding
        cut = (plan.tp > 1 and wanted.tp is None) or (plan.pp > 1 and wanted.pp is None)
        if cut or (plan.dp > 1 and plan.sharding != name):
            return False
    return (
        wanted.tp in (None, plan.tp)
        and wanted.pp in (None, plan.pp)
        and wanted.ep in (None, plan.ep)
        and wanted.cp in (None, plan.cp)
    )


class Memo:
    """What does not depend on the machine, kept for one search: memory by plan and recomputation, jobs by micro-batch."""

    def __init__(self, job: Job, wanted: Wanted, k: Constants) -> None:
        self.job = job
        self.wanted = wanted
        self.k = k
        self._memory: dict[tuple[Plan, Recompute, int], Memory] = {}
        self._jobs: dict[tuple[int, Recompute], Job] = {}

    def variant(self, micro_batch: int, recompute: Recompute) -> Job:
        """The job with that micro-batch and recomputation."""
        key = (micro_batch, recompute)
        found = self._jobs.get(key)
        if found is None:
            found = self._jobs[key] = replace(self.job, micro_batch=micro_batch, recompute=recompute)
        return found

    def memory(self, plan: Plan, recompute: Recompute, micro_batch: int) -> Memory:
        """Memory of the plan."""
        key = (plan, recompute, micro_batch)
        found = self._memory.get(key)
        if found is None:
            found = self._memory[key] = train_memory(self.variant(micro_batch, recompute), plan, self.k)
        return found


def settle(memo: Memo, plan: Plan, room_gb: float) -> tuple[Job, Memory] | None:
    """The largest micro-batch that fits without recomputation, else with; None where not even one sequence fits."""
    job, wanted = memo.job, memo.wanted
    batch = job.global_batch_seqs or plan.dp
    most = max(1, min(MICRO_TOKENS // max(1, job.seq_len // plan.cp), batch // max(1, plan.dp)))
    if plan.pp > 1:
        most = max(1, min(most, batch // max(1, plan.dp * plan.pp * 4)))
    least = 1
    if wanted.micro_batch:
        least = most = wanted.micro_batch
    recomputes: tuple[Recompute, ...] = ("none", "full")
    if wanted.recompute is not None:
        recomputes = ("full",) if wanted.recompute else ("none",)
    for recompute in recomputes:
        one = memo.memory(plan, recompute, least)
        if one.total > room_gb:
            continue
        count = least
        if most > least:
            each = max(1e-9, memo.memory(plan, recompute, least + 1).total - one.total)
            count = int(min(most, least + max(0.0, (room_gb - one.total) / each)))
            while count > least and memo.memory(plan, recompute, count).total > room_gb:
                count -= 1
        return memo.variant(count, recompute), memo.memory(plan, recompute, count)
    return None


ROOMY = 0.9
"""A plan that fills more of the usable memory than this gives way to one with a tenth less of it,"""
ROOM_IS_WORTH = 0.97
"""if that costs no more than three per cent of speed."""
SIMPLE_ENOUGH = 0.05
"""Plain data parallelism that waits less than this for traffic is taken without trying to cut the model."""


def best_plan(memo: Memo, machine: Machine, room_gb: float) -> Fit | None:
    """The fastest plan that fits `room_gb` on each GPU; None where none does. Ties go to the plan listed first."""
    best: Fit | None = None
    batch = memo.job.global_batch_seqs
    for plan in plans(memo.job, machine):
        if (batch and plan.dp > batch) or not allowed(plan, memo.wanted):
            continue
        settled = settle(memo, plan, room_gb)
        if settled is None:
            continue
        job, memory = settled
        step = step_time(job, plan, machine, memo.k)
        gain = 2.0 if best is None else step.tokens / step.seconds / (best.step.tokens / best.step.seconds)
        roomier = best is not None and best.memory.total > ROOMY * room_gb and memory.total < ROOMY * best.memory.total
        if gain > 1.01 or (gain > ROOM_IS_WORTH and roomier):
            best = Fit(job, plan, memory, step)
        plain = plan.tp == plan.pp == plan.cp == plan.ep == 1 and not memo.job.shape.is_moe
        if plain and job.recompute == "none" and step.comm_share < SIMPLE_ENOUGH and memory.total <= ROOMY * room_gb:
            break
    return best
