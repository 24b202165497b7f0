"""Diagnosis of files on disk: encodings, compression, limits. The only module here that opens what a person names."""

from __future__ import annotations

import gzip
import io
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from advisor.errors import BadRequest, NotFound

from .engine import diagnose
from .model import Diagnosis, Lang

MAX_BYTES = 512 << 20
"""Largest file read; NCCL logs of 50 MB are usual, beyond this a person gave the wrong file."""


def run_files(
    paths: Iterable[str | Path],
    lang: Lang = "en",
    instance_type: str | None = None,
    *,
    offers_lookup: Callable[[str], Any] | None = None,
    stdin: IO[bytes] | None = None,
) -> Diagnosis:
    """Diagnose files together; "-" is standard input. UTF-8, UTF-16 with a mark, other bytes replaced; .gz is unpacked.

    Raises NotFound for a path that does not exist, BadRequest for a folder, a file too large or nothing to read.
    """
    chosen = [str(path) for path in paths]
    if not chosen:
        raise BadRequest("no file given; name a file with pasted output, or - for standard input")
    for name in chosen:
        if name == "-":
            continue
        path = Path(name)
        if not path.exists():
            raise NotFound(f"{name}: no such file; give the path of a file with pasted output, or - for standard input")
        if path.is_dir():
            raise BadRequest(f"{name}: a folder; name the files in it")
        if path.stat().st_size > MAX_BYTES:
            raise BadRequest(
                f"{name}: larger than {MAX_BYTES >> 20} MB; cut it with: tail -c {MAX_BYTES >> 20}M {name}"
            )
    return diagnose(
        ((name, _lines(name, stdin)) for name in chosen),
        lang=lang,
        instance_type=instance_type,
        offers_lookup=offers_lookup,
    )


def file_lines(path: str | Path) -> Iterator[str]:
    """The lines of one file, decoded and unpacked as `run_files` does it; read as they are asked for."""
    return _lines(str(path), None)


def _lines(name: str, stdin: IO[bytes] | None) -> Iterator[str]:
    if name == "-":
        yield from _decoded(stdin or sys.stdin.buffer)
        return
    try:
        with Path(name).open("rb") as raw:
            head = raw.read(2)
            raw.seek(0)
            if head == b"\x1f\x8b":
                with gzip.open(raw) as unpacked:
                    yield from _decoded(unpacked)  # type: ignore[arg-type]
            else:
                yield from _decoded(raw)
    except (OSError, EOFError) as error:
        raise BadRequest(f"{name}: cannot be read ({error}); check its rights and that it is whole") from error


def _decoded(raw: IO[bytes]) -> Iterator[str]:
    buffered = io.BufferedReader(raw)  # type: ignore[type-var]
    head = buffered.peek(4)[:4]
    encoding = "utf-16" if head[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8-sig"
    text = io.TextIOWrapper(buffered, encoding=encoding, errors="replace", newline=None)
    try:
        size = 0
        while line := text.readline(1 << 20):
            size += len(line)
            if size > MAX_BYTES:
                return
            yield line.rstrip("\n")
    finally:
        text.detach()
