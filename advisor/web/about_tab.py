"""About: how old the data is, which versions run, how picks are ranked, what the advisor cannot know."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import gradio as gr

from advisor.web import render
from advisor.web.words import Labels

PACKAGES = ("interconnect-advisor", "gradio", "langchain", "chromadb", "duckdb")


def versions() -> list[tuple[str, str]]:
    """(package, version) of what matters for a bug report."""
    found = [("Python", platform.python_version())]
    for name in PACKAGES:
        try:
            found.append((name, version(name)))
        except PackageNotFoundError:
            continue
    return found


def about_html(advisor: Any, settings: Any, lang: str) -> str:
    """The whole tab as HTML."""
    return render.render("about", lang, health=advisor.health(), versions=versions(), settings=settings)


def build_about(advisor: Any, settings: Any, labels: Labels, lang: gr.Radio, tab: gr.Tab) -> None:
    """Lay out the tab inside the open Blocks."""
    shown = gr.HTML(elem_id="about")
    gr.on(
        [tab.select, lang.input],
        lambda lang: about_html(advisor, settings, lang),
        [lang],
        shown,
        api_visibility="private",
        show_progress="hidden",
    )
