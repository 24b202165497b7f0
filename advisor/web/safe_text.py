"""Text from people, documents and language models, made safe to show as Markdown: markup is shown, never run."""

from __future__ import annotations

import re

_CODE = re.compile(
    r"(^[ ]{0,3}(`{3,}|~{3,})[^\n]*\n.*?^[ ]{0,3}\2[`~]*[ \t]*$|(?<!`)(`+)(?!`)[^\n]+?(?<!`)\3(?!`))", re.M | re.S
)
_CITE = re.compile(r"\[(\d{1,2})\](?![(\[:])")


def _escape(text: str) -> str:
    return text.replace("<", "&lt;").replace("![", "!\\[")


def safe_markdown(text: str, cite_prefix: str | None = None) -> str:
    """Markdown with raw HTML escaped and images (which would load from elsewhere) turned into text.

    Code spans and fences stay as they are: Markdown escapes them itself. With `cite_prefix`, a mark `[3]` becomes a link
    to `#<cite_prefix>-3`.
    """
    parts: list[str] = []
    at = 0
    for match in _CODE.finditer(text):
        parts.append(_outside(text[at : match.start()], cite_prefix))
        parts.append(match.group(0))
        at = match.end()
    parts.append(_outside(text[at:], cite_prefix))
    return "".join(parts)


def _outside(text: str, cite_prefix: str | None) -> str:
    text = _escape(text)
    if cite_prefix:
        text = _CITE.sub(lambda m: f"[\\[{m.group(1)}\\]](#{cite_prefix}-{m.group(1)})", text)
    return text


def web_link(address: str | None) -> str | None:
    """`address` where it is an http or https link, else None: a source may name a file, or something hostile."""
    if address and re.match(r"https?://[^\s<>\"']+$", address):
        return address
    return None
