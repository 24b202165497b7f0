"""What reading a turn yields: typed, frozen, and small enough to be stored beside the turn."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from advisor.answer import Constraints, Frozen, Fx, Intent, Lang, Workload

Role = Literal["wanted", "candidate", "current", "excluded", "topic"]
"""How a GPU was mentioned: asked for, to be compared or judged, in use already, ruled out, or only spoken of."""


class GpuMention(Frozen):
    """One mention of a GPU, with the count and memory that stand beside it. `gpu` is None for "8x 80GB"."""

    gpu: str | None
    text: str
    start: int
    end: int
    variant: str | None = None
    memory_gb: float | None = None
    count: int | None = None
    """GPUs of one machine where `nodes` is known, else GPUs in all."""
    nodes: int | None = None
    asked_apart: bool = False
    """The count stands apart from the name, in a question whether it is enough."""
    role: Role = "topic"
    known: bool = True
    nearest: tuple[str, ...] = ()
    """Known names close to an unknown one."""

    @property
    def total(self) -> int | None:
        """GPUs over all machines, or None where no count was given."""
        return None if self.count is None else self.count * (self.nodes or 1)


QuestionType = Literal["yes_no", "which", "how_much", "how_many", "how_long", "how", "why", "what_is", "where", "none"]


class Alternative(Frozen):
    """One side of what a turn weighs ("2x H200 or 4x H100"): a GPU with its number, a type, a seller, a link, a layout.

    A layout is `nodes` machines of `count` GPUs; a market is "spot" or "on_demand"; a method is a workload kind. Where a link is
    weighed against its absence the second fabric is "without", and `nodes` and `count` are of the machines that are spoken of.
    """

    kind: Literal["gpu", "instance_type", "provider", "fabric", "layout", "market", "method"]
    name: str
    start: int
    end: int
    gpu: str | None = None
    variant: str | None = None
    memory_gb: float | None = None
    count: int | None = None
    nodes: int | None = None
    types: tuple[str, ...] = ()
    """Names of the offers table, for an instance type or a machine family."""


class Mentions(Frozen):
    """Names found in the turn, canonical where they are known."""

    gpus: tuple[GpuMention, ...] = ()
    providers: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    instance_types: tuple[str, ...] = ()
    fabrics: tuple[str, ...] = ()
    engines: tuple[str, ...] = ()
    """Serving and training software: vLLM, DeepSpeed, GROMACS."""
    unknown_gpus: tuple[str, ...] = ()
    unknown_instance_types: tuple[str, ...] = ()
    unknown_providers: tuple[str, ...] = ()
    other_currencies: tuple[str, ...] = ()
    """Amounts in a currency that has no rate here ("3 EUR"): they are not read as limits."""


class Quantity(Frozen):
    """A number that was read: `text` as it stands in the normalised turn, what it means, and its value in the unit of the name."""

    text: str
    meaning: str
    value: float
    start: int
    end: int


class Premise(Frozen):
    """A checkable claim: subject ("RTX PRO 6000"), relation ("has", "lacks", "same_as"), object ("nvlink")."""

    subject: str
    relation: Literal["has", "lacks", "same_as"]
    object: str
    text: str
    asked: bool = False
    """True where the turn asks it as a question rather than stating it."""


class Reading(Frozen):
    """One turn as the planner understands it; `workload` and `constraints` are merged with what earlier turns said."""

    text: str
    lang: Literal["ja", "en", "unknown"]
    answer_lang: Lang
    intent: Intent
    acts: frozenset[str] = frozenset()
    workload: Workload | None = None
    constraints: Constraints = Constraints()
    mentions: Mentions = Mentions()
    candidates: tuple[GpuMention, ...] = ()
    """Hardware that the turn asks about ("A or B?", "is 8x H100 enough?"), kept from the last turn that named some."""
    alternatives: tuple[Alternative, ...] = ()
    """Two to four sides that this turn weighs against each other; empty where it weighs nothing."""
    question_type: QuestionType = "none"
    """What the turn asks: yes or no, which, how much money, how many, how long, how, why, what something is."""
    current: tuple[GpuMention, ...] = ()
    """Hardware that the person has, or that failed."""
    premises: tuple[Premise, ...] = ()
    quantities: tuple[Quantity, ...] = ()
    fx: Fx | None = None
    search_query: str = ""
    pasted: str | None = None
    topic_relevance: float = Field(default=0.0, ge=0.0, le=1.0)
    changed: tuple[str, ...] = ()
    """Names of workload and constraint fields whose value this turn set or cleared."""
    questions_back: tuple[str, ...] = ()
    """At most two keys of things that the answer turns on and nobody said."""
    turn: int = 1
