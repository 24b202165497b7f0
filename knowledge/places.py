"""Places: region codes, cities, countries and groups of countries, by any name in Japanese or English.

Rows of `data/places.csv`: kind "country" (key is the English name), "city", "region" (a provider's code) or "group" (its
members are ISO 3166 two-letter codes). `resolve_place` reads what a person writes; `locate` reads what catalogues write.
"""

from __future__ import annotations

import csv
import re
import unicodedata
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

DATA = Path(__file__).parent / "data"


class Place(BaseModel):
    """What a place name stands for. `countries` are ISO codes; `cities` and `regions` narrow them where not empty."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["country", "region", "city", "group"]
    name: str
    countries: tuple[str, ...]
    cities: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()


class Location(NamedTuple):
    """Country (ISO two letters) and city of a region; None where nobody said."""

    country: str | None
    city: str | None


class _Row(NamedTuple):
    kind: str
    key: str
    provider: str
    country: str
    city: str
    aliases: tuple[str, ...]
    members: tuple[str, ...]


def _fold(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text).strip().lower()
    return re.sub(r"[\s_]+", " ", plain)


@lru_cache(maxsize=1)
def _rows() -> tuple[_Row, ...]:
    with (DATA / "places.csv").open(encoding="utf-8", newline="") as handle:
        return tuple(
            _Row(
                row["kind"],
                row["key"],
                row["provider"],
                row["country"],
                row["city"],
                tuple(alias for alias in row["aliases"].split("|") if alias),
                tuple(member for member in row["members"].split("|") if member),
            )
            for row in csv.DictReader(handle)
        )


@lru_cache(maxsize=1)
def _named() -> dict[str, _Row]:
    """Countries, cities and groups by folded name or alias; a country wins over a group, a group over a city."""
    index: dict[str, _Row] = {}
    for kind in ("city", "group", "country"):
        for row in _rows():
            if row.kind == kind:
                for name in (row.key, *row.aliases):
                    index[_fold(name)] = row
    return index


@lru_cache(maxsize=1)
def _regions() -> dict[str, list[_Row]]:
    index: dict[str, list[_Row]] = {}
    for row in _rows():
        if row.kind == "region":
            index.setdefault(_fold(row.key), []).append(row)
    return index


@lru_cache(maxsize=1)
def country_codes() -> frozenset[str]:
    """The ISO codes that the table knows."""
    return frozenset(row.country for row in _rows() if row.country)


def country_name(code: str, lang: str = "en") -> str:
    """The name of a country in English or Japanese; the code itself where the table has none."""
    for row in _rows():
        if row.kind == "country" and row.country == code:
            return row.aliases[0] if lang == "ja" and row.aliases else row.key
    return code


def place_names() -> dict[str, Place]:
    """Every name and alias (folded: NFKC, lower case) with its place, for those who look for places inside a sentence."""
    return {name: _place(row) for name, row in _named().items()} | {
        code: _region_place(code, rows) for code, rows in _regions().items()
    }


def resolve_place(text: str) -> Place | None:
    """The place that `text` names: a country, city or group in Japanese or English, an ISO code (capitals), or a region code.

    Returns None where the table has no such name.
    """
    folded = _fold(text)
    trimmed = re.sub(r"(?:リージョン|地域|圏| ?region)$", "", folded).strip()
    code = unicodedata.normalize("NFKC", text).strip()
    if re.fullmatch(r"[A-Z]{2}", code) and code not in ("EU", "AP"):
        code = "GB" if code == "UK" else code
        for row in _rows():
            if row.kind == "country" and row.country == code:
                return _place(row)
    for name in dict.fromkeys((folded, trimmed)):
        if name in _named():
            return _place(_named()[name])
        if name in _regions():
            return _region_place(name, _regions()[name])
    return None


def _place(row: _Row) -> Place:
    if row.kind == "country":
        return Place(kind="country", name=row.key, countries=(row.country,))
    if row.kind == "city":
        return Place(kind="city", name=row.key, countries=(row.country,), cities=(row.key,))
    return Place(kind="group", name=row.key, countries=row.members)


def _region_place(code: str, rows: list[_Row]) -> Place:
    countries = tuple(dict.fromkeys(row.country for row in rows))
    cities = tuple(dict.fromkeys(row.city for row in rows if row.city))
    return Place(kind="region", name=rows[0].key, countries=countries, cities=cities, regions=(rows[0].key,))


def locate(region: str, provider: str | None = None) -> Location:
    """Country and city of a region as a catalogue writes it.

    Reads the provider's own codes, other providers' codes where all agree, "city-country-n", "City, CC, CONT",
    "Continent-CC", "NAME_COUNTRY", a bare country or city, and zones ("us-central1-a").
    """
    folded = _fold(region)
    if not folded or folded in ("default", "unknown"):
        return Location(None, None)
    rows = _regions().get(folded) or _regions().get(re.sub(r"-[a-z]$", "", folded)) or []
    mine = [row for row in rows if row.provider == provider] or rows
    if mine and len({row.country for row in mine}) == 1:
        cities = {row.city for row in mine}
        return Location(mine[0].country, (cities.pop() or None) if len(cities) == 1 else None)
    if mine:
        return Location(None, None)
    return _read_parts(region)


def _read_parts(region: str) -> Location:
    codes = [part for part in re.split(r"[,\-]\s*", region) if re.fullmatch(r"[A-Z]{2}", part.strip())]
    listed = [code.strip() for code in codes if code.strip() in country_codes()]
    if "," in region and listed:
        return Location(listed[0], _city(region.split(",")[0], listed[0]))
    if re.fullmatch(r"[A-Za-z ]+-[A-Z]{2}", region.strip()) and listed:
        return Location(listed[-1], None)
    if re.fullmatch(r"[A-Z]{2}", region.strip()):
        code = "GB" if region.strip() == "UK" else region.strip()
        return Location(code if code in country_codes() else None, None)
    words = [word for word in re.split(r"[\s_\-,()]+", _fold(region)) if word and not word.isdigit()]
    country = city = None
    for length in (3, 2, 1):
        for start in range(len(words) - length + 1):
            row = _named().get(" ".join(words[start : start + length]))
            if row is None or (length == 1 and len(words[start]) < 3):
                continue
            if row.kind == "country":
                country = country or row.country
            elif row.kind == "city":
                city, country = city or row.key, country or row.country
    return Location(country, city if city and _city(city, country) else None)


def _city(name: str, country: str | None) -> str | None:
    row = _named().get(_fold(name))
    return row.key if row and row.kind == "city" and row.country == country else None
