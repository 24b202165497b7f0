"""The band that the price of one GPU of a model usually lies in (`data/price_bands.csv`); outside it, a price is looked at."""

from __future__ import annotations

import csv
import re
from functools import lru_cache
from pathlib import Path

DATA = Path(__file__).parent / "data"


@lru_cache(maxsize=1)
def price_bands() -> dict[str, tuple[float, float]]:
    """Lowest and highest usual price of one GPU in US dollars an hour, by canonical model."""
    with (DATA / "price_bands.csv").open(encoding="utf-8", newline="") as handle:
        return {
            gpu: (float(row["low_usd_gpu_hour"]), float(row["high_usd_gpu_hour"]))
            for row in csv.DictReader(handle)
            for gpu in row["gpus"].split("|")
        }


def outside_band(gpu: str, price_usd_gpu_hour: float | None) -> bool:
    """Whether a price lies outside the band of its model; False where there is no price or no band."""
    band = price_bands().get(gpu)
    return band is not None and price_usd_gpu_hour is not None and not band[0] <= price_usd_gpu_hour <= band[1]


@lru_cache(maxsize=1)
def _outliers() -> tuple[tuple[str, re.Pattern[str], bool, str], ...]:
    with (DATA / "price_outliers.csv").open(encoding="utf-8", newline="") as handle:
        return tuple(
            (row["provider"], re.compile(row["instance_type"]), row["spot"] == "true", row["reason"])
            for row in csv.DictReader(handle)
        )


def known_outlier(provider: str, instance_type: str, spot: bool) -> str | None:
    """Why a price outside its band is right all the same, or None (`data/price_outliers.csv`)."""
    return next(
        (
            reason
            for maker, pattern, is_spot, reason in _outliers()
            if maker == provider and is_spot == spot and pattern.fullmatch(instance_type)
        ),
        None,
    )
