"""What is known of the hardware that the question names, and the correction of a wrong premise."""

from __future__ import annotations

from typing import Any

from advisor.messages import text
from advisor.planner.writing.figures import FABRIC_NAMES, network, nvlink


def named_lines(rows: tuple[Any, ...], lang: str) -> list[str]:
    """One line for each named GPU or instance type."""
    lines = {"gpu": _gpu_line, "type": _type_line, "provider": _provider_line}
    return [lines[row["kind"]](row, lang) for row in rows]


def link_words(row: dict[str, Any], lang: str) -> str:
    """The link of a GPU model in a few words."""
    if row["link"] in ("nvlink", "bridge"):
        return text(
            f"writing.link.gpu.{row['link']}", lang, generation=row["nvlink_generation"] or "", rate=row["nvlink_gb_s"]
        )
    if row["link"] == "none":
        return text("writing.link.gpu.none", lang, pcie=row["pcie_generation"] or "")
    if row["link"] == "amd" and row["nvlink_gb_s"]:
        return text("writing.link.gpu.amd", lang, rate=row["nvlink_gb_s"])
    if row["link"] in ("amd", "other"):
        return text("writing.link.gpu.other", lang, vendor=row["vendor"])
    return text("writing.link.gpu.unknown", lang)


def _gpu_line(row: dict[str, Any], lang: str) -> str:
    memory = "/".join(f"{m:g}" for m in row["memory_gb"]) + " GB"
    return text("writing.links.named.gpu", lang, name=row["name"], link=link_words(row, lang), memory=memory)


def _provider_line(row: dict[str, Any], lang: str) -> str:
    return text("writing.links.named.provider", lang, name=row["name"], network=_fabrics(row, lang))


def _fabrics(row: dict[str, Any], lang: str) -> str:
    names = [FABRIC_NAMES.get(f, f) for f in row["fabrics"] if f not in ("unknown", "none")]
    return ", ".join(names) or text("writing.unknown", lang)


def _type_line(row: dict[str, Any], lang: str) -> str:
    from knowledge.offers import Offer

    offer = Offer.model_validate(row["offer"])
    from advisor.planner.writing.figures import gpus

    return text(
        "writing.links.named.type",
        lang,
        name=offer.instance_type,
        provider=offer.provider,
        gpus=gpus(offer),
        link=nvlink(offer, lang),
        network=network(offer, lang),
    )


def corrections(premises: tuple[Any, ...], rows: tuple[Any, ...], lang: str) -> list[str]:
    """A sentence for each claim of the question that a fact contradicts."""
    by_name = {row["name"].lower(): row for row in rows}
    found: list[str] = []
    for premise in premises:
        row = by_name.get(premise.subject.lower()) or next(
            (r for name, r in by_name.items() if name.startswith(premise.subject.lower())), None
        )
        claim = _contradiction(premise, row, lang) if row else None
        if claim:
            found.append(text("writing.premise.wrong", lang, claim=claim))
    return list(dict.fromkeys(found))


def _contradiction(premise: Any, row: dict[str, Any], lang: str) -> str | None:
    if premise.relation != "has" or (premise.asked and premise.object == "nvlink" and row["kind"] == "gpu"):
        return None
    name = row["name"]
    if row["kind"] == "provider":
        return _provider_contradiction(premise, row, lang)
    if premise.object == "nvlink":
        if row["kind"] == "gpu":
            if row["link"] == "amd":
                return text("writing.premise.amd", lang, name=name)
            return text("writing.premise.no_nvlink", lang, name=name) if row["link"] == "none" else None
        return text("writing.premise.no_nvlink", lang, name=name) if row["offer"]["nvlink"] == "no" else None
    if row["kind"] != "type" or row["offer"]["internode_fabric"] == "unknown":
        return None
    from knowledge.offers import Offer

    words = network(Offer.model_validate(row["offer"]), lang)
    if premise.object == "infiniband" and row["offer"]["internode_fabric"] != "infiniband":
        return text("writing.premise.no_infiniband", lang, name=name, network=words)
    if premise.object == "rdma" and row["offer"]["internode_rdma"] == "no":
        return text("writing.premise.not_rdma", lang, name=name, network=words)
    return None


def _provider_contradiction(premise: Any, row: dict[str, Any], lang: str) -> str | None:
    """A provider's rows can contradict InfiniBand only: whether it has NVLink depends on the type."""
    fabrics = set(row["fabrics"])
    if premise.object != "infiniband" or "infiniband" in fabrics or not fabrics & {"efa", "roce", "tcpx", "tcpxo"}:
        return None
    return text("writing.premise.provider_no_infiniband", lang, name=row["name"], network=_fabrics(row, lang))
