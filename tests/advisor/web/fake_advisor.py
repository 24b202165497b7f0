"""A scripted advisor of the real one's shape, so that the page is tested without a knowledge base. All values are invented."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from advisor.answer import (
    Answer,
    Citation,
    Constraints,
    Counterfactual,
    Done,
    Estimate,
    Needs,
    Pick,
    Range,
    Step,
    TextDelta,
    ToolCall,
    Workload,
)
from advisor.reasoning.diagnose import verify_plan
from advisor.reasoning.diagnose.model import Diagnosis, Edge, Evidence, Node, Problem, Topology
from knowledge.offers import Offer, OfferFilter

HOSTILE = "<script>window.hacked=1</script><img src=x onerror=window.hacked=1>${window.hacked=1}{{hacked}}"
"""What a hostile document, offer or question might hold."""

PASSAGE = (
    "Tensor parallelism exchanges activations in every layer, so it stays inside the NVLink domain. "
    "Data parallelism exchanges gradients once a step, which a network with RDMA carries well.\n\n"
    "| link | GB/s |\n|---|---|\n| NVLink 4 | 900 |\n| PCIe 5 x16 | 64 |\n"
)


def make_offer(i: int, **changes: Any) -> Offer:
    """Offer number `i`; every third is spot, every fourth says nothing of its network."""
    providers = ("Aurora Cloud", "Borealis", "Cumulus GPU", "Deneb")
    gpus = (("H100", "SXM", 80.0), ("A100", "SXM", 40.0), ("L40S", "PCIe", 48.0), ("H200", "SXM", 141.0))
    gpu, variant, memory = gpus[i % 4]
    count = float((1, 2, 4, 8)[i % 4])
    price = round(1.2 + (i % 7) * 0.65, 2)
    base: dict[str, Any] = {
        "offer_id": f"fake-{i}",
        "provider": providers[i % 4],
        "instance_type": f"{gpu.lower()}-{int(count)}x-{i}",
        "gpu": gpu,
        "gpu_variant": variant,
        "gpu_count": count,
        "gpu_memory_gb": memory,
        "region": ("ap-northeast-1", "eu-west", "us-east", "unknown")[i % 4],
        "country": ("JP", "DE", "US", None)[i % 4],
        "spot": i % 3 == 0,
        "price_usd_hour": round(price * count, 2),
        "price_usd_gpu_hour": price,
        "as_of": "2026-06-01",
        "source": "https://prices.example/list" if i % 2 else "catalogue.csv",
        "nvlink": ("yes", "partial", "no", "unknown")[i % 4],
        "nvlink_gb_s_per_gpu": 900.0 if i % 4 == 0 else None,
        "internode_fabric": ("infiniband", "efa", "ethernet", "unknown")[i % 4],
        "internode_gbit_s_per_node": 3200.0 if i % 4 == 0 else None,
        "internode_rdma": ("yes", "yes", "no", "unknown")[i % 4],
    }
    return Offer(**{**base, **changes})


class FakeOffers:
    """The offers store: a plain scan over 120 invented rows and one hostile row."""

    def __init__(self) -> None:
        hostile = make_offer(121, instance_type=HOSTILE, region=HOSTILE, source="javascript:alert(1)")
        self.rows = [make_offer(i) for i in range(120)] + [hostile]

    def search(self, wanted: OfferFilter) -> Any:
        found = [
            row
            for row in self.rows
            if (not wanted.provider or row.provider in wanted.provider)
            and (not wanted.gpu or row.gpu in wanted.gpu)
            and (not wanted.nvlink or row.nvlink == "yes")
            and (wanted.spot is None or row.spot == wanted.spot)
            and (wanted.max_price_gpu is None or (row.price_usd_gpu_hour or 0) <= wanted.max_price_gpu)
        ]
        unknown = [row for row in self.rows if wanted.nvlink and row.nvlink == "unknown"]
        near = [] if found else [SimpleNamespace(field="max_price_gpu", value=0, count=9, nearest="1.2", reason=None)]
        found.sort(key=lambda row: row.price_usd_gpu_hour or 0)
        return SimpleNamespace(
            count=len(found),
            offers=found[: wanted.limit],
            unknown=unknown,
            unknown_count=len(unknown),
            near_misses=near,
        )

    def values(self, column: str) -> list[str]:
        return sorted({str(value) for row in self.rows if (value := getattr(row, column))} - {HOSTILE})


@dataclass(frozen=True)
class FakeHit:
    """One passage found."""

    rank: int
    score: float
    source: str
    title: str
    section: str
    text: str
    lang: str
    provider: str | None
    as_of: str
    passage_id: str
    url: str | None = None


class FakePassages:
    """Three passages: one in each language and one hostile."""

    def __init__(self) -> None:
        ja = "テンソル並列は層ごとに通信するため、NVLink でつながった範囲に収めます。"
        self.rows = {
            "p1": FakeHit(
                1, 0.9, "guides/en/nvlink.md", "NVLink guide", "Parallelism", PASSAGE, "en", None, "2026-05-01", "p1"
            ),
            "p2": FakeHit(
                2, 0.7, "guides/ja/nvlink.md", "NVLink の手引き", "並列化", ja, "ja", None, "2026-05-01", "p2"
            ),
            "p3": FakeHit(
                3, 0.5, "notes.html", HOSTILE, "x", HOSTILE + " gradients once a step", "en", None, "unknown", "p3"
            ),
        }

    def search(self, query: str, k: int = 8, lang: str | None = None, provider: str | None = None) -> list[FakeHit]:
        if "weather" in query.lower() or "天気" in query:
            return []
        return [row for row in self.rows.values() if lang in (None, row.lang)][:k]

    def get(self, passage_id: str) -> FakeHit | None:
        return self.rows.get(passage_id)


def make_pick(role: str, i: int, nodes: int, hours: float, comm: float, **changes: Any) -> Pick:
    """A pick from offer number `i` with an estimate."""
    offer = make_offer(i)
    price = offer.price_usd_hour or 0.0
    estimate = Estimate(
        memory_gb_per_gpu=61.3,
        memory_breakdown_gb={"weights": 14.0, "gradients": 14.0, "optimizer": 21.0, "activations": 9.3, "buffers": 3.0},
        fits=True,
        parallelism="ZeRO-3, TP 1, DP 8",
        step_s=2.4,
        tokens_per_s=4e8 / hours,
        mfu=0.41,
        comm_share=comm,
        hours=hours,
        cost_usd=round(hours * price * nodes, 2),
        range=Range(low=3e8 / hours, high=5e8 / hours),
    )
    fields = set(Pick.model_fields) & set(Offer.model_fields)
    base = {name: getattr(offer, name) for name in fields}
    base.update(
        role=role,
        nodes=nodes,
        total_gpus=offer.gpu_count * nodes,
        total_gpu_memory_gb=(offer.gpu_memory_gb or 0) * offer.gpu_count * nodes,
        total_usd_hour=price * nodes,
        estimate=estimate,
        fabric_source="https://fabric.example/page",
        fabric_confidence="official",
        why=("Lowest cost of the offers that hold the job in memory.",),
        caveats=("The price is of 2026-06-01 and may have changed.",),
    )
    return Pick(**{**base, **changes})


def picks_answer(question: str, lang: str, workload: Workload | None, constraints: Constraints | None) -> Answer:
    """The answer with picks; a hostile question is repeated in its text."""
    words = {
        "en": "A 7B full fine-tune needs **112 GB** of states, so at least two 80 GB GPUs [1]. NVLink helps here; "
        "an RDMA network is not needed on one node [2].\n\nYou asked: ",
        "ja": "7B のフルファインチューニングには状態だけで **112 GB** 必要です。80 GB の GPU が 2 枚以上要ります [1]。"
        "1 ノードでは NVLink が有効で、RDMA ネットワークは不要です [2]。\n\nご質問: ",
    }[lang]
    read = workload or Workload(
        kind="full_ft",
        model="Llama 2 7B",
        params_b=7.0,
        precision="bf16",
        seq_len=4096,
        micro_batch=1,
        tokens=4e8,
        sources={
            "kind": "stated",
            "model": "stated",
            "params_b": "registry",
            "precision": "assumed",
            "seq_len": "assumed",
        },
    )
    scale = (read.tokens or 4e8) / 4e8
    picks = (
        make_pick("cheapest", 4, 1, 31.0 * scale, 0.06),
        make_pick("balanced", 3, 1, 12.0 * scale, 0.11),
        make_pick(
            "fastest", 8, 4, 5.0 * scale, 0.22, nvlink="unknown", internode_fabric="unknown", internode_rdma="unknown"
        ),
    )
    nodes = [1, 2, 4, 8]
    return Answer(
        lang=lang,  # type: ignore[arg-type]
        intent="picks",
        text=words + question,
        workload=read,
        constraints=constraints or Constraints(budget_usd=3000, spot=False),
        needs=Needs(
            total_gpu_memory_gb=112.0,
            min_gpu_memory_gb=40.0,
            gpus_min=2,
            nvlink="helpful",
            internode_rdma="no",
            reasons=("112 GB of states over 80 GB cards needs 2 GPUs.",),
            nvlink_slowdown=1.6,
        ),
        picks=picks,
        relaxed=("region",),
        counterfactual=Counterfactual(
            question="Without NVLink?",
            with_=picks[1],
            without=picks[0],
            slowdown=1.6,
            price_difference_usd_hour=2.1,
            verdict="1.6 times slower for 2.10 USD an hour less.",
        ),
        assumptions=("Sequence length 4,096 tokens.", "AdamW, bf16 with fp32 master weights."),
        citations=(
            Citation(n=1, title="NVLink guide", section="Parallelism", source="guides/en/nvlink.md", lang="en",
                     quote="so it stays inside the NVLink domain", as_of="2026-05-01", passage_id="p1"),
            Citation(n=2, title=HOSTILE, section="x", source="notes.html", url="javascript:alert(1)", lang="en",
                     quote="gradients once a step", as_of="unknown", passage_id="p3"),
        ),
        charts={
            "speed_by_nodes": [
                {"fabric": "infiniband", "gbit_s": 3200, "nodes": nodes, "tokens_per_s": [9e3, 17e3, 33e3, 64e3]},
                {"fabric": "ethernet", "gbit_s": 100, "nodes": nodes, "tokens_per_s": [9e3, 9.5e3, 14e3, 20e3]},
            ],
        },
        ms=12.0,
    )  # fmt: skip


@dataclass
class FakeAdvisor:
    """Answers by the question's words: weather → refusal, "explain" → text only, "crash" → an error, "slow" → slow stream."""

    settings: Any
    delay_s: float = 0.0
    asked: list[tuple[str, str | None, str]] = field(default_factory=list)
    offers: FakeOffers = field(default_factory=FakeOffers)
    passages: FakePassages = field(default_factory=FakePassages)

    remembers: bool = True

    def ask(self, question: str, thread: str | None = None, lang: str = "auto", **edited: Any) -> Answer:
        return [event for event in self.stream(question, thread, lang, **edited) if isinstance(event, Done)][-1].answer

    def branch(self, thread: str, questions: Sequence[str]) -> str | None:
        return f"branch-of-{thread}"[:40] if self.remembers else None

    def stream(
        self,
        question: str,
        thread: str | None = None,
        lang: str = "auto",
        workload: Workload | None = None,
        constraints: Constraints | None = None,
        lang_hint: str | None = None,
    ) -> Iterator[Step | TextDelta | Done]:
        from advisor.errors import Unavailable

        self.asked.append((question, thread, lang))
        japanese = any("぀" <= c <= "ヿ" or "一" <= c <= "鿿" for c in question)
        answer_lang = lang if lang in ("ja", "en") else ("ja" if japanese else "en")
        delay = 1.2 if "slow" in question else self.delay_s
        for name, summary in (("search_guides", "6 passages"), ("recommend", "3 picks of 84 offers")):
            yield Step(name=name, args={"query": question}, state="running")
            time.sleep(delay)
            yield Step(name=name, args={"query": question}, state="done", summary=summary, ms=4.0)
        if "crash" in question:
            raise Unavailable("The knowledge base cannot be opened. Run `advisor ingest` again.")
        if "weather" in question or "天気" in question:
            answer = Answer(lang=answer_lang, intent="refuse", text="I only answer questions on renting GPUs.")
        elif "explain" in question:
            answer = picks_answer(question, answer_lang, None, None).model_copy(
                update={"picks": (), "intent": "explain"}
            )
        else:
            answer = picks_answer(question, answer_lang, workload, constraints)
        for i in range(0, len(answer.text), 12):
            time.sleep(delay / 4)
            yield TextDelta(text=answer.text[i : i + 12])
        calls = (ToolCall(name="search_guides", ms=4.0), ToolCall(name="recommend", ms=4.0))
        yield Done(answer=answer.model_copy(update={"tool_calls": calls}))

    @property
    def engine(self) -> Any:
        def estimate(request: dict[str, Any]) -> dict[str, Any]:
            return {"memory_gb_per_gpu": 61.3, "low": 50.0, "high": 70.0, "asked": request}

        def verify(instance_type: str, lang: str) -> Any:
            return verify_plan(instance_type, lang)

        return SimpleNamespace(estimate=estimate, verify=verify)

    def diagnose(self, texts: Any, lang: str, instance_type: str | None = None) -> Diagnosis:
        pairs = texts.items() if isinstance(texts, dict) else texts
        read = {name: given if isinstance(given, str) else "\n".join(given) for name, given in pairs}
        name, text = next(iter(read.items()))
        problem = Problem(
            code="NVLINK_MISSING",
            severity="warning",
            title="Some pairs have no NVLink",
            evidence=Evidence(file=name, line=2, text=text.splitlines()[0] if text else ""),
            explanation="GPU 0 and GPU 1 talk over PCIe.",
            action="Ask for an SXM instance.",
        )
        gpus = tuple(Node(id=f"GPU{i}", kind="gpu", label=f"GPU{i}") for i in range(2))
        return Diagnosis(
            lang=lang,
            kinds=("topo -m",),
            nvlink="partial",
            nvlink_pairs=((0, 1),),
            transport="socket",
            rdma="no",
            problems=(problem,),
            summary="Two of four GPUs are joined by NVLink.",
            topology=Topology(nodes=gpus, edges=(Edge(a="GPU0", b="GPU1", link="NV12", rank=0, gb_s=600.0),)),
        )

    def health(self) -> dict[str, Any]:
        return {"status": "ok", "offers": len(self.offers.rows), "passages": 3, "offers_as_of": "2026-06-01"}
