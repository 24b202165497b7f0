"""What to ingest: a file, a folder, a zip, an address or a site map, as a stream of items with their bytes read late."""

from __future__ import annotations

import csv
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from ingest.documents.load import FORMATS
from ingest.report import Report

MAX_FILE_BYTES = 50_000_000
MAX_ZIP_BYTES = 500_000_000
MAX_ZIP_RATIO = 200
MAX_ZIP_FILES = 20_000
_SKIPPED = {".git", ".svn", ".hg", "node_modules", "__pycache__", ".venv", "__macosx"}
_SIDECAR = ("SOURCES.csv", "sources.csv")


class Unchanged(Exception):
    """Raised by an item's `read` where the server says that the page is as it was."""


@dataclass
class Item:
    """One document to be read. `source` is what hits show; `key` is the same however the path is written; `relative` is the
    path below the root; `url` and `as_of` come from a table of sources beside the files."""

    source: str
    key: str
    relative: str
    root: str
    read: Callable[[], bytes]
    url: str | None = None
    as_of: str | None = None
    file_date: str | None = None
    host: str | None = None
    media_type: str | None = None
    charset: str | None = None
    etag: str | None = None
    path: Path | None = None


@dataclass
class Found:
    """All items of one input, and whether the input was complete: only then what is missing from it is gone."""

    root: str
    items: list[Item] = field(default_factory=list)
    complete: bool = True


def is_url(given: str) -> bool:
    """Whether an input is an address."""
    return given.lower().startswith(("http://", "https://"))


def find_local(given: str, report: Report) -> Found:
    """The items of a path. What does not exist is reported and gives none."""
    path = Path(given).expanduser()
    if path.is_dir():
        return _folder(given, path, report)
    if path.is_file() and zipfile.is_zipfile(path) and path.suffix.lower() == ".zip":
        return _zip(given, path, report)
    if path.is_file():
        root = str(path.resolve())
        urls = _sidecar(path.parent)
        return Found(root, [_item(path, given, path.name, root, urls)])
    reason = "no such file or folder" if not path.exists() else "not a file or folder"
    report.reject(given, reason)
    return Found(given, [], complete=False)


def _folder(given: str, folder: Path, report: Report) -> Found:
    root = str(folder.resolve())
    found = Found(root)
    urls = {**_sidecar(folder.parent), **_sidecar(folder)}
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if any(part.lower() in _SKIPPED or part.startswith(".") for part in relative.parts):
            continue
        try:
            if path.is_symlink() and not path.resolve().is_relative_to(folder.resolve()):
                report.reject(str(path), "a link out of the folder")
                continue
            if not path.is_file() or path.name in _SIDECAR:
                continue
        except OSError as error:
            report.reject(str(path), f"cannot be read ({error.strerror})")
            continue
        if path.suffix.lower().lstrip(".") not in FORMATS:
            report.skip(f"not a document ({path.suffix.lower() or 'no ending'})")
            continue
        found.items.append(_item(path, str(Path(given) / relative), relative.as_posix(), root, urls))
    return found


def _item(path: Path, source: str, relative: str, root: str, urls: dict[str, dict[str, str]]) -> Item:
    def read() -> bytes:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise OSError(f"larger than {MAX_FILE_BYTES} bytes")
        return path.read_bytes()

    told = urls.get(relative, {})
    changed = datetime.fromtimestamp(path.stat().st_mtime, UTC).date().isoformat()
    return Item(
        source=source,
        key=str(path.resolve()),
        relative=relative,
        root=root,
        read=read,
        url=told.get("url") or None,
        as_of=(told.get("file_last_changed") or told.get("as_of") or "")[:10] or None,
        file_date=changed,
        path=path,
    )


def _sidecar(folder: Path) -> dict[str, dict[str, str]]:
    """The table of sources in a folder, by file: columns file and url, perhaps file_last_changed or as_of."""
    for name in _SIDECAR:
        path = folder / name
        if path.is_file():
            with path.open(encoding="utf-8-sig", newline="") as file:
                reader = csv.DictReader(file)
                if {"file", "url"} <= set(reader.fieldnames or ()):
                    return {row["file"]: row for row in reader}
    return {}


def _zip(given: str, path: Path, report: Report) -> Found:
    root = str(path.resolve())
    found = Found(root)
    try:
        with zipfile.ZipFile(path) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    except (zipfile.BadZipFile, OSError) as error:
        report.reject(given, f"the zip cannot be read ({error})")
        return Found(root, [], complete=False)
    if len(entries) > MAX_ZIP_FILES or sum(entry.file_size for entry in entries) > MAX_ZIP_BYTES:
        report.reject(given, f"the zip unpacks to more than {MAX_ZIP_BYTES} bytes or {MAX_ZIP_FILES} files")
        return Found(root, [], complete=False)
    for entry in sorted(entries, key=lambda one: one.filename):
        name = entry.filename.replace("\\", "/")
        inner = PurePosixPath(name)
        shown = f"{given}!/{name}"
        if inner.is_absolute() or ".." in inner.parts:
            report.reject(shown, "the name points out of the zip")
        elif any(part.lower() in _SKIPPED or part.startswith(".") for part in inner.parts):
            continue
        elif inner.suffix.lower().lstrip(".") not in FORMATS:
            report.skip(f"not a document ({inner.suffix.lower() or 'no ending'})")
        elif entry.file_size > MAX_FILE_BYTES or entry.file_size > MAX_ZIP_RATIO * max(1, entry.compress_size):
            report.reject(shown, "too large, or packed too tightly to be a document")
        else:
            found.items.append(_zip_item(path, entry, shown, name, root))
    return found


def _zip_item(path: Path, entry: zipfile.ZipInfo, shown: str, name: str, root: str) -> Item:
    def read() -> bytes:
        with zipfile.ZipFile(path) as archive, archive.open(entry) as file:
            data = file.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            raise OSError(f"larger than {MAX_FILE_BYTES} bytes")
        return data

    try:
        changed = datetime(*entry.date_time, tzinfo=UTC).date().isoformat()
    except ValueError:
        changed = None
    return Item(source=shown, key=f"{root}!/{name}", relative=name, root=root, read=read, file_date=changed)
