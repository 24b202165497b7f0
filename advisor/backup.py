"""Backup and restore of an `ADVISOR_HOME`: one zip with consistent copies, put back whole or not at all."""

from __future__ import annotations

import json
import shutil
import sqlite3
import tempfile
import uuid
import zipfile
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from advisor.errors import BadRequest, NotFound, Unavailable

FORMAT = 1
MANIFEST = "manifest.json"
DATABASES = ("conversations.sqlite", "knowledge/library.sqlite")
"""Copied through SQLite, so that a write going on meanwhile is in the copy whole or not at all."""
FILES = ("feedback.jsonl", "offers/offers.parquet")
MAX_BYTES = 200_000_000_000
"""Most that a backup may unpack to; a larger one is not one of ours."""


def backup(home: Path, target: Path) -> dict[str, Any]:
    """Write a backup of a home to a zip file; web processes and ingestion may go on meanwhile.

    Vectors and the lexical index are not in it: they are computed again from the passages at the first start. With
    `ADVISOR_DATABASE_URL`, conversations are in Postgres and are backed up with its own tools. Returns the manifest.
    Raises NotFound where the home holds nothing, Unavailable where a file cannot be read or written.
    """
    from ingest.documents.store import locked
    from knowledge.published import copy_sqlite, file_digest

    if not any((home / name).is_file() for name in (*DATABASES, *FILES)):
        raise NotFound(f"ADVISOR_HOME={str(home)!r} holds nothing to back up; check the setting.")
    part = target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".backup-") as folder:
            with locked(home):
                for name in (*DATABASES, *FILES):
                    if not (home / name).is_file():
                        continue
                    copy = Path(folder) / name
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    if name in DATABASES:
                        copy_sqlite(home / name, copy)
                    else:
                        shutil.copyfile(home / name, copy)
            found = sorted(path for path in Path(folder).rglob("*") if path.is_file())
            manifest = {
                "format": FORMAT,
                "at": datetime.now(UTC).isoformat(timespec="seconds"),
                "files": {path.relative_to(folder).as_posix(): file_digest(path) for path in found},
            }
            with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as archive:
                archive.writestr(MANIFEST, json.dumps(manifest, indent=1))
                for path in found:
                    archive.write(path, path.relative_to(folder).as_posix())
        part.replace(target)
    except (OSError, sqlite3.Error) as error:
        raise Unavailable(f"The backup {str(target)!r} cannot be written ({error}).") from None
    finally:
        part.unlink(missing_ok=True)
    return {"file": str(target), "bytes": target.stat().st_size, **manifest}


def restore(home: Path, source: Path, force: bool = False) -> dict[str, Any]:
    """Put a backup in the place of a home. Stop the processes that use the home first.

    A home that holds something is replaced only with `force`, and is then kept beside it under a name with the date. Raises
    BadRequest where the file is no whole backup or the home is in use already, NotFound where there is no such file.
    """
    if not source.is_file():
        raise NotFound(f"There is no file {str(source)!r}.")
    occupied = home.is_dir() and any(home.iterdir())
    if occupied and not force:
        raise BadRequest(
            f"ADVISOR_HOME={str(home)!r} is not empty. Add --force to replace it; what is there now is kept beside it."
        )
    new = home.with_name(f".{home.name}.restore-{uuid.uuid4().hex[:8]}")
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        manifest = _unpack(source, new)
        kept = None
        if home.exists():
            if occupied:
                kept = home.with_name(f"{home.name}.before-{datetime.now(UTC):%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:4]}")
                home.rename(kept)
            else:
                home.rmdir()
        new.rename(home)
    except OSError as error:
        raise Unavailable(f"{str(home)!r} cannot be restored ({error}).") from None
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return {"home": str(home), "kept": str(kept) if kept else None, **manifest}


def _unpack(source: Path, folder: Path) -> dict[str, Any]:
    """Unpack and check every file against the manifest. Raises BadRequest where anything is missing, more or other."""
    from knowledge.published import file_digest

    allowed = {*DATABASES, *FILES}
    try:
        with zipfile.ZipFile(source) as archive:
            names = set(archive.namelist()) - {MANIFEST}
            if archive.getinfo(MANIFEST).file_size > 1_000_000:
                raise BadRequest(f"{str(source)!r} is not a backup: its manifest is too large.")
            manifest: dict[str, Any] = json.loads(archive.read(MANIFEST))
            if manifest.get("format") != FORMAT:
                raise BadRequest(
                    f"{str(source)!r} is of format {manifest.get('format')!r}; this version reads {FORMAT}."
                )
            if names != set(manifest["files"]) or not names <= allowed:
                raise BadRequest(f"{str(source)!r} holds files that a backup does not: {sorted(names - allowed)}.")
            if sum(archive.getinfo(name).file_size for name in names) > MAX_BYTES:
                raise BadRequest(f"{str(source)!r} would unpack to more than {MAX_BYTES:,} bytes.")
            for name in sorted(names):
                path = folder / PurePosixPath(name)
                path.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(name) as packed, path.open("wb") as file:
                    shutil.copyfileobj(packed, file, 1 << 20)
                if file_digest(path) != manifest["files"][name]:
                    raise BadRequest(f"{str(source)!r} is damaged: {name} is not what was backed up.")
    except (zipfile.BadZipFile, KeyError, TypeError, ValueError, EOFError, NotImplementedError) as error:
        raise BadRequest(f"{str(source)!r} is not a whole backup ({error}).") from None
    return manifest
