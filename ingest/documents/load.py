"""From bytes and a name to a page: which loader reads what."""

from __future__ import annotations

import re

from ingest.documents.decode import decode, is_binary
from ingest.documents.html import load_html
from ingest.documents.markdown import Include, load_markdown
from ingest.documents.model import Page, Unreadable
from ingest.documents.pdf import load_pdf
from ingest.documents.plain import load_asciidoc, load_notebook, load_plain
from ingest.documents.rest import load_rst

FORMATS = {
    "md": "markdown",
    "markdown": "markdown",
    "mdx": "markdown",
    "qmd": "markdown",
    "rst": "rst",
    "html": "html",
    "htm": "html",
    "xhtml": "html",
    "pdf": "pdf",
    "ipynb": "notebook",
    "txt": "plain",
    "text": "plain",
    "log": "plain",
    "adoc": "asciidoc",
    "asciidoc": "asciidoc",
    "asc": "asciidoc",
}
"""Formats by the ending of a file's name."""

MEDIA_TYPES = {
    "text/html": "html",
    "application/xhtml+xml": "html",
    "text/markdown": "markdown",
    "text/x-markdown": "markdown",
    "text/plain": "plain",
    "text/x-rst": "rst",
    "application/pdf": "pdf",
    "application/x-ipynb+json": "notebook",
    "text/asciidoc": "asciidoc",
}
"""Formats by what a server calls them."""


def format_of(name: str, data: bytes, media_type: str | None = None) -> str | None:
    """The format of a file: its ending, else what the server said, else a look at its first bytes; None for none known."""
    if data.startswith(b"%PDF-"):
        return "pdf"
    ending = name.rsplit(".", 1)[-1].lower() if "." in name.rsplit("/", 1)[-1] else ""
    if ending in FORMATS and FORMATS[ending] != "pdf":
        if media_type == "text/html" and FORMATS[ending] in ("plain", "markdown", "rst") and _is_html(data):
            return "html"
        return FORMATS[ending]
    if media_type in MEDIA_TYPES:
        found = MEDIA_TYPES[media_type]
        return "html" if found == "plain" and _is_html(data) else found
    if is_binary(data) or ending == "pdf":
        return None
    return "html" if _is_html(data) else ("plain" if not ending or media_type else None)


def _is_html(data: bytes) -> bool:
    return bool(
        re.match(
            rb"\s*(?:\xef\xbb\xbf)?\s*(?:<!--.*?-->\s*)?<(?:!doctype html|html|head|body)\b", data[:2000], re.I | re.S
        )
    )


def load(
    name: str, data: bytes, *, include: Include | None = None, media_type: str | None = None, charset: str | None = None
) -> Page:
    """The page in a file. Raises Unreadable with the reason where there is none."""
    if not data.strip():
        raise Unreadable("the file is empty")
    kind = format_of(name, data, media_type)
    if kind is None:
        raise Unreadable("the format is not one that can be read")
    if kind == "pdf":
        return load_pdf(data)
    if is_binary(data):
        raise Unreadable("the file is binary, not text")
    text = decode(data, charset)
    if kind == "html" or (kind == "markdown" and _is_html(data)):
        page = load_html(text)
        if page.redirect and sum(len(getattr(block, "text", "")) for block in page.blocks) < 300:
            raise Unreadable(f"the page only redirects to {page.redirect}")
        return page
    if kind == "markdown":
        return load_markdown(text, include)
    if kind == "rst":
        return load_rst(text)
    if kind == "notebook":
        return load_notebook(text)
    if kind == "asciidoc":
        return load_asciidoc(text)
    return load_plain(text)
