"""GPUs, models and physical constants: facts with a source and a date, read from `knowledge/data/`."""

from __future__ import annotations

import csv
import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

DATA = Path(__file__).parent / "data"
PeerLink = Literal["nvlink", "xgmi", "ethernet", "ici", "neuronlink", "none"]
ModelKind = Literal[
    "dense_lm",
    "moe_lm",
    "vlm",
    "embedding",
    "reranker",
    "diffusion_image",
    "diffusion_video",
    "asr",
    "tts",
    "vision",
    "encoder",
    "science",
    "graph",
    "tabular",
    "forecast",
]
Attention = Literal["mha", "mqa", "gqa", "mla", "hybrid", "unknown"]


class GpuSpec(BaseModel):
    """One board. Rates are dense TFLOPS (never the sparse figure); None means that the board has no such unit or nobody says.

    `nvlink_gb_s` and `peer_link_gb_s` add both directions, as vendors quote them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    gpu: str
    gpu_variant: str = "unknown"
    memory_gb: float
    memory_bandwidth_gb_s: float
    bf16_dense_tflops: float | None = None
    fp16_dense_tflops: float | None = None
    fp8_dense_tflops: float | None = None
    fp4_dense_tflops: float | None = None
    fp32_tflops: float | None = None
    fp64_tflops: float | None = None
    """Double precision of the ordinary units, not of matrix units."""
    nvlink_generation: str | None = None
    nvlink_gb_s: float | None = None
    peer_link: PeerLink = "none"
    peer_link_gb_s: float | None = None
    pcie_generation: float | None = None
    tdp_w: float | None = None
    vendor: str
    architecture: str
    source: str
    as_of: str
    confidence: Literal["high", "medium", "low"]


class ModelSpec(BaseModel):
    """The shape of one public model. None means that no source says; `kv_layers` is the number of layers that hold a KV cache.

    `global_layers` of them hold the whole context, the others only `sliding_window` tokens. `stated_shape` is set on a
    model that is known by its size alone and says whose shape it borrows.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    name: str
    family: str
    kind: ModelKind
    params_b: float | None = None
    active_params_b: float | None = None
    layers: int | None = None
    hidden: int | None = None
    intermediate: int | None = None
    mlp_gated: bool | None = None
    heads: int | None = None
    kv_heads: int | None = None
    head_dim: int | None = None
    vocab: int | None = None
    tied_embeddings: bool | None = None
    attention: Attention = "unknown"
    sliding_window: int | None = None
    kv_layers: int | None = None
    global_layers: int | None = None
    mla_kv_rank: int | None = None
    mla_rope_dim: int | None = None
    experts: int | None = None
    experts_per_token: int | None = None
    shared_experts: int | None = None
    moe_intermediate: int | None = None
    dense_layers: int | None = None
    max_context: int | None = None
    released: str | None = None
    licence: str | None = None
    aliases: tuple[str, ...] = ()
    hf_id: str | None = None
    source: str
    as_of: str
    confidence: Literal["high", "medium", "low"]
    stated_shape: str | None = None


class NativePrecision(BaseModel):
    """The precision in which the weights of a model are published, where it is below 16 bits; `model` is a name or an alias."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str
    precision: Literal["fp8", "int8", "int4", "fp4"]
    meaning: str
    source: str
    as_of: str
    confidence: Literal["high", "medium", "low"]


class ModelMemory(BaseModel):
    """Memory of one card for a kind of model that no layer shape describes: so much, and so much more a billion parameters."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    kind: ModelKind
    train_gb: float
    train_gb_per_b: float
    run_gb: float
    run_gb_per_b: float
    chosen_on: str
    source: str
    as_of: str
    confidence: Literal["high", "medium", "low"]

    def need_gb(self, params_b: float | None, *, trains: bool) -> float:
        """GB at a usual batch; a model of unknown size counts as a small one."""
        base, per = (self.train_gb, self.train_gb_per_b) if trains else (self.run_gb, self.run_gb_per_b)
        return base + per * (params_b or 0.0)


class Constant(BaseModel):
    """One physical constant of the models, with what it was chosen on."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    value: float
    unit: str
    meaning: str
    chosen_on: str
    source: str


class FabricSpec(BaseModel):
    """One kind of network between nodes: how much of the nominal rate a collective gets, and the time of a small message."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    fabric: str
    rdma: Literal["yes", "no", "unknown"]
    efficiency: float
    latency_us: float
    default_gbit_s_per_node: float | None = None
    source: str
    as_of: str
    confidence: Literal["high", "medium", "low"]


def _rows(name: str) -> Iterable[dict[str, str]]:
    with (DATA / name).open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def _present(row: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in row.items() if value != ""}


def _model(row: Mapping[str, str]) -> ModelSpec:
    fields: dict[str, object] = dict(_present(row))
    for flag in ("mlp_gated", "tied_embeddings"):
        if flag in fields:
            fields[flag] = fields[flag] == "yes"
    fields["aliases"] = tuple(part.strip() for part in row["aliases"].split(";") if part.strip())
    return ModelSpec.model_validate(fields)


_DECORATION = {
    "instruct", "chat", "it", "base", "hf", "preview", "model", "pretrain", "pretrained", "class", "dense", "generic",
    "meta", "google", "alibaba", "nvidia", "microsoft", "openai", "メタ", "グーグル", "アリババ",
    "モデル", "awq", "gptq", "gguf",
}  # fmt: skip
_FORMATS = re.compile(
    r"\b(?:(?:nv|mx|bf|fp|int|nf|w\da)?(?:fp)?(?:4|8|16|32)(?:[ -]?bits?)|(?:nvfp|mxfp|bf|fp|int|nf)\d{1,2})\b"
)
_SIZE = re.compile(r"(?P<n>\d+(?:\.\d+)?)(?P<u>[bmt])(?![a-z])")
_ACTIVE = re.compile(r"\ba(?P<n>\d+(?:\.\d+)?)(?P<u>[bm])\b|active[^\d]*(?P<n2>\d+(?:\.\d+)?)b")
_SIZED = re.compile(r"a?\d+(?:\.\d+)?[bmt]")
_UNITS = {"m": 1e-3, "b": 1.0, "t": 1e3}


def _fold(text: str) -> str:
    text = unicodedata.normalize("NFKC", text).lower()
    return re.sub(r"\([^)]*\)|[（(].*?[)）]", " ", text)


def _key(text: str) -> str:
    return re.sub(r"[\s\-_/:・･]+", "", _fold(text))


def _parts(text: str) -> frozenset[str]:
    """The words and numbers of a name, without ornament: "Llama3 70B Instruct" → {llama, 3, 70b}."""
    text = _FORMATS.sub(" ", _fold(text).rsplit("/", 1)[-1].replace("_", " "))
    parts = re.findall(r"a?\d+(?:\.\d+)?(?:x\d+(?:\.\d+)?)?[bmt](?![a-z])|v?\d+(?:\.\d+)*|[^\W\d_]+", text)
    return frozenset(part for part in parts if part not in _DECORATION)


def size_of(text: str) -> tuple[float, float | None] | None:
    """(parameters, active parameters) in billions from a bare size such as "7B", "70B dense", "30B-A3B"; None if there is none."""
    folded = _fold(text).replace("billion", "b").replace("_", " ").replace("-", " ")
    if not (found := _SIZE.search(folded)):
        return None
    params = float(found["n"]) * _UNITS[found["u"]]
    active = None
    if more := _ACTIVE.search(folded):
        active = float(more["n"] or more["n2"]) * (1e-3 if more["u"] == "m" else 1.0)
    return params, active


class Facts:
    """Everything that the reasoning reads: `gpus`, `models`, `fabrics`, `constants`."""

    def __init__(
        self,
        gpus: Iterable[GpuSpec],
        models: Iterable[ModelSpec],
        fabrics: Iterable[FabricSpec],
        constants: Iterable[Constant],
        native: Iterable[NativePrecision] = (),
        memory: Iterable[ModelMemory] = (),
    ) -> None:
        self.gpus = tuple(gpus)
        self.models = tuple(models)
        self.fabrics = {row.fabric: row for row in fabrics}
        self.constants = {row.name: row for row in constants}
        self._native = {_key(row.model): row for row in native}
        self.model_memory: dict[str, ModelMemory] = {row.kind: row for row in memory}
        self.values: dict[str, float] = {name: row.value for name, row in self.constants.items()}
        self._by_gpu: dict[str, list[GpuSpec]] = {}
        for spec in self.gpus:
            self._by_gpu.setdefault(_key(spec.gpu), []).append(spec)
        self._by_key: dict[str, ModelSpec] = {}
        self._by_parts: dict[frozenset[str], ModelSpec] = {}
        for model in self.models:
            for alias in (model.name, *model.aliases, *([model.hf_id] if model.hf_id else [])):
                self._by_key.setdefault(_key(alias), model)
                self._by_key.setdefault(_key(alias.rsplit("/", 1)[-1]), model)
                self._by_parts.setdefault(_parts(alias), model)

    def gpu(self, gpu: str, variant: str | None = None, memory_gb: float | None = None) -> GpuSpec | None:
        """The board of that model, form and memory.

        Where the form is unknown the slowest board of the model answers, so that a guess never flatters; the memory picks the
        nearest of several. None for a model that no row knows.
        """
        rows = self._by_gpu.get(_key(gpu))
        if not rows:
            return None
        if variant and variant != "unknown":
            same = [row for row in rows if row.gpu_variant.lower() == variant.lower()]
            rows = same or rows
        if memory_gb:
            nearest = min(abs(row.memory_gb - memory_gb) for row in rows)
            rows = [row for row in rows if abs(row.memory_gb - memory_gb) == nearest]
        elif len({row.memory_gb for row in rows}) > 1:
            common = max(rows, key=lambda row: (row.confidence == "high", -row.memory_gb))
            rows = [row for row in rows if row.memory_gb == common.memory_gb]
        return min(rows, key=lambda row: (row.bf16_dense_tflops or row.fp16_dense_tflops or 0.0, row.memory_gb))

    def native_precision(self, name: str, model: ModelSpec | None = None) -> NativePrecision | None:
        """The precision that `name` is published in, or else the model that it was read as; None for 16 bits and unknown."""
        own = self._native.get(_key(name.rsplit("/", 1)[-1]))
        return own or (self._native.get(_key(model.name)) if model else None)

    def find_model(self, name: str) -> ModelSpec | None:
        """The model of that name or alias in either language, or a stated shape for a bare size ("7B", "30B-A3B").

        None where nobody knows the name: a name with a size in it ("Foo 7B") is unknown too, unless it only says the size.
        """
        if found := self._by_key.get(_key(name)):
            return found
        parts = _parts(name)
        if parts and (found := self._by_parts.get(parts)):
            return found
        named = [part for part in parts if not _SIZED.fullmatch(part)]
        if named and any(part[0].isalpha() for part in named):
            wider = {
                model.name: model
                for key, model in self._by_parts.items()
                if len(key) - len(parts) <= 2 and all(part in key or "a" + part in key for part in parts)
            }
            sized = len(named) < len(parts)
            sizes = {round(model.params_b or 0.0) for model in wider.values()}
            if wider and (sized or len(sizes) == 1):
                return min(wider.values(), key=lambda m: (len(_parts(m.name)), -(m.params_b or 0), m.name))
        words = {part for part in parts if not _SIZED.fullmatch(part)}
        if (size := size_of(name)) and words <= {
            "llm",
            "lm",
            "moe",
            "class",
            "クラス",
            "級",
            "parameter",
            "parameters",
            "model",
        }:
            return self.shape_for_size(*size)
        return None

    def shape_for_size(self, params_b: float, active_params_b: float | None = None) -> ModelSpec:
        """A model known by its size alone, with the shape of the public model nearest in size, scaled.

        Layers and width each take the cube root of the ratio (parameters grow with layers x width squared). `stated_shape`
        names the model whose shape it is. Raises ValueError for a size that is not positive.
        """
        if params_b <= 0 or (active_params_b is not None and not 0 < active_params_b <= params_b):
            raise ValueError(f"a model of {params_b} billion parameters ({active_params_b} active) cannot be")
        moe = active_params_b is not None and active_params_b < 0.95 * params_b
        ladder = [model for model in self.models if model.name in (_MOE_LADDER if moe else _DENSE_LADDER)]
        base = min(ladder, key=lambda m: _distance(m, params_b, active_params_b if moe else None))
        assert base.params_b and base.layers and base.hidden and base.heads and base.head_dim
        ratio = params_b / base.params_b
        scale = ratio ** (1 / 3)
        same = 0.8 < ratio < 1.25
        hidden = base.hidden if same else max(64, round(base.hidden * scale / 64) * 64)
        head_dim = base.head_dim
        heads = base.heads if same else max(1, round(hidden * base.heads / base.hidden))
        kv_heads = base.kv_heads if base.kv_heads and base.kv_heads <= heads else heads
        update = {
            "name": f"{params_b:g}B-A{active_params_b:g}B" if moe else f"{params_b:g}B",
            "aliases": (),
            "hf_id": None,
            "params_b": params_b,
            "active_params_b": active_params_b if moe else params_b,
            "layers": base.layers if same else max(1, round(base.layers * scale)),
            "hidden": hidden,
            "heads": heads,
            "kv_heads": kv_heads,
            "head_dim": head_dim,
            "kv_layers": None if base.kv_layers is None or not same else base.kv_layers,
            "global_layers": None if base.global_layers is None or not same else base.global_layers,
            "intermediate": base.intermediate and round(base.intermediate * hidden / base.hidden),
            "moe_intermediate": base.moe_intermediate and round(base.moe_intermediate * hidden / base.hidden),
            "stated_shape": base.name,
            "confidence": "low",
        }
        return base.model_copy(update=update)


_DENSE_LADDER = frozenset(
    {
        "MPT 125M", "Qwen3 0.6B", "Llama 3.2 1B", "Llama 3.2 3B", "Llama 3.1 8B", "Qwen2.5 14B", "Qwen2.5 32B",
        "Llama 3.1 70B", "Llama 3.1 405B", "GPT-3 175B", "MT-NLG 530B", "Megatron GPT 1T",
    }
)  # fmt: skip
_MOE_LADDER = frozenset(
    {
        "OLMoE 1B-7B",
        "Qwen3 30B-A3B",
        "Mixtral 8x7B",
        "Mixtral 8x22B",
        "gpt-oss 120B",
        "Qwen3 235B-A22B",
        "DeepSeek V3",
        "Kimi K2",
    }
)


def _distance(model: ModelSpec, params_b: float, active_params_b: float | None) -> float:
    from math import log

    far = abs(log((model.params_b or 1e-9) / params_b))
    if active_params_b is not None:
        far += abs(log((model.active_params_b or 1e-9) / active_params_b))
    return far


@cache
def load_facts() -> Facts:
    """Read and check `knowledge/data/`; one object for the whole process. Raises pydantic.ValidationError on a broken row."""
    return Facts(
        gpus=(GpuSpec.model_validate(_present(row)) for row in _rows("gpus.csv")),
        models=(_model(row) for row in _rows("models.csv")),
        fabrics=(FabricSpec.model_validate(_present(row)) for row in _rows("fabrics.csv")),
        constants=(Constant.model_validate(_present(row)) for row in _rows("constants.csv")),
        native=(NativePrecision.model_validate(_present(row)) for row in _rows("native_precision.csv")),
        memory=(ModelMemory.model_validate(_present(row)) for row in _rows("model_memory.csv")),
    )
