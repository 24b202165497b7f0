"""The links of what a person names: GPU models, instance types, sellers; and the types nearest to a name that no table has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from advisor.selection import EVERYTHING, NODE_GPUS
from knowledge.offers import OfferFilter

if TYPE_CHECKING:
    from knowledge.facts import Facts
    from knowledge.offers import Offer, OfferStore


def link_facts(store: OfferStore, facts: Facts, names: Sequence[str]) -> list[dict[str, Any]]:
    """What is known of the links of GPU models ("H100 NVL") and instance types ("p5.48xlarge"); unknown GPUs are left out.

    For a type that no table has, a row of kind "near" gives the types whose names are nearest.

    A GPU row has link "nvlink" (board of linked GPUs), "bridge" (pairs of PCIe cards), "amd", "other", "none" or "unknown".
    """
    from knowledge.gpu_names import resolve_gpu

    rows: list[dict[str, Any]] = []
    sellers = set(store.providers())
    for name in names:
        if name in sellers:
            networks = store_networks(store, name)
            rows.append({"kind": "provider", "name": name, "fabrics": store_fabrics(store, name), "networks": networks})
            continue
        found = resolve_gpu(name)
        if found is None or not only_a_gpu(name, found):
            offers = store.by_instance_type(name)
            if offers:
                rows.append(
                    {"kind": "type", "name": offers[0].instance_type, "offer": offers[0].model_dump(mode="json")}
                )
                continue
        if found is None:
            near = near_types(store, name)
            if near:
                rows.append({"kind": "near", "name": name, "near": near})
            continue
        specs = [s for s in facts.gpus if s.gpu == found.gpu and found.variant in ("unknown", s.gpu_variant)]
        for variant in dict.fromkeys(s.gpu_variant for s in specs):
            rows.append(
                _gpu_row([s for s in specs if s.gpu_variant == variant], len({s.gpu_variant for s in specs}) > 1)
            )
    return list({row["name"]: row for row in rows}.values())


NEAR_TYPES = 5
NEAR_SPELLING = 0.7


def near_types(store: OfferStore, name: str) -> list[str]:
    """Types of the table whose names are nearest in spelling, each with its GPUs: "p5.48xlarge (8× H100)"."""
    from difflib import get_close_matches

    known: dict[str, str] = {}
    for offer in store.all():
        known.setdefault(offer.instance_type.lower(), f"{offer.instance_type} ({offer.gpu_count:g}× {offer.gpu})")
    found = get_close_matches(name.lower(), known, n=NEAR_TYPES, cutoff=NEAR_SPELLING)
    return [known[key] for key in found]


def store_fabrics(store: OfferStore, provider: str) -> list[str]:
    """The kinds of network in a provider's rows, the commonest first."""
    from collections import Counter

    page = store.search(OfferFilter(provider=(provider,), limit=EVERYTHING))
    return [name for name, _ in Counter(offer.internode_fabric for offer in page.offers).most_common()]


def store_networks(store: OfferStore, provider: str) -> list[dict[str, Any]]:
    """The best network of a provider's whole nodes for each GPU model: RDMA first, then the rate; the fastest first.

    Each has gpu, gpus, fabric, gbit_s (a node; None where no source says), rdma and instance_type.
    """
    page = store.search(OfferFilter(provider=(provider,), min_gpus=NODE_GPUS, max_gpus=NODE_GPUS, limit=EVERYTHING))
    best: dict[str, Offer] = {}
    for offer in page.offers:
        known = best.get(offer.gpu)
        if offer.internode_fabric not in ("unknown", "none") and (known is None or _network(offer) > _network(known)):
            best[offer.gpu] = offer
    return [
        {
            "gpu": offer.gpu,
            "gpus": round(offer.gpu_count),
            "fabric": offer.internode_fabric,
            "gbit_s": offer.internode_gbit_s_per_node,
            "rdma": offer.internode_rdma,
            "instance_type": offer.instance_type,
        }
        for offer in sorted(best.values(), key=_network, reverse=True)
    ]


def _network(offer: Offer) -> tuple[bool, float, str]:
    return offer.internode_rdma == "yes", offer.internode_gbit_s_per_node or 0.0, offer.gpu


def only_a_gpu(name: str, found: Any) -> bool:
    """Is the name a GPU's, not that of an instance type which has the GPU in it?"""

    def squash(text: str) -> str:
        return "".join(c for c in text.lower() if c.isalnum())

    memory = "" if found.memory_gb is None else f"{found.memory_gb:g}"
    forms = {
        found.gpu,
        f"{found.gpu}{found.variant}",
        f"{found.gpu}{memory}gb",
        f"{found.gpu}{found.variant}{memory}gb",
    }
    return squash(name) in {squash(form) for form in forms} | {squash(f"{found.gpu}{memory}gb{found.variant}")}


def _gpu_row(specs: list[Any], several: bool) -> dict[str, Any]:
    spec = specs[0]
    if spec.vendor == "AMD":
        link = "amd"
    elif spec.vendor != "NVIDIA":
        link = "other"
    elif not spec.nvlink_gb_s:
        link = "none" if spec.peer_link == "none" and spec.gpu_variant != "superchip" else "unknown"
    else:
        link = "bridge" if spec.gpu_variant in ("PCIe", "NVL") else "nvlink"
    named = f"{spec.gpu} {spec.gpu_variant}" if several or spec.gpu_variant == "NVL" else spec.gpu
    return {
        "kind": "gpu",
        "name": named,
        "link": link,
        "vendor": spec.vendor,
        "nvlink_generation": spec.nvlink_generation,
        "nvlink_gb_s": spec.nvlink_gb_s or spec.peer_link_gb_s,
        "pcie_generation": None if spec.pcie_generation is None else f"{spec.pcie_generation:g}",
        "memory_gb": sorted({s.memory_gb for s in specs}),
        "source": spec.source,
        "as_of": spec.as_of,
        "confidence": spec.confidence,
    }
