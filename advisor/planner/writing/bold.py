"""Bold that Markdown really shows: CommonMark closes `**` only where a letter or blank stands on the right sides of it."""

from __future__ import annotations

import re

_BOLD = re.compile(r"(?P<before>.?)\*\*(?P<inner>[^*\n]+?)\*\*(?P<after>(?=(.?)))")
_NAMED = re.compile(r"(?P<seller>[\w.\- ]*\w) (?P<type>`[^`]+`)")


def shown(text: str) -> str:
    """The text with every `**…**` that would stay asterisks made smaller, to the seller's name, or taken away.

    Japanese puts no blank around a name: in "は**sakura `x`**の" the closing mark follows a backtick and precedes a letter.
    """

    def mend(match: re.Match[str]) -> str:
        inner, before, after = match["inner"], match["before"], match[4]
        open_fails = _mark(inner[0]) and _letter(before)
        close_fails = _mark(inner[-1]) and _letter(after)
        if not (open_fails or close_fails):
            return match[0]
        named = None if open_fails else _NAMED.fullmatch(inner)
        return f"{before}**{named['seller']}** {named['type']}" if named else f"{before}{inner}"

    return _BOLD.sub(mend, text)


def _letter(char: str) -> bool:
    return bool(char) and char.isalnum()


def _mark(char: str) -> bool:
    return not char.isalnum() and not char.isspace()
