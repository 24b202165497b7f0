"""A shared offers table: a Parquet file, a folder of them, or one on a web server or in object storage, read in place."""

from __future__ import annotations

import io
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knowledge.errors import StoreUnavailable

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger("knowledge.offers")

CHECK_S = 60.0
"""Seconds between looks at a table on a server."""
WAIT_S = 20.0
MAX_BYTES = 2_000_000_000


class SharedTable:
    """Reads the table and tells when it has changed. Safe for threads.

    A server that is away leaves the table that was read last; only the first reading raises StoreUnavailable.
    """

    def __init__(self, source: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.source, self._clock = source, clock
        self._remote = "://" in source
        self._lock = threading.Lock()
        self._known: object = None
        self._next = 0.0

    def stamp(self) -> object:
        """What changes when the table does. Raises StoreUnavailable where it cannot be seen and never was."""
        if not self._remote:
            return self._local_stamp()
        with self._lock:
            if self._known is not None and self._clock() < self._next:
                return self._known
            self._next = self._clock() + CHECK_S
            try:
                self._known = self._remote_stamp()
            except StoreUnavailable as error:
                if self._known is None:
                    raise
                log.warning("the shared offers cannot be seen, those read before stay: %s", error)
            return self._known

    def read(self) -> pa.Table:
        """The whole table. Raises StoreUnavailable where it cannot be read."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            if self.source.startswith(("http://", "https://")):
                return pq.read_table(io.BytesIO(self._download()))
            if self._remote:
                files, name = self._filesystem()
                return pq.read_table(name, filesystem=files)
            return pq.read_table(self.source)
        except (OSError, pa.ArrowInvalid) as error:
            raise self._away(error) from error

    def _away(self, error: object) -> StoreUnavailable:
        return StoreUnavailable(f"The offers table {_shown(self.source)} of ADVISOR_OFFERS cannot be read: {error}.")

    def _local_stamp(self) -> object:
        path = Path(self.source)
        try:
            files = sorted(path.glob("**/*.parquet")) if path.is_dir() else [path]
            found = [(str(file), status.st_mtime_ns, status.st_size) for file in files for status in [file.stat()]]
        except OSError as error:
            raise self._away(error.strerror or error) from error
        if not found:
            raise self._away("the folder holds no .parquet file")
        return tuple(found)

    def _remote_stamp(self) -> object:
        import httpx

        try:
            if self.source.startswith(("http://", "https://")):
                answer = httpx.head(self.source, timeout=WAIT_S, follow_redirects=True)
                answer.raise_for_status()
                return tuple(answer.headers.get(name) for name in ("etag", "last-modified", "content-length"))
            files, name = self._filesystem()
            info = files.get_file_info(name)
            if not info.type:
                raise self._away("there is no such object")
            return info.mtime_ns, info.size
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            raise self._away(_reason(error)) from error

    def _download(self) -> bytes:
        import httpx

        try:
            parts, size = [], 0
            with httpx.stream("GET", self.source, timeout=WAIT_S, follow_redirects=True) as answer:
                answer.raise_for_status()
                for part in answer.iter_bytes():
                    size += len(part)
                    if size > MAX_BYTES:
                        raise self._away(f"it is larger than {MAX_BYTES:,} bytes")
                    parts.append(part)
            return b"".join(parts)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._away(_reason(error)) from error

    def _filesystem(self) -> tuple[Any, str]:
        import pyarrow as pa
        from pyarrow.fs import FileSystem

        try:
            return FileSystem.from_uri(self.source)
        except (pa.ArrowInvalid, OSError) as error:
            raise self._away(f"{error}; use a path, https:// or s3://") from error


def _shown(source: str) -> str:
    """The address without user, password and query, which may hold keys."""
    if "://" not in source:
        return source
    scheme, _, rest = source.partition("://")
    return f"{scheme}://{rest.partition('?')[0].rpartition('@')[2]}"


def _reason(error: Exception) -> str:
    status = getattr(getattr(error, "response", None), "status_code", None)
    return f"status {status}" if status else type(error).__name__
