"""What a turn touches beyond its names and numbers: residency of data, and common wrong claims (`topics.csv`)."""

from __future__ import annotations

import csv
import re
import unicodedata
from functools import cache
from pathlib import Path

from advisor.messages import text

MOST_CHARS = 2_000
CLAIMS = ("lora_needs_rdma", "more_is_faster", "nvlink_pools", "nvlink_between_nodes", "infiniband_inside")


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    with (Path(__file__).parent / "topics.csv").open(encoding="utf-8", newline="") as file:
        return tuple((row["topic"], re.compile(row["pattern"], re.IGNORECASE)) for row in csv.DictReader(file))


def topics_of(words: str) -> frozenset[str]:
    """The topics that a turn touches."""
    head = unicodedata.normalize("NFKC", words[:MOST_CHARS])
    return frozenset(topic for topic, pattern in _patterns() if pattern.search(head))


def claims(words: str, lang: str) -> list[str]:
    """A sentence for each common wrong claim that the turn makes or asks about."""
    found = topics_of(words)
    return [text(f"writing.claim.{topic}", lang) for topic in CLAIMS if topic in found]
