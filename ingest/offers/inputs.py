"""From what a person names (files, folders, zips, addresses) to catalogue files: their text, format, provider and date."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from ingest.offers import gpuhunt, skypilot, table
from ingest.report import Report
from knowledge.errors import KnowledgeError
from knowledge.providers import resolve_provider

if TYPE_CHECKING:
    from ingest.fetch import Fetcher

FORMATS = ("auto", "skypilot", "gpuhunt", "table")
MAX_ZIP_DEPTH = 3
READ_SUFFIXES = (".csv", ".json", ".jsonl", ".parquet", ".zip")
MAX_BYTES = 200_000_000
FETCH_TOTAL_S = 300.0
_LIVE = "live:"


@dataclass(frozen=True)
class CatalogueFile:
    """One file to read. `label` names it in reports, `source` in offers; `provider` is None where rows carry their own."""

    label: str
    source: str
    kind: str
    raw: bytes
    suffix: str
    provider: str | None
    as_of: str = "unknown"


def find_files(
    given: str | Path,
    kind: str,
    provider: str | None,
    report: Report,
    as_of: str = "unknown",
    allow_private: bool = False,
) -> Iterator[CatalogueFile]:
    """The catalogue files behind one path, address or "live:provider". What cannot be read is in the report.

    Addresses of private and loopback ranges are fetched only with `allow_private`.
    """
    text = str(given)
    try:
        if text.startswith(_LIVE):
            name = text.removeprefix(_LIVE)
            raw = gpuhunt.live_csv(name).encode()
            yield CatalogueFile(text, f"gpuhunt live: {name}", "gpuhunt", raw, ".csv", _provider(name, report))
        elif re.match(r"https?://", text):
            from ingest.fetch import Fetcher, Refused

            fetcher = Fetcher(
                allow_private=allow_private, max_bytes=MAX_BYTES, total_timeout_s=FETCH_TOTAL_S, pause_s=0
            )
            try:
                yield from _published(text, kind, provider, report, as_of, fetcher)
            except Refused as error:
                report.reject(text, str(error))
        else:
            yield from _local(Path(text), kind, provider, report, as_of)
    except KnowledgeError as error:
        report.reject(text, str(error))


def _local(path: Path, kind: str, provider: str | None, report: Report, as_of: str) -> Iterator[CatalogueFile]:
    if not path.exists():
        report.reject(str(path), "no such file or folder")
        return
    files = sorted(found for found in path.rglob("*") if found.is_file()) if path.is_dir() else [path]
    for file in files:
        label = str(file.relative_to(path.parent)) if path.is_dir() else _short(file)
        if path.is_dir() and file.suffix.lower() not in READ_SUFFIXES:
            continue
        try:
            raw = file.read_bytes()
        except OSError as error:
            report.reject(label, f"cannot be read: {error.strerror or error}")
            continue
        yield from _typed(raw, label, _short(file), PurePosixPath(file.as_posix()), kind, provider, report, as_of)


def _short(file: Path) -> str:
    return "/".join(file.parts[-2:])


def _published(
    url: str, kind: str, provider: str | None, report: Report, as_of: str, fetcher: Fetcher
) -> Iterator[CatalogueFile]:
    if url.rstrip("/") == gpuhunt.BASE_URL or (kind == "gpuhunt" and not PurePosixPath(url).suffix):
        yield from _published_gpuhunt(url.rstrip("/"), provider, report, fetcher)
        return
    answer = fetcher.get(url)
    date = as_of if as_of != "unknown" else _day(answer.last_modified)
    yield from _typed(answer.data, url, url, PurePosixPath(url.split("?")[0]), kind, provider, report, date)


def _day(last_modified: str | None) -> str:
    """The day of a Last-Modified header, "unknown" where there is none that can be read."""
    try:
        return parsedate_to_datetime(last_modified or "").date().isoformat()
    except ValueError:
        return "unknown"


def _published_gpuhunt(base: str, provider: str | None, report: Report, fetcher: Fetcher) -> Iterator[CatalogueFile]:
    """`{base}/{provider}/version` holds the newest version, `{base}/{provider}/{version}/catalog.zip` the catalogue."""
    if provider is None:
        report.reject(base, "name the providers to fetch, for instance --provider lambdalabs")
        return
    version = fetcher.get(f"{base}/{provider}/version").data.decode().strip()
    if not re.fullmatch(r"[\w.\-]+", version):
        report.reject(f"{base}/{provider}/version", "not a version", value=version)
        return
    url = f"{base}/{provider}/{version}/catalog.zip"
    raw, date = fetcher.get(url).data, gpuhunt.version_date(version)
    yield from _typed(raw, url, url, PurePosixPath(url), "gpuhunt", None, report, date)


def _typed(
    raw: bytes,
    label: str,
    source: str,
    path: PurePosixPath,
    kind: str,
    provider: str | None,
    report: Report,
    as_of: str,
    depth: int = 0,
) -> Iterator[CatalogueFile]:
    suffix = path.suffix.lower()
    if raw[:4] == b"PK\x03\x04":
        if depth >= MAX_ZIP_DEPTH:
            report.reject(label, f"a zip inside {MAX_ZIP_DEPTH} others; unpack it and name its files")
            return
        yield from _zipped(raw, label, source, kind, provider, report, as_of, depth + 1)
        return
    if raw[:4] == b"PAR1":
        suffix = ".parquet"
    found = _kind(raw, suffix) if kind == "auto" else kind
    if found is None:
        report.reject(label, "its columns are those of no known catalogue", value=_header(raw))
        return
    wrong = _missing(raw, suffix, found)
    if wrong:
        report.reject(label, f"lacks the columns of the {found} form: {', '.join(wrong)}", value=_header(raw))
        return
    name = provider
    if found != "table" and name is None:
        name = path.stem if found == "gpuhunt" or path.stem not in ("vms", "catalog") else path.parent.name
    yield CatalogueFile(label, source, found, raw, suffix, _provider(name, report) if name else None, as_of)


def _zipped(
    raw: bytes, label: str, source: str, kind: str, provider: str | None, report: Report, as_of: str, depth: int
) -> Iterator[CatalogueFile]:
    left = MAX_BYTES
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            for entry in archive.infolist():
                path = PurePosixPath(entry.filename)
                if entry.is_dir() or path.suffix.lower() not in READ_SUFFIXES:
                    continue
                if entry.file_size > left:
                    report.reject(f"{label}/{entry.filename}", f"the zip holds more than {MAX_BYTES} bytes")
                    continue
                left -= entry.file_size
                inner = archive.read(entry)
                yield from _typed(
                    inner, f"{label}/{entry.filename}", source, path, kind, provider, report, as_of, depth
                )
    except (zipfile.BadZipFile, RuntimeError, EOFError) as error:
        report.reject(label, f"not a zip that can be read: {error}")


def _kind(raw: bytes, suffix: str) -> str | None:
    if suffix in (".json", ".jsonl", ".parquet"):
        return "table"
    return next((kind for kind in ("skypilot", "gpuhunt", "table") if not _missing(raw, suffix, kind)), None)


def _missing(raw: bytes, suffix: str, kind: str) -> list[str]:
    if suffix in (".json", ".jsonl", ".parquet"):
        return []
    needed = {"skypilot": skypilot.NEEDED, "gpuhunt": gpuhunt.NEEDED, "table": table.NEEDED}[kind]
    columns = {name.strip().strip('"') for name in _header(raw).split(",")}
    return [name for name in needed if name not in columns]


def _header(raw: bytes) -> str:
    return raw[:4096].decode("utf-8-sig", errors="replace").splitlines()[0] if raw.strip() else ""


def _provider(name: str, report: Report) -> str:
    known = resolve_provider(name)
    if known is None:
        report.warn(f"The provider {name!r} is not in providers.csv; it is kept as written")
    return known or name.lower()
