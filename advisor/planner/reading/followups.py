"""Short turns that only make sense after another one: "double the GPUs", "80GB ones", "what about A100", "in yen", "half that budget"."""

from __future__ import annotations

import re
from typing import Any

from advisor.planner.reading.hardware import label
from advisor.planner.reading.phrases import hits, says
from advisor.planner.reading.quantities import HOURS
from advisor.planner.reading.result import GpuMention, Reading

_SHORT = 60
_ONES = re.compile(
    r"^\W*(?:(?:and|ok|or|then|just|only|the|with|on|make it|make that|switch to|use|i mean|rather)[ ,]+)*(\d{2,3}) ?gb"
    r"(?: (?:ones?|version|versions|variant|model|cards?|gpus?|instead|then|please|each))*[\s?.!]*$"
    r"|^\W*(\d{2,3})\s?gb(?:の(?:方|ほう|やつ|もの|モデル|版|カード)|版|モデル)?(?:で|を|に|だけ|なら|だと|は|お願い\S{0,4}|にして)*[\s?。!、]*$"
)
_MOST_GPUS = 100_000


def is_short(norm: str, before: Reading | None) -> bool:
    """Whether the turn is short enough to lean on the one before it."""
    return before is not None and len(norm) <= _SHORT


def moved_to(norm: str, before: Reading | None, gpus: tuple[GpuMention, ...]) -> tuple[GpuMention, ...]:
    """ "what about A100?" after a turn that asked for GPUs asks for that one, where nothing else is weighed."""
    if before is None or not is_short(norm, before) or not (before.constraints.gpus or before.workload):
        return gpus
    if before.intent not in ("picks", "no_match", "infeasible") or says("link_word", norm) or says("choose", norm):
        return gpus
    if len(gpus) != 1 or gpus[0].role != "candidate" or not says("what_about", norm):
        return gpus
    return (gpus[0].model_copy(update={"role": "wanted"}),)


def same_elsewhere(norm: str, gpus: tuple[GpuMention, ...]) -> tuple[GpuMention, ...]:
    """ "We pay $98/h for 8x H100 on Azure, who's cheaper?": the hardware in use is what is wanted elsewhere."""
    if any(g.role == "wanted" for g in gpus) or not says("same_elsewhere", norm) or says("failed", norm):
        return gpus
    return tuple(g.model_copy(update={"role": "wanted"}) if g.role == "current" and g.known else g for g in gpus)


_BOARD = re.compile(
    r"^\W*(?:(?:and|ok|but|please|just|only|the)[ ,]+)*(?P<no>(?:not|no|without|except|exclude|skip)(?: the)?[ ])?(?P<en>pcie|sxm|nvl)\d?"
    r"(?: (?:version|one|ones|variant|model|cards?|only|please|then|instead))*[\s?.!]*$"
    r"|^\W*(?P<ja>pcie|sxm|nvl)\d?(?:版|モデル|タイプ|の方|のほう|のやつ)?(?P<nai>以外|は?なし|は除|はng|は(?:嫌|いや)|じゃな)?(?:で|を|に|が|は|だけ|のみ|いて|いい|く|お願い\S{0,4}|い方)*[\s?。!]*$"
)
_BOARDS = {"pcie": "PCIe", "sxm": "SXM", "nvl": "NVL"}


def board_change(norm: str, before: Reading | None) -> dict[str, Any]:
    """ "not the PCIe version", "SXMだけ" after GPUs: the boards that are left."""
    from knowledge.gpu_names import gpu_table

    match = _BOARD.match(norm)
    if before is None or match is None or not before.constraints.gpus:
        return {}
    board = _BOARDS[match.group("en") or match.group("ja")]
    if not (match.group("no") or match.group("nai")):
        return {"gpu_variants": (board,)}
    names = (re.sub(r" \d+GB$", "", name) for name in before.constraints.gpus)
    boards = [v for name in names if (row := gpu_table().get(name)) for v in row.variants if v != board]
    return {"gpu_variants": tuple(dict.fromkeys(boards))} if boards else {}


def memory_ones(norm: str, before: Reading | None) -> dict[str, Any]:
    """ "80GB ones" after "4x A100": the GPU of that memory, else cards of that class."""
    match = _ONES.match(norm)
    if before is None or match is None:
        return {}
    memory = float(match.group(1) or match.group(2))
    names = tuple(n.rsplit(" ", 1)[0] if n.endswith("GB") else n for n in before.constraints.gpus)
    labels = tuple(label(GpuMention(gpu=n, text=n, start=0, end=0, memory_gb=memory)) for n in names)
    if any(new != old for new, old in zip(labels, names, strict=True)):
        return {"gpus": tuple(dict.fromkeys(labels))}
    return {"min_gpu_memory_gb": memory}


def multiplied(norm: str, before: Reading | None) -> dict[str, Any]:
    """Counts and budgets of the conversation times what the turn says ("double the GPUs", "予算を半分に")."""
    if before is None or not is_short(norm, before):
        return {}
    old = before.constraints
    fields: dict[str, Any] = {}
    for hit in hits("times_gpus", norm):
        if old.gpu_count:
            count = round(old.gpu_count * float(hit.value))
            if 1 <= count <= _MOST_GPUS:
                fields["gpu_count"] = count
        break
    for hit in hits("times_budget", norm):
        for name in ("budget_usd", "budget_usd_month", "max_price_usd_hour", "max_price_usd_gpu_hour"):
            if (value := getattr(old, name)) is not None:
                fields[name] = value * float(hit.value)
        break
    return fields


_SPAN_ONLY = re.compile(
    r"^\W*(?:(?:and|ok|or|what about|how about|what if|if|in|within|for|make it|with)[ ,]+)*(\d{1,4}) ?(hours?|days?|weeks?|months?|years?)"
    r"(?: (?:instead|then|ok|would do))*[\s?.!]*$"
    r"|^\W*(?:じゃあ|では|もし)?(\d{1,4})\s?(時間|日間|日|週間|か月|ヶ月|ヵ月|カ月|年)(?:なら|だと|だったら|で|に|にしたら|以内|まで|は|の場合)*[\s?。!]*$"
)


def span_only(norm: str, before: Reading | None) -> float | None:
    """ "2週間なら?", "what if 2 weeks": hours for the deadline or the rental that the conversation has spoken of."""
    match = _SPAN_ONLY.match(norm)
    if before is None or match is None:
        return None
    number, unit = (match.group(1), match.group(2)) if match.group(1) else (match.group(3), match.group(4))
    return float(number) * HOURS[unit.rstrip("s")]


def again(norm: str, before: Reading | None, *, other_language: bool) -> bool:
    """Whether the turn wants the last answer once more, in yen or in another language, and nothing else."""
    if before is None or before.intent not in ("picks", "no_match", "infeasible"):
        return False
    return bool(
        says("in_yen_again", norm) or says("in_dollars_again", norm) or (other_language and says("answer_again", norm))
    )
