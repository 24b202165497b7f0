"""Language, image and speech models in a turn, and how many parameters the job's model has."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import islice

from advisor.planner.reading.lexicon import Lexicon, Model
from advisor.planner.reading.normalize import squash
from advisor.planner.reading.phrases import negated, says
from advisor.planner.reading.result import Quantity

_WORD = re.compile(r"[a-z0-9]+(?:\.[0-9]+)*|[\u30a0-\u30ff]+|[\u4e00-\u9fff]+")
_JOINT = re.compile(r"[\s\-_/:・(]{0,2}")
_LONGEST = 8
_MOST_SIZES = 60
_SIZE = re.compile(
    r"(?<![a-z0-9.])(?:~|約|およそ)?(\d{1,5}(?:\.\d{1,3})?)\s?-?(b|bn|billion|t|trillion|m|million|億|兆|百万|万)(?![a-z0-9/])"
    r"(\s?-?\s?a(\d{1,3}(?:\.\d)?)b(?![a-z0-9]))?"
)
_TIMES = re.compile(r"(?<![a-z0-9.])(\d{1,3})x(\d{1,3}(?:\.\d)?)b(?![a-z0-9])")
_ACTIVE = re.compile(
    r"(?:~|約)?(\d{1,3}(?:\.\d)?)\s?b\s?(?:params? |parameters? )?(?:are |is )?(?:activ\w*|アクティブ)|(?:activ\w+|アクティブ)\S{0,6}[\s:=は]{0,3}(?:params?|parameters?|パラメータ)?[\s:=はが]{0,3}(?:~|約)?(\d{1,3}(?:\.\d)?)\s?b(?![a-z])"
)
_DISTILLED = re.compile(r"[\s-]*(?:distill?(?:ed)?|蒸留(?:版)?)?[\s-]*(?:qwen|llama)?[\s-]*")
_SIZE_AHEAD = re.compile(
    r"[\s-]?(?:params?|parameters?|パラメーター|パラメータ)?[\s-]?(?:の|級の?|クラスの?)?"
    r"(?:日本語|和製|日本製|japanese |custom |dense |base |class |multilingual )?"
)
_NOT_PARAMS = re.compile(
    r"\s?-?(?:tok(?:en)?s?|トークン|images?|photos?|画像|枚|円|ドル|yen|dollars?|records?|rows?|documents?|docs|件|文書|文字|ページ|/s|ps|it|req\w*|リクエスト|users?|人|samples?|examples?|pages?|cells?|セル|atoms?|原子|メッシュ|点|格子|要素|ドル|context|コンテキスト|steps?|vectors?|chunks?|vat|lines?|行|views?|calls?|api|hours?|時間|prompts?|queries|pairs?|videos?|clips?|frames?)"
)
_PARAM_WORD = re.compile(
    r"\s?-?(?:param|パラメータ|パラメーター|model|モデル|級|クラス|class|dense|規模|size|の|を|で|\)|$|-)"
)
_COUNTED = r"(?:images|photos|pictures|documents|docs|tokens|records|rows|users|requests|samples|examples|pages|chunks|videos|clips|frames|steps|queries|pairs|prompts|files|vectors|hours)"
_OF_A_MODEL = re.compile(
    rf"[\s-]?(?:(?!{_COUNTED}(?![a-z]))[a-z][a-z0-9/+-]* ){{0,4}}(?:model|llm|vlm|lm|mllm|network|transformer|encoder|decoder|backbone|policy|classifier)(?![a-z])"
    r"|[\s-]?(?:video|image|speech|music|audio|text)[ -](?:gen|synth|diffusion|to-)[a-z-]*"
    r"|の?[^、。をでがとはにも,.\s\d]{0,14}(?:モデル|llm|ネットワーク|エンコーダ)"
)
"""What makes a number beside it the size of a model, whatever the model is for ("14B video generation model")."""
NETWORKS = frozenset({"vision", "encoder", "science", "graph", "tabular", "forecast", "asr", "tts"})
"""Kinds of models that stay what they are whatever size is named beside them."""
_UNITS = {
    "b": 1.0,
    "bn": 1.0,
    "billion": 1.0,
    "t": 1e3,
    "trillion": 1e3,
    "m": 1e-3,
    "million": 1e-3,
    "億": 0.1,
    "兆": 1e3,
    "百万": 1e-3,
    "万": 1e-5,
}


@dataclass(frozen=True)
class ModelMention:
    """A model named in the text, with the size that stands in or beside its name."""

    model: Model | None
    name: str
    params_b: float | None
    active_params_b: float | None
    start: int
    end: int


_GLUED = re.compile(r"(?<![a-z0-9.])([a-z]{3,12})(\d{1,3}(?:\.\d)?b)(?![a-z0-9])")


def apart(text: str, lexicon: Lexicon) -> str:
    """The text with a size parted from the family that it is glued to ("llama70b"), unless that is a model's own name."""

    def parted(match: re.Match[str]) -> str:
        known = match.group(0) in lexicon.models or match.group(1) not in lexicon.families
        return match.group(0) if known else f"{match.group(1)} {match.group(2)}"

    return _GLUED.sub(parted, text)


def read_models(text: str, lexicon: Lexicon) -> list[ModelMention]:
    """Registered models by name or alias, then bare sizes ("7B", "3億パラメータ", "30B-A3B"), in order of the text."""
    named = _named(text, lexicon)
    sizes = _sizes(text)
    mentions: list[ModelMention] = []
    used: set[int] = set()
    for name in named:
        beside = next((i for i, s in enumerate(sizes) if _beside(text, name, s)), None)
        params, active = (name.model.params_b, name.model.active_params_b) if name.model else (None, None)
        end = name.end
        if beside is not None:
            used.add(beside)
            end = max(end, sizes[beside].end)
            stated = sizes[beside].params_b
            if name.model is None or (params and stated and abs(params - stated) > 0.25 * stated):
                resized = _resized(name, sizes[beside], lexicon)
                mentions.append(resized)
                continue
        mentions.append(ModelMention(name.model, name.name, params, active, name.start, end))
    mentions += [s for i, s in enumerate(sizes) if i not in used]
    return sorted(mentions, key=lambda m: m.start)


def _beside(text: str, name: ModelMention, size: ModelMention) -> bool:
    """Whether a size belongs to the name beside it ("Llama 3 70B", "R1 distill 32B", "300M BERT", "3億パラメータの日本語BERT")."""
    if name.start >= size.end:
        own = re.search(r"\d(?:\.\d)?b(?![a-z])", text[name.start : name.end])
        return own is None and bool(_SIZE_AHEAD.fullmatch(text, size.end, name.start))
    return size.start < name.end + 4 or bool(_DISTILLED.fullmatch(text, name.end, size.start))


def _resized(name: ModelMention, size: ModelMention, lexicon: Lexicon) -> ModelMention:
    """A family with a size beside it: the registered model of both, or the family's name with the stated size."""
    stated = size.params_b or 0.0
    usual = lexicon.defaults.get(squash(name.name))
    if name.model is None and usual is not None and usual.kind in NETWORKS:
        name = replace(name, model=usual, name=usual.name)
    if name.model is not None and name.model.kind in NETWORKS:
        return replace(name, params_b=stated or None, end=max(name.end, size.end))
    family = name.model.family if name.model else name.name.title()
    for key in (f"{squash(name.name)}{stated:g}b",):
        if found := lexicon.models.get(key) or lexicon.defaults.get(key):
            return ModelMention(
                found, found.name, found.params_b, found.active_params_b, name.start, max(name.end, size.end)
            )
    label = f"{family} {stated:g}B" if stated >= 1 else family
    return ModelMention(None, label, stated or None, size.active_params_b, name.start, max(name.end, size.end))


def _named(text: str, lexicon: Lexicon) -> list[ModelMention]:
    words = list(_WORD.finditer(text))
    found: list[ModelMention] = []
    i = 0
    while i < len(words):
        best: ModelMention | None = None
        step = 1
        key = ""
        for j in range(i, min(len(words), i + _LONGEST)):
            if j > i and not _JOINT.fullmatch(text, words[j - 1].end(), words[j].start()):
                break
            key += words[j].group(0)
            start, end = words[i].start(), words[j].end()
            model = lexicon.models.get(key)
            if model is not None and not _ordinary(text, key, start, end, lexicon):
                best = ModelMention(model, model.name, model.params_b, model.active_params_b, start, end)
                step = j - i + 1
            elif _family_so_far(best, key, words[j].group(0), lexicon) and not _ordinary(
                text, key, start, end, lexicon
            ):
                best = ModelMention(None, text[start:end], None, None, start, end)
                step = j - i + 1
        if best is not None:
            found.append(best)
        i += step
    return found


def _family_so_far(best: ModelMention | None, key: str, word: str, lexicon: Lexicon) -> bool:
    """A family's name ("llama"), or one just found with its version following ("llama 3.1")."""
    if best is None:
        return _family(key, lexicon)
    return best.model is None and key == squash(best.name) + word and bool(re.fullmatch(r"v?\d(?:\.\d)?", word))


def _family(key: str, lexicon: Lexicon) -> bool:
    bare = re.sub(r"v?\d+(?:\.\d+)?$", "", key)
    return key in lexicon.families or (bare in lexicon.families and bare != key and len(bare) > 2)


def _ordinary(text: str, key: str, start: int, end: int, lexicon: Lexicon) -> bool:
    """Whether a name that is also a word stands here as a word: no size beside it and no word about models near it."""
    bare = re.sub(r"v?\d+(?:\.\d+)?$", "", key)
    if key not in lexicon.ordinary.get("model", ()) and bare not in lexicon.ordinary.get("model", ()):
        return (
            len(key) < 4 and not re.search(r"\d", key) and key not in ("sd", "qwq", "svd", "gnn", "vit", "cnn", "xgb")
        )
    near = text[max(0, start - 24) : end + 24]
    if re.search(r"\d\.\d$", key):  # "wan2.2": a version stands behind names, seldom behind words
        return False
    return not (re.match(r"[\s-]?v?\d", text[end : end + 3]) or says("model_words", near))


def _sizes(text: str) -> list[ModelMention]:
    found: list[ModelMention] = []
    for match in islice(_TIMES.finditer(text), _MOST_SIZES):
        total = round(int(match.group(1)) * float(match.group(2)), 2)
        found.append(ModelMention(None, match.group(0), total, None, match.start(), match.end()))
    active = [(m.start(), m.end()) for m in _ACTIVE.finditer(text)]
    products = tuple(found)
    for match in islice(_SIZE.finditer(text), _MOST_SIZES):
        unit = match.group(2)
        if any(m.start < match.end() and match.start() < m.end for m in products):
            continue
        if _NOT_PARAMS.match(text, match.end()) and not _names_a_model(text, match):
            continue
        if any(a < match.end() and match.start() < b for a, b in active):
            continue
        if unit in ("億", "兆", "百万", "万", "m", "million", "t", "trillion") and not _says_params(text, match):
            continue
        value = float(match.group(1)) * _UNITS[unit]
        if not 0.001 <= value <= 200_000 or text[max(0, match.start() - 1) : match.start()] in ("$", "¥"):
            continue
        own = float(match.group(4)) if match.group(4) else None
        found.append(ModelMention(None, f"{value:g}B", value, own, match.start(), match.end()))
    return sorted(found, key=lambda m: m.start)


def _says_params(text: str, match: re.Match[str]) -> bool:
    if re.match(r"[\s\-の]{0,2}(?:param|パラメ)", text[match.end() : match.end() + 8]):
        return True
    if match.group(2) in ("m", "t", "trillion"):
        near = text[match.end() : match.end() + 8]
        return bool(re.match(r"[\s-]?(?:moe|級|クラス|class|dense|bert|gpt)", near)) or _names_a_model(text, match)
    return False


def _names_a_model(text: str, match: re.Match[str]) -> bool:
    """Whether the words after a number make it the size of a model rather than an amount of data."""
    if re.match(
        rf"\s?-?{_COUNTED}(?![a-z])|\s?(?:トークン|枚|件|円|人|文書|文字|ページ|行|件)", text[match.end() :][:16]
    ):
        return False
    return _OF_A_MODEL.match(text, match.end()) is not None


def active_params(text: str) -> float | None:
    """Billions of active parameters that the text states ("only ~3B params are active"), or None."""
    match = _ACTIVE.search(text)
    return float(match.group(1) or match.group(2)) if match else None


def job_model(text: str, mentions: list[ModelMention], changing: bool) -> ModelMention | None:
    """The model that the job is about: the one moved to, else the first that is not ruled out and not just an example."""
    sized = [m for m in mentions if m.params_b is not None and not negated(text, m.start, m.end)]
    named = [m for m in mentions if m.model is not None or m.params_b is None]
    if not sized:
        return next((m for m in named if not negated(text, m.start, m.end)), None)
    moved = [m for m in sized if says("moved_to", text[max(0, m.start - 40) : m.start])]
    if moved:
        return moved[-1]
    left = [
        m
        for m in sized
        if not says("moved_from", text[max(0, m.start - 30) : m.start] + " § " + text[m.end : m.end + 10])
    ]
    pool = left or sized
    if says("both", text) and len(pool) > 1:
        return max(pool, key=lambda m: m.params_b or 0)
    if (target := [m for m in pool if says("into", text[max(0, m.start - 24) : m.start])]) and says("distil", text):
        return target[-1]
    registered = [m for m in pool if m.model is not None]
    return (registered or pool)[0]


def quantities(mentions: list[ModelMention], text: str) -> list[Quantity]:
    """The sizes that were read, for showing."""
    return [
        Quantity(text=text[m.start : m.end], meaning="params_b", value=m.params_b, start=m.start, end=m.end)
        for m in mentions
        if m.params_b is not None
    ]
