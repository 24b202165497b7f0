"""Pictures made elsewhere in the project, checked before they become part of the page."""

from __future__ import annotations

from xml.etree import ElementTree

from markupsafe import Markup

SVG = "{http://www.w3.org/2000/svg}"
TAGS = frozenset(
    ("svg", "g", "title", "desc", "line", "path", "rect", "circle", "ellipse", "text", "tspan", "polyline")
)
"""What a drawing needs; nothing in this list can run or load anything."""


def safe_svg(svg: str) -> Markup | None:
    """An SVG as markup for the page, so that it takes the page's colours; None where it holds anything but a drawing."""
    try:
        root = ElementTree.fromstring(svg)
    except ElementTree.ParseError:
        return None
    for element in root.iter():
        name = element.tag.removeprefix(SVG) if isinstance(element.tag, str) else ""
        if name not in TAGS:
            return None
        for attribute, value in element.attrib.items():
            if attribute.lower().startswith("on") or "href" in attribute.lower() or "url(" in value.lower():
                return None
    return Markup(svg)
