"""What is known of the hardware that the question names, and the correction of a wrong premise."""

from __future__ import annotations

import csv
import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from advisor.messages import text
from advisor.planner.reading.result import Premise
from advisor.planner.sizing import link_contrast
from advisor.planner.writing.figures import FABRIC_NAMES, network, nvlink
from advisor.planner.writing.networks import figures, seller_name
from advisor.planner.writing.topics import claims, topics_of

SIZE_TOLERANCE = 0.08
MOST_NAMED = 3
"""Names in one sentence of facts."""
MOST_TYPES = 4
"""Types of which a line each is told, the largest first."""


def named_lines(rows: tuple[Any, ...], lang: str) -> list[str]:
    """One line for each named GPU or instance type."""
    lines = {"gpu": _gpu_line, "type": _type_line, "provider": _provider_line}
    types = sorted((row for row in rows if row["kind"] == "type"), key=lambda row: -row["offer"]["gpu_count"])
    left_out = {row["name"] for row in types[MOST_TYPES:]}
    return [lines[row["kind"]](row, lang) for row in rows if row["kind"] in lines and row["name"] not in left_out]


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
    return text("writing.links.named.provider", lang, name=seller_name(row["name"]), network=_fabrics(row, lang))


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


def corrections(reading: Any, rows: tuple[Any, ...], lang: str) -> list[str]:
    """What the turn takes for granted or asks of a link, a memory size or a rule, held against the facts; one sentence each."""
    premises = [] if link_contrast(reading) else premise_lines(reading, rows, lang)
    found = [*size_corrections(reading, rows, lang), *premises]
    return list(dict.fromkeys([*found, *filter_lines(reading, rows, lang), *claims(reading.text, lang)]))


def said_of(mention: Any, words: str) -> float | None:
    """The size that a sentence gives a card after its name ("H200 has 192GB"); None where it gives none."""
    plain = unicodedata.normalize("NFKC", words).lower()
    size = r"(?: has| have| comes with| with|は|が|って)\s*(\d{2,3})\s?gb(?![a-z/])"
    found = re.search(re.escape(mention.text.lower()) + size, plain)
    return float(found[1]) if found else None


def fabric_line(reading: Any, lang: str) -> list[str]:
    """Where networks are weighed: the share of the line rate that large collectives reach and the latency, of each."""
    names = [side.name for side in reading.alternatives if side.kind == "fabric"]
    if not names and reading.acts & {"compare", "difference"}:
        names = list(reading.mentions.fabrics)
    return figures(names, lang)


def size_corrections(reading: Any, rows: tuple[Any, ...], lang: str) -> list[str]:
    """Memory sizes that a GPU model never had ("A100 160 GB"); a total over the cards named is no such size."""
    sizes: dict[str, set[float]] = {}
    for row in rows:
        if row["kind"] == "gpu":
            sizes.setdefault(row["name"].split(" (")[0], set()).update(row["memory_gb"])
    lines = []
    for mention in reading.mentions.gpus:
        asked = mention.memory_gb or said_of(mention, reading.text)
        if not mention.known or not mention.gpu or not asked:
            continue
        known = sorted({m for name, values in sizes.items() if name.startswith(mention.gpu) for m in values})
        total = {m * n for m in known for n in {mention.count or 1, mention.total or 1}}
        if not known or any(abs(asked - m) <= SIZE_TOLERANCE * m for m in (*known, *total)) or asked < min(known):
            continue
        values = {"name": mention.gpu, "asked": f"{asked:g}", "sizes": "/".join(f"{m:g}" for m in known)}
        lines.append(text("writing.premise.wrong", lang, claim=text("writing.premise.size", lang, **values)))
    return lines


def filter_lines(reading: Any, rows: tuple[Any, ...], lang: str) -> list[str]:
    """Named AMD cards where NVLink is spoken of without a claim: why such a filter leaves them out."""
    if "nvlink" not in reading.mentions.fabrics or any(p.object == "nvlink" for p in reading.premises):
        return []
    amd = [row["name"] for row in rows if row["kind"] == "gpu" and row["link"] == "amd"]
    return [text("writing.premise.amd", lang, name=", ".join(amd))] if amd and reading.intent != "explain" else []


def premise_lines(reading: Any, rows: tuple[Any, ...], lang: str) -> list[str]:
    """Each claim about a link: corrected where it is wrong, answered yes or no where it is asked."""
    lines = []
    yes_no = reading.question_type == "yes_no" or (reading.question_type == "none" and reading.intent == "explain")
    for premise in reading.premises:
        found = judged(reading, premise, rows_of(premise, reading, rows), lang)
        states = {state for state, _ in found}
        if not found:
            continue
        sentences = list(dict.fromkeys(words for _, words in found))[:MOST_NAMED]
        words = (" " if lang == "en" else "").join(sentences)
        if len(states) > 1 or states == {"depends"}:
            machine = any(m.gpu and m.gpu.lower() == premise.subject.lower() and m.count for m in reading.mentions.gpus)
            if premise.asked and yes_no and not machine:
                lines.append(text("writing.premise.depends", lang, claim=words))
            continue
        holds = (states == {"yes"}) == (premise.relation == "has")
        if not holds:
            form = "no" if premise.asked and yes_no else "wrong"
            lines.append(text(f"writing.premise.{form}", lang, claim=words))
        elif premise.asked and premise.relation == "has" and yes_no:
            lines.append(text("writing.premise.right", lang, claim=words))
    return lines or network_lines(reading, rows, lang)


PAIR = 2


@cache
def bridges() -> dict[str, int]:
    """Name of a bridged card → how many cards the largest bridge made for it joins; two where no row is."""
    with (Path(__file__).parent / "bridges.csv").open(encoding="utf-8", newline="") as file:
        return {row["name"]: int(row["cards"]) for row in csv.DictReader(file)}


def judged(reading: Any, premise: Any, rows: Sequence[dict[str, Any]], lang: str) -> list[tuple[str, str]]:
    """("yes", "no" or "depends", sentence) for each row that decides a claim.

    Links of pairs are a "no" where the turn asks of more cards than a bridge joins; a "yes" that is to be taken for granted
    depends on the host.
    """
    topics = topics_of(reading.text)
    wants_all = "all_of_them" in topics
    count = max((m.count or 0 for m in reading.mentions.gpus), default=0)
    out = []
    for row in rows:
        found = fact(premise, row, lang)
        if found is None:
            continue
        state, words = found
        group = bridges().get(row["name"], PAIR)
        if state == "pairs":
            state = "no" if wants_all and (not count or count > group) else "depends"
        elif state == "yes" and premise.object == "nvlink" and "taken_for_granted" in topics:
            state = "depends"
        out.append((state, words))
    return out


def network_lines(reading: Any, rows: tuple[Any, ...], lang: str) -> list[str]:
    """Where a link is spoken of beside named types though nobody claimed it in words: what the types have.

    InfiniBand that none of them has is corrected; whether they have NVLink is told where that was asked.
    """
    types = sorted((row for row in rows if row["kind"] == "type"), key=lambda row: -row["offer"]["gpu_count"])
    if not types and reading.turn > 1:
        return _kept_lines(reading, rows, lang)
    if not types or any(side.kind == "fabric" for side in reading.alternatives):
        return []
    lines = []
    yes_no = reading.question_type == "yes_no"
    fabrics = {row["offer"]["internode_fabric"] for row in types}
    if "infiniband" in reading.mentions.fabrics and not fabrics & {"infiniband", "unknown"}:
        found = _claimed("infiniband", types[:1], lang)
        lines += [text(f"writing.premise.{'no' if yes_no else 'wrong'}", lang, claim=words) for _, words in found]
    if "nvlink" in reading.mentions.fabrics and yes_no and len(types) <= MOST_NAMED:
        found = judged(reading, Premise(subject="", relation="has", object="nvlink", text=""), types, lang)
        states = {state for state, _ in found}
        form = "right" if states == {"yes"} else "no" if states == {"no"} else "depends"
        words = (" " if lang == "en" else "").join(words for _, words in found)
        lines += [text(f"writing.premise.{form}", lang, claim=words)] if found else []
    return lines


def _kept_lines(reading: Any, rows: tuple[Any, ...], lang: str) -> list[str]:
    """A follow-up that asks of a link alone ("NVLink?"): what the cards and the seller of the turns before have."""
    if reading.question_type not in ("yes_no", "none"):
        return []
    lines = []
    for link, kind in (("infiniband", "provider"), ("nvlink", "gpu")):
        kept = [row for row in rows if row["kind"] == kind]
        found = judged(reading, Premise(subject="", relation="has", object=link, text=""), kept, lang)
        if link in reading.mentions.fabrics and found:
            states = {state for state, _ in found}
            form = "right" if states == {"yes"} else "no" if states == {"no"} else "depends"
            words = (" " if lang == "en" else "").join([words for _, words in found][:MOST_NAMED])
            lines.append(text(f"writing.premise.{form}", lang, claim=words))
    return lines


def _claimed(link: str, rows: list[dict[str, Any]], lang: str) -> list[tuple[str, str]]:
    premise = Premise(subject="", relation="has", object=link, text="")
    return [found for row in rows if (found := fact(premise, row, lang))]


def rows_of(premise: Any, reading: Any, rows: tuple[Any, ...]) -> list[dict[str, Any]]:
    """The rows that a claim is about: the name itself, its board forms, or the named types of the provider."""
    subject = premise.subject.lower()
    if premise.relation not in ("has", "lacks"):
        return []
    exact = [row for row in rows if row["name"].lower() == subject or row["name"].lower().startswith(subject + " ")]
    if any(row["kind"] == "provider" for row in exact):
        types = [row for row in rows if row["kind"] == "type" and row["offer"]["provider"] == premise.subject]
        return types or exact
    return exact


def fact(premise: Any, row: dict[str, Any], lang: str) -> tuple[str, str] | None:
    """("yes", "no" or "pairs", the sentence that says so) for a claim about one row; None where the facts do not decide it."""
    name = row["name"]
    if row["kind"] == "provider":
        return _provider_fact(premise, row, lang)
    if premise.object == "nvlink":
        return _nvlink_fact(row, lang)
    if row["kind"] != "type" or row["offer"]["internode_fabric"] == "unknown":
        return None
    from knowledge.offers import Offer

    offer = Offer.model_validate(row["offer"])
    words = {"name": name, "network": network(offer, lang)}
    if premise.object == "infiniband":
        if offer.internode_fabric == "infiniband":
            return "yes", text("writing.premise.has_network", lang, **words)
        return "no", text("writing.premise.no_infiniband", lang, **words)
    if premise.object == "rdma" and offer.internode_rdma != "unknown":
        key = "has_network" if offer.internode_rdma == "yes" else "not_rdma"
        return offer.internode_rdma, text(f"writing.premise.{key}", lang, **words)
    return None


def _nvlink_fact(row: dict[str, Any], lang: str) -> tuple[str, str] | None:
    name = row["name"]
    if row["kind"] == "gpu":
        if row["link"] == "amd":
            return "no", text("writing.premise.amd", lang, name=name)
        if row["link"] == "none":
            return "no", text("writing.premise.no_nvlink", lang, name=name, pcie=row["pcie_generation"] or "")
        if row["link"] in ("nvlink", "bridge"):
            state = "pairs" if row["link"] == "bridge" else "yes"
            return state, text("writing.premise.has_nvlink", lang, name=name, link=link_words(row, lang))
        return None
    from knowledge.offers import Offer

    offer = Offer.model_validate(row["offer"])
    if offer.nvlink == "unknown":
        return None
    words = {"name": name, "link": nvlink(offer, lang)}
    if offer.nvlink == "no":
        key = "single" if offer.gpu_count <= 1 else "type_no_nvlink"
        return "no", text(f"writing.premise.{key}", lang, **words)
    return "pairs" if offer.nvlink == "partial" else "yes", text("writing.premise.has_nvlink", lang, **words)


def _provider_fact(premise: Any, row: dict[str, Any], lang: str) -> tuple[str, str] | None:
    """A provider's rows decide about InfiniBand only: whether it has NVLink depends on the type."""
    fabrics = set(row["fabrics"])
    if premise.object != "infiniband":
        return None
    words = {"name": seller_name(row["name"]), "network": _fabrics(row, lang)}
    if "infiniband" in fabrics:
        return "depends", text("writing.premise.some_infiniband", lang, **words)
    if not fabrics & {"efa", "roce", "tcpx", "tcpxo"}:
        return None
    return "no", text("writing.premise.provider_no_infiniband", lang, **words)
