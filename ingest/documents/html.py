"""HTML pages: the main part without site chrome, as blocks; and HTML tables inside other formats."""

from __future__ import annotations

import re
from typing import Any

from ingest.documents.dates import parse_date, visible_date
from ingest.documents.mermaid import mermaid_text
from ingest.documents.model import Block, Code, Heading, Page, Table, Text

_DROP = (
    "script,style,noscript,template,svg,iframe,form,button,nav,aside,footer,select,[role=navigation],[role=search],[role=banner],"
    "[role=contentinfo],[aria-hidden=true],[hidden],.toc,#toc,.table-of-contents,.toctree-wrapper,.headerlink,a.headerlink,"
    ".anchorjs-link,.anchor,.breadcrumb,.breadcrumbs,[class*=breadcrumb],.sidebar,[class*=sidebar],.navbar,.prev-next-area,"
    ".prev-next-bottom,.pagination,[class*=pagination],.md-sidebar,.md-source-file,.md-footer,.edit-link,[class*=edit-this-page],"
    ".page-navigation,.site-footer,.rst-footer-buttons,.feedback,[class*=feedback],.cookie,[class*=cookie],.skip-link,"
    "[class*=skip-to],.screen-reader-text,.sr-only,.visually-hidden,.copybtn,.clipboard,.linenos,.lineno,.quarto-title-meta,"
    "#quarto-back-to-top,.nav-footer,[class*=social-share],[class*=language-switch],.bd-toc,.onlyprint"
)
_MAIN = ("main article", "article", "main", "[role=main]", "#main-content", "#content", ".document", ".content", "body")
_INLINE = frozenset(
    [
        "a",
        "abbr",
        "b",
        "bdi",
        "bdo",
        "br",
        "cite",
        "code",
        "data",
        "dfn",
        "em",
        "font",
        "i",
        "kbd",
        "label",
        "mark",
        "nobr",
        "q",
        "s",
        "samp",
        "small",
        "span",
        "strong",
        "sub",
        "sup",
        "time",
        "tt",
        "u",
        "var",
        "wbr",
    ]
)
_BLOCKY = frozenset(
    ["p", "li", "dd", "dt", "blockquote", "figcaption", "caption", "summary", "address", "center", "legend"]
)


def load_html(text: str) -> Page:
    """An HTML page as blocks. `redirect` is set where the page only sends the reader elsewhere."""
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(text)
    page = Page([])
    page.redirect = _redirect(tree)
    root = tree.css_first("html")
    if root is not None and root.attributes.get("lang"):
        page.lang = str(root.attributes["lang"]).split("-")[0].lower()
    page.as_of = _date(tree)
    canonical = tree.css_first("link[rel=canonical]")
    if canonical is not None and str(canonical.attributes.get("href") or "").startswith("http"):
        page.url = str(canonical.attributes["href"])
    site_title = tree.css_first("title")
    body = _main_part(tree)
    if body is None:
        return page
    for node in body.css(_DROP):
        node.decompose()
    page.blocks = _Walker().blocks(body)
    first = next((block.text for block in page.blocks if isinstance(block, Heading) and block.level == 1), "")
    page.title = first or _short_title(site_title.text() if site_title is not None else "")
    page.as_of = page.as_of or visible_date(body.text(separator="\n")[-2000:])
    return page


def html_table(markup: str) -> list[Table]:
    """The tables of a piece of HTML; unclosed rows, a head without rows and bare `<` before numbers are survived."""
    from selectolax.lexbor import LexborHTMLParser

    markup = re.sub(r"<(?=[=\d\s])", "&lt;", markup)
    markup = re.sub(r"(<thead[^>]*>)(\s*<t[hd])", r"\1<tr>\2", markup, flags=re.IGNORECASE)
    tree = LexborHTMLParser(markup)
    out = []
    for node in tree.css("table"):
        table = _table(node)
        if table is not None:
            out.append(table)
    return out


def _redirect(tree: Any) -> str | None:
    for meta in tree.css("meta"):
        if str(meta.attributes.get("http-equiv") or "").lower() == "refresh":
            match = re.search(r"url\s*=\s*['\"]?([^'\">\s]+)", str(meta.attributes.get("content") or ""), re.IGNORECASE)
            if match:
                return match.group(1)
    return None


def _date(tree: Any) -> str | None:
    for selector, attribute in (
        ('meta[property="article:modified_time"]', "content"),
        ('meta[name="last-modified"]', "content"),
        ('meta[name="ms.date"]', "content"),
        ('meta[name="dcterms.modified"]', "content"),
        ('meta[itemprop="dateModified"]', "content"),
        ('meta[property="article:published_time"]', "content"),
        ('meta[name="date"]', "content"),
        ("time[datetime]", "datetime"),
        (".git-revision-date-localized-plugin", None),
    ):
        node = tree.css_first(selector)
        if node is not None:
            value = node.text() if attribute is None else node.attributes.get(attribute)
            if value and (found := parse_date(value)):
                return found
    return None


def _main_part(tree: Any) -> Any:
    """The smallest of the usual main elements that still holds most of the text below the body."""
    body = tree.body
    if body is None:
        return None
    for selector in _MAIN:
        found = tree.css(selector)
        if found:
            best = max(found, key=lambda node: len(node.text()))
            if len(best.text(strip=True)) > 200 or selector == "body":
                return best
    return body


def _short_title(title: str) -> str:
    """The page's part of a title that ends with the site's name."""
    title = re.sub(r"\s+", " ", title).strip()
    return re.split(r"\s+[|–—·]\s+|\s+-\s+", title)[0].strip(" ¶#")


class _Walker:
    """Walks an element and gives blocks; text that stands between elements becomes paragraphs."""

    def __init__(self) -> None:
        self._blocks: list[Block] = []
        self._open: list[str] = []

    def blocks(self, root: Any) -> list[Block]:
        self._walk(root)
        self._close()
        return self._blocks

    def _close(self) -> None:
        text = tidy("".join(self._open))
        self._open.clear()
        if text and any(character.isalnum() for character in text):
            self._blocks.append(Text(text))

    def _walk(self, node: Any) -> None:
        child = node.child
        while child is not None:
            self._one(child)
            child = child.next

    def _one(self, node: Any) -> None:
        tag = node.tag
        if tag == "-text":
            self._open.append(re.sub(r"\s+", " ", node.text(deep=False)))
        elif tag in ("_comment", "-comment", "!--"):
            return
        elif tag in ("h1", "h2", "h3", "h4", "h5", "h6"):
            self._close()
            text = tidy(inline_text(node)).strip(" ¶#")
            if text:
                anchor = str(node.attributes.get("id") or "").replace("-", " ")
                self._blocks.append(Heading(int(tag[1]), re.sub(r"\s+", " ", text), anchor if anchor.isascii() else ""))
        elif tag == "pre":
            self._close()
            text = node.text().strip("\n")
            if "mermaid" in str(node.attributes.get("class") or ""):
                text = mermaid_text(text)
                self._blocks.extend([Text(text)] if text else [])
            elif text.strip():
                self._blocks.append(Code(text))
        elif tag == "table":
            self._close()
            self._table_or_code(node)
        elif tag == "br":
            self._open.append("\n")
        elif tag in ("ul", "ol"):
            self._close()
            self._list(node, 0)
        elif tag in _INLINE:
            self._open.append(inline_text(node))
        elif tag in _BLOCKY or tag in ("div", "section"):
            self._close()
            self._walk(node)
            self._close()
        else:
            self._close()
            self._walk(node)
            self._close()

    def _table_or_code(self, node: Any) -> None:
        """A table that only lays out code (line numbers beside lines) is code."""
        if node.css_first("td.code pre, td.rouge-code pre"):
            code = node.css_first("td.code pre, td.rouge-code pre")
            self._blocks.append(Code(code.text().strip("\n")))
            return
        table = _table(node)
        if table is not None:
            self._blocks.append(table)

    def _list(self, node: Any, depth: int) -> None:
        lines: list[str] = []
        for item in (child for child in _children(node) if child.tag == "li"):
            simple = item.css_first("pre, table, h1, h2, h3, h4, h5, h6") is None
            if not simple:
                self._flush(lines)
                self._walk(item)
                self._close()
                continue
            lines.extend(_list_lines(item, depth))
        self._flush(lines)

    def _flush(self, lines: list[str]) -> None:
        if lines:
            self._blocks.append(Text("\n".join(lines)))
            lines.clear()


def _list_lines(item: Any, depth: int) -> list[str]:
    words, inner = [], []
    for child in _children(item):
        if child.tag in ("ul", "ol"):
            inner += [line for sub in _children(child) if sub.tag == "li" for line in _list_lines(sub, depth + 1)]
        else:
            words.append(inline_text(child) + (" " if child.tag in ("p", "div") else ""))
    text = re.sub(r"\s+", " ", "".join(words)).strip()
    return ([f"{'  ' * depth}- {text}"] if text else []) + inner


def _children(node: Any) -> list[Any]:
    out, child = [], node.child
    while child is not None:
        out.append(child)
        child = child.next
    return out


def inline_text(node: Any) -> str:
    """The text of an element; neighbouring spans join without a blank, so that coloured code stays whole."""
    if node.tag == "-text":
        return re.sub(r"\s+", " ", str(node.text(deep=False)))
    if node.tag in ("br", "hr"):
        return "\n"
    if node.tag in ("_comment", "-comment", "!--"):
        return ""
    inner = "".join(inline_text(child) for child in _children(node))
    if node.tag in ("code", "kbd", "tt", "samp") and inner.strip() and "\n" not in inner:
        return f"`{inner.strip()}`"
    if node.tag in ("p", "div", "li", "tr"):
        return f"{inner} "
    return inner


def _table(node: Any) -> Table | None:
    from ingest.documents.markdown import fill_down

    header: list[str] = []
    rows: list[list[str]] = []
    spans: dict[int, tuple[int, str]] = {}
    for row in node.css("tr"):
        cells: list[str] = []
        heads = 0
        real = [child for child in _children(row) if child.tag in ("td", "th")]
        for cell in real:
            while len(cells) in spans:
                _carry(spans, cells)
            text = re.sub(r"\s+", " ", inline_text(cell)).strip()
            heads += cell.tag == "th"
            down = _number(cell.attributes.get("rowspan"))
            for _ in range(min(_number(cell.attributes.get("colspan")), 30)):
                if down > 1:
                    spans[len(cells)] = (down - 1, text)
                cells.append(text)
        while len(cells) in spans:
            _carry(spans, cells)
        if not any(cells):
            continue
        in_head = row.parent is not None and row.parent.tag == "thead"
        if not rows and (in_head or (heads == len(real) and heads > 0)):
            header = (
                [" ".join(dict.fromkeys(pair)).strip() for pair in zip(header, cells, strict=False)]
                if header
                else cells
            )
        else:
            rows.append(cells)
    if not rows:
        return Table([], [header]) if header else None
    caption = node.css_first("caption")
    return Table(header, fill_down(rows), tidy(caption.text()) if caption is not None else "")


def _carry(spans: dict[int, tuple[int, str]], cells: list[str]) -> None:
    left, text = spans.pop(len(cells))
    if left > 1:
        spans[len(cells)] = (left - 1, text)
    cells.append(text)


def _number(value: str | None) -> int:
    return int(value) if value and value.isdigit() and int(value) > 0 else 1


def tidy(text: str) -> str:
    """Blanks and empty lines reduced; no-break blanks made plain."""
    text = text.replace("\u00a0", " ").replace("\u200b", "")
    lines = [re.sub(r"[ \t]+", " ", line).strip() for line in text.split("\n")]
    return "\n".join(line for line in lines if line)
