"""From GPU mentions to conditions: which GPUs, how many, on how many machines."""

from __future__ import annotations

import re

from advisor.planner.reading.phrases import hits, says
from advisor.planner.reading.result import GpuMention
from advisor.planner.reading.roles import clause

_COUNT_EN = re.compile(r"(?<![\d.$x-])(\d{1,4})[ -]?(?:x )?(?:gpus?|cards?)(?![a-z])")
_COUNT_JA = re.compile(
    r"(?<![\d.万億千$¥])(\d{1,4})\s?(?:枚|gpu|基)(?!の?(?:画像|写真|イラスト|フレーム|スライド|静止))(?:[^a-z]|$)"
)
_OF_THEM = re.compile(r"(?<![\d.$x-])(\d{1,3}) of (?:them|those|these)(?![a-z])")
_NODES = re.compile(r"(?<![\d.$])(\d{1,4})\s?-?(?:nodes?|ノード|台|box(?:es)?|machines?|servers?|hosts?)(?![a-z目])")
_GRID_NODES = re.compile(
    r"(?<![\d.$])(\d{1,4})\s?-?(?:nodes?|ノード|台|machines?|servers?|box(?:es)?|hosts?)\s?(?:x|\*|に|で|の|あたり|with|of|,|、)?"
    r"\s?[(]?(?:各|それぞれ|each )?\s?(\d{1,3})\s?(?:枚|基|gpus?|cards?)(?![a-z])"
)
_GRID_GPUS = re.compile(
    r"(?<![\d.$])(\d{1,3})\s?(?:枚|基|gpus?|cards?)\s?(?:x|\*)\s?(\d{1,4})\s?(?:nodes?|ノード|台|machines?|servers?)(?![a-z])"
)
_EACH = re.compile(
    r"[^。.!?]{0,8}?(?:各|それぞれ|1台(?:あたり|に)?)\s?(\d{1,3})\s?(?:枚|基|gpu)|[^。.!?]{0,8}?(\d{1,3}) (?:gpus? )?each"
)
_AT_LEAST = re.compile(r"(?:at least|min(?:imum)?(?: of)?|>=?|最低|少なくとも)\s?$")
_OR_MORE = re.compile(r"\s?(?:or more|以上|\+)")
_AT_MOST = re.compile(r"(?:at most|up to|max(?:imum)?(?: of)?|no more than|<=?|最大)\s?$")
_OR_LESS = re.compile(r"\s?(?:or (?:less|fewer)|以下|以内|まで)")


def gpu_fields(gpus: tuple[GpuMention, ...]) -> dict[str, tuple[str, ...]]:
    """`gpus`, `gpu_variants`, `not_gpus` as conditions; a memory size is part of the name where the model has several."""
    wanted = [g for g in gpus if g.role == "wanted" and g.gpu]
    excluded = [g for g in gpus if g.role == "excluded" and g.gpu]
    fields: dict[str, tuple[str, ...]] = {}
    if wanted:
        fields["gpus"] = tuple(dict.fromkeys(label(g) for g in wanted))
        variants = [g.variant for g in wanted if g.variant]
        if variants and len(variants) == len(wanted):
            fields["gpu_variants"] = tuple(dict.fromkeys(variants))
    if excluded:
        fields["not_gpus"] = tuple(dict.fromkeys(label(g) for g in excluded))
    return fields


def label(gpu: GpuMention) -> str:
    """ "A100 80GB" where the memory was said and tells two boards apart, else the model's name."""
    from knowledge.gpu_names import gpu_table

    row = gpu_table().get(gpu.gpu or "")
    if (
        gpu.memory_gb
        and row
        and len(row.memory_gb) > 1
        and any(abs(gpu.memory_gb - m) < 0.08 * m for m in row.memory_gb)
    ):
        return f"{gpu.gpu} {gpu.memory_gb:g}GB"
    return gpu.gpu or ""


def count_fields(text: str, gpus: tuple[GpuMention, ...], lang: str) -> dict[str, int]:
    """`gpu_count`, `gpus_per_node`, `nodes`, `max_nodes`, `min_gpus`, `max_gpus` where the turn demands them.

    A count that the turn asks about ("8枚で足りる?"), or that tells of hardware in use, is no demand.
    """
    fields: dict[str, int] = {}
    for gpu in gpus:
        if gpu.role == "wanted" and (gpu.count or gpu.nodes):
            fields |= _of_mention(text, gpu)
            break
    if not fields:
        fields |= _loose(text, gpus)
    if one_node(text):
        fields["max_nodes"] = 1
        fields.pop("nodes", None)
    return fields


def one_node(text: str) -> bool:
    """Whether the turn wants everything in one machine; asking whether one is enough is no such wish."""
    asked = says("one_node_asked", text)
    found = (clause(text, hit.start, hit.end) for hit in hits("one_node", text))
    return not asked and any(not says("sufficiency", words) for words in found)


def _of_mention(text: str, gpu: GpuMention) -> dict[str, int]:
    fields: dict[str, int] = {}
    before, after = text[max(0, gpu.start - 14) : gpu.start], text[gpu.end : gpu.end + 10]
    if gpu.count and says("how_many_nodes", text):
        return {"gpus_per_node": gpu.count}
    if gpu.count and (_AT_LEAST.search(before) or _OR_MORE.match(after)):
        return {"min_gpus": gpu.count}
    if gpu.count and (_AT_MOST.search(before) or _OR_LESS.match(after)):
        return {"max_gpus": gpu.count}
    if gpu.count and gpu.total and gpu.total <= 100_000:
        fields["gpu_count"] = gpu.total
        if gpu.nodes:
            fields["gpus_per_node"] = gpu.count
    nodes = gpu.nodes or (_nodes_apart(text, gpu) if gpu.count else None)
    if nodes and nodes > 1 and not gpu.nodes and gpu.count:
        per_node = gpu.count // nodes if gpu.count > _MOST_IN_A_BOX and gpu.count % nodes == 0 else gpu.count
        return {"gpu_count": per_node * nodes, "gpus_per_node": per_node, "nodes": nodes}
    if gpu.nodes and gpu.nodes > 1:
        fields["nodes"] = gpu.nodes
        each = None if gpu.count else _EACH.match(text, gpu.end)
        if each:
            fields["gpus_per_node"] = int(each.group(1) or each.group(2))
            fields["gpu_count"] = fields["gpus_per_node"] * gpu.nodes
    elif gpu.nodes == 1:
        fields["max_nodes"] = 1
    return fields


_MOST_IN_A_BOX = 8


def _nodes_apart(text: str, gpu: GpuMention) -> int | None:
    """Machines that the turn names apart from the GPUs ("8x H100 with InfiniBand, 2 nodes")."""
    for match in _NODES.finditer(text):
        words = clause(text, match.start(), match.end())
        doubtful = any(says(topic, words) for topic in ("sufficiency", "current", "count_asked", "choose"))
        if not gpu.start <= match.start() < gpu.end and not doubtful:
            return int(match.group(1))
    return None


def _grid(text: str) -> dict[str, int]:
    """ "8 nodes of 8 GPUs" without a GPU's name, unless the turn asks whether that is enough."""
    for pattern, order in ((_GRID_NODES, (1, 2)), (_GRID_GPUS, (2, 1))):
        for match in pattern.finditer(text):
            words = clause(text, match.start(), match.end())
            if says("sufficiency", words) or says("current", words):
                continue
            nodes, each = (int(match.group(group)) for group in order)
            if nodes > 1 and each > 0:
                return {"nodes": nodes, "gpus_per_node": each, "gpu_count": nodes * each}
    return {}


_UP_TO = re.compile(r"(?:at most|up to|max(?:imum)?(?: of)?|no more than) (\d{1,3})(?= ?(?:$|[,.;]|gpus|cards))")


def _of_a_plan(text: str, match: re.Match[str]) -> bool:
    """Whether a number of machines tells how the job runs ("2ノード学習でどれがいい?", "for 2-node training which one?")."""
    after = text[match.end() : match.end() + 12]
    return match.re is _NODES and bool(
        re.match(r"[ -]?[ので]?(?:学習|訓練|構成|クラスタ|training|pretrain|fine|cluster|run)", after)
    )


def _loose(text: str, gpus: tuple[GpuMention, ...]) -> dict[str, int]:
    """Counts without a GPU's name ("2枚で", "on 4 GPUs", "3 nodes")."""
    fields: dict[str, int] = _grid(text)
    if fields:
        return fields
    for pattern, name in (
        (_COUNT_JA, "gpu_count"),
        (_COUNT_EN, "gpu_count"),
        (_OF_THEM, "gpu_count"),
        (_NODES, "nodes"),
    ):
        for match in pattern.finditer(text):
            if any(g.start <= match.start() < g.end for g in gpus) or name in fields:
                continue
            words = clause(text, match.start(), match.end())
            if says("sufficiency", words) or says("current", words):
                continue
            if says("count_asked", words) and not says("availability", words) and not _of_a_plan(text, match):
                continue
            if says(
                "each_job",
                text[max(0, match.start() - 16) : match.start()] + "§" + text[match.end(1) : match.end(1) + 12],
            ):
                continue
            number = int(match.group(1))
            before, after = text[max(0, match.start() - 14) : match.start()], text[match.end(1) : match.end() + 6]
            if number < 1:
                continue
            if name == "gpu_count" and (_AT_LEAST.search(before) or re.search(r"以上|or more|\+", after)):
                fields["min_gpus"] = number
            elif name == "gpu_count" and (
                _AT_MOST.search(before) or re.search(r"以下|以内|まで|or (?:less|fewer)", after)
            ):
                fields["max_gpus"] = number
            elif name == "gpu_count" or number > 1:
                fields[name] = number
    if "min_gpus" in fields and "max_gpus" not in fields and (most := _UP_TO.search(text)):
        fields["max_gpus"] = int(most.group(1))
    return fields
