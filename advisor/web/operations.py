"""What programs can ask of the advisor: five typed functions, the same over HTTP and over MCP."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Literal

from pydantic import BaseModel, ValidationError
from typing_extensions import TypedDict

from advisor.errors import AdvisorError, BadRequest
from advisor.web.guards import check_question
from advisor.web.turns import Turns
from knowledge.errors import KnowledgeError
from knowledge.offers import OfferFilter

MAX_ROWS = 1000
MAX_PASSAGES = 50
MAX_PASTE = 2_000_000
MAX_RUN_FIELDS = 60

CALLER: ContextVar[str] = ContextVar("caller", default="local")
"""Address of whoever calls, set by the front (HTTP or MCP) for the rate limit."""

NAMES = ("ask", "offers", "estimate", "diagnose", "search")


class Passage(TypedDict):
    """One passage found by `search`."""

    rank: int
    score: float
    source: str
    title: str
    section: str
    text: str
    lang: str
    provider: str | None
    as_of: str | None


class OffersFound(TypedDict):
    """What `offers` returns: how many match in all, and the first of them."""

    count: int
    offers: list[dict[str, Any]]


def plain(value: Any) -> Any:
    """A pydantic value as JSON-like Python, with the names of the contract (`with`, not `with_`)."""
    return value.model_dump(mode="json", by_alias=True) if isinstance(value, BaseModel) else value


class Operations:
    """The functions. Every refusal is an AdvisorError whose message is meant for the caller."""

    def __init__(self, turns: Turns, settings: Any):
        self.turns, self.settings, self.advisor = turns, settings, turns.advisor

    def _guarded(self, name: str, call: Callable[[], Any]) -> Any:
        self.turns.metrics.calls.labels(name).inc()
        try:
            self.turns.rate.check(CALLER.get())
            return call()
        except ValidationError as error:
            self.turns.metrics.errors.labels("bad_request").inc()
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise BadRequest(f"{where}: {first['msg']} (got {first.get('input')!r})") from None
        except AdvisorError as error:
            self.turns.metrics.errors.labels(error.code).inc()
            raise
        except KnowledgeError as error:
            self.turns.metrics.errors.labels(error.code).inc()
            raise AdvisorError(str(error)) from None

    def ask(self, question: str, lang: Literal["auto", "ja", "en"] = "auto", thread: str = "") -> dict[str, Any]:
        """Ask which GPU instance to rent, or whether NVLink or InfiniBand matters for a job.

        Args:
            question: The workload or question, in Japanese or English.
            lang: Language of the answer; auto follows the question.
            thread: Continue this conversation; any hard-to-guess text of 16 to 64 letters and digits. Empty starts anew.

        Returns:
            The Answer: text with citation marks, picks with link facts and prices, needs, assumptions, citations.
        """

        def call() -> Any:
            name = thread.strip()
            if name and not (16 <= len(name) <= 64 and name.replace("-", "").replace("_", "").isalnum()):
                raise BadRequest("thread: give 16 to 64 letters, digits, - or _, or leave it empty.")
            asked = check_question(question, self.settings.max_input_chars)
            return plain(self.advisor.ask(asked, name or None, lang))

        return self._guarded("ask", call)

    def offers(
        self,
        provider: list[str] | None = None,
        gpu: list[str] | None = None,
        gpu_variant: list[str] | None = None,
        region: list[str] | None = None,
        country: list[str] | None = None,
        min_gpus: float | None = None,
        max_gpus: float | None = None,
        min_gpu_memory: float | None = None,
        min_total_memory: float | None = None,
        nvlink: bool = False,
        rdma: bool = False,
        fabric: list[str] | None = None,
        max_price: float | None = None,
        max_price_gpu: float | None = None,
        spot: bool | None = None,
        sort: Literal["price", "price_gpu", "memory", "bandwidth"] = "price_gpu",
        limit: int = 50,
    ) -> OffersFound:
        """Filter the table of GPU rental offers.

        Args:
            provider: Only these providers.
            gpu: GPU models or aliases, for instance H100, A100 80GB, MI300X.
            gpu_variant: Board forms: SXM, PCIe, NVL.
            region: Region codes, cities or groups: ap-northeast-1, Tokyo, Europe.
            country: ISO 3166 two-letter country codes.
            min_gpus: At least this many GPUs in one instance.
            max_gpus: At most this many GPUs in one instance.
            min_gpu_memory: GB of one GPU, at least.
            min_total_memory: GB of all GPUs of the instance, at least.
            nvlink: Only instances whose GPUs are all joined by NVLink.
            rdma: Only instances with an RDMA network between nodes.
            fabric: Networks between nodes: infiniband, efa, roce, tcpxo, tcpx, ethernet.
            max_price: US dollars an hour for the instance, at most.
            max_price_gpu: US dollars an hour for one GPU, at most.
            spot: true only spot, false no spot, null both.
            sort: Order of the rows.
            limit: Rows returned, at most 1000; the count is of all that match.

        Returns:
            The count of all that match and the first rows. What nobody stated is null or "unknown".
        """
        given = {name: value for name, value in locals().items() if name != "self" and value is not None}

        def call() -> Any:
            wanted = OfferFilter(**{**given, "limit": min(limit, MAX_ROWS)})
            page = self.advisor.offers.search(wanted)
            return {"count": page.count, "offers": [plain(offer) for offer in page.offers]}

        return self._guarded("offers", call)

    def estimate(
        self,
        task: Literal["memory", "throughput", "scaling"],
        model: str | None = None,
        params_b: float | None = None,
        method: str | None = None,
        precision: str | None = None,
        optimizer: str | None = None,
        seq_len: int | None = None,
        micro_batch: int | None = None,
        global_batch_seqs: int | None = None,
        gpu_model: str | None = None,
        n_gpus: int | None = None,
        nodes: int | None = None,
        intra_fabric: str | None = None,
        inter_fabric: str | None = None,
        inter_gbps_per_node: float | None = None,
        parallelism: str | None = None,
        activation_checkpointing: bool | None = None,
        lora_rank: int | None = None,
        more: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Estimate memory, throughput or scaling of a described training or inference run.

        Args:
            task: memory of one GPU, throughput of the run, or scaling between two runs.
            model: Name of a known language model, for instance Llama 3.1 8B.
            params_b: Parameters in billions, where the model has no name.
            method: full_ft, lora, qlora, pretrain, inference and so on.
            precision: bf16, fp16, fp8, fp32, int8, int4.
            optimizer: adamw, adafactor, sgd and so on.
            seq_len: Sequence length in tokens.
            micro_batch: Sequences a GPU and step.
            global_batch_seqs: Sequences of a step over all GPUs.
            gpu_model: For instance H100 SXM, A100 80GB.
            n_gpus: GPUs in all.
            nodes: Machines.
            intra_fabric: Link inside the node: nvlink, pcie.
            inter_fabric: Network between nodes: infiniband, efa, roce, ethernet.
            inter_gbps_per_node: Gb/s of that network for one node.
            parallelism: For instance TP=8 PP=2 or ZeRO-3.
            activation_checkpointing: Whether activations are recomputed.
            lora_rank: Rank of LoRA adapters.
            more: Further fields of the run; for scaling the two runs as a and b.

        Returns:
            The figures with their 10th to 90th percentile range (low, high) and what was assumed.
        """
        given = {name: value for name, value in locals().items() if name not in ("self", "more") and value is not None}

        def call() -> Any:
            extra = more or {}
            if len(extra) > MAX_RUN_FIELDS:
                raise BadRequest(f"more: at most {MAX_RUN_FIELDS} fields are read.")
            return plain(self.advisor.engine.estimate({**extra, **given}))

        return self._guarded("estimate", call)

    def diagnose(self, text: str, lang: Literal["ja", "en"] = "en", instance_type: str = "") -> dict[str, Any]:
        """Read pasted output of nvidia-smi topo -m, NCCL logs, ibstat, fi_info, rocm-smi or nccl-tests.

        Args:
            text: The pasted output; several may follow each other.
            lang: Language of the explanations.
            instance_type: The rented instance type, to compare with what it should have.

        Returns:
            What the links really are, and problems with the line that shows each and what to do.
        """

        def call() -> Any:
            pasted = check_question(text, max(self.settings.max_input_chars, MAX_PASTE))
            return plain(self.advisor.diagnose({"input": pasted}, lang, instance_type.strip() or None))

        return self._guarded("diagnose", call)

    def search(
        self, query: str, k: int = 5, lang: Literal["any", "ja", "en"] = "any", provider: str = ""
    ) -> list[Passage]:
        """Search the interconnect guides and the ingested provider documents.

        Args:
            query: What to look for, in Japanese or English.
            k: Passages returned, at most 50.
            lang: Only passages of this language.
            provider: Only passages about this provider.

        Returns:
            Whole passages, best first; none where the knowledge base holds nothing about the query.
        """

        def call() -> Any:
            asked = check_question(query, self.settings.max_input_chars)
            wanted = None if lang == "any" else lang
            hits = self.advisor.passages.search(asked, min(max(k, 1), MAX_PASSAGES), wanted, provider or None)
            return [{name: getattr(hit, name) for name in Passage.__annotations__} for hit in hits]

        return self._guarded("search", call)
