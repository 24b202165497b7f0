"""What a question asks for, word by word: the input of the lexical index."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Group:
    """Ways of writing one thing a question asks about: tokens with the share of the score each is worth, and the group's weight.

    `content` is false for the parts of a longer token; `name` is true for what looks like a name where it stands: a Latin word
    in a Japanese question, a word in capitals in an English one.
    """

    forms: tuple[tuple[str, float], ...]
    weight: float = 1.0
    content: bool = True
    name: bool = False
