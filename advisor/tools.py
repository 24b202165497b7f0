"""The agent's tools. Each returns a short text for the model and a typed artifact for the answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal, get_type_hints

from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel, ConfigDict, Field

from advisor.answer import Constraints, Lang, Workload
from knowledge.offers import OfferFilter

if TYPE_CHECKING:
    from advisor.engine import Engine


SHOWN_FIELDS = {
    *("provider", "instance_type", "gpu", "gpu_variant", "gpu_count", "region", "spot", "price_usd_hour"),
    *("nvlink", "internode_fabric", "internode_rdma", "as_of"),
}
"""What a language model is shown of an offer; the artifact holds all of it."""


class _Args(BaseModel):
    model_config = ConfigDict(extra="forbid")


class SearchArgs(_Args):
    """Arguments of search_guides."""

    query: str = Field(description="What to look for, in Japanese or English.")
    k: int = Field(default=5, ge=1, le=20, description="Passages returned.")
    lang: Lang | None = Field(default=None, description="Only passages of this language.")
    others: int = Field(default=0, ge=0, le=20, description="With lang: so many more passages, of any language.")
    provider: str | None = Field(default=None, description="Only passages about this provider.")


class RecommendArgs(_Args):
    """Arguments of recommend."""

    workload: Workload
    constraints: Constraints = Constraints()
    lang: Lang = "en"


class SizeArgs(_Args):
    """Arguments of size_workload."""

    workload: Workload
    gpu: str = Field(description="GPU model ('A100 80GB', 'H100 SXM') or instance type.")
    gpus: int = Field(ge=1, le=100_000, description="GPUs in all.")
    nodes: int = Field(default=1, ge=1, le=20_000)
    grow: bool = Field(default=False, description="Take as many more GPUs of one node as the job needs.")
    nvlink: Literal["yes", "no", "unknown"] = "unknown"
    network: Literal["as_sold", "rdma", "none"] = Field(
        default="as_sold", description="Between nodes: as the machine is sold, a usual RDMA network, or plain Ethernet."
    )
    constraints: Constraints = Field(default=Constraints(), description="Where the price may come from.")
    lang: Lang = "en"


class LinksArgs(_Args):
    """Arguments of compare_links."""

    names: list[str] = Field(min_length=1, max_length=12, description="GPU models or instance types.")


class DiagnoseArgs(_Args):
    """Arguments of diagnose."""

    text: str = Field(description="Pasted output of nvidia-smi, NCCL, ibstat and the like.")
    instance_type: str | None = Field(default=None, description="What was rented, where it is known.")
    gpu: str | None = Field(default=None, description="The promised card and board, such as A100-SXM.")
    lang: Lang = "en"


def make_tools(engine: Engine) -> list[BaseTool]:
    """The six tools over one engine."""

    def search_guides(
        query: str, k: int = 5, lang: Lang | None = None, provider: str | None = None, others: int = 0
    ) -> tuple[str, list[dict[str, Any]]]:
        hits = engine.passages.search(query, k=k, lang=lang, provider=provider)
        if others:
            had = {hit.passage_id for hit in hits}
            more = engine.passages.search(query, k=others, provider=provider)
            hits += [hit for hit in more if hit.passage_id not in had]
        return f"{len(hits)} passages." if hits else "No passage about this.", [
            hit.model_dump(mode="json") for hit in hits
        ]

    def filter_offers(**arguments: Any) -> tuple[str, dict[str, Any]]:
        from advisor.selection import nearest_rows

        wanted = OfferFilter(**arguments)
        page = engine.offers.search(wanted)
        rows_near, loosened = ([], ()) if page.count else nearest_rows(engine.offers, wanted)
        rows = [offer.model_dump(mode="json", include=SHOWN_FIELDS) for offer in page.offers[:20]]
        near = [n.model_dump(mode="json") for n in page.near_misses]
        artifact = {
            "page": page.model_copy(update={"unknown": page.unknown[:20]}).model_dump(mode="json"),
            "near": [offer.model_dump(mode="json") for offer in rows_near],
            "loosened": list(loosened),
        }
        return json.dumps({"count": page.count, "offers": rows, "near_misses": near}), artifact

    def recommend(workload: Workload, constraints: Constraints, lang: Lang = "en") -> tuple[str, dict[str, Any]]:
        result = engine.recommend(workload, constraints, lang)
        short = result.model_dump(mode="json", by_alias=True, exclude={"charts"}, exclude_none=True)
        return json.dumps(short, ensure_ascii=False), result.model_dump(mode="json", by_alias=True)

    def size_workload(
        workload: Workload,
        gpu: str,
        gpus: int,
        nodes: int = 1,
        grow: bool = False,
        nvlink: Literal["yes", "no", "unknown"] = "unknown",
        network: Literal["as_sold", "rdma", "none"] = "as_sold",
        constraints: Constraints | None = None,
        lang: Lang = "en",
    ) -> tuple[str, dict[str, Any]]:
        from advisor.named_machines import assess_as_sold
        from advisor.selection import NODE_GPUS

        limits = constraints or Constraints()
        counts = [gpus, *(n for n in (2, 4, NODE_GPUS) if n > gpus)] if grow and nodes == 1 else [gpus]
        tried = []
        for count in counts:
            machine = (gpu, count, nodes, nvlink, limits, lang, network)
            row = assess_as_sold(engine.offers, engine.facts, workload, *machine)
            tried.append(row)
            if row["fits"] is not False:
                break
        result = tried[-1]
        return json.dumps(result, ensure_ascii=False), result

    def compare_links(names: list[str]) -> tuple[str, list[dict[str, Any]]]:
        from advisor.named_links import link_facts

        rows = link_facts(engine.offers, engine.facts, names)
        return json.dumps(rows, ensure_ascii=False), rows

    def diagnose(
        text: str, instance_type: str | None = None, gpu: str | None = None, lang: Lang = "en"
    ) -> tuple[str, dict[str, Any]]:
        result = engine.diagnose({"pasted text": text}, lang, instance_type, gpu)
        dumped = result.model_dump(mode="json")
        return json.dumps(
            {k: dumped[k] for k in ("nvlink", "transport", "gpudirect", "problems")}, ensure_ascii=False
        ), dumped

    def tool(function: Any, schema: type[BaseModel], description: str) -> BaseTool:
        # LangChain evaluates the annotations of a tool at every call; these are no text to be evaluated any more.
        function.__annotations__ = get_type_hints(function)
        return StructuredTool.from_function(
            function,
            name=function.__name__,
            description=description,
            args_schema=schema,
            response_format="content_and_artifact",
        )

    return [
        tool(search_guides, SearchArgs, "Search the interconnect guides and ingested documents for passages."),
        tool(filter_offers, OfferFilter, "List offers of the price table that meet all the given conditions."),
        tool(recommend, RecommendArgs, "Size a workload and pick offers for it, with estimates and link verdicts."),
        tool(size_workload, SizeArgs, "Memory and speed of a workload on given GPUs: does it fit, how fast."),
        tool(compare_links, LinksArgs, "NVLink and network facts of GPU models or instance types, with sources."),
        tool(diagnose, DiagnoseArgs, "Read pasted outputs (nvidia-smi topo -m, NCCL logs, ibstat, ...) of a machine."),
    ]
