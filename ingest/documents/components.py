"""MDX components that hold facts or open a part of the page, rewritten as plain Markdown before the lines are read."""

from __future__ import annotations

import re

from ingest.documents.inline import HTML_TAGS, attributes, is_tag

_BLOCK_TAG = re.compile(
    r"<(?P<close>/)?(?P<name>[A-Za-z][\w.]*)(?P<rest>(?:\s(?:[^<>\"'{}]|\"[^\"]*\"|'[^']*'|\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\})*)?)(?P<self>/)?>",
    re.DOTALL,
)
_TITLED = {"Tab", "TabItem", "Accordion", "Step", "Expandable", "details"}
_FIELDS = {"ParamField", "ResponseField", "Property", "Param"}
_SUMMARY = re.compile(r"<summary[^>]*>(.*?)</summary>", re.DOTALL | re.IGNORECASE)


def block_components(text: str) -> str:
    """Tabs, steps and folds become `=== "title"` parts; fields with attributes become a line; other wrappers go.

    A title stays with all that the component holds; `<ParamField path="-t" default="x">` gives "`-t` (default x)".
    """
    text = re.sub(r"<details[^>]*>\s*(?=<summary)", "", text, flags=re.IGNORECASE)
    text = _SUMMARY.sub(lambda match: f"\n\n**{match.group(1).strip()}**\n\n", text)
    pieces: list[str] = []
    at = 0
    for match in _BLOCK_TAG.finditer(text):
        name, rest = match.group("name"), (match.group("rest") or "").rstrip()
        alone = bool(match.group("self")) or rest.endswith("/")
        if not is_tag(name) or (name.lower() in HTML_TAGS and name not in ("details", "div")):
            continue
        pieces.append(text[at : match.start()])
        at = match.end()
        pieces.append(
            _open(name, rest.removesuffix("/"), match.group(), alone) if not match.group("close") else _close(name)
        )
    pieces.append(text[at:])
    return _indent_parts("".join(pieces))


def _open(name: str, rest: str, whole: str, alone: bool) -> str:
    found = attributes(rest)
    if name == "div":
        title = found.get("editor-title", "")
        return f"\n\n{title}\n\n" if title else ""
    if name in _TITLED and not alone:
        title = found.get("title") or found.get("label") or found.get("value") or ""
        return f"\n\x02{title}\x03\n"
    if name in _FIELDS:
        label = next((found[key] for key in ("path", "name", "body", "query", "header") if found.get(key)), "")
        facts = [f"{key} {found[key]}" for key in ("type", "default") if found.get(key)]
        facts += ["required"] if "required" in found else []
        return f"\n\n`{label}` ({', '.join(facts)}): " if facts else f"\n\n`{label}`: "
    if name == "Card" and found.get("title"):
        return f"\n\n{found['title']}: "
    if alone:
        return whole
    if name in ("Message", "Warning", "Note", "Tip", "Info", "Danger", "Caution", "Check"):
        kind = found.get("type") or found.get("title") or (name if name != "Message" else "")
        return f"\n\n{kind.capitalize()}: " if kind else "\n\n"
    title = found.get("title", "")
    return f"\n\n{title}\n\n" if title else "\n"


def _close(name: str) -> str:
    if name in _TITLED:
        return "\n\x04\n"
    return "" if name == "div" else "\n"


def _indent_parts(text: str) -> str:
    """Parts marked by open and close signs, written as MkDocs tabs with indented bodies."""
    if "\x02" not in text:
        return text.replace("\x04", "")
    out: list[str] = []
    depth = 0
    for line in text.split("\n"):
        if line.startswith("\x02"):
            title = line[1:].split("\x03")[0].replace('"', "'")
            out.append("    " * depth + f'=== "{title}"')
            depth += 1
        elif line.strip() == "\x04":
            depth = max(0, depth - 1)
        elif depth:
            out.append("    " * depth + line.strip() if "\x00" in line else "    " * depth + line.lstrip(" \t"))
        else:
            out.append(line)
    return "\n".join(out)
