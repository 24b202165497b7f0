"""Embedding in a process of its own: a large ingest computes vectors on one core while it reads and writes on another.

The process is `python -m knowledge.embedding_process NAME`. It reads batches of texts from its input (four bytes of length, then a
JSON list) and writes their vectors (rows and columns of four bytes each, then float32), until its input ends; so it ends with the
process that started it, however that one ends.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import numpy as np

from knowledge.embeddings import load_embedder
from knowledge.errors import StoreUnavailable

_LENGTH = struct.Struct("<I")
_SHAPE = struct.Struct("<II")


class EmbeddingProcess:
    """A running process that embeds for this one. `close` ends it; a process that fails raises StoreUnavailable on `encode`."""

    def __init__(self, name: str) -> None:
        root = str(Path(__file__).resolve().parents[1])
        path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
        self._lock = threading.Lock()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "knowledge.embedding_process", name],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"},
            )
        except (OSError, ValueError) as error:
            raise StoreUnavailable(f"No process for embedding can be started ({error}).") from error

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Unit vectors, one row a text. Raises StoreUnavailable where the process has gone."""
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            with self._lock:
                data = json.dumps(list(texts)).encode()
                self._process.stdin.write(_LENGTH.pack(len(data)) + data)
                self._process.stdin.flush()
                rows, columns = _SHAPE.unpack(_read(self._process.stdout, _SHAPE.size))
                values = _read(self._process.stdout, 4 * rows * columns)
        except (OSError, ValueError, EOFError) as error:
            raise StoreUnavailable(f"The process for embedding has gone ({error}).") from error
        return np.frombuffer(values, dtype=np.float32).reshape(rows, columns)

    def close(self) -> None:
        """End the process; what it was computing is dropped."""
        self._process.kill()
        self._process.communicate()


def _read(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError("its output ended")
    return data


def serve(name: str, source: IO[bytes], target: IO[bytes]) -> None:
    """Answer batches of texts with their vectors until the input ends."""
    embedder = load_embedder(name)
    embedder.encode(["ready"])
    while head := source.read(_LENGTH.size):
        vectors = np.ascontiguousarray(
            embedder.encode(json.loads(_read(source, *_LENGTH.unpack(head)))), dtype=np.float32
        )
        target.write(_SHAPE.pack(*vectors.shape) + vectors.tobytes())
        target.flush()


if __name__ == "__main__":
    serve(sys.argv[1], sys.stdin.buffer, sys.stdout.buffer)
