"""Providers: canonical ids and the names, aliases and countries behind them (`data/providers.csv`)."""

from __future__ import annotations

import csv
import re
import unicodedata
from functools import lru_cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict

DATA = Path(__file__).parent / "data"


class Provider(BaseModel):
    """One provider. `country` is that of its head office; `catalogue_currency` what its catalogue rows are in ("EUR?": likely).

    `lists_everywhere`: its catalogue lists every type in every region, so that a row does not say the type is there.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    provider: str
    name: str
    name_ja: str
    aliases: tuple[str, ...]
    country: str
    site: str
    kind: str
    catalogue_currency: str
    lists_everywhere: bool
    source: str
    as_of: str


def _key(text: str) -> str:
    return re.sub(r"[\s_\-.]+", "", unicodedata.normalize("NFKC", text).lower())


@lru_cache(maxsize=1)
def provider_table() -> dict[str, Provider]:
    """All known providers by id."""
    with (DATA / "providers.csv").open(encoding="utf-8", newline="") as handle:
        return {
            row["provider"]: Provider.model_validate({**row, "aliases": [a for a in row["aliases"].split("|") if a]})
            for row in csv.DictReader(handle)
        }


@lru_cache(maxsize=1)
def _by_key() -> dict[str, str]:
    index: dict[str, str] = {}
    for provider in provider_table().values():
        plain = re.sub(r"[（(].*?[）)]", "", provider.name)
        for name in (provider.provider, provider.name, plain, provider.name_ja, *provider.aliases):
            index.setdefault(_key(name), provider.provider)
    return index


def resolve_provider(text: str) -> str | None:
    """The id of the provider that `text` names (id, name or alias, Japanese or English), or None."""
    return _by_key().get(_key(text))


def provider_name(provider: str, lang: str = "en") -> str:
    """The name to show for a provider id; the id itself where it is not in the table."""
    known = provider_table().get(provider)
    return provider if known is None else known.name_ja if lang == "ja" else known.name


def provider_names() -> dict[str, str]:
    """Every alias as written in the table with its provider id, for those who look for providers inside a sentence."""
    names: dict[str, str] = {}
    for provider in provider_table().values():
        for name in (provider.provider, provider.name, provider.name_ja, *provider.aliases):
            names.setdefault(name, provider.provider)
    return names
