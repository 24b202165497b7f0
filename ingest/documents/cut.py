"""Cutting a page into passages: by heading and table, small enough to read, each with its title, section path and table header."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ingest.documents.model import Block, Code, Heading, Page, Scope, Table, Text

CUT_VERSION = 4
TARGET = 1300
"""Characters of body aimed at. Five hits of this size stay under the 8,000 characters a reader wants; chosen on recall at that bound."""
LIMIT = 1900
SMALL = 450
_SENTENCE = re.compile(r"(?<=[。！？])(?![」』）)])|(?<=[.!?])\s+(?=[A-Z0-9\"'(`\[])|\n")
_DIGITS = re.compile(r"[\d.,%+\-eE]+")


@dataclass
class Cut:
    """One passage to be: the section path, the body, and the words that stand for the table's header."""

    section: str
    text: str
    header: str = ""


@dataclass
class _Section:
    path: list[str]
    blocks: list[Block]
    anchors: str = ""


@dataclass
class _Open:
    pieces: list[str] = field(default_factory=list)
    size: int = 0

    def add(self, piece: str) -> None:
        self.pieces.append(piece)
        self.size += len(piece) + 2


def cut_page(page: Page) -> list[Cut]:
    """The passages of a page in reading order, none empty, none over 2,000 characters with its heading line."""
    out: list[Cut] = []
    for section in _sections(page.blocks):
        out.extend(_cut_section(section, page.title))
    return [cut for cut in _merge_small(out) if _says_something(cut.text)]


def _sections(blocks: list[Block]) -> list[_Section]:
    """Runs of blocks under one heading with the path of headings above; a scope's blocks are a section below the current one."""
    out = [_Section([], [])]
    stack: list[Heading] = []

    def path() -> list[str]:
        return [heading.text for heading in stack if heading.text]

    def anchors() -> str:
        return " ".join(heading.anchor for heading in stack[-2:] if heading.anchor)

    def walk(inner: list[Block], labels: list[str]) -> None:
        for block in inner:
            if isinstance(block, Heading):
                while stack and stack[-1].level >= block.level:
                    stack.pop()
                if block.text:
                    stack.append(block)
                out.append(_Section([*path(), *labels], [], anchors()))
            elif isinstance(block, Scope):
                below = [*labels, block.label] if block.label else labels
                out.append(_Section([*path(), *below], [], anchors()))
                walk(block.blocks, below)
                out.append(_Section([*path(), *labels], [], anchors()))
            else:
                out[-1].blocks.append(block)

    walk(blocks, [])
    return [section for section in out if section.blocks]


def _cut_section(given: _Section, title: str) -> list[Cut]:
    path = given.path[1:] if given.path and given.path[0] == title else given.path
    section = " › ".join(path)[-300:]
    room = max(600, LIMIT - len(section))
    out: list[Cut] = []
    open_ = _Open()

    def close() -> None:
        if open_.pieces:
            out.append(Cut(section, "\n\n".join(open_.pieces), given.anchors))
            open_.pieces, open_.size = [], 0

    for block in given.blocks:
        if isinstance(block, Table):
            pieces = _cut_table(block, min(TARGET, room))
        elif isinstance(block, Code):
            pieces = _cut_lines(block.text, min(TARGET, room) - 20, f"```{block.language}\n", "\n```")
        elif isinstance(block, Text):
            pieces = _cut_text(block.text, min(TARGET, room))
        else:
            continue
        for piece in pieces:
            if open_.pieces and open_.size + len(piece) > min(TARGET, room):
                close()
            open_.add(piece)
    close()
    return out


def table_row(cells: list[str]) -> str:
    """A row as it is written in Markdown, without padding."""
    return "| " + " | ".join(cell.strip() for cell in cells) + " |"


def _cut_table(table: Table, size: int) -> list[str]:
    """The table in parts cut between rows only, each with caption and header; a row longer than a part stands alone."""
    head = [table.caption] if table.caption else []
    if any(table.header):
        head += [table_row(table.header), "|" + " --- |" * len(table.header)]
    top = "\n".join(head)
    parts: list[list[str]] = []
    used = 0
    for row in table.rows:
        line = table_row(row)
        if not parts or (parts[-1] and used + len(line) + 1 > size):
            parts.append([])
            used = len(top)
        parts[-1].append(line)
        used += len(line) + 1
    out = []
    for part in parts:
        text = "\n".join([top, *part] if top else part)
        out.extend([text] if len(text) <= LIMIT else _hard(text, LIMIT))
    return out


def _cut_lines(text: str, size: int, before: str = "", after: str = "") -> list[str]:
    parts: list[str] = []
    current: list[str] = []
    used = 0
    for line in text.split("\n"):
        for piece in _hard(line, size):
            if current and used + len(piece) + 1 > size:
                parts.append("\n".join(current))
                current, used = [], 0
            current.append(piece)
            used += len(piece) + 1
    parts.append("\n".join(current))
    return [before + part.strip("\n") + after for part in parts if part.strip()]


def sentences(text: str) -> list[str]:
    """A text in sentences: after 。！？ in Japanese, after . ! ? before a capital in English, and at line ends."""
    return [part.strip() for part in _SENTENCE.split(text) if part and part.strip()]


def _cut_text(text: str, size: int) -> list[str]:
    if len(text) <= size:
        return [text]
    parts: list[str] = []
    current = ""
    for line_number, line in enumerate(text.split("\n")):
        for place, sentence in enumerate(sentences(line)):
            for piece in _hard(sentence, size):
                glue = "\n" if line_number and place == 0 else ("" if current.endswith(("。", "！", "？")) else " ")
                if current and len(current) + len(glue) + len(piece) > size:
                    parts.append(current)
                    current = piece
                else:
                    current = current + glue + piece if current else piece
    if current:
        parts.append(current)
    return parts


def _hard(text: str, size: int) -> list[str]:
    """Cut what no sentence end cuts: at a 、 or a blank where one is near, else at the size."""
    out = []
    while len(text) > size:
        place = max(text.rfind("、", size // 2, size) + 1, text.rfind(" ", size // 2, size) + 1)
        place = place if place > 1 else size
        out.append(text[:place].rstrip())
        text = text[place:].lstrip()
    return [*out, text]


def _merge_small(cuts: list[Cut]) -> list[Cut]:
    """Join neighbours too small to stand alone: under one parent, while the sum stays within the target."""
    out: list[Cut] = []
    for cut in cuts:
        if out:
            last = out[-1]
            small = len(last.text) < SMALL or len(cut.text) < SMALL
            common = _common(last.section, cut.section)
            inner = cut.section[len(common) :].removeprefix(" › ")
            addition = (f"{inner}\n\n" if inner else "") + cut.text
            if small and common is not None and len(last.text) + len(addition) + 2 <= TARGET:
                lead = last.section[len(common) :].removeprefix(" › ")
                text = (f"{lead}\n\n{last.text}" if lead else last.text) + "\n\n" + addition
                out[-1] = Cut(common, text, f"{last.header} {cut.header}".strip())
                continue
        out.append(cut)
    return out


def _common(first: str, second: str) -> str:
    """The longest path that two section paths share."""
    shared = []
    for one, other in zip(first.split(" › "), second.split(" › "), strict=False):
        if one != other:
            break
        shared.append(one)
    return " › ".join(shared)


def _says_something(text: str) -> bool:
    """Whether a text has words: not only marks, and not a run of bare numbers such as a chart's axis."""
    letters = sum(map(str.isalpha, text))
    if letters < 3:
        return False
    digits = sum(len(run) for run in _DIGITS.findall(text))
    return letters >= 0.15 * digits
