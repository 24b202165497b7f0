"""Places in a turn: countries, groups of countries, cities and region codes, wanted or ruled out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice

from advisor.answer import Constraints
from advisor.planner.reading.lexicon import Lexicon, Place
from advisor.planner.reading.normalize import squash
from advisor.planner.reading.phrases import allowed, hits, negated, relaxed, says

_MOST_MENTIONS = 24
_SHORT = 3


@dataclass(frozen=True)
class PlaceMention:
    """A place, and whether it is wanted, ruled out, or only asked about."""

    place: Place
    text: str
    start: int
    end: int
    role: str


def read_places(text: str, lexicon: Lexicon) -> list[PlaceMention]:
    """Every place of the normalised text, in order. A language or a nationality ("Japanese corpus") is no place."""
    found: list[PlaceMention] = []
    spoken = [(hit.start, hit.end) for hit in hits("answer_language", text)]
    for match in islice(lexicon.place_pattern.finditer(text), _MOST_MENTIONS):
        key = squash(match.group(0))
        place = lexicon.places.get(match.group(0)) or lexicon.places.get(key)
        if place is None or (
            key in lexicon.ordinary.get("place", ()) and not _placed(text, match.start(), match.end())
        ):
            continue
        if any(a <= match.start() < b for a, b in spoken):
            continue
        if says("not_a_place_after", text[match.end() : match.end() + 14]) or _of_a_company(text, match):
            continue
        if len(key) <= _SHORT and key.isascii() and not _short_name(text, key, match, lexicon):
            continue
        role = _role(text, match.start(), match.end())
        found.append(PlaceMention(place, match.group(0), match.start(), match.end(), role))
    return _asked(text, _spread(text, found))


_LISTED = re.compile(r"\s?(?:と|や|/|・|&|or|and|nor)\s?(?:the )?")


def _spread(text: str, found: list[PlaceMention]) -> list[PlaceMention]:
    """ "米国と中国以外", "not the US or Canada": what rules one out rules out its neighbour in the list."""
    out = list(found)
    for i in range(len(out) - 1):
        a, b = out[i], out[i + 1]
        if {a.role, b.role} == {"wanted", "excluded"} and _LISTED.fullmatch(text, a.end, b.start):
            out[i], out[i + 1] = (PlaceMention(m.place, m.text, m.start, m.end, "excluded") for m in (a, b))
    return out


def _role(text: str, start: int, end: int) -> str:
    if relaxed(text, start, end) or says("let_go_before", text[max(0, start - 24) : start]):
        return "relaxed"
    if negated(text, start, end):
        return "excluded"
    return "allowed" if allowed(text, start, end) else "wanted"


def _of_a_company(text: str, match: re.Match[str]) -> bool:
    """Whether the place is where the people are ("a startup in Osaka", "大阪のスタートアップ")."""
    before, after = text[max(0, match.start() - 32) : match.start()], text[match.end() : match.end() + 16]
    return says("company_place_before", before) or says("company_place_after", after)


def _short_name(text: str, key: str, match: re.Match[str], lexicon: Lexicon) -> bool:
    """Of two or three letters only names that are no words count ("US", "EU", "UK"), and only where a place can stand."""
    if key not in lexicon.ordinary.get("short_place", ()) and not re.search(r"\d", key):
        return False
    return _placed(text, match.start(), match.end()) and not says(
        "not_a_place_before", text[max(0, match.start() - 12) : match.start()]
    )


def _placed(text: str, start: int, end: int) -> bool:
    """Whether the words around say that it is a place ("in the US", "only US", "US region", "USのみ")."""
    return says("place_before", text[max(0, start - 22) : start]) or says("place_after", text[end : end + 12])


def _asked(text: str, found: list[PlaceMention]) -> list[PlaceMention]:
    """ "eu-north1 or only the US?" asks; it does not limit."""
    out = list(found)
    for i in range(len(found) - 1):
        between = text[found[i].end : found[i + 1].start]
        if (
            re.fullmatch(r"[^.?!]{0,4}\bor only (?:in )?(?:the )?", between)
            and "?" in text[found[i + 1].end : found[i + 1].end + 12]
        ):
            for j in (i, i + 1):
                out[j] = PlaceMention(found[j].place, found[j].text, found[j].start, found[j].end, "asked")
    return out


def home_only(text: str) -> bool:
    """Whether the turn rules out places abroad without naming one ("国外NG", "データを国外に出せない")."""
    return says("home_only", text)


def place_fields(
    text: str,
    lexicon: Lexicon,
    lang: str,
    old: Constraints | None = None,
    mentions: list[PlaceMention] | None = None,
) -> dict[str, tuple[str, ...]]:
    """`regions`, `countries`, `not_countries` that the turn sets; fields it does not speak of are absent.

    A country of `old.not_countries` that is allowed again leaves them; a place no longer demanded sets the places free.
    """
    mentions = read_places(text, lexicon) if mentions is None else mentions
    banned = old.not_countries if old else ()
    back = {m.place.code for m in mentions if m.role == "allowed"} & set(banned)
    wanted = [m.place for m in mentions if m.role == "wanted" or (m.role == "allowed" and m.place.code not in back)]
    excluded = [m.place for m in mentions if m.role == "excluded"]
    fields: dict[str, tuple[str, ...]] = {}
    if any(m.role == "relaxed" for m in mentions):
        fields |= {"regions": (), "countries": ()}
    if home_only(text) and not wanted and lang == "ja":
        wanted = [Place("country", "JP", "JP")]
    narrow = [p for p in wanted if p.kind != "country"]
    inside = {p.country for p in narrow if p.kind in ("city", "region")}
    countries = [p.code for p in wanted if p.kind == "country" and p.code not in inside]
    if narrow and countries:
        fields["regions"] = _unique([*(p.code for p in narrow), *countries])
        fields["countries"] = ()
    elif narrow:
        fields["regions"], fields["countries"] = _unique([p.code for p in narrow]), ()
    elif countries:
        fields["countries"], fields["regions"] = _unique(countries), ()
    if excluded:
        fields["not_countries"] = _unique([p.code for p in excluded if p.kind == "country"])
    fields = {k: v for k, v in fields.items() if v or k != "not_countries"}
    return {"not_countries": tuple(c for c in banned if c not in back), **fields} if back else fields


def _unique(items: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(items))
