"""Published knowledge: immutable copies of the library and its index in a folder that many processes read.

One process ingests under its own home and publishes; each reader takes a copy to its own disk and opens that. A copy is bound
to one version for good, so a reader's answers come from one state, and the folder may be any shared volume: nothing in it is
written twice, and the pointer `CURRENT` is replaced in one step. Vectors are not copied; they are on the Chroma server.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import sqlite3
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from knowledge.errors import StoreUnavailable
from knowledge.library import Library
from knowledge.passages import PassageStore, knowledge_folder, lexical_path

log = logging.getLogger("knowledge.published")

CURRENT = "CURRENT"
KEEP = 3
"""Published versions kept: a reader that is copying an older one can finish."""
CHECK_S = 1.0
"""Seconds between looks at the pointer."""
RETRY_S = 10.0
"""Seconds before a copy that failed is tried again."""


class Manifest(BaseModel):
    """What one published version is: its folder, the version, the embedding model, and each file's SHA-256."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    version: int
    model: str
    files: dict[str, str]


def publish(home: Path, folder: Path) -> Manifest:
    """Publish what is under a home; the same version is not written twice. The caller holds the home's write lock.

    Raises StoreUnavailable where the folder cannot be written; readers then keep what they have.
    """
    library = Library(knowledge_folder(home) / "library.sqlite")
    version, model = library.version, library.get_meta("model") or "unknown"
    if not version:
        raise StoreUnavailable(f"Nothing is ingested under {home}; there is nothing to publish.")
    origin = library.get_meta("origin")
    if origin is None:
        origin = uuid.uuid4().hex[:8]
        library.set_meta(origin=origin)
    name = f"{version}-{origin}"
    part = folder / f".part-{uuid.uuid4().hex[:8]}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        done = folder / name / "manifest.json"
        if done.is_file():
            manifest = Manifest.model_validate_json(done.read_text())
        else:
            part.mkdir()
            copy_sqlite(library.path, part / "library.sqlite")
            shutil.copyfile(lexical_path(home, version), part / "lexical.npz")
            files = {path.name: file_digest(path) for path in sorted(part.iterdir())}
            manifest = Manifest(name=name, version=version, model=model, files=files)
            (part / "manifest.json").write_text(manifest.model_dump_json())
            shutil.rmtree(folder / name, ignore_errors=True)
            part.rename(folder / name)
        pointer = folder / f".{CURRENT}-{uuid.uuid4().hex[:8]}"
        pointer.write_text(manifest.model_dump_json())
        pointer.replace(folder / CURRENT)
        _tidy(folder, name)
    except (OSError, sqlite3.Error, ValidationError) as error:
        shutil.rmtree(part, ignore_errors=True)
        raise StoreUnavailable(f"The knowledge cannot be published to {folder} ({error}).") from error
    return manifest


def copy_sqlite(source: Path, target: Path) -> None:
    """A consistent copy of a database that others may be writing."""
    reader, writer = sqlite3.connect(source, timeout=30), sqlite3.connect(target)
    try:
        reader.backup(writer)
        writer.execute("PRAGMA journal_mode=DELETE")
        writer.commit()
    finally:
        writer.close()
        reader.close()


def file_digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _tidy(folder: Path, current: str) -> None:
    def number(path: Path) -> int:
        head = path.name.split("-")[0]
        return int(head) if head.isdigit() else -1

    versions = sorted((path for path in folder.iterdir() if path.is_dir() and number(path) >= 0), key=number)
    for path in versions[:-KEEP]:
        if path.name != current:
            shutil.rmtree(path, ignore_errors=True)
    for path in folder.glob(".part-*"):
        if time.time() - path.stat().st_mtime > 3600:
            shutil.rmtree(path, ignore_errors=True)


class PublishedPassages:
    """The published passages as one process sees them: `current()` is the newest version that could be copied whole."""

    def __init__(
        self, folder: Path, home: Path, options: dict[str, Any], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`options` are those of `PassageStore.open`. Nothing is read before the first call."""
        self.folder, self.home = Path(folder), Path(home) / "published"
        self._options, self._clock = options, clock
        self._lock = threading.Lock()
        self._store: PassageStore | None = None
        self._manifest: Manifest | None = None
        self._next = 0.0

    def current(self) -> PassageStore:
        """The store of the newest version. Raises StoreUnavailable where none was ever published or none can be read.

        A version that cannot be copied, being damaged or half there, is passed over: the one before goes on answering.
        """
        if self._store is not None and self._clock() < self._next:
            return self._store
        with self._lock:
            if self._store is not None and self._clock() < self._next:
                return self._store
            self._next = self._clock() + CHECK_S
            try:
                manifest = self._read_pointer()
                if manifest != self._manifest:
                    self._store = self._open(manifest)
                    self._manifest = manifest
            except StoreUnavailable as error:
                self._next = self._clock() + (RETRY_S if self._store is not None else CHECK_S)
                if self._store is None:
                    raise
                log.warning("the published knowledge cannot be taken, the version before answers: %s", error)
            assert self._store is not None
            return self._store

    def _read_pointer(self) -> Manifest:
        try:
            return Manifest.model_validate_json((self.folder / CURRENT).read_text())
        except FileNotFoundError:
            raise StoreUnavailable(
                f"No knowledge is published in {self.folder} yet; run `advisor publish` where you ingest."
            ) from None
        except (OSError, ValueError) as error:
            raise StoreUnavailable(f"The pointer {self.folder / CURRENT} cannot be read ({error}).") from error

    def _open(self, manifest: Manifest) -> PassageStore:
        local = self.home / manifest.name
        if not _whole(local, manifest):
            self._copy(manifest, local)
        store = PassageStore.open(local, **self._options)
        if store.embedder.name != manifest.model:
            raise StoreUnavailable(
                f"The published knowledge was embedded with {manifest.model}, this process is set to "
                f"{store.embedder.name}. Set ADVISOR_EMBEDDINGS alike for all."
            )
        store.index()
        self._forget(keep={manifest.name, self._manifest.name if self._manifest else manifest.name})
        return store

    def _copy(self, manifest: Manifest, local: Path) -> None:
        part = self.home / f".part-{uuid.uuid4().hex[:8]}"
        inside = knowledge_folder(part)
        try:
            inside.mkdir(parents=True)
            for name, target in (
                ("library.sqlite", inside / "library.sqlite"),
                ("lexical.npz", lexical_path(part, manifest.version)),
            ):
                shutil.copyfile(self.folder / manifest.name / name, target)
                if file_digest(target) != manifest.files.get(name):
                    raise StoreUnavailable(f"{self.folder / manifest.name / name} is damaged.")
            (part / "manifest.json").write_text(manifest.model_dump_json())
            shutil.rmtree(local, ignore_errors=True)
            part.rename(local)
        except OSError as error:
            if not _whole(local, manifest):  # else another process of this home was quicker
                raise StoreUnavailable(f"The published knowledge cannot be copied to {local} ({error}).") from error
        finally:
            shutil.rmtree(part, ignore_errors=True)

    def _forget(self, keep: set[str]) -> None:
        for path in self.home.iterdir():
            if path.is_dir() and path.name not in keep and time.time() - path.stat().st_mtime > 60:
                shutil.rmtree(path, ignore_errors=True)


def _whole(local: Path, manifest: Manifest) -> bool:
    try:
        return json.loads((local / "manifest.json").read_text()) == manifest.model_dump() and os.access(local, os.R_OK)
    except (OSError, ValueError):
        return False
