"""Texts for people, looked up by key in Japanese and English.

Each CSV file in this folder has the columns `key`, `en`, `ja`; a text may hold `str.format` fields such as `{gpus}` or
`{price:,.2f}`. Both languages must use the same fields; a test checks it.
"""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path
from typing import Any


@cache
def catalogue() -> dict[str, dict[str, str]]:
    """key → {"en": text, "ja": text}. Raises ValueError where a key stands twice."""
    found: dict[str, dict[str, str]] = {}
    for path in sorted(Path(__file__).parent.glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                if row["key"] in found:
                    raise ValueError(f"{path.name}: the key {row['key']!r} stands twice; rename one of them")
                found[row["key"]] = {"en": row["en"], "ja": row["ja"]}
    return found


def text(key: str, lang: str, /, **values: Any) -> str:
    """The text for `key` in `lang` ("ja" or "en") with its fields filled in. Raises KeyError for an unknown key."""
    return catalogue()[key][lang].format(**values)
