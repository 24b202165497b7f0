"""The programming interface: five typed functions, called over HTTP (gradio_client) and, when asked for, over MCP."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Literal, TypedDict

import gradio as gr
from pydantic import BaseModel, ValidationError

from advisor.errors import AdvisorError, BadRequest
from advisor.web.chat import TURN, address_of
from advisor.web.guards import check_question
from advisor.web.turns import Turns
from knowledge.errors import KnowledgeError
from knowledge.offers import OfferFilter

MAX_ROWS = 1000
MAX_PASSAGES = 50


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
    offers: list[dict]


def plain(value: Any) -> Any:
    """A pydantic value as JSON-like Python, with the names of the contract (`with`, not `with_`)."""
    return value.model_dump(mode="json", by_alias=True) if isinstance(value, BaseModel) else value


class Api:
    """The functions behind the endpoints. What is refused is raised as `gr.Error` with a message for the caller."""

    def __init__(self, turns: Turns, settings: Any):
        self.turns, self.settings, self.advisor = turns, settings, turns.advisor

    def _guarded(self, endpoint: str, request: gr.Request | None, call: Callable[[], Any]) -> Any:
        self.turns.metrics.calls.labels(endpoint).inc()
        try:
            self.turns.rate.check(address_of(request))
            return call()
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise gr.Error(f"{where}: {first['msg']} (got {first.get('input')!r})", print_exception=False) from None
        except (AdvisorError, KnowledgeError) as error:
            self.turns.metrics.errors.labels(getattr(error, "code", "error")).inc()
            raise gr.Error(str(error), print_exception=False) from None

    def ask(
        self, request: gr.Request, question: str, lang: Literal["auto", "ja", "en"] = "auto", thread: str = ""
    ) -> dict:
        """Ask which GPU instance to rent, or whether NVLink or InfiniBand matters for a job.

        Args:
            question: The workload or question, in Japanese or English.
            lang: Language of the answer; auto follows the question.
            thread: Continue this conversation; any hard-to-guess text of 16 to 64 letters and digits. Empty starts anew.

        Returns:
            The Answer: text with citation marks, picks with their link facts and prices, needs, assumptions, citations.
        """

        def call() -> Any:
            name = thread.strip()
            if name and not (16 <= len(name) <= 64 and name.replace("-", "").replace("_", "").isalnum()):
                raise BadRequest("thread: give 16 to 64 letters, digits, - or _, or leave it empty.")
            asked = check_question(question, self.settings.max_input_chars)
            return plain(self.advisor.ask(asked, name or None, lang))

        return self._guarded("ask", request, call)

    def offers(
        self,
        request: gr.Request,
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
        given = {name: value for name, value in locals().items() if name not in ("self", "request")}

        def call() -> Any:
            wanted = {
                name: tuple(value or ()) if value is None or isinstance(value, list) else value
                for name, value in given.items()
            }
            for name in (
                "min_gpus",
                "max_gpus",
                "min_gpu_memory",
                "min_total_memory",
                "max_price",
                "max_price_gpu",
                "spot",
            ):
                wanted[name] = given[name]
            wanted["limit"] = min(limit, MAX_ROWS)
            page = self.advisor.offers.search(OfferFilter(**wanted))
            return {"count": page.count, "offers": [plain(offer) for offer in page.offers]}

        return self._guarded("offers", request, call)

    def estimate(self, request: gr.Request, run: dict) -> dict:
        """Estimate memory, throughput or scaling of a described training or inference run.

        Args:
            run: An object with task (memory, throughput or scaling) and the fields of the run: model or params, method, precision, optimizer, seq_len, micro_batch, gpu_model, n_gpus, nodes, intra_fabric, inter_fabric and so on.

        Returns:
            The figures with their 10th to 90th percentile range (low, high) and what was assumed.
        """

        def call() -> Any:
            if not isinstance(run, dict) or len(json.dumps(run)) > 20_000:
                raise BadRequest("run: give one JSON object with the fields of the run.")
            return plain(self.advisor.engine.estimate(run))

        return self._guarded("estimate", request, call)

    def diagnose(
        self, request: gr.Request, text: str, lang: Literal["ja", "en"] = "en", instance_type: str = ""
    ) -> dict:
        """Read pasted output of nvidia-smi topo -m, NCCL logs, ibstat, fi_info, rocm-smi or nccl-tests.

        Args:
            text: The pasted output; several may follow each other.
            lang: Language of the explanations.
            instance_type: The rented instance type, to compare with what it should have.

        Returns:
            What the links really are, and problems with the line that shows each and what to do.
        """

        def call() -> Any:
            pasted = check_question(text, max(self.settings.max_input_chars, 2_000_000))
            found = plain(self.advisor.diagnose({"input": pasted}, lang, instance_type.strip() or None))
            return found if isinstance(found, dict) else vars(found)

        return self._guarded("diagnose", request, call)

    def search(
        self, request: gr.Request, query: str, k: int = 5, lang: Literal["any", "ja", "en"] = "any", provider: str = ""
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
            hits = self.advisor.passages.search(
                asked, min(max(k, 1), MAX_PASSAGES), None if lang == "any" else lang, provider or None
            )
            return [{name: getattr(hit, name) for name in Passage.__annotations__} for hit in hits]

        return self._guarded("search", request, call)


def add_api(turns: Turns, settings: Any) -> None:
    """Register the endpoints in the open Blocks."""
    api = Api(turns, settings)
    for name, group in (
        ("ask", TURN),
        ("offers", "offers"),
        ("estimate", "offers"),
        ("diagnose", "diagnose"),
        ("search", "search"),
    ):
        gr.api(getattr(api, name), api_name=name, concurrency_limit=settings.workers, concurrency_id=group)
