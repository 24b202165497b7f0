"""The shape of a model as the formulas need it: plain numbers, in parameters and bytes, derived from a `ModelSpec`."""

from __future__ import annotations

from dataclasses import dataclass, replace

from knowledge.facts import ModelSpec


@dataclass(frozen=True, slots=True)
class Shape:
    """One model. Counts are parameters, widths are elements; `routed` are the expert weights that expert parallelism divides."""

    name: str
    params: float
    active: float
    layers: int
    hidden: int
    ffn: float
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    gated: bool
    tied: bool
    moe_layers: int = 0
    experts: int = 0
    topk: int = 0
    moe_ffn: float = 0.0
    routed: float = 0.0
    moe_width: float = 0.0
    """Width that experts take in and that is sent to them: the hidden size, less where experts work on a projection of it."""
    kv_layers: int = 0
    global_layers: int = 0
    window: int = 0
    mla_dim: int = 0

    @property
    def embedding(self) -> float:
        """Parameters of one vocabulary table."""
        return float(self.vocab * self.hidden)

    @property
    def matmul_active(self) -> float:
        """Parameters that one token is multiplied with: active ones without the input look-up table (kept where it is the head too)."""
        return self.active - (0.0 if self.tied else self.embedding)

    @property
    def is_moe(self) -> bool:
        """Whether some layers route tokens to experts."""
        return self.experts > 1 and self.routed > 0

    @property
    def attention_width(self) -> int:
        """Width of all query heads together."""
        return self.heads * self.head_dim

    def kv_bytes_per_token(self, element_bytes: float = 2.0, context: int | None = None) -> float:
        """KV-cache bytes that one token of context takes, averaged over the layers; window layers stop growing at the window.

        2·L·k·d·B for grouped attention, L·(compressed rank + rope)·B for MLA (DeepSeek-V2, arXiv 2405.04434).
        """
        if self.mla_dim:
            return self.kv_layers * self.mla_dim * element_bytes
        per_layer = 2 * self.kv_heads * self.head_dim * element_bytes
        local = self.kv_layers - self.global_layers
        share = min(1.0, self.window / context) if self.window and context else 1.0
        return per_layer * (self.global_layers + local * share)


def shape_of(model: ModelSpec, fallback: ModelSpec) -> Shape:
    """Plain numbers of `model`; what it does not state is taken from `fallback` (a stated shape of the same size)."""
    params = (model.params_b or fallback.params_b or 0.0) * 1e9
    active = (model.active_params_b or model.params_b or fallback.params_b or 0.0) * 1e9
    layers = model.layers or fallback.layers or 1
    hidden = model.hidden or fallback.hidden or 1
    heads = model.heads or fallback.heads or max(1, hidden // 128)
    head_dim = model.head_dim or (hidden // heads if model.heads else fallback.head_dim) or 128
    gated = model.mlp_gated if model.mlp_gated is not None else True
    experts = model.experts or 0
    moe_ffn = float(model.moe_intermediate or (model.intermediate if experts else 0) or 0)
    moe_layers = layers - (model.dense_layers or 0) if experts else 0
    vocab = model.vocab or (fallback.vocab if model.kind in ("dense_lm", "moe_lm", "vlm") else 0) or 1
    matrices = 3 if gated else 2
    routed = float(moe_layers * experts * matrices) * hidden * moe_ffn
    if experts and not 0.3 * params < routed <= params:
        routed = max(0.0, (params - active)) * experts / max(1, experts - (model.experts_per_token or 1))
    moe_width = routed / (moe_layers * experts * matrices * moe_ffn) if experts and moe_layers and moe_ffn else 0.0
    kv_layers = model.kv_layers if model.kv_layers is not None else layers
    window = model.sliding_window or 0
    mla = (model.mla_kv_rank or 0) + (model.mla_rope_dim or 0) if model.mla_kv_rank else 0
    return Shape(
        name=model.name,
        params=params,
        active=active,
        layers=layers,
        hidden=hidden,
        ffn=float(model.intermediate or 4 * hidden),
        heads=heads,
        kv_heads=model.kv_heads or heads,
        head_dim=head_dim,
        vocab=vocab,
        gated=gated,
        tied=bool(model.tied_embeddings),
        moe_layers=moe_layers,
        experts=experts,
        topk=(model.experts_per_token or 1) if experts else 0,
        moe_ffn=moe_ffn,
        routed=min(routed, params),
        moe_width=min(moe_width, float(hidden)),
        kv_layers=kv_layers,
        global_layers=min(kv_layers, model.global_layers if model.global_layers is not None else kv_layers),
        window=window,
        mla_dim=mla,
    )


def with_size(shape: Shape, params: float | None, active: float | None = None) -> Shape:
    """The same shape with the stated parameter counts (a count that differs by rounding does not change the layers)."""
    if not params:
        return shape
    ratio = params / shape.params
    new_active = active or (params if not shape.is_moe else shape.active * ratio)
    return replace(shape, params=params, active=min(new_active, params), routed=min(shape.routed * ratio, params))
