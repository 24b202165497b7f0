"""Plain text, notebooks and AsciiDoc."""

from __future__ import annotations

import json
import re

from ingest.documents.dates import visible_date
from ingest.documents.inline import clean
from ingest.documents.markdown import load_markdown
from ingest.documents.model import Block, Code, Heading, Page, Scope, Table, Text, Unreadable

_NUMBERED = re.compile(r"^(?:第?\d+(?:[.\-]\d+)*[.章節]?|[一二三四五六七八九十]+[、.]|[■●◆▼【])\s*\S.{0,58}$")
_SENTENCE_END = re.compile(r"[。．.!?！？,、;；]$")


def load_plain(text: str) -> Page:
    """Plain text: paragraphs, headings where a short line stands alone, and columns or commands as they are."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff")
    if _looks_like_markdown(text):
        return load_markdown(text)
    page = Page([], as_of=visible_date(text[:3000]))
    paragraphs = [part.strip("\n") for part in re.split(r"\n\s*\n", text) if part.strip()]
    for number, paragraph in enumerate(paragraphs):
        lines = paragraph.split("\n")
        if _is_heading(lines[0].strip(), len(lines) == 1, number):
            level = 1 if not page.title and number == 0 else 2
            name = lines[0].strip().strip("=-■●◆▼【】# ").strip()
            if level == 1:
                page.title = name
            page.blocks.append(Heading(level, name))
            lines = [line for line in lines[1:] if not re.fullmatch(r"\s*[=\-~*]{3,}\s*", line)]
        if lines and any(line.strip() for line in lines):
            page.blocks.append(Text("\n".join(line.rstrip() for line in lines)))
    return page


def _looks_like_markdown(text: str) -> bool:
    marks = len(re.findall(r"^#{1,4} \S", text, re.MULTILINE)) + len(re.findall(r"^```", text, re.MULTILINE))
    return marks >= 2 and not re.search(r"^#!", text)


def _is_heading(line: str, alone: bool, number: int) -> bool:
    if not 2 <= len(line) <= 60 or line.startswith(("-", "*", "$", ">", "`", "/")):
        return False
    if _SENTENCE_END.search(line):
        return False
    return bool(_NUMBERED.match(line)) or (alone and (number == 0 or "  " not in line) and "=" not in line)


def load_notebook(text: str) -> Page:
    """A Jupyter notebook: its Markdown cells as Markdown, its code cells as code; outputs only where they are short text."""
    try:
        data = json.loads(text)
        cells = data["cells"] if "cells" in data else [cell for sheet in data["worksheets"] for cell in sheet["cells"]]
    except (ValueError, KeyError, TypeError) as error:
        raise Unreadable(f"the notebook is no notebook ({error})") from error
    language = str((data.get("metadata") or {}).get("kernelspec", {}).get("language", "python"))
    blocks: list[Block] = []
    for cell in cells:
        source = cell.get("source", cell.get("input", ""))
        source = "".join(source) if isinstance(source, list) else str(source)
        if not source.strip():
            continue
        if cell.get("cell_type") == "markdown":
            blocks.extend(load_markdown(source).blocks)
        elif cell.get("cell_type") == "code":
            blocks.append(Code(source.strip("\n"), language))
    title = next((block.text for block in blocks if isinstance(block, Heading)), "")
    return Page(blocks, title=title)


_ADOC_HEADING = re.compile(r"^(={1,6})\s+(.+)$")
_ADOC_BLOCK = re.compile(r"^(-{4,}|\.{4,}|={4,}|\*{4,}|_{4,}|\+{4,}|\|={3,})$")


def load_asciidoc(text: str) -> Page:
    """AsciiDoc: headings, paragraphs, listings, tables, notes; comments and attribute lines are left out."""
    lines = text.replace("\r\n", "\n").lstrip("\ufeff").split("\n")
    values = dict(re.findall(r"^:([\w-]+):[ \t]+(.+)$", text, re.MULTILINE))
    page = Page([], meta=values)
    page.blocks = _adoc_blocks(lines, values)
    page.title = next((block.text for block in page.blocks if isinstance(block, Heading)), "")
    page.as_of = (
        visible_date(text[:3000]) or (values.get("revdate") and visible_date(f"updated on {values['revdate']}")) or None
    )
    return page


def _adoc_inline(text: str, values: dict[str, str]) -> str:
    text = re.sub(r"\{([\w-]+)\}", lambda match: values.get(match.group(1), match.group()), text)
    text = re.sub(r"(?:link:|xref:|https?://)[^\s\[]*\[([^\]]*)\]", lambda match: match.group(1) or match.group(), text)
    text = re.sub(r"<<[^,>]+,?\s*([^>]*)>>", r"\1", text)
    text = re.sub(r"\[\[[^\]]*\]\]|\[#[^\]]*\]|image::?\S+\[[^\]]*\]", "", text)
    return clean(re.sub(r"(?<![\w*])\*(\S(?:.*?\S)?)\*(?![\w*])", r"\1", text))


def _adoc_blocks(lines: list[str], values: dict[str, str]) -> list[Block]:
    out: list[Block] = []
    paragraph: list[str] = []
    caption = ""
    note = ""

    def close() -> None:
        nonlocal note
        text = _adoc_inline("\n".join(paragraph), values)
        paragraph.clear()
        if text.strip():
            out.append(Text(f"{note}: {text}" if note else text))
            note = ""

    at = 0
    while at < len(lines):
        line = lines[at].rstrip()
        if match := _ADOC_BLOCK.match(line):
            close()
            end = at + 1
            while end < len(lines) and lines[end].rstrip() != line:
                end += 1
            body = lines[at + 1 : end]
            if line.startswith("|"):
                out.extend(_adoc_table(body, caption, values))
            elif line[0] in "-.+":
                out.append(Code("\n".join(body)))
            else:
                inner = _adoc_blocks(body, values)
                out.append(Scope(caption or note, inner)) if caption or note else out.extend(inner)
                note = ""
            caption = ""
            at = end
        elif line.startswith("////"):
            at += 1
            while at < len(lines) and not lines[at].startswith("////"):
                at += 1
        elif line.startswith("//") or re.match(r"^:[\w-]+:", line) or line in ("+", "<<<", "'''"):
            close() if line == "+" else None
        elif match := _ADOC_HEADING.match(line):
            close()
            out.append(Heading(len(match.group(1)), _adoc_inline(match.group(2), values)))
        elif match := re.match(r"^\[(NOTE|TIP|WARNING|IMPORTANT|CAUTION)\]$", line):
            close()
            note = match.group(1).capitalize()
        elif re.match(r"^\[.*\]$", line) or line.startswith("include::"):
            close()
        elif re.match(r"^\.[^\s.].*", line):
            close()
            caption = _adoc_inline(line[1:], values)
        elif not line.strip():
            close()
        else:
            paragraph.append(line)
        at += 1
    close()
    return out


def _adoc_table(lines: list[str], caption: str, values: dict[str, str]) -> list[Block]:
    rows: list[list[str]] = []
    for line in lines:
        if line.startswith("|"):
            rows.append([_adoc_inline(cell.strip(), values) for cell in line[1:].split("|")])
        elif line.strip() and rows:
            rows[-1][-1] += " " + _adoc_inline(line.strip(), values)
    if rows and all(len(row) == 1 for row in rows[1:]) and len(rows[0]) > 1:
        width = len(rows[0])
        flat = [row[0] for row in rows[1:]]
        rows = [rows[0], *[flat[start : start + width] for start in range(0, len(flat), width)]]
    return [Table(rows[0], rows[1:], caption)] if len(rows) > 1 else []
