"""Providers and instance types in a turn: asked for, ruled out, in use, or unknown."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import islice

from advisor.answer import Constraints
from advisor.planner.reading.lexicon import Lexicon
from advisor.planner.reading.normalize import squash
from advisor.planner.reading.phrases import allowed, hits, negated, relaxed, says, too

_INSTANCE = re.compile(
    r"(?<![a-z0-9.\-_])(?:"
    r"[a-z]{1,3}\d{1,2}[a-z]{0,4}(?:-[a-z]\d{3})?\.(?:\d{1,3}x?large|\d{1,3}x[a-z]{4,8}|metal(?:-\d+xl)?|micro|small|medium|nano|xlarge)"
    r"|standard_[a-z]{1,4}\d[a-z0-9_-]{1,30}|n[dcv]{1,2}\d{1,3}[a-z]{1,6}(?:_[a-z0-9]{1,16}){0,4}_v\d"
    r"|a[23469]\d?x?-(?:high|mega|ultra|edge|max)gpu-\d{1,2}g(?:-[a-z0-9_]+)?|g[2-9]-standard-\d{1,3}|ct\d[a-z0-9_]+-[a-z0-9_]+-\d+t"
    r"|(?:bm|vm)\.gpu[a-z0-9_.-]{1,30}|gpu_\d{1,2}x_[a-z0-9_]{2,24}"
    r")(?![a-z0-9])"
)
_AZURE_SHORT = re.compile(r"n[dcv]{1,2}\d")
_CLOUD_WORD = re.compile(
    r"(?<![a-z0-9])(?:on|at|from|via|through) ([a-z][a-z0-9]{3,18}(?:cloud|compute|pod|labs|stack|gpu|\.ai|\.io))(?![a-z0-9])"
)


_MOST_MENTIONS = 24


@dataclass(frozen=True)
class ProviderMention:
    """A provider's id, and its role: wanted, excluded, allowed (again), either (may be it or others), relaxed, current."""

    provider: str
    text: str
    start: int
    end: int
    role: str


def read_providers(text: str, lexicon: Lexicon) -> list[ProviderMention]:
    """Every known provider of the normalised text, in order."""
    found: list[ProviderMention] = []
    for match in islice(lexicon.provider_pattern.finditer(text), _MOST_MENTIONS):
        key = squash(match.group(0))
        provider = lexicon.providers.get(key)
        if provider is None:
            continue
        if key in lexicon.ordinary.get("provider", ()) and not _as_provider(text, match.start(), match.end()):
            continue
        found.append(ProviderMention(provider, match.group(0), match.start(), match.end(), _role(text, match)))
    return _spread(text, found)


def _as_provider(text: str, start: int, end: int) -> bool:
    return says("provider_before", text[max(0, start - 24) : start]) or says("provider_after", text[end : end + 14])


def _role(text: str, match: re.Match[str]) -> str:
    if relaxed(text, match.start(), match.end()):
        return "relaxed"
    if lacked := _lacked(text, match.start(), match.end()):
        return lacked
    if negated(text, match.start(), match.end()):
        return "excluded"
    if says(
        "provider_current",
        text[max(0, match.start() - 70) : match.start()] + "§" + text[match.end() : match.end() + 34],
    ):
        return "wanted" if _stays(text, match) else "current"
    if allowed(text, match.start(), match.end()):
        return "either" if too(text, match.end()) else "allowed"
    return "wanted"


def _lacked(text: str, start: int, end: int) -> str | None:
    """ "excluded" where the turn says that there is no account there, "current" where only credits or quota are missing."""
    near = text[max(0, start - 40) : start] + "§" + text[end : end + 24]
    if says("provider_no_account", near) or (says("provider_no_credit", near) and says("elsewhere", text)):
        return "excluded"
    return "current" if says("provider_no_credit", near) else None


def _stays(text: str, match: re.Match[str]) -> bool:
    """ "I'm on Azure" wants Azure, unless the turn speaks of leaving it."""
    before = text[max(0, match.start() - 40) : match.start()] + "§"
    return says("provider_stays", before) and not says("moving", text)


def home_providers(text: str, lexicon: Lexicon) -> tuple[str, ...]:
    """Providers of Japan where the turn asks for those alone ("国内事業者だけで"); else none."""
    return lexicon.home_providers if says("home_providers", text) else ()


def _spread(text: str, found: list[ProviderMention]) -> list[ProviderMention]:
    """ "not AWS or GCP", "AWSとGCP以外": what rules one out rules out its neighbour in the list."""
    out = list(found)
    listed = re.compile(r"\s?(?:,|、|/|・|or|and|nor|と|や|か|も|&)\s?")
    pairs = [i for i in range(len(out) - 1) if listed.fullmatch(text, out[i].end, out[i + 1].start)]
    for i in (*pairs, *reversed(pairs)):
        if "excluded" in (out[i].role, out[i + 1].role):
            out[i], out[i + 1] = replace(out[i], role="excluded"), replace(out[i + 1], role="excluded")
    return out


def provider_fields(
    mentions: list[ProviderMention], old: Constraints | None = None, *, soft: bool = False
) -> dict[str, tuple[str, ...]]:
    """`providers` and `not_providers` that the turn sets; absent where it names none.

    A provider that is allowed again ("やっぱりAWSもOK") leaves `old.not_providers`, or joins `old.providers`; one that is no
    longer demanded ("AWSじゃなくてもいい") sets `providers` free, and so does a `soft` wish ("Lambda if possible, else others").
    """
    old = old or Constraints()
    mentions = [_plain(m, old) for m in mentions]
    wanted = tuple(dict.fromkeys(m.provider for m in mentions if m.role == "wanted"))
    excluded = tuple(dict.fromkeys(m.provider for m in mentions if m.role == "excluded"))
    fields = {"providers": tuple(p for p in wanted if p not in excluded), "not_providers": excluded}
    fields = {name: value for name, value in fields.items() if value}
    back = {m.provider for m in mentions if m.role in ("allowed", "either")}
    if back & set(old.not_providers):
        left = tuple(p for p in old.not_providers if p not in back)
        fields.setdefault("not_providers", left)
    elif back and old.providers:
        fields.setdefault("providers", tuple(dict.fromkeys([*old.providers, *sorted(back)])))
    if any(m.role == "relaxed" for m in mentions):
        fields.setdefault("providers", ())
    if soft and fields.get("providers"):
        fields["providers"] = ()
    return fields


def group_mentions(text: str, lexicon: Lexicon) -> list[ProviderMention]:
    """Whole kinds of sellers that the turn asks for or rules out ("no hyperscalers", "大手クラウド以外"), as their members."""
    found: list[ProviderMention] = []
    for hit in hits("provider_group", text):
        others = hit.value.startswith("not_")
        role = "excluded" if negated(text, hit.start, hit.end) else None
        near = text[max(0, hit.start - 16) : hit.start] + "§" + text[hit.end : hit.end + 6]
        role = role or ("wanted" if says("provider_group_only", near) else None)
        if role is None:
            continue
        if others:
            role = "wanted" if role == "excluded" else "excluded"
        members = lexicon.provider_kinds.get(hit.value.removeprefix("not_"), ())
        found += [ProviderMention(name, hit.text, hit.start, hit.end, role) for name in members]
    return found


def _plain(mention: ProviderMention, old: Constraints) -> ProviderMention:
    """ "AWS is fine" asks for it where nothing was said of providers before."""
    if mention.role == "allowed" and not old.providers and mention.provider not in old.not_providers:
        return replace(mention, role="wanted")
    return mention


def read_instance_types(text: str, lexicon: Lexicon) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(known, unknown) names shaped like an instance type, in lower case, as written."""
    known: list[str] = []
    unknown: list[str] = []
    for match in _INSTANCE.finditer(text):
        name = match.group(0).rstrip(".-_")
        name = f"standard_{name}" if _AZURE_SHORT.match(name) else name
        named = any(name == t.lower() for family in lexicon.named_families for t in family.types)
        real = named or name in lexicon.instance_types or any(p.fullmatch(name) for p in lexicon.instance_patterns)
        target = known if real else unknown
        if name not in target:
            target.append(name)
    return tuple(known), tuple(unknown)


def inside_type(text: str, at: int) -> bool:
    """Whether a place of the text is inside an instance type's name ("Standard_ND96isr_H100_v5")."""
    return any(m.start() <= at < m.end() for m in _INSTANCE.finditer(text))


def read_unknown_providers(text: str, lexicon: Lexicon) -> tuple[str, ...]:
    """Names that look like a cloud's and that nobody knows ("on FooCloud")."""
    names = [m.group(1) for m in _CLOUD_WORD.finditer(text)]
    return tuple(n for n in dict.fromkeys(names) if squash(n) not in lexicon.providers and not says("cloud_word", n))
