"""Exchange rates as dated facts (`data/fx.csv`); prices converted with one always name its date."""

from __future__ import annotations

import csv
from functools import lru_cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict

DATA = Path(__file__).parent / "data"


class Rate(BaseModel):
    """How many units of the second currency one unit of the first buys, on a date, by a source."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    pair: str
    rate: float
    as_of: str
    source: str
    note: str = ""


@lru_cache(maxsize=1)
def rates() -> dict[str, Rate]:
    """The newest rate of each pair."""
    with (DATA / "fx.csv").open(encoding="utf-8", newline="") as handle:
        rows = sorted((Rate(**row) for row in csv.DictReader(handle)), key=lambda rate: rate.as_of)  # type: ignore[arg-type]
    return {rate.pair: rate for rate in rows}


def usd_jpy() -> Rate:
    """Yen for one US dollar."""
    return rates()["USD/JPY"]
