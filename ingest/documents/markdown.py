"""Markdown and its dialects (first slice): headings, paragraphs, fences, tables, front matter."""

from __future__ import annotations

import re

import yaml

from ingest.documents.model import Block, Code, Heading, Page, Table, Text

_FENCE = re.compile(r"^\s*(`{3,}|~{3,})\s*([\w+-]*)")
_HEADING = re.compile(r"^\s{0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
_RULE = re.compile(r"^\s*\|?\s*:?-{2,}:?\s*(\|\s*:?-{2,}:?\s*)*\|?\s*$")


def front_matter(text: str) -> tuple[dict[str, object], str]:
    """The YAML front matter of a page and the rest; an unreadable one is dropped."""
    match = re.match(r"\ufeff?---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|$)", text, re.DOTALL)
    if not match:
        return {}, text.lstrip("\ufeff")
    try:
        meta = yaml.safe_load(match.group(1))
    except yaml.YAMLError:
        meta = None
    return (meta if isinstance(meta, dict) else {}), text[match.end() :]


def load_markdown(text: str) -> Page:
    """A Markdown page as blocks."""
    meta, text = front_matter(text)
    blocks: list[Block] = []
    lines = text.splitlines()
    paragraph: list[str] = []

    def close() -> None:
        if paragraph:
            blocks.append(Text("\n".join(paragraph)))
            paragraph.clear()

    at = 0
    while at < len(lines):
        line = lines[at]
        fence = _FENCE.match(line)
        heading = _HEADING.match(line)
        if fence:
            close()
            end = at + 1
            while end < len(lines) and not lines[end].strip().startswith(fence.group(1)):
                end += 1
            blocks.append(Code("\n".join(lines[at + 1 : end]), fence.group(2)))
            at = end
        elif heading:
            close()
            blocks.append(Heading(len(heading.group(1)), heading.group(2)))
        elif "|" in line and at + 1 < len(lines) and _RULE.match(lines[at + 1]) and "|" in lines[at + 1]:
            close()
            header = split_row(line)
            at += 2
            rows = []
            while at < len(lines) and "|" in lines[at] and lines[at].strip():
                rows.append(split_row(lines[at]))
                at += 1
            blocks.append(Table(header, rows))
            continue
        elif not line.strip():
            close()
        else:
            paragraph.append(line.strip())
        at += 1
    close()
    title = str(meta.get("title") or "") or next((b.text for b in blocks if isinstance(b, Heading)), "")
    return Page(blocks, title=title, meta=dict(meta))


def split_row(line: str) -> list[str]:
    """The cells of a Markdown table row; a bar after a backslash is text."""
    line = line.strip()
    line = line.removeprefix("|")
    if line.endswith("|") and not line.endswith("\\|"):
        line = line[:-1]
    return [cell.replace("\\|", "|").strip() for cell in re.split(r"(?<!\\)\|", line)]
