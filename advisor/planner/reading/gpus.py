"""GPUs in a turn: which, how many, with what memory and board, and in what role they are mentioned."""

from __future__ import annotations

import re
from dataclasses import dataclass

from advisor.planner.reading.lexicon import Gpu, Lexicon
from advisor.planner.reading.normalize import squash
from advisor.planner.reading.phrases import hits, says
from advisor.planner.reading.result import GpuMention, Role
from advisor.planner.reading.roles import clause, roles_of

_MAX_COUNT = 100_000
_SHORT = 60
"""Characters of a turn whose one number of cards is the one that it asks about, wherever it stands."""
_MOST_MENTIONS = 24
_MOST_IN_A_BOX = 8
"""A larger count beside a number of machines is for all of them ("16 H200 across two nodes")."""
_VARIANT_BEFORE = re.compile(r"(?<![a-z0-9])(sxm ?\d?|pcie|nvl|oam)(?:版|タイプ|モデル)?の?[\s-]?$")
_VARIANT = re.compile(
    r"[\s\-_(の]{0,2}(?:tensor core )?(sxm[2-6](?!\d|枚|基)|sxm [2-6](?!\d|\s?(?:枚|基|台|x|gpu))|sxm|pcie|nvl(?!72|36|ink)|oam)(?![a-z])"
)
_MEMORY = re.compile(r"[\s\-_(]{0,2}(\d{1,3})\s?-?(?:gb|gib|g(?![a-z0-9]))(?!/s|ps|it|bps)")
_FILLER = re.compile(r"[\s)]{0,3}(?:gpus?|server edition|blackwell|workstation|tensor core|カード|ノード)?[\s)]{0,2}")
_BEFORE = re.compile(
    r"(?:(?<![\d.])(\d{1,3})\s?(?:x|(?:nodes?|box(?:es)?|machines?|servers?|hosts?)(?: of| with| each with| x)?|(?:台|ノード)(?:に|の|で)?(?:各|それぞれ)?|\s(?=\d+\s?x))\s{0,2}\(?\s?)?"
    r"(?<![\d.$¥a-wyz-])(\d{1,5})\s{0,2}(?:x|\*|(?:枚|基|gpu)(?:ずつ|構成|搭載|入り|載せ)?の|枚(?:載った|積んだ|入った)|台の|gpus? of|pcs)?[\s-]{0,2}(?:(?:nvidia|amd|geforce|new|rented|of|the|hgx|dgx)[\s-])*$"
)
_AFTER = re.compile(
    r"[\s\-)(]{0,3}(?:(?:x|\*|:)\s{0,2}(\d{1,5})(?![\d.]|\s?(?:gb|tb|%))|(?:gpu)?(?:なら|だと|では|[がをはのも])?\s?(?:合計|計|全部で)?(\d{1,5})\s?(?:(?:枚|基)(?!の?(?:画像|写真|イラスト|フレーム|静止|スライド))|gpus?(?![a-z])|cards?(?![a-z])|x(?=\s?(?:$|[,.、。)?!]|on |in |at |from |with |for |cheap|と|で|を|の)))"
    r"|(?:なら|だと|では|[がをはので])?\s?(\d{1,4})\s?(台|ノード|nodes?(?![a-z])|機))"
)
_NODES_AFTER = re.compile(
    r"[\s)]{0,3}(?:搭載(?:した|する)?|載った|載せた|積んだ|入った|入り|付き)?[のをがで、,]{0,2}\s?(?:(?:サーバー?|マシン|ノード|サーバ機|ボックス)[をがはで]?)?\s?(?:x|across|on|over|を)?\s{0,2}(\d{1,4})\s?(?:台|ノード|nodes?|machines?|servers?|box(?:es)?|hosts?)"
)
_HOURS = re.compile(r"\s?-?(?:gpu)?[\s-]?(?:hours?|hrs?|時間)(?![a-z])")
"""What follows makes it a number of GPU-hours ("200 H100-hours")."""
_TIMES_NODES = re.compile(r"\s?[x*]\s?(\d{1,3})(?![\d.]|\s?(?:gb|tb|g(?![a-z])|%|nvidia|[a-z]\d))")
"""A second factor: "H100 x 8 x 2" is two machines of eight."""
_SYSTEM = re.compile(r"(?<![a-z0-9])(?:dgx|hgx)[ -]")
_IN_A_SYSTEM = {"V100": 8, "A100": 8, "H100": 8, "H200": 8, "B200": 8, "B300": 8}
"""GPUs of NVIDIA's DGX and HGX systems, where the name is all that is said."""
_RACK = re.compile(r"[\s-]?nvl(72|36)(?!\d)")
_RACK_NODE = 4
"""GPUs of one compute tray of an NVL72 rack."""
_MEMORY_BARE = re.compile(
    r" (\d{2,3})(?=\s?(?:$|[,.、。)?!]|x\d|sxm|pcie|for |on |in |spot|at |under |with |enough|ok|works|do |で|を|が|に))"
)
_MEMORY_AHEAD = re.compile(r"(?<![\d.$¥x])(\d{2,3})\s?gb(?:の|版の?)?[\s-]?$")
""" "40 GB A100s", "40GBのA100": the size stands before the name."""
_MEMORY_TOPIC = re.compile(r"は\s?(\d{2,3})\s?gb(?=の(?:方|ほう|やつ|モデル|もの)|版|モデル)")
_PAIR = re.compile(r"[\s-]?(?:の)?(?:pair(?! of)(?![a-z])|ペア(?![\u30a1-\u30fa]))")
_BARE = re.compile(
    r"(?<![\d.$a-z-])(\d{1,4})\s?(?:x\s?(\d{2,3})\s?(?:gb|g)(?![a-z0-9/])"
    r"|(\d{2,3})[\s-]?gb[\s-](?:class |vram )?(?:gpus|cards|gpu|card)(?![a-z]))"
    r"|(?<![\d.])(\d{1,3})\s?(?:枚|基)の\s?(\d{2,3})\s?gb"
)
_BARE_JA = re.compile(
    r"(?<![\d.])(\d{2,3})\s?gb(?:級|クラス|以上)?(?:の?gpu|のカード)?(?:を|が|で|x|\s)?\s?(\d{1,4})\s?(?:枚|基)"
    r"|(?<![\d.])(\d{2,3})\s?gb\s?[x*]\s?(\d{1,3})(?![\d.]|\s?(?:gb|tb|[a-z]\d))"
)
_UNKNOWN = re.compile(
    r"(?:(?<![a-z0-9\-_.])|(?<=\dx))((?:nvidia|geforce|amd|instinct|intel|tesla|quadro|radeon)[\s-]?)?"
    r"((?:rtx|gtx)[\s-]?(?:pro[\s-]?)?\d{3,4}(?:\s?ti|\s?super)?|[abhglvrt]\d{2,3}[a-z]?|[gv][bhr]\d{3}|mi\d{3}[a-z]?|tpu[\s-]?v\d+[a-z]?|gaudi[\s-]?\d|[a-z]{1,2}\d{3,4}[a-z]?)"
    r"(?=x\d|(?![a-z0-9]))(?!\.\d|-(?:high|ultra|mega|edge|standard))"
)
_NAMED = re.compile(
    r"^(?:(?:rtx|gtx)[\s-]?(?:pro[\s-]?)?\d{4}(?:\s?ti|\s?super)?|[abhlv]\d{2}0s?|g[bh]\d00|mi\d{3}x?|tpu[\s-]?v\d+[a-z]?|gaudi[\s-]?\d)$"
)
_NOT_GPU_AFTER = re.compile(
    r"\s?(?:-?(?:highgpu|megagpu|ultragpu|edgegpu|high|mega|ultra)|tokens?|トークン|億|万|兆|パラメータ|params?|images?|frames?|円|ドル|件|samples?|steps?|epochs?|%|人|users?|requests?|\.\d)"
)
_SWAPS = str.maketrans("oil", "011")


@dataclass(frozen=True)
class _Span:
    start: int
    end: int
    gpu: Gpu | None
    text: str
    known: bool = True


def read_gpus(text: str, lexicon: Lexicon, machines: tuple[tuple[int, int], ...] = ()) -> tuple[GpuMention, ...]:
    """Every GPU mention of the normalised text in order, with counts, memory, board form and role.

    `machines` are places where a name stands for a cloud's machine family, such as GCP's A2.
    """
    spans = [s for s in _known(text, lexicon) if not any(a < s.end and s.start < b for a, b in machines)]
    taken = [_Span(a, b, None, "") for a, b in machines]
    spans += _misspelt(text, spans + taken, lexicon)
    spans += _unknown(text, spans + taken, lexicon)
    spans = sorted(spans, key=lambda span: span.start)[:_MOST_MENTIONS]
    mentions = [_mention(text, span) for span in spans]
    mentions += _bare(text, mentions)
    mentions += _class_asked(text) if not mentions else []
    mentions.sort(key=lambda mention: mention.start)
    mentions = _with_count_apart(text, mentions)
    roles = roles_of(text, mentions)
    return tuple(_in_role(mention, role) for mention, role in zip(mentions, roles, strict=True))


def _in_role(mention: GpuMention, role: Role) -> GpuMention:
    """The mention with its role; a rack that is weighed ("GB200 NVL72 or 9x HGX B200?") is all of its nodes."""
    rack = _RACK.search(mention.text) if role == "candidate" and mention.count is None else None
    whole = {"count": _RACK_NODE, "nodes": int(rack.group(1)) // _RACK_NODE} if rack else {}
    return mention.model_copy(update={"role": role, **whole})


def _with_count_apart(text: str, mentions: list[GpuMention]) -> list[GpuMention]:
    """The one card of a turn with the number that a question asks about apart from it ("405B on B200: are 4 OK?")."""
    if len({m.gpu for m in mentions}) != 1 or any(m.count or m.nodes for m in mentions):
        return mentions
    for hit in hits("enough_of", text):
        words = clause(text, hit.start, hit.end)
        inside = any(m.start <= hit.start < m.end for m in mentions)
        asked = says("sufficiency", words) or (len(text) <= _SHORT and says("sufficiency", text))
        if inside or not asked or says("current", words):
            continue
        number = int(next(re.finditer(r"\d+", hit.text)).group(0))
        if number > 0:
            first = mentions[0].model_copy(update={"count": number, "asked_apart": True})
            return [first, *mentions[1:]]
    return mentions


def _known(text: str, lexicon: Lexicon) -> list[_Span]:
    found = []
    for match in lexicon.gpu_pattern.finditer(text):
        key = squash(match.group(0))
        gpu = lexicon.gpus.get(key) or lexicon.gpus.get(key.removesuffix("s"))
        if gpu is None or _NOT_GPU_AFTER.match(text, match.end()):
            continue
        if key.isdigit() and re.search(r"[$¥]\s?$|seq\w*[ =]$", text[max(0, match.start() - 8) : match.start()]):
            continue
        found.append(_Span(match.start(), match.end(), gpu, match.group(0)))
    return found


def _misspelt(text: str, taken: list[_Span], lexicon: Lexicon) -> list[_Span]:
    """Letters written for digits ("H1OO", "RTX 4O90", "A1o0")."""
    found = []
    for match in re.finditer(r"(?<![a-z0-9])(?:rtx|gtx)?[\s-]?[a-z]{0,2}[0-9oil]{2,4}[a-z]?(?![a-z0-9])", text):
        token = match.group(0).strip(" -")
        if (
            not re.search(r"\d", token)
            or not re.search(r"[oil]", token)
            or _overlaps(match.start(), match.end(), taken)
        ):
            continue
        key = squash(token)
        fixed = key[:1] + key[1:].translate(_SWAPS)
        gpu = lexicon.gpus.get(fixed)
        if gpu is not None and not fixed.isdigit():
            found.append(_Span(match.start(), match.end(), gpu, token))
    return found


def _unknown(text: str, taken: list[_Span], lexicon: Lexicon) -> list[_Span]:
    """Names shaped like a GPU's that nobody knows ("H300", "RTX 6090"), where a maker or a count stands beside them."""
    found = []
    for match in _UNKNOWN.finditer(text):
        name = match.group(2)
        key = squash(name)
        if (
            _overlaps(match.start(), match.end(), taken)
            or key in lexicon.models
            or key in lexicon.ordinary.get("gpu", ())
        ):
            continue
        beside = bool(match.group(1)) or bool(_count_beside(text, match.start(), match.end()))
        if _NAMED.match(name) or (beside and re.fullmatch(r"[a-z]{1,3}\d{3,4}[a-z]?", key)):
            found.append(_Span(match.start(2), match.end(2), None, name, known=False))
    return found


def _count_beside(text: str, start: int, end: int) -> bool:
    return bool(re.search(r"\d\s?x\s?(?:nvidia |amd )?$", text[max(0, start - 14) : start])) or bool(
        re.match(r"\s?(?:gpu|x\s?\d|\d{1,3}\s?(?:枚|基)|\d{2,3}\s?gb)", text[end : end + 8])
    )


def _overlaps(start: int, end: int, spans: list[_Span]) -> bool:
    return any(start < span.end and span.start < end for span in spans)


def _mention(text: str, span: _Span) -> GpuMention:
    end, variant, memory = span.end, None, None
    for _ in range(4):
        if (match := _VARIANT.match(text, end)) and variant is None:
            variant, end = _variant(match.group(1)), match.end()
        elif (match := _MEMORY.match(text, end)) and memory is None:
            memory, end = float(match.group(1)), match.end()
        elif (match := _FILLER.match(text, end)) and match.end() > end and re.search(r"[a-z]", match.group(0)):
            end = match.end()
        else:
            break
    lead = text[max(0, span.start - 12) : span.start]
    if variant is None and (match := _VARIANT_BEFORE.search(lead)):
        variant = _variant(match.group(1))
        span = _Span(span.start - (len(lead) - match.start()), span.end, span.gpu, span.text, span.known)
    if variant is None and re.search(r"(?:pcie|nvl|sxm)$", squash(span.text)):
        variant = _variant(re.search(r"(pcie|nvl|sxm)$", squash(span.text)).group(1))  # type: ignore[union-attr]
    if variant and span.gpu and variant not in span.gpu.variants and variant != "NVL":
        variant = None if len(span.gpu.variants) > 1 else span.gpu.variants[0]
    if memory is None and span.gpu and (match := _MEMORY_BARE.match(text, end)):
        said = float(match.group(1))
        if len(span.gpu.memory_gb) > 1 and said in span.gpu.memory_gb:
            memory, end = said, match.end()
    if memory is None and span.gpu and (match := _MEMORY_AHEAD.search(text[max(0, span.start - 10) : span.start])):
        said = float(match.group(1))
        if any(abs(said - m) < 0.08 * m for m in span.gpu.memory_gb):
            memory = said
            ahead = match.end() - match.start()
            span = _Span(span.start - ahead, span.end, span.gpu, span.text, span.known)
    if memory is None and (match := _MEMORY_TOPIC.match(text, end)):
        memory = float(match.group(1))
    start, count, nodes, end = _counts(text, span.start, end)
    if count is None and (match := _PAIR.match(text, end)):
        count, end = 2, match.end()
    if memory is None and (match := _MEMORY.match(text, end)):
        memory, end = float(match.group(1)), match.end()
    if count is not None and count <= _MOST_IN_A_BOX and (rack := _RACK.search(text[span.start : span.end + 6])):
        count, nodes = _RACK_NODE, int(rack.group(1)) // _RACK_NODE * count
        end = max(end, span.start + rack.end())
    each = _IN_A_SYSTEM.get(span.gpu.name) if span.gpu else None
    if each and _SYSTEM.search(text[max(0, span.start - 5) : span.start + 4]):
        nodes = nodes or (count if count != each else None)
        count = each
    name = span.gpu.name if span.gpu else _title(span.text)
    return GpuMention(
        gpu=name,
        text=text[start:end].strip(),
        start=start,
        end=end,
        variant=variant,
        memory_gb=memory,
        count=count,
        nodes=nodes,
        known=span.known,
        nearest=() if span.known else _nearest(span.text),
    )


def _title(name: str) -> str:
    return re.sub(r"^(rtx|gtx)\s?-?", lambda m: m.group(1) + " ", name).upper()


def _nearest(name: str) -> tuple[str, ...]:
    from knowledge.gpu_names import nearest

    return tuple(nearest(name))


def _variant(word: str) -> str:
    return "SXM" if word.startswith("sxm") else {"pcie": "PCIe", "nvl": "NVL", "oam": "OAM"}[word]


def _counts(text: str, start: int, end: int) -> tuple[int, int | None, int | None, int]:
    """(start, GPUs, machines, end) of a mention, widened to the numbers that stand beside it."""
    count: int | None = None
    nodes: int | None = None
    before = text[max(0, start - 48) : start]
    if match := _BEFORE.search(before):
        count = int(match.group(2))
        nodes = int(match.group(1)) if match.group(1) else None
        start -= len(before) - match.start()
        plain = not re.search(r"x|\*|枚|基", match.group(0))
        boxes = re.match(r"\s?(?:gpu )?(?:boxes|nodes|machines|servers|hosts|搭載)(?![a-z])", text[end : end + 16])
        if nodes is None and (re.search(r"台の\s?$", before) or (plain and boxes)):
            count, nodes = None, count
    if match := _AFTER.match(text, end):
        number = int(next(g for g in match.groups()[:3] if g))
        end = match.end()
        if match.group(3):
            nodes = number if nodes is None else nodes
        elif count is not None and nodes is None:
            nodes, count = count, number
        elif count is None:
            count = number
        if match.group(1) and nodes is None and (match := _TIMES_NODES.match(text, end)):
            nodes, end = int(match.group(1)), match.end()
    if (match := _NODES_AFTER.match(text, end)) and nodes is None and match.end() > end:
        nodes, end = int(match.group(1)), match.end()
    if _HOURS.match(text, end):
        count = nodes = None
    if count and nodes and count > _MOST_IN_A_BOX and count % nodes == 0:
        count //= nodes
    if count is not None and not 0 < count <= _MAX_COUNT:
        count = None
    return start, count, nodes if nodes and nodes > 0 else None, end


def _bare(text: str, taken: list[GpuMention]) -> list[GpuMention]:
    """Counts of cards known by their memory only ("8x 80GB", "80GBを2枚")."""
    found: list[GpuMention] = []
    for pattern in (_BARE, _BARE_JA):
        for match in pattern.finditer(text):
            if any(match.start() < m.end and m.start < match.end() for m in (*taken, *found)):
                continue
            first, second = (int(g) for g in match.groups() if g)
            count, memory = (first, float(second)) if pattern is _BARE else (second, float(first))
            if 0 < count <= _MAX_COUNT and memory >= 8:
                found.append(
                    GpuMention(
                        gpu=None,
                        text=match.group(0),
                        start=match.start(),
                        end=match.end(),
                        memory_gb=memory,
                        count=count,
                    )
                )
    return found


_CLASS = re.compile(
    r"(?<![\d.$¥x-])(\d{1,3})\s?gb(?!/s|ps|\s?(?:ram(?![a-z])|disk|ssd|dataset|of data|の?(?:データ|ディスク|ssd)))"
)


def _class_asked(text: str) -> list[GpuMention]:
    """ "Is 24 GB enough?": one card of a size that the turn asks about."""
    match = _CLASS.search(text)
    if match is None or not 4 <= float(match.group(1)) <= 300:
        return []
    words = clause(text, match.start(), match.end())
    if not says("sufficiency", words) or says("job_needs", words):
        return []
    return [
        GpuMention(
            gpu=None,
            text=match.group(0),
            start=match.start(),
            end=match.end(),
            memory_gb=float(match.group(1)),
            count=1,
        )
    ]
