"""Markdown and its dialects: GitHub, MkDocs Material, MDX (Docusaurus, Mintlify), Zenn, Microsoft Learn.

Fences and HTML tables are set aside first, so that no rule for prose touches code; then comments go, and the lines are read
into blocks. What stands in a tab or a fold keeps the tab's title.
"""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass, field

import yaml

from ingest.documents.components import block_components
from ingest.documents.dates import date_of, visible_date
from ingest.documents.inline import clean, heading_text
from ingest.documents.mermaid import mermaid_text
from ingest.documents.model import Block, Code, Heading, Page, Scope, Table, Text

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
Include = Callable[[str], str | None]
"""Gives the text of a file that a page includes, or None where it is absent or stands on its own."""

_FENCE = re.compile(
    r"^(?P<indent>[ \t]*(?:>[ \t]?)*(?:[-*+][ \t]+|\d+[.)][ \t]+)?)(?P<mark>`{3,}|~{3,})[ \t]*(?P<info>[^`\n]*)$"
)
_HEADING = re.compile(r"^\s{0,3}(#{1,6})(?:\s+(.*?))?\s*#*\s*$")
_HTML_HEADING = re.compile(r"^\s*<h([1-6])[^>]*>(.*?)</h\1>\s*$", re.IGNORECASE)
_RULE_ROW = re.compile(r"^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$")
_THEMATIC = re.compile(r"^\s{0,3}([-*_])(\s*\1){2,}\s*$")
_ADMONITION = re.compile(r"^(\s*)(?:!!!|\?\?\?\+?)\s+([\w-]+)(?:\s+[\w-]+)*(?:\s+\"(.*)\")?\s*$")
_MKDOCS_TAB = re.compile(r"^(\s*)===[!+]?\s+\"(.*)\"\s*$")
_COLONS = re.compile(r"^\s*(:{3,})\s*([\w-]+)?\s*(.*)$")
_GITHUB_NOTE = re.compile(r"^\[!(\w+)\]\s*$")
_AZURE_TAB = re.compile(r"^\[(.+?)\]\(#tab/[^)]*\)$")
_BRACKET_TAB = re.compile(r"^\[\s+.*\s+\]$")
_INCLUDE = re.compile(r"\[!INCLUDE\s*\[[^\]]*\]\s*\(([^)]+)\)\]|^--8<--\s+\"([^\"]+)\"", re.IGNORECASE | re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)|\{/\*.*?\*/\}", re.DOTALL)
_HTML_TABLE = re.compile(r"<table\b.*?(?:</table\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_ESM = re.compile(
    r"^(?:import\s[^\n]*?(?:from\s+)?[\"'][^\"'\n]+[\"'];?|export\s+(?:const|default|function)\b.*?(?=\n\s*\n|\Z))",
    re.MULTILINE | re.DOTALL,
)
_ESM_MULTI = re.compile(r"^import\s*\{[^}]*\}\s*from\s*[\"'][^\"'\n]+[\"'];?", re.MULTILINE)
_DIRECTIVE_LINE = re.compile(
    r"^\s*\[!(?:VIDEO|NOTE|div|IMAGE)[^\]]*\]\s*$|^\s*\[[^\]]+\]:\s+\S+.*$|^\s*\[\[?_?TOC_?\]?\]\s*$", re.IGNORECASE
)
_URL_ONLY = re.compile(r"^\s*(?:@\[[\w-]+\]\()?https?://\S+\)?\s*$")
_PLACE = re.compile(r"\x00(\d+)\x00")
_LIST_ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")


@dataclass
class _Source:
    """The blocks set aside while prose is worked on, by number."""

    kept: list[Block] = field(default_factory=list)

    def keep(self, block: Block) -> str:
        self.kept.append(block)
        return f"\x00{len(self.kept) - 1}\x00"


def front_matter(text: str) -> tuple[dict[str, object], str]:
    """The YAML front matter of a page and the rest; one that is no YAML is dropped."""
    text = text.lstrip("\ufeff")
    match = re.match(r"---[ \t]*\n(.*?)\n---[ \t]*(?:\n|$)", text, re.DOTALL)
    if not match:
        return {}, text
    try:
        meta = yaml.load(match.group(1), Loader=_LOADER)
    except yaml.YAMLError:
        meta = {
            found.group(1): found.group(2).strip("\"' ")
            for found in re.finditer(r"^([\w.-]+):[ \t]*(.+)$", match.group(1), re.MULTILINE)
        }
    if not isinstance(meta, dict):
        return ({}, text) if meta is not None else ({}, text[match.end() :])
    return {str(key): value for key, value in meta.items()}, text[match.end() :]


def load_markdown(text: str, include: Include | None = None) -> Page:
    """A Markdown page as blocks, with the title, date and included files it names."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    meta, body = front_matter(text)
    page = Page([], meta=dict(meta))
    body = _include(body, page, include)
    page.as_of = date_of(page.meta) or visible_date(body)
    source = _Source()
    body = _set_fences_aside(body, source)
    body = _COMMENT.sub("", body)
    body = _HTML_TABLE.sub(lambda match: _keep_html_table(match.group(), source), body)
    body = _ESM_MULTI.sub("", body)
    body = _ESM.sub("", body)
    body = block_components(body)
    page.blocks = _read(body.split("\n"), source)
    first = next((block.text for block in page.blocks if isinstance(block, Heading) and block.level == 1), "")
    page.title = clean(str(page.meta.get("title") or ""), one_line=True) or first
    return page


def _include(body: str, page: Page, include: Include | None) -> str:
    def replace(match: re.Match[str]) -> str:
        name = (match.group(1) or match.group(2)).strip()
        page.includes.append(name)
        text = include(name) if include else None
        return "" if text is None else front_matter(text.replace("\r\n", "\n"))[1]

    return _INCLUDE.sub(replace, body)


def _set_fences_aside(text: str, source: _Source) -> str:
    out: list[str] = []
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        match = _FENCE.match(lines[at])
        if not match:
            out.append(lines[at])
            at += 1
            continue
        end = at + 1
        mark = match.group("mark")
        closing = re.compile(rf"^[ \t>]*{re.escape(mark[0])}{{{len(mark)},}}[ \t]*$")
        while end < len(lines) and not closing.match(lines[end]):
            end += 1
        indent = match.group("indent")
        quoted = ">" in indent
        body = [_dedent(line, len(indent), quoted) for line in lines[at + 1 : end]]
        language = match.group("info").strip().split(" ")[0].strip("{}.").lower()
        code = html.unescape("\n".join(body)).strip("\n")
        if language == "mermaid":
            label = mermaid_text(code)
            out.append(indent + (source.keep(Text(label)) if label else ""))
        else:
            out.append(indent + source.keep(Code(code, language.split(":")[0])))
        at = end + 1
    return "\n".join(out)


def _dedent(line: str, width: int, quoted: bool) -> str:
    if quoted:
        line = re.sub(r"^[ \t]*(?:>[ \t]?)+", "", line)
        return line
    head = line[:width]
    return line[width:] if not head.strip() else line.lstrip()


def _keep_html_table(markup: str, source: _Source) -> str:
    from ingest.documents.html import html_table

    lines = []
    for table in html_table(markup):
        lines.append(source.keep(table))
    return "\n\n" + "\n\n".join(lines) + "\n\n" if lines else ""


def _read(lines: list[str], source: _Source) -> list[Block]:
    blocks: list[Block] = []
    paragraph: list[str] = []
    tabs: list[int] = []

    def close() -> None:
        text = clean("\n".join(paragraph)) if paragraph else ""
        paragraph.clear()
        kept = [line for line in text.split("\n") if line.strip() and not _URL_ONLY.match(line)]
        if kept:
            blocks.append(Text("\n".join(kept)))

    at = 0
    while at < len(lines):
        line = lines[at]
        if place := _PLACE.search(line):
            rest = line[: place.start()].strip()
            if rest and not _LIST_ITEM.fullmatch(rest + " ") and rest != ">":
                paragraph.append(rest)
            close()
            blocks.append(source.kept[int(place.group(1))])
            at += 1
        elif match := _ADMONITION.match(line):
            close()
            body, at = _indented(lines, at + 1, len(match.group(1)))
            title = match.group(3) if match.group(3) is not None else match.group(2).capitalize()
            blocks.extend(_titled(title, _read(body, source)))
        elif match := _MKDOCS_TAB.match(line):
            close()
            body, at = _indented(lines, at + 1, len(match.group(1)))
            blocks.append(Scope(clean(match.group(2), one_line=True), _read(body, source)))
        elif (match := _COLONS.match(line)) and match.group(2):
            close()
            body, at = _colon_block(lines, at + 1, len(match.group(1)))
            blocks.extend(_colons(match.group(2), match.group(3), _read(body, source)))
        elif line.lstrip().startswith(">"):
            close()
            body, at = _quoted(lines, at)
            blocks.extend(_quote(body, source))
        elif (match := _HEADING.match(line)) and match.group(2):
            close()
            at += 1
            _heading(len(match.group(1)), match.group(2), blocks, tabs)
        elif match := _HTML_HEADING.match(line):
            close()
            at += 1
            _heading(int(match.group(1)), match.group(2), blocks, tabs)
        elif _is_table(lines, at):
            close()
            table, at = _pipe_table(lines, at)
            blocks.append(table)
        elif paragraph and len(paragraph) == 1 and re.match(r"^\s{0,3}(=+|-+)\s*$", line) and len(line.strip()) >= 3:
            level = 1 if "=" in line else 2
            title = paragraph.pop()
            if _LIST_ITEM.match(title):
                paragraph.append(title)
                close()
            else:
                _heading(level, title, blocks, tabs)
            at += 1
        elif _THEMATIC.match(line):
            close()
            if tabs:
                blocks.append(Heading(tabs.pop(), ""))
            at += 1
        elif not line.strip() or _DIRECTIVE_LINE.match(line) or _COLONS.match(line):
            close()
            at += 1
        else:
            if _LIST_ITEM.match(line) and not line.startswith(" ") and len("\n".join(paragraph)) > 700:
                close()
            paragraph.append(line.strip() if not _LIST_ITEM.match(line) else line.rstrip())
            at += 1
    close()
    return blocks


def _heading(level: int, raw: str, blocks: list[Block], tabs: list[int]) -> None:
    """A heading; a tab written as one closes at the next rule, and its sub-headings with it."""
    is_tab = bool(_AZURE_TAB.match(raw.strip()) or _BRACKET_TAB.match(raw.strip()))
    while tabs and tabs[-1] > level:
        tabs.pop()
    if is_tab and (not tabs or tabs[-1] < level):
        tabs.append(level)
    text, anchor = heading_text(raw)
    if text:
        blocks.append(Heading(level, text, anchor))


def _indented(lines: list[str], at: int, base: int) -> tuple[list[str], int]:
    """The lines indented deeper than `base`, without that indent, and where they end."""
    body: list[str] = []
    while at < len(lines):
        line = lines[at].replace("\t", "    ")
        if line.strip() and len(line) - len(line.lstrip()) < base + 2:
            break
        body.append(line[base + 4 :] if not line[: base + 4].strip() else line.lstrip())
        at += 1
    return body, at


def _colon_block(lines: list[str], at: int, colons: int) -> tuple[list[str], int]:
    """The lines up to the closing colons of at least the same number; blocks inside are counted."""
    body: list[str] = []
    depth = 0
    while at < len(lines):
        match = _COLONS.match(lines[at])
        if match and match.group(2):
            depth += 1
        elif match and not match.group(3).strip():
            if depth == 0 or len(match.group(1)) > colons:
                return body, at + 1
            if len(match.group(1)) >= colons and depth > 0 and not _more_closings(lines, at + 1, colons, depth):
                return body, at + 1
            depth -= 1
        body.append(lines[at])
        at += 1
    return body, at


def _more_closings(lines: list[str], at: int, colons: int, depth: int) -> bool:
    """Whether another closing line follows before anything opens: then this one closes an inner block."""
    for line in lines[at:]:
        match = _COLONS.match(line)
        if match:
            return not match.group(2) and not match.group(3).strip()
    return False


def _colons(kind: str, rest: str, blocks: list[Block]) -> list[Block]:
    title = clean(re.sub(r"^\[(.*)\]$", r"\1", re.sub(r"\{[^}]*\}", "", rest).strip()), one_line=True)
    if kind in ("details", "tab", "tab-item", "dropdown", "collapse"):
        return [Scope(title, blocks)] if title else blocks
    if kind == "message":
        return blocks
    return _titled(title or kind.capitalize(), blocks)


def _titled(title: str, blocks: list[Block]) -> list[Block]:
    """A note: its title goes before its first sentence."""
    title = clean(title, one_line=True)
    if title and blocks and isinstance(blocks[0], Text):
        return [Text(f"{title}: {blocks[0].text}"), *blocks[1:]]
    return [Text(f"{title}:"), *blocks] if title and blocks else blocks


def _quoted(lines: list[str], at: int) -> tuple[list[str], int]:
    body: list[str] = []
    while at < len(lines) and lines[at].lstrip().startswith(">"):
        body.append(re.sub(r"^\s*>[ ]?", "", lines[at]))
        at += 1
    return body, at


def _quote(body: list[str], source: _Source) -> list[Block]:
    if body and (match := _GITHUB_NOTE.match(body[0].strip())):
        return _titled(match.group(1).capitalize(), _read(body[1:], source))
    return _read(body, source)


def _is_table(lines: list[str], at: int) -> bool:
    return (
        "|" in lines[at]
        and at + 1 < len(lines)
        and "-" in lines[at + 1]
        and ("|" in lines[at + 1] or lines[at].strip().startswith("|"))
        and bool(_RULE_ROW.match(lines[at + 1]))
    )


def _pipe_table(lines: list[str], at: int) -> tuple[Table, int]:
    header = [clean(cell, one_line=True) for cell in split_row(lines[at])]
    at += 2
    rows: list[list[str]] = []
    while at < len(lines) and "|" in lines[at] and lines[at].strip() and not _PLACE.search(lines[at]):
        cells = [clean(cell, one_line=True) for cell in split_row(lines[at])]
        if any(cells):
            rows.append(cells)
        at += 1
    return Table(header, fill_down(rows)), at


def fill_down(rows: list[list[str]]) -> list[list[str]]:
    """A row whose first cell is blank goes on with the row above: it gets that row's first cell."""
    for above, row in itertools.pairwise(rows):
        if len(row) > 1 and not row[0] and above[0] and any(row[1:]):
            row[0] = above[0]
    return rows


def split_row(line: str) -> list[str]:
    """The cells of a pipe table's row; a bar after a backslash or in a code span is text.

    >>> split_row(r"| a \\\\| b | `x|y` |")
    ['a | b', '`x|y`']
    """
    line = line.strip().removeprefix("|")
    if line.endswith("|") and not line.endswith("\\|"):
        line = line[:-1]
    cells, current, code = [], "", False
    at = 0
    while at < len(line):
        character = line[at]
        if character == "\\" and line[at + 1 : at + 2] == "|":
            current += "|"
            at += 2
            continue
        if character == "`" and (code or "`" in line[at + 1 :]):
            code = not code
        if character == "|" and not code:
            cells.append(current.strip())
            current = ""
        else:
            current += character
        at += 1
    return [*cells, current.strip()]
