"""The names that a reading knows: GPUs, providers, places and language models, from the knowledge base's files."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import knowledge
from advisor.planner.reading.normalize import normalize, squash

_FOLDER = Path(__file__).parent
_KNOWLEDGE = Path(knowledge.__file__).parent / "data"
_JA = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")


@dataclass(frozen=True)
class Gpu:
    """A GPU model: its canonical name, board forms, and memory sizes in GB."""

    name: str
    variants: tuple[str, ...]
    memory_gb: tuple[float, ...]


@dataclass(frozen=True)
class Place:
    """A country ("JP"), a group of countries ("europe"), or a city or region code, as constraints name it."""

    kind: str
    code: str
    country: str | None


@dataclass(frozen=True)
class Model:
    """A language, image or speech model: what its size is and what it is for."""

    name: str
    family: str
    kind: str
    params_b: float | None
    active_params_b: float | None


@dataclass(frozen=True)
class Rate:
    """Yen for one US dollar, with its day and source."""

    rate: float
    as_of: str
    source: str


@dataclass(frozen=True)
class NamedFamily:
    """A cloud's machine family: how it is written, its instance types, and whether the name needs no cloud beside it."""

    cloud: str
    pattern: re.Pattern[str]
    types: tuple[str, ...]
    alone: bool


@dataclass(frozen=True)
class Lexicon:
    """Everything a reading looks names up in. Keys are normalised text; models are keyed without spaces and hyphens."""

    gpus: Mapping[str, Gpu]
    gpu_pattern: re.Pattern[str]
    providers: Mapping[str, str]
    provider_pattern: re.Pattern[str]
    places: Mapping[str, Place]
    place_pattern: re.Pattern[str]
    models: Mapping[str, Model]
    families: Mapping[str, str]
    defaults: Mapping[str, Model]
    """What a family's name alone stands for where people mostly mean one ("flux", "whisper"); an assumption, told as one."""
    instance_patterns: tuple[re.Pattern[str], ...] = ()
    """Patterns of the instance type names that the knowledge base has link facts for."""
    machine_families: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    """Types of a cloud's machine family, by cloud and family: ("aws", "p5"), ("gcp", "a3 mega"), ("gcp", "a3")."""
    named_families: tuple[NamedFamily, ...] = ()
    """Machine families with names of their own ("p5en", "ND H100 v5", "高火力 PHY")."""
    provider_kinds: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Providers by kind: hyperscaler, cloud, marketplace, broker, academic, serverless."""
    home_providers: tuple[str, ...] = ()
    """Providers that are based in Japan."""
    instance_types: frozenset[str] = frozenset()
    """Names that an offers store is known to hold, lower case; may be empty."""
    rate: Rate | None = None
    ordinary: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Names that are also ordinary words, by what they name; they count only where the words around them say so."""


def spaced(alias: str) -> str:
    """A pattern for a name that also matches it with hyphens, spaces or nothing between its parts ("RTX4090", "rtx-4090").

    No space may part "A" from its number, for "a 100 GPU cluster" names no A100, nor a letter from a single digit.
    """
    parts = re.findall(r"[a-z]+|\d+(?:\.\d+)?|[^\sa-z0-9\-_.()]+", alias.lower())
    joint = r"[\-_]?" if re.match(r"a\d|[a-z]\d(?!\d)", alias.lower()) else r"[\s\-_.]?"
    body = joint.join(re.escape(part) for part in parts)
    return body


def _apart(alias: str) -> str:
    """A name in katakana must not stand inside a longer katakana word: タイ is no part of タイプ."""
    body = spaced(alias)
    head = r"(?<![\u30a1-\u30fa\u30fc])" if re.match(r"[\u30a1-\u30fa]", alias) else ""
    tail = r"(?![\u30a1-\u30fa\u30fc])" if re.search(r"[\u30a1-\u30fa\u30fc]$", alias) else ""
    return f"{head}{body}{tail}"


def one_of(aliases: Iterable[str], opening: str = r"(?<![a-z0-9])", closing: str = r"(?![a-z0-9])") -> re.Pattern[str]:
    """One pattern for many names, the longest first; Japanese names match anywhere, others whole words."""
    ordered = sorted({a for a in aliases if a}, key=len, reverse=True)
    japanese = "|".join(_apart(a) for a in ordered if _JA.search(a))
    latin = "|".join(spaced(a) for a in ordered if not _JA.search(a) and re.match(r"[a-z0-9]", a))
    return re.compile("|".join(filter(None, [japanese, f"{opening}(?:{latin}){closing}" if latin else ""])) or r"(?!)")


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _gpus() -> dict[str, Gpu]:
    """GPU by name or alias as written, lower case."""
    from knowledge.gpu_names import gpu_table

    found: dict[str, Gpu] = {}
    for row in gpu_table().values():
        gpu = Gpu(row.gpu, row.variants, row.memory_gb)
        bare = re.sub(r"\s*\(.*?\)", "", row.gpu).lower()
        for alias in (row.gpu.lower(), bare, re.sub(r"^(?:rtx|gtx) ", "", bare), *row.aliases):
            if not re.fullmatch(r"\d{1,3}|\d000|[1-4]\d{3} ada", alias):
                found.setdefault(alias, gpu)
    return found


def _models() -> tuple[dict[str, Model], dict[str, str]]:
    from knowledge.facts import load_facts

    models: dict[str, Model] = {}
    families: dict[str, str] = {}
    for spec in load_facts().models:
        model = Model(spec.name, spec.family, spec.kind, spec.params_b, spec.active_params_b)
        for alias in (spec.name, *spec.aliases, spec.hf_id or ""):
            tail = alias.rsplit("/", 1)[-1]
            key = squash(normalize(tail if re.search(r"[A-Za-z].*\w{2}", tail) else alias))  # "ViT-B/16" is no "16"
            if key:
                models.setdefault(key, model)
        families.setdefault(squash(normalize(spec.family)), spec.family)
    return models, families


@cache
def load_lexicon() -> Lexicon:
    """The lexicon of the shipped knowledge base; read once."""
    ordinary: dict[str, set[str]] = {}
    for row in _rows(_FOLDER / "ordinary_words.csv"):
        ordinary.setdefault(row["kind"], set()).add(row["name"])
    gpus = _gpus()
    models, families = _models()
    by_name = {model.name: model for model in models.values()}
    providers = _providers()
    places = _places()
    return Lexicon(
        gpus={squash(alias): gpu for alias, gpu in reversed(gpus.items())},
        gpu_pattern=one_of(
            gpus, r"(?:(?<![a-z0-9])|(?<=\dx))", r"(?![0-9])(?:s(?![a-z0-9])|(?![a-z])|(?=x\d|sxm|pcie|nvl))"
        ),
        providers={squash(alias): provider for alias, provider in providers.items()},
        provider_pattern=one_of(providers),
        places={squash(alias): place for alias, place in places.items()} | places,
        place_pattern=one_of(places),
        models=models,
        families=families,
        defaults={
            row["name"]: by_name[row["model"]]
            for row in _rows(_FOLDER / "model_defaults.csv")
            if row["model"] in by_name
        },
        instance_patterns=_instance_patterns(),
        home_providers=tuple(row["provider"] for row in _rows(_KNOWLEDGE / "providers.csv") if row["country"] == "JP"),
        machine_families=_machine_families(),
        named_families=_named_families(),
        provider_kinds=_provider_kinds(),
        rate=_rate(),
        ordinary={kind: frozenset(names) for kind, names in ordinary.items()},
    )


def _providers() -> dict[str, str]:
    found: dict[str, str] = {}
    for row in _rows(_KNOWLEDGE / "providers.csv"):
        for alias in (row["provider"], row["name"], row["name_ja"], *row["aliases"].split("|")):
            alias = normalize(re.sub(r"\s*[(（].*", "", alias))
            if len(alias) > 2:
                found.setdefault(alias, row["provider"])
    return found


def _places() -> dict[str, Place]:
    from knowledge.places import place_names, resolve_place

    found: dict[str, Place] = {"us": Place("country", "US", "US"), "the states": Place("country", "US", "US")}
    for name, place in sorted(place_names().items(), key=lambda item: item[1].kind == "region"):
        if place.kind == "region":
            place = resolve_place(name) or place
        codes = place.countries
        if place.kind == "country" and len(codes) == 1:
            found[normalize(name)] = Place("country", codes[0], codes[0])
        else:
            code = name if place.kind == "region" else place.name
            found.setdefault(normalize(name), Place(place.kind, code, codes[0] if len(codes) == 1 else None))
    return found


def _instance_patterns() -> tuple[re.Pattern[str], ...]:
    patterns = {row["instance_type"] for row in _rows(_KNOWLEDGE / "instance_links.csv")} - {"*", "", ".*"}
    return tuple(re.compile(pattern, re.IGNORECASE) for pattern in sorted(patterns) if not pattern.startswith("(?!"))


def _machine_families() -> dict[tuple[str, str], tuple[str, ...]]:
    found: dict[tuple[str, str], dict[str, None]] = {}
    for row in _rows(_KNOWLEDGE / "instance_links.csv"):
        name = re.sub(r"\(\?:[^()]*\)\?", "", row["instance_type"]).replace("\\.", ".").lower()
        cloud = row["provider"]
        if cloud not in ("aws", "gcp") or re.search(r"[*+\\()\[\]]", name):
            continue
        first, _, rest = name.partition("." if cloud == "aws" else "-")
        keys = [first]
        if cloud == "gcp" and (second := re.match(r"([a-z]+)gpu-", rest)):
            keys.append(f"{first} {second.group(1)}")
        for key in keys:
            found.setdefault((cloud, key), {})[name] = None
    return {key: tuple(names) for key, names in found.items()}


def _named_families() -> tuple[NamedFamily, ...]:
    return tuple(
        NamedFamily(
            row["cloud"],
            re.compile(rf"(?<![a-z0-9.\-_])(?:{row['pattern']})(?![a-z0-9_]|[.-][a-z0-9])"),
            tuple(row["types"].split("|")),
            row["named_alone"] == "yes",
        )
        for row in _rows(_FOLDER / "machine_families.csv")
    )


def _provider_kinds() -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for row in _rows(_KNOWLEDGE / "providers.csv"):
        found.setdefault(row["kind"], []).append(row["provider"])
    return {kind: tuple(names) for kind, names in found.items()}


def _rate() -> Rate | None:
    rows = [row for row in _rows(_KNOWLEDGE / "fx.csv") if row["pair"] == "USD/JPY"]
    if not rows:
        return None
    newest = max(rows, key=lambda row: row["as_of"])
    return Rate(float(newest["rate"]), newest["as_of"], newest["source"])
