"""A passage as blocks for `templates/passage.html`: escaped, with its tables, code and headings as such and the quote marked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from markupsafe import Markup, escape

_ON, _OFF = "\ue000", "\ue001"
"""Stand for the ends of the mark while the text is taken apart; a passage that has them loses them."""
_RULE = re.compile(r"\s*\|?(\s*:?-{2,}:?\s*\|)+(\s*:?-{2,}:?\s*)?")
_CELL = re.compile(r"(?<!\\)\|")
_HEADING = re.compile(r"^#{1,6} +(?=\S)")


class Block(NamedTuple):
    """A part of a passage: `table` has `rows`, the first of them its head; `fence` and `plain` have `text`."""

    kind: Literal["table", "fence", "plain"]
    text: Markup = Markup()
    rows: tuple[tuple[Markup, ...], ...] = ()


def passage_blocks(text: str, quote: str = "") -> list[Block]:
    """The passage with `quote` inside `<mark>`; white space may differ, and the passage alone is shown where it is absent.

    Markdown tables and fenced code become such, code and bold words are set as such; every other sign stays as it is
    written. Where the mark would end in another cell, block or word than it began in, all of it stays as it is written.
    """
    held = _held(_bare(text), quote)
    parts = list(_parts(held.split("\n")))
    if not all(_is_whole(cell) for kind, lines in parts for cell in _units(kind, lines)):
        return [Block("plain", _close(str(escape(held))))]
    return [_block(kind, lines) for kind, lines in parts if any(line.strip() for line in lines)]


def line_html(text: str) -> Markup:
    """One line of a passage, as a quotation shows it."""
    return Markup(_inline(_bare(text)))


def _units(kind: str, lines: list[str]) -> list[str]:
    """The pieces of a part in which a mark that begins has to end."""
    return [cell for row in lines for cell in _cells(row)] if kind == "table" else ["".join(lines)]


def _block(kind: Literal["table", "fence", "plain"], lines: list[str]) -> Block:
    if kind == "table":
        rows = (_cells(line) for i, line in enumerate(lines) if i != 1)
        return Block("table", rows=tuple(tuple(_close(_inline(cell)) for cell in row) for row in rows))
    if kind == "fence":
        return Block("fence", _close(str(escape("\n".join(lines)))))
    return Block("plain", _close("\n".join(_line(line) for line in "\n".join(lines).strip("\n").split("\n"))))


def _bare(text: str) -> str:
    return text.replace(_ON, "").replace(_OFF, "")


def _held(text: str, quote: str) -> str:
    words = quote.split()
    found = re.search(r"\s*".join(re.escape(word) for word in words), text) if words else None
    if not found:
        return text
    return f"{text[: found.start()]}{_ON}{found.group(0)}{_OFF}{text[found.end() :]}"


def _close(html: str) -> Markup:
    return Markup(html.replace(_ON, "<mark>").replace(_OFF, "</mark>"))


def _is_whole(text: str) -> bool:
    return text.count(_ON) == text.count(_OFF)


def _parts(lines: list[str]) -> Iterator[tuple[Literal["table", "fence", "plain"], list[str]]]:
    """Runs of lines as (kind, lines): `table` (a row, a rule, further rows), `fence` (without its fences), `plain`."""
    at, plain = 0, []
    while at < len(lines):
        end = _block_end(lines, at)
        if end is None:
            plain.append(lines[at])
            at += 1
            continue
        if plain:
            yield "plain", plain
            plain = []
        if _is_fence(lines[at]):
            yield "fence", lines[at + 1 : end - 1]
        else:
            yield "table", lines[at:end]
        at = end
    if plain:
        yield "plain", plain


def _is_fence(line: str) -> bool:
    return line.lstrip().startswith("```")


def _block_end(lines: list[str], at: int) -> int | None:
    """Where the table or fence that begins at `at` ends; None where none begins, or a fence is not closed."""
    if _is_fence(lines[at]):
        return next((i + 1 for i in range(at + 1, len(lines)) if lines[i].strip() == "```"), None)
    if "|" not in lines[at] or at + 1 >= len(lines) or not _RULE.fullmatch(lines[at + 1]):
        return None
    return next((i for i in range(at + 2, len(lines)) if "|" not in lines[i]), len(lines))


def _inline(text: str) -> str:
    def tagged(tag: str) -> str:
        return rf"<{tag}>\1</{tag}>"

    def code(found: re.Match[str]) -> str:
        return found.expand(tagged("code")) if _is_whole(found.group(1)) else found.group(0)

    def bold(found: re.Match[str]) -> str:
        return found.expand(tagged("strong")) if _is_whole(found.group(1)) else found.group(0)

    escaped = str(escape(text))
    return re.sub(r"\*\*([^*\n]+)\*\*", bold, re.sub(r"(?<!`)`([^`\n]+)`(?!`)", code, escaped))


def _line(line: str) -> str:
    inner = _HEADING.sub("", line)
    return f"<strong>{_inline(inner)}</strong>" if inner != line and _is_whole(inner) else _inline(line)


def _cells(row: str) -> list[str]:
    return [cell.strip().replace("\\|", "|") for cell in _CELL.split(row.strip().removeprefix("|").removesuffix("|"))]
