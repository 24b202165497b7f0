"""Inline mark-up to plain text: links, images, tags, escapes and entities go, words and code stay as they are."""

from __future__ import annotations

import html
import re

HTML_TAGS = frozenset(
    [
        "a",
        "abbr",
        "article",
        "aside",
        "b",
        "blockquote",
        "body",
        "br",
        "button",
        "caption",
        "center",
        "cite",
        "code",
        "col",
        "colgroup",
        "dd",
        "del",
        "details",
        "div",
        "dl",
        "dt",
        "em",
        "figcaption",
        "figure",
        "font",
        "footer",
        "form",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "head",
        "header",
        "hr",
        "html",
        "i",
        "iframe",
        "img",
        "input",
        "ins",
        "kbd",
        "label",
        "li",
        "link",
        "main",
        "mark",
        "nav",
        "ol",
        "option",
        "p",
        "picture",
        "pre",
        "q",
        "s",
        "samp",
        "script",
        "section",
        "select",
        "small",
        "source",
        "span",
        "strike",
        "strong",
        "style",
        "sub",
        "summary",
        "sup",
        "svg",
        "table",
        "tbody",
        "td",
        "tfoot",
        "th",
        "thead",
        "tr",
        "tt",
        "u",
        "ul",
        "var",
        "video",
        "wbr",
    ]
)
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_IMAGE = re.compile(r"!\[((?:[^\[\]]|\[[^\]]*\])*)\](?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\]]*\])(?:\{[^}\n]*\})?")
_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\([^()]*(?:\([^()]*\)[^()]*)*\)(?:\{[:.#][^}\n]*\})?")
_REFERENCE_LINK = re.compile(r"\[([^\[\]]+)\]\[[^\[\]]*\]")
_AUTOLINK = re.compile(r"<(https?://[^>\s]+|mailto:[^>\s]+)>")
_ESCAPE = re.compile(r"\\([\\`*_{}\[\]()#+\-.!|~<>$&/:\"'])")
_TAG = re.compile(
    r"</?([A-Za-z][\w.:-]*)((?:\s+|/)(?:[^<>\"'{}]|\"[^\"]*\"|'[^']*'|\{(?:[^{}]|\{[^{}]*\})*\})*)?/?>|</?>"
)
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_STRONG = re.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*", re.DOTALL)
_IMAGE_FILE = re.compile(r"^[\w./ -]*\.(png|jpe?g|svg|gif|webp)$|^(image|画像|img|alt[_ ]text)\s*\d*$", re.IGNORECASE)
_FOOTNOTE = re.compile(r"\[\^[\w-]+\]")
_EMOJI = re.compile(
    "[\U0001f000-\U0001faff\u2600-\u27bf\u2b00-\u2bff\ufe0f\u20e3]|:(?:[a-z]+_)*[a-z]{3,}:(?=\\s)", re.UNICODE
)


def attributes(text: str) -> dict[str, str]:
    """The attributes of a tag: quoted, braced or bare.

    >>> attributes('path="-t" default={5.0} required')
    {'path': '-t', 'default': '5.0', 'required': ''}
    """
    out: dict[str, str] = {}
    for match in re.finditer(r"([\w:.-]+)(?:\s*=\s*(\"[^\"]*\"|'[^']*'|\{[^{}]*\}|[^\s>\"'{}/]+))?", text):
        value = match.group(2) or ""
        if value[:1] in "\"'{" and value:
            value = value[1:-1].strip("`\"'")
        out[match.group(1)] = html.unescape(value)
    return out


def is_tag(name: str) -> bool:
    """Whether a name in angle brackets is an HTML tag or a component (CamelCase), not a placeholder such as <SUBNET>."""
    if name.lower() in HTML_TAGS and (name == name.lower() or name == name.upper()):
        return True
    return name[0].isupper() and any(character.islower() for character in name)


def component_word(name: str, rest: str) -> str:
    """The word a component stands for: `TrainingTooltip` → "Training", a component with a title → its title, else nothing."""
    if name.endswith("Tooltip") and len(name) > 7:
        return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name[:-7])
    found = attributes(rest)
    for key in ("title", "label", "tip", "headline"):
        if found.get(key):
            return found[key]
    return ""


def _replace_tag(match: re.Match[str]) -> str:
    name = match.group(1)
    if name is None:
        return ""
    if not is_tag(name):
        return match.group()
    if name.lower() == "br":
        return "\n"
    if match.group().startswith("</") or name.lower() in HTML_TAGS:
        return ""
    return component_word(name, match.group(2) or "")


def strip_tags(text: str) -> str:
    """Tags go, what they hold stays; a component that stands for a word leaves the word."""
    return _TAG.sub(_replace_tag, text)


def clean(text: str, *, one_line: bool = False) -> str:
    """A run of Markdown as plain text. Code spans stay untouched between their back-ticks; `**` goes.

    With `one_line` breaks become blanks (table cells, headings).
    """
    spans: list[str] = []

    def keep(match: re.Match[str]) -> str:
        spans.append(f"`{html.unescape(match.group(2).strip())}`")
        return f"\x01{len(spans) - 1}\x01"

    text = _CODE_SPAN.sub(keep, text)
    text = _IMAGE.sub(lambda match: "" if _IMAGE_FILE.match(match.group(1).strip()) else match.group(1), text)
    text = _LINK.sub(r"\1", text)
    text = _REFERENCE_LINK.sub(r"\1", text)
    text = _AUTOLINK.sub(r"\1", text)
    text = _FOOTNOTE.sub("", text)
    text = _BREAK.sub(" " if one_line else "\n", text)
    text = strip_tags(text)
    text = _ESCAPE.sub(r"\1", text)
    text = _STRONG.sub(r"\1", text)
    text = html.unescape(text).replace("\u00a0", " ").replace("\ufeff", "")
    text = re.sub(r"\x01(\d+)\x01", lambda match: spans[int(match.group(1))], text)
    if one_line:
        return re.sub(r"\s+", " ", text).strip()
    return "\n".join(re.sub(r"[ \t]+", " ", line).rstrip() for line in text.split("\n")).strip("\n")


def heading_text(text: str) -> tuple[str, str]:
    """A heading without anchors, attribute lists, link brackets and emoji; and the words of its anchors."""
    anchors = re.findall(r"<a\s[^>]*(?:name|id)\s*=\s*[\"']?([\w.-]+)[\"']?[^>]*>", text)
    anchors += re.findall(r"\{#([\w.-]+)[^}]*\}\s*$", text)
    text = re.sub(r"<a\s[^>]*>|</a>", "", text)
    text = re.sub(r"\s*\{[#.:][^}]*\}\s*$", "", text)
    text = clean(text, one_line=True)
    text = _EMOJI.sub("", text).strip()
    text = re.sub(r"^\[\s*(.*?)\s*\]$", r"\1", text)
    return text.strip(" #"), re.sub(r"[-_.]+", " ", " ".join(anchors))
