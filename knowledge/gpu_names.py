"""GPU names: any way a catalogue or a person writes a GPU → the one canonical name, board form and memory.

The models and their aliases are rows of `data/gpu_names.csv`. Memory is in the GB that the maker prints ("80" for an H100
that reports 81,559 MiB); several aliases (for instance "RTX 6000") name more than one model, and memory tells them apart.
"""

from __future__ import annotations

import csv
import difflib
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

DATA = Path(__file__).parent / "data"
MIB_PER_GB = 1e9 / 2**20
GB_PER_GIB = 2**30 / 1e9
SNAP_TOLERANCE = 0.08
"""Reported sizes lie up to 7.3 % off the printed one (reserved memory, GiB read as GB); neighbours are 16 % apart or more."""

_VENDOR_WORDS = frozenset(
    [
        "nvidia",
        "amd",
        "intel",
        "google",
        "geforce",
        "tesla",
        "instinct",
        "quadro",
        "habana",
        "radeon",
        "tensor",
        "core",
        "gpu",
        "gpus",
    ]
)
_NOISE_WORDS = frozenset(
    [
        "baremetal",
        "bm",
        "vgpu",
        "mod",
        "edition",
        "generation",
        "nvlink",
        "ib",
        "spot",
        "secure",
        "community",
        "nvidia",
        "graphics",
        "card",
        "cards",
        "dedicated",
    ]
)
_VARIANT_WORDS = {
    "pcie": "PCIe",
    "pci": "PCIe",
    "pciexpress": "PCIe",
    "nvl": "NVL",
    "oam": "OAM",
    "superchip": "superchip",
}
_SXM = re.compile(r"sxm\d?$")
_MEMORY = re.compile(r"(\d+(?:\.\d+)?)(gb|gib|g)$")
_COUNT = re.compile(r"(?:\d+x|x\d+|\d+gpus?)$")
_RACK = re.compile(r"nvl(72|36|32|4|8|2)$")
_GLUED = re.compile(r"(sxm\d?|pcie|nvl|oam|(?:16|24|32|40|48|80|94|96|141|180|192)gb?)$")


class ResolvedGpu(NamedTuple):
    """Canonical model, board form ("SXM", "PCIe", "NVL", "OAM", "superchip", "unknown") and GB of one GPU or None."""

    gpu: str
    variant: str
    memory_gb: float | None


@dataclass(frozen=True)
class GpuName:
    """One model: the board forms and memory sizes (GB) it is made in, and how else it is written."""

    gpu: str
    vendor: str
    variants: tuple[str, ...]
    memory_gb: tuple[float, ...]
    usual_memory_gb: tuple[float, ...]
    """The sizes without those that only rebuilt cards have (marked * in the table)."""
    aliases: tuple[str, ...]
    architecture: str
    source: str
    as_of: str


@dataclass(frozen=True)
class ParsedGpu:
    """What a text states: candidate models (best first), and the form and memory only where the text says so."""

    candidates: tuple[GpuName, ...]
    variant: str | None
    memory_gb: float | None


@lru_cache(maxsize=1)
def gpu_table() -> dict[str, GpuName]:
    """All known models by canonical name."""
    with (DATA / "gpu_names.csv").open(encoding="utf-8", newline="") as handle:
        return {row["gpu"]: _name(row) for row in csv.DictReader(handle)}


def _name(row: dict[str, str]) -> GpuName:
    return GpuName(
        gpu=row["gpu"],
        vendor=row["vendor"],
        variants=tuple(row["variants"].split("|")),
        memory_gb=tuple(float(size.rstrip("*")) for size in row["memory_gb"].split("|")),
        usual_memory_gb=tuple(float(size) for size in row["memory_gb"].split("|") if not size.endswith("*")),
        aliases=tuple(alias for alias in row["aliases"].split("|") if alias),
        architecture=row["architecture"],
        source=row["source"],
        as_of=row["as_of"],
    )


@lru_cache(maxsize=1)
def _by_key() -> dict[str, tuple[GpuName, ...]]:
    index: dict[str, list[GpuName]] = {}
    for name in gpu_table().values():
        for text in (name.gpu, *name.aliases):
            keys = {_compact(re.sub(r"\(.*?\)", "", text)), _compact(text)} if "(" in text else {_compact(text)}
            for key in keys - {""}:
                if name not in index.setdefault(key, []):
                    index[key].append(name)
    return {key: tuple(names) for key, names in index.items()}


def _words(text: str) -> list[str]:
    plain = unicodedata.normalize("NFKC", text).lower().replace("®", " ").replace("™", " ")
    return re.findall(r"[a-z0-9.]+", plain)


def _compact(text: str) -> str:
    return "".join(word for word in _words(text) if word not in _VENDOR_WORDS and word not in _NOISE_WORDS)


@lru_cache(maxsize=8192)
def parse_gpu(text: str) -> ParsedGpu | None:
    """Read a GPU name as written ("NVIDIA-H100-80GB-HBM3", "8x A100 SXM4 40GB", "RTX-6000-Ada"); None where no model fits."""
    words: list[str] = []
    variant: str | None = None
    memory: float | None = None
    raw = _words(text)
    for position, word in enumerate(raw):
        following = raw[position + 1] if position + 1 < len(raw) else ""
        size = _MEMORY.match(word)
        if size and not (words and words[-1] == "rtx"):
            memory = float(size[1])
        elif word.isdigit() and following in ("gb", "gib"):
            memory = float(word)
        elif word in ("gb", "gib") or _COUNT.match(word) or _RACK.match(word) or word in _NOISE_WORDS:
            continue
        elif _SXM.match(word) or word in ("hgx", "dgx"):
            variant = "SXM"
        elif word in _VARIANT_WORDS:
            variant = _VARIANT_WORDS[word]
        elif word in ("hbm3", "mega") and any(part.startswith("h100") for part in raw):
            variant = variant or "SXM"
        elif word == "hbm2e" and "h100" in raw:
            variant = variant or "PCIe"
        elif word in ("hbm2", "hbm2e", "hbm3e", "express"):
            continue
        elif word not in _VENDOR_WORDS:
            words.append(word)
    return _lookup(words, variant, memory)


def _lookup(words: list[str], variant: str | None, memory: float | None) -> ParsedGpu | None:
    index = _by_key()
    if words and words[0] == "tpu" and len(words) > 2 and words[-1].isdigit():
        words = words[:-1]
    key = "".join(words)
    found = index.get(key)
    if found is None and len(words) > 1 and words[-1].isdigit():
        base = index.get("".join(words[:-1]))
        if base:
            size = float(words[-1])
            if any(size in name.memory_gb for name in base):
                found, memory = base, memory or size
            elif size <= 16:
                found = base
    while found is None and (glued := _GLUED.search(key)) and glued.start() > 0:
        part, key = glued[1], key[: glued.start()]
        if part.startswith("sxm"):
            variant = variant or "SXM"
        elif part in _VARIANT_WORDS:
            variant = variant or _VARIANT_WORDS[part]
        else:
            memory = memory or float(part.rstrip("gb"))
        found = index.get(key)
    if not found:
        return None
    if memory is not None:
        fitting = tuple(name for name in found if _snap(name, [memory]) is not None)
        found = fitting or found
        memory = _snap(found[0], [memory])
    if variant is not None and variant not in {form for name in found for form in name.variants}:
        variant = None
    return ParsedGpu(found, variant, memory)


def resolve_gpu(text: str, memory_gb: float | None = None) -> ResolvedGpu | None:
    """The canonical GPU that `text` names, or None where no known model fits (see `nearest`).

    `memory_gb` is what a catalogue reports for one GPU, in GB or GiB: it chooses between models of one name and is brought to
    the printed size. The form is "unknown" where the model is made in several and the text does not say which.
    """
    parsed = parse_gpu(text)
    if parsed is None:
        return None
    choices = parsed.candidates
    memory = parsed.memory_gb
    if memory_gb and memory is None:
        sizes = [memory_gb, memory_gb * GB_PER_GIB]
        fitting = [name for name in choices if _snap(name, sizes) is not None]
        name = fitting[0] if fitting else choices[0]
        memory = _snap(name, sizes)
        if memory is None:
            memory = round(float(memory_gb), 1)
    else:
        name = choices[0]
    if memory is None and len(name.usual_memory_gb) == 1:
        memory = name.usual_memory_gb[0]
    variant = parsed.variant or (name.variants[0] if len(name.variants) == 1 else "unknown")
    return ResolvedGpu(name.gpu, variant, memory)


def vendor_of(gpu: str) -> str | None:
    """The maker of a canonical model ("nvidia", "amd", "intel", "google", "aws"), None for a model that is not known."""
    name = gpu_table().get(gpu)
    return name.vendor if name else None


def snap_memory(gpu: str, reported_mib: float) -> float | None:
    """The printed size (GB) that a reported size in MiB stands for, or None where it is none of the model's sizes."""
    name = gpu_table().get(gpu)
    return _snap(name, [reported_mib / 1024, reported_mib / MIB_PER_GB]) if name else None


def _snap(name: GpuName, reported: Iterable[float]) -> float | None:
    off, size = min((abs(value / size - 1), size) for value in reported for size in name.memory_gb)
    return size if off <= SNAP_TOLERANCE else None


def nearest(text: str, n: int = 3) -> list[str]:
    """The known names that look most like `text`, best first; empty where none is near."""
    keys = _by_key()
    found: list[str] = []
    for key in difflib.get_close_matches(_compact(text), keys, n=3 * n, cutoff=0.6):
        for name in keys[key]:
            if name.gpu not in found:
                found.append(name.gpu)
    return found[:n]
