"""reStructuredText through docutils; directives and roles that only Sphinx knows keep their text."""

from __future__ import annotations

import re
import threading
from typing import Any

from ingest.documents.dates import visible_date
from ingest.documents.model import Block, Code, Heading, Page, Scope, Table, Text

_DIRECTIVE = re.compile(r"^\s*\.\.\s+(?:\|[^|]+\|\s+)?([\w:+.-]+)::", re.MULTILINE)
_ROLE = re.compile(r":([a-zA-Z][\w:+.-]*):`")
_DROPPED = {
    "toctree",
    "highlight",
    "contents",
    "index",
    "meta",
    "raw",
    "image",
    "figure",
    "include",
    "literalinclude",
    "only",
}
_CODE = {"code-block", "sourcecode", "code", "prompt", "parsed-literal"}
_lock = threading.Lock()


def load_rst(text: str) -> Page:
    """A reST page as blocks."""
    import docutils.core
    import docutils.nodes as nodes

    text = text.replace("\r\n", "\n").lstrip("\ufeff")
    anchors = _anchors(text)
    with _lock:
        _register(text)
        doctree = docutils.core.publish_doctree(
            text,
            settings_overrides={
                "report_level": 5,
                "halt_level": 5,
                "warning_stream": False,
                "file_insertion_enabled": False,
                "raw_enabled": False,
                "doctitle_xform": False,
                "docinfo_xform": False,
                "syntax_highlight": "none",
                "line_length_limit": 100_000,
            },
        )
    page = Page(_blocks(doctree, nodes, 0, anchors))
    page.title = next((block.text for block in page.blocks if isinstance(block, Heading)), "")
    page.as_of = visible_date(text[:4000])
    return page


def _anchors(text: str) -> dict[str, str]:
    """Headings' labels by the heading that follows them."""
    found = re.findall(r"^\.\.\s+_([^:\n]+):\s*\n\s*\n(.+)$", text, re.MULTILINE)
    return {heading.strip(): re.sub(r"[-_]+", " ", label) for label, heading in found}


def _register(text: str) -> None:
    """Give unknown directives and roles of this text a reading that keeps their content."""
    from docutils.parsers.rst import directives, roles

    for name in set(_DIRECTIVE.findall(text)):
        if name in _DROPPED:
            directives.register_directive(name, _directive("drop"))
        elif name in _CODE:
            directives.register_directive(name, _directive("code"))
        elif name not in directives._directive_registry and name not in directives._directives:
            directives.register_directive(name, _directive("keep"))
    for name in set(_ROLE.findall(text)):
        if name not in roles._role_registry and name not in roles._roles:
            roles.register_local_role(name, _role)


def _directive(kind: str) -> Any:
    from docutils import nodes
    from docutils.parsers.rst import Directive

    class Plain(Directive):
        """A directive whose content is kept as prose or code, or dropped."""

        has_content = True
        optional_arguments = 100
        final_argument_whitespace = True
        option_spec = None

        def run(self) -> list[Any]:
            if kind == "drop":
                return []
            body = [line for line in self.content if not re.match(r"^:[\w-]+:(\s|$)", line)]
            if kind == "code":
                return [nodes.literal_block("\n".join(body), "\n".join(body))]
            container = nodes.container()
            title = " ".join(self.arguments)
            if title:
                container += nodes.paragraph("", title)
            self.state.nested_parse(self.content, self.content_offset, container)
            return [container]

    return Plain


def _role(
    name: str, rawtext: str, text: str, lineno: int, inliner: Any, options: Any = None, content: Any = None
) -> Any:
    from docutils import nodes

    shown = re.sub(r"\s*<[^>]*>$", "", text).lstrip("~!")
    return [nodes.inline(rawtext, shown)], []


def _blocks(node: Any, nodes: Any, depth: int, anchors: dict[str, str]) -> list[Block]:
    out: list[Block] = []
    for child in node.children:
        if isinstance(child, nodes.section):
            title = child.next_node(nodes.title)
            if title is not None:
                text = title.astext()
                out.append(Heading(depth + 1, text, anchors.get(text, "")))
            out.extend(_blocks(child, nodes, depth + 1, anchors))
        elif isinstance(child, nodes.literal_block | nodes.doctest_block):
            out.append(Code(child.astext()))
        elif isinstance(child, nodes.table):
            if (table := _table(child, nodes)) is not None:
                out.append(table)
        elif isinstance(child, nodes.Admonition):
            inner = _blocks(child, nodes, depth, anchors)
            label = "" if isinstance(child, nodes.admonition) else child.tagname.capitalize()
            title = child.next_node(nodes.title)
            label = title.astext() if title is not None and isinstance(child, nodes.admonition) else label
            if inner and isinstance(inner[0], Text) and label:
                inner[0] = Text(f"{label}: {inner[0].text}")
            out.extend(inner)
        elif isinstance(child, nodes.bullet_list | nodes.enumerated_list):
            out.extend(_list(child, nodes, depth, anchors))
        elif isinstance(child, nodes.definition_list):
            for item in child.children:
                term = " ".join(part.astext() for part in item.findall(nodes.term))
                inner = [
                    block for part in item.findall(nodes.definition) for block in _blocks(part, nodes, depth, anchors)
                ]
                if inner and isinstance(inner[0], Text):
                    inner[0] = Text(f"{term}: {inner[0].text}")
                    out.extend(inner)
                else:
                    out.append(Scope(term, inner))
        elif isinstance(
            child, nodes.title | nodes.comment | nodes.target | nodes.system_message | nodes.substitution_definition
        ):
            continue
        elif isinstance(child, nodes.paragraph | nodes.line_block | nodes.field_list | nodes.attribution):
            if text := _prose(child, nodes):
                out.append(Text(text))
        elif child.children:
            out.extend(_blocks(child, nodes, depth, anchors))
    return out


def _list(node: Any, nodes: Any, depth: int, anchors: dict[str, str]) -> list[Block]:
    out: list[Block] = []
    lines: list[str] = []
    for number, item in enumerate(node.children, 1):
        mark = f"{number}." if isinstance(node, nodes.enumerated_list) else "-"
        inner = _blocks(item, nodes, depth, anchors)
        if inner and isinstance(inner[0], Text):
            lines.append(f"{mark} {inner[0].text}")
            inner = inner[1:]
        for block in inner:
            if isinstance(block, Text):
                lines.append("  " + block.text)
            else:
                out.append(Text("\n".join(lines))) if lines else None
                lines = []
                out.append(block)
    if lines:
        out.append(Text("\n".join(lines)))
    return out


def _prose(node: Any, nodes: Any) -> str:
    parts: list[str] = []
    for part in node.findall(lambda found: isinstance(found, nodes.Text | nodes.literal)):
        if isinstance(part, nodes.literal):
            parts.append(f"`{part.astext()}`")
        elif not isinstance(part.parent, nodes.literal) and not isinstance(part.parent, nodes.problematic):
            parts.append(part.astext())
    return re.sub(r"[ \t]*\n[ \t]*", "\n", "".join(parts)).strip()


def _table(node: Any, nodes: Any) -> Table | None:
    from ingest.documents.markdown import fill_down

    def cells(row: Any) -> list[str]:
        return [re.sub(r"\s+", " ", entry.astext()).strip() for entry in row.findall(nodes.entry)]

    head = node.next_node(nodes.thead)
    header = cells(head.next_node(nodes.row)) if head is not None else []
    body = node.next_node(nodes.tbody)
    rows = [cells(row) for row in body.findall(nodes.row)] if body is not None else []
    title = node.next_node(nodes.title)
    rows = [row for row in rows if any(row)]
    return Table(header, fill_down(rows), title.astext() if title is not None else "") if rows else None
