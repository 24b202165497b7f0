"""What a path and a page say about a document: provider, language, edition, family, and words that help to find it."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from ingest.documents.model import Code, Heading, Page, Scope, Table, Text
from knowledge.tokens import detect_language

_PROVIDERS = Path(__file__).resolve().parents[2] / "knowledge" / "data" / "providers.csv"
_LANGUAGES = {"ja": "ja", "jp": "ja", "ja-jp": "ja", "japanese": "ja", "en": "en", "en-us": "en", "english": "en"}
_EDITION_FOLDER = re.compile(r"^v?\d{1,2}(?:\.\d{1,3}){0,2}$")
_EDITION_STEM = re.compile(r"^(v\d{1,2}(?:\.\d{1,3}){0,2})[-_.]")
_DULL = {
    "docs",
    "doc",
    "documentation",
    "readme",
    "index",
    "main",
    "content",
    "src",
    "pages",
    "html",
    "www",
    "com",
    "org",
    "io",
    "net",
}


@dataclass(frozen=True)
class Place:
    """What the path of a document says; `words` are its telling parts, for the search."""

    provider: str | None
    lang: str | None
    edition: str | None
    family: str
    words: str


@lru_cache(maxsize=1)
def _provider_names() -> dict[str, str]:
    """Provider ids by every name the table of providers gives, lower case."""
    names: dict[str, str] = {}
    try:
        with _PROVIDERS.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                for name in (row["provider"], row["name"], *row["aliases"].split("|")):
                    if name.strip():
                        names.setdefault(name.strip().lower(), row["provider"])
                host = urlsplit(row["site"]).hostname or ""
                label = host.removeprefix("www.").split(".")[0]
                if len(label) > 4:
                    names.setdefault(label, row["provider"])
    except FileNotFoundError:
        return {}
    return names


def read_place(relative: str, host: str | None = None) -> Place:
    """Read a path below the ingested folder (or the path of an address, with its host)."""
    path = PurePosixPath(relative.replace("\\", "/"))
    folders, stem = list(path.parts[:-1]), path.stem
    words: list[str] = []
    kept: list[str] = []
    provider = lang = edition = None
    for place, part in enumerate([*(host or "").split("."), *folders, stem]):
        name = part.lower()
        last = place == len((host or "").split(".")) + len(folders)
        if not last and _EDITION_FOLDER.match(name):
            edition = edition or (name if name.startswith("v") else f"v{name}")
            continue
        if last and (match := _EDITION_STEM.match(name)):
            edition = edition or match.group(1)
            name = name[match.end() :]
        if not last and name in _LANGUAGES:
            lang = lang or _LANGUAGES[name]
            continue
        pieces = [piece for piece in re.split(r"[-_. ]+", name) if piece]
        languages = [piece for piece in pieces if piece in _LANGUAGES]
        if languages and (len(pieces) > 1):
            lang = lang or _LANGUAGES[languages[0]]
            pieces = [piece for piece in pieces if piece not in _LANGUAGES]
        provider = provider or _provider_in(name, pieces)
        kept.append("-".join(pieces))
        words.extend(piece for piece in pieces if piece not in _DULL)
    return Place(provider, lang, edition, "/".join(part for part in kept if part), " ".join(dict.fromkeys(words)))


def _provider_in(name: str, pieces: list[str]) -> str | None:
    names = _provider_names()
    if name in names:
        return names[name]
    joined = ["-".join(pieces[:count]) for count in range(len(pieces), 0, -1)]
    for candidate in [*joined, *pieces]:
        if candidate in names:
            return names[candidate]
    return None


def edition_words(edition: str | None) -> str:
    """Ways of writing an edition: v2 → "v2 2.0"; v2.1 → "v2.1 2.1"."""
    if not edition:
        return ""
    number = edition.lstrip("v")
    return " ".join(dict.fromkeys([edition, number if "." in number else f"{number}.0"]))


def page_text(page: Page) -> str:
    """The text of a page in one string, for language detection."""
    parts: list[str] = []

    def walk(blocks: list[Text | Heading | Code | Table | Scope]) -> None:
        for block in blocks:
            if isinstance(block, Text | Heading):
                parts.append(block.text)
            elif isinstance(block, Table):
                parts.extend(" ".join(row) for row in block.rows)
            elif isinstance(block, Scope):
                walk(block.blocks)

    walk(page.blocks)
    return "\n".join(parts)


def language(page: Page, place: Place, asked: str) -> str:
    """The language asked for, else what the text is written in; what path and page claim settles pages with little prose."""
    if asked in ("ja", "en"):
        return asked
    text = page_text(page)
    found = detect_language(text)
    if len(text) < 80:
        return place.lang or (page.lang if page.lang in ("ja", "en") else None) or found
    return found
