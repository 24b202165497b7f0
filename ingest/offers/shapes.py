"""What an instance type holds where a catalogue does not say it (`knowledge/data/instance_shapes.csv`)."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from functools import lru_cache

from knowledge.gpu_names import DATA


@dataclass(frozen=True)
class Shape:
    """GPU, how many of them (a fraction for a slice), GB of one, and the accelerator that the catalogue prices apart."""

    pattern: re.Pattern[str]
    accelerator: str
    gpu: str
    count: float
    memory_gb: float

    @property
    def partial(self) -> bool:
        """Whether the instance has only a slice of a card."""
        return self.count < 1


@lru_cache(maxsize=1)
def _shapes() -> dict[str, tuple[Shape, ...]]:
    found: dict[str, list[Shape]] = {}
    with (DATA / "instance_shapes.csv").open(encoding="utf-8", newline="") as handle:
        for row in csv.DictReader(handle):
            pattern = re.compile(row["instance_type"], re.IGNORECASE)
            shape = Shape(pattern, row["accelerator"], row["gpu"], float(row["gpu_count"]), float(row["gpu_memory_gb"]))
            found.setdefault(row["provider"], []).append(shape)
    return {provider: tuple(shapes) for provider, shapes in found.items()}


@lru_cache(maxsize=4096)
def shape_of(provider: str, instance_type: str) -> Shape | None:
    """The shape of an instance type, or None where the table has none."""
    return next((shape for shape in _shapes().get(provider, ()) if shape.pattern.fullmatch(instance_type)), None)
