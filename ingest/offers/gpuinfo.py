"""SkyPilot's GpuInfo column: five ways of writing it, and the memory of one GPU out of any of them."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from knowledge.gpu_names import gpu_table, resolve_gpu, snap_memory

MIB_PER_GIB = 1024
MemoryMode = Literal["each", "total", "unknown"]


@dataclass(frozen=True)
class GpuInfo:
    """What the column says: name, number and size as written (size in the unit it was written in, mostly MiB)."""

    name: str | None = None
    count: float | None = None
    size: float | None = None
    total: float | None = None


def parse_gpu_info(text: str) -> GpuInfo | None:
    """Read one cell: a Python literal, JSON, a mix of both, or a bare name. None for an empty cell.

    Raises ValueError for a cell that is none of these.
    """
    text = text.strip()
    if not text:
        return None
    if text[0] not in "{[":
        return GpuInfo(name=text)
    data = _lower(_literal(text))
    gpus = data.get("gpus") if isinstance(data, dict) else data
    first = gpus[0] if isinstance(gpus, list) and gpus and isinstance(gpus[0], dict) else {}
    memory = first.get("memoryinfo") or {}
    total = data.get("totalgpumemoryinmib") if isinstance(data, dict) else None
    return GpuInfo(
        name=str(first["name"]) if first.get("name") else None,
        count=_float(first.get("count")),
        size=_float(memory.get("sizeinmib")),
        total=_float(total if total is not None else first.get("totalgpumemoryinmib")),
    )


def _literal(text: str) -> Any:
    """JSON, else a Python literal once JSON's three words are put into Python's."""
    try:
        return json.loads(text)
    except ValueError:
        pass
    for json_word, python_word in (("null", "None"), ("true", "True"), ("false", "False")):
        text = re.sub(rf"(?<=[:\[,\s]){json_word}(?=\s*[,}}\]])", python_word, text)
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
        raise ValueError("neither JSON nor a Python literal") from error


def _lower(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key).lower(): _lower(item) for key, item in value.items()}
    return [_lower(item) for item in value] if isinstance(value, list) else value


def _float(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if number > 0 else None


def memory_mode(cells: Iterable[tuple[str, float | None, GpuInfo | None]]) -> MemoryMode:
    """Whether a file's sizes are of one GPU or of all, judged by the rows of several GPUs where only one reading fits.

    `cells` are (GPU name, number of GPUs, GpuInfo) of the whole file.
    """
    each = total = 0
    for name, count, info in cells:
        if not info or not info.size or not count or count <= 1:
            continue
        gpu = resolve_gpu(name)
        if gpu is None:
            continue
        alone, shared = _fits(gpu.gpu, info.size), _fits(gpu.gpu, info.size / count)
        each += alone is not None and shared is None
        total += shared is not None and alone is None
    return "unknown" if each == total else "each" if each > total else "total"


def memory_of_one(name: str, count: float | None, info: GpuInfo | None, mode: MemoryMode = "unknown") -> float | None:
    """GB of one GPU as its maker prints it. What the name states wins; sizes may be in MiB or GB, of one GPU or of all.

    Where no size is given, a plain name is the model's first size, as in SkyPilot ("A100" is 40 GB, "A100-80GB" the other).
    """
    gpu = resolve_gpu(name)
    if gpu is None:
        return info.size / MIB_PER_GIB if info and info.size and info.size >= MIB_PER_GIB else None
    if count is not None and 0 < count < 1:
        size = info.size / MIB_PER_GIB if info and info.size and info.size >= MIB_PER_GIB else None
        full = gpu_table()[gpu.gpu].usual_memory_gb
        return round(full[0] * count, 1) if len(full) == 1 else size
    if gpu.memory_gb is not None and len(gpu_table()[gpu.gpu].memory_gb) == 1:
        return gpu.memory_gb
    if gpu.memory_gb is not None and resolve_gpu(gpu.gpu) != gpu and _states_memory(name):
        return gpu.memory_gb
    number = max(count or 1, 1)
    sizes = [info.size, info.total] if info else []
    order: list[float] = []
    for size in (size for size in sizes if size):
        one = [size / number] if mode == "total" else [size, size / number]
        order += [*one, *(value * MIB_PER_GIB for value in one if value < MIB_PER_GIB), size / number / number]
    fitting = next((fit for value in order if (fit := _fits(gpu.gpu, value)) is not None), None)
    return fitting or gpu.memory_gb or gpu_table()[gpu.gpu].usual_memory_gb[0]


def _states_memory(name: str) -> bool:
    return re.search(r"\d+ ?G(?:i?B)?\b", name.upper().replace("_", " ").replace("-", " ")) is not None


def _fits(gpu: str, mib: float) -> float | None:
    return snap_memory(gpu, mib)
