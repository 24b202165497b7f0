"""The one system prompt, for real language models."""

from functools import cache
from pathlib import Path


@cache
def system_prompt() -> str:
    """The text of system.md."""
    return (Path(__file__).parent / "system.md").read_text(encoding="utf-8")
