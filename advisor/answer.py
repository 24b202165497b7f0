"""The JSON contract: what an answer is made of. Units are in the names; unknown is `None` or "unknown", never 0 or "no"."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Lang = Literal["ja", "en"]
Intent = Literal["picks", "explain", "troubleshoot", "clarify", "no_match", "infeasible", "refuse"]
Verdict = Literal["yes", "helpful", "no"]
YesNoUnknown = Literal["yes", "no", "unknown"]
NvlinkState = Literal["yes", "partial", "no", "unknown"]
Fabric = Literal["infiniband", "efa", "roce", "tcpxo", "tcpx", "ethernet", "none", "unknown"]
ValueSource = Literal["stated", "assumed", "registry"]
WorkloadKind = Literal[
    "full_ft",
    "lora",
    "qlora",
    "pretrain",
    "continued_pretrain",
    "rlhf",
    "moe_train",
    "diffusion_train",
    "long_context_train",
    "inference",
    "moe_inference",
    "batch_inference",
    "embeddings",
    "video",
    "hpc",
    "render",
    "other",
]
Precision = Literal["fp32", "tf32", "bf16", "fp16", "fp8", "int8", "int4", "fp4"]


class Frozen(BaseModel):
    """A value that does not change and refuses fields it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())


class Workload(Frozen):
    """The job, as read from the question. A field nobody stated is None until the sizing fills it and marks it assumed."""

    kind: WorkloadKind
    model: str | None = None
    params_b: float | None = None
    active_params_b: float | None = None
    precision: Precision | None = None
    seq_len: int | None = None
    micro_batch: int | None = None
    global_batch_seqs: int | None = None
    tokens: float | None = None
    images: float | None = None
    deadline_hours: float | None = None
    concurrency: int | None = None
    optimizer: str | None = None
    sharding: Literal["ddp", "zero1", "zero2", "zero3", "fsdp", "hsdp"] | None = None
    tensor_parallel: int | None = None
    pipeline_parallel: int | None = None
    expert_parallel: int | None = None
    context_parallel: int | None = None
    activation_checkpointing: bool | None = None
    offload: bool | None = None
    lora_rank: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    requests_per_s: float | None = None
    independent_jobs: int | None = None
    rlhf_method: Literal["ppo", "dpo", "grpo"] | None = None
    """How many models stand in memory: PPO trains two and holds two, GRPO trains one and holds two, DPO one and one."""
    fp64: bool | None = None
    """The code computes in double precision."""
    memory_gb: float | None = None
    """GPU memory that the user says one job or scene needs."""
    priority: Literal["latency", "throughput", "cost"] | None = None
    sources: dict[str, ValueSource] = Field(default_factory=dict)


class Constraints(Frozen):
    """What the picks must satisfy, as the user said it. Empty tuples and None put no limit."""

    providers: tuple[str, ...] = ()
    not_providers: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    not_gpus: tuple[str, ...] = ()
    gpu_variants: tuple[str, ...] = ()
    instance_types: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    countries: tuple[str, ...] = ()
    not_countries: tuple[str, ...] = ()
    max_price_usd_gpu_hour: float | None = None
    max_price_usd_hour: float | None = None
    budget_usd: float | None = None
    budget_usd_month: float | None = None
    rent_hours: float | None = None
    """Hours that the machine is rented for, where the person said how long; with a budget it gives a price an hour."""
    spot: bool | None = None
    """True: spot wanted or allowed explicitly; False: spot excluded; None: not said."""
    spot_only: bool | None = None
    """Only spot will do; `spot` alone lets on-demand machines in as well."""
    any_vendor: bool | None = None
    """GPUs that are not NVIDIA's are welcome, or one of them was named."""
    nvlink: Literal[True] | None = None
    internode: Literal["rdma", "infiniband"] | None = None
    fabrics: tuple[str, ...] = ()
    min_gpu_memory_gb: float | None = None
    max_gpu_memory_gb: float | None = None
    """With the minimum it names a class of cards: "80 GB GPUs"."""
    min_total_gpu_memory_gb: float | None = None
    """GB of all GPUs over all nodes, at least; more than what ran out of memory."""
    ran_out_gpu_memory_gb: float | None = None
    """GB of the cards on which the job ran out of memory: smaller cards are no answer to that."""
    gpu_count: int | None = None
    """Total GPUs over all nodes."""
    min_gpus: int | None = None
    max_gpus: int | None = None
    gpus_per_node: int | None = None
    nodes: int | None = None
    max_nodes: int | None = None
    sort: Literal["price", "price_gpu", "cost", "speed", "memory", "bandwidth"] | None = None
    limit: int | None = None


class Needs(Frozen):
    """What the job asks of a machine, with the reason in numbers."""

    total_gpu_memory_gb: float | None = None
    min_gpu_memory_gb: float | None = None
    gpus_min: int | None = None
    nvlink: Verdict = "no"
    internode_rdma: Verdict = "no"
    reasons: tuple[str, ...] = ()
    nvlink_slowdown: float | None = None
    """Step time without NVLink over step time with it, on the best pick; 1.0 means no difference."""
    rdma_slowdown: float | None = None


class Range(Frozen):
    """10th and 90th percentile of the figure it stands beside."""

    low: float
    high: float


class Estimate(Frozen):
    """What a pick is expected to do with the job."""

    memory_gb_per_gpu: float | None = None
    memory_breakdown_gb: dict[str, float] = Field(default_factory=dict)
    fits: bool | None = None
    parallelism: str = ""
    step_s: float | None = None
    tokens_per_s: float | None = None
    """Whole job, all GPUs."""
    mfu: float | None = None
    comm_share: float | None = None
    hours: float | None = None
    cost_usd: float | None = None
    range: Range | None = None
    """Bounds `tokens_per_s`."""


class Pick(Frozen):
    """One row of the offers table, times a number of nodes."""

    role: Literal["cheapest", "fastest", "balanced", "match"] = "match"
    offer_id: str
    provider: str
    instance_type: str
    gpu: str
    gpu_variant: str = "unknown"
    gpu_count: int | float
    gpu_memory_gb: float | None = None
    region: str = "unknown"
    country: str | None = None
    spot: bool = False
    price_usd_hour: float | None = None
    price_usd_gpu_hour: float | None = None
    currency: str = "USD"
    """Currency of the price as published."""
    price_original_hour: float | None = None
    """The published price of one machine in that currency, where it is not US dollars."""
    price_original_gpu_hour: float | None = None
    total_original_hour: float | None = None
    """The same for one GPU and for all machines of the row."""
    price_note: str | None = None
    """What the price list says beside the price: rate used, tax, monthly amounts, terms."""
    as_of: str = "unknown"
    source: str
    nodes: int = 1
    total_gpus: int | float
    total_gpu_memory_gb: float | None = None
    total_usd_hour: float | None = None
    nvlink: NvlinkState = "unknown"
    nvlink_gb_s_per_gpu: float | None = None
    nvlink_domain_gpus: int | None = None
    internode_fabric: Fabric = "unknown"
    internode_gbit_s_per_node: float | None = None
    internode_rdma: YesNoUnknown = "unknown"
    fabric_source: str | None = None
    fabric_confidence: str | None = None
    estimate: Estimate | None = None
    why: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()


class Counterfactual(Frozen):
    """The same job without the link (or with it): how much slower, how much cheaper."""

    question: str
    with_: Pick | None = Field(default=None, alias="with")
    without: Pick | None = None
    slowdown: float | None = None
    price_difference_usd_hour: float | None = None
    verdict: str = ""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Fx(Frozen):
    """The exchange rate that the answer used."""

    pair: str = "USD/JPY"
    rate: float
    as_of: str
    source: str


class Citation(Frozen):
    """A numbered source. `quote` stands verbatim in the passage."""

    n: int
    title: str
    section: str = ""
    source: str
    url: str | None = None
    lang: str = "en"
    quote: str
    as_of: str = "unknown"
    passage_id: str | None = None


class NamedMachine(Frozen):
    """A machine that the person named, judged for the job; prices are those of the cheapest row known for it."""

    label: str
    gpus: int
    nodes: int = 1
    need_gb: float | None = None
    have_gb: float | None = None
    fits: bool | None = None
    plan: str = ""
    tokens_per_s: float | None = None
    hours: float | None = None
    usd_hour: float | None = None
    cost_usd: float | None = None
    usd_per_million_tokens: float | None = None
    usd_per_100_fp32_tflops_hour: float | None = None
    """For simulations and rendering, whose speed is not modelled: price of the peak rate."""
    seller: str | None = None
    instance_type: str | None = None


class ToolCall(Frozen):
    """One call the turn made."""

    name: str
    args: dict[str, Any] = Field(default_factory=dict)
    ms: float = 0.0


class Answer(Frozen):
    """One turn's answer."""

    lang: Lang
    intent: Intent
    text: str
    workload: Workload | None = None
    constraints: Constraints = Constraints()
    needs: Needs | None = None
    picks: tuple[Pick, ...] = ()
    alternatives: tuple[Pick, ...] = ()
    """Where nothing matches all of it: the nearest rows, told as such."""
    machines: tuple[NamedMachine, ...] = ()
    """The machines that the person named, judged for the job."""
    compared_with: Pick | None = None
    """The first pick of an earlier turn, where the text compares with it."""
    relaxed: tuple[str, ...] = ()
    counterfactual: Counterfactual | None = None
    assumptions: tuple[str, ...] = ()
    fx: Fx | None = None
    citations: tuple[Citation, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    charts: dict[str, Any] = Field(default_factory=dict)
    """Series for the page's charts (cost against time, speed by nodes and fabric, share of communication)."""
    notes: tuple[str, ...] = ()
    """What the grounding check removed or replaced, and other facts about how the turn went."""
    ms: float = 0.0


class Step(Frozen):
    """A streaming event: a tool starts or ends."""

    event: Literal["step"] = "step"
    name: str
    args: dict[str, Any] = Field(default_factory=dict)
    state: Literal["running", "done", "failed"]
    summary: str = ""
    ms: float | None = None


class TextDelta(Frozen):
    """A streaming event: more text of the answer."""

    event: Literal["text"] = "text"
    text: str


class Done(Frozen):
    """The last streaming event: the whole answer; its text replaces what was streamed."""

    event: Literal["done"] = "done"
    answer: Answer
