"""Guide: browse what the advisor knows, and search it."""

from __future__ import annotations

import json
from typing import Any

import gradio as gr

from advisor.web import guide, render
from advisor.web.safe_text import safe_markdown, web_link
from advisor.web.words import Labels, word

HITS = 10


def list_html(lang: str) -> str:
    """The entries by area, as buttons."""
    return render.render("guide_list", lang, areas=guide.by_area(lang))


def entry_markdown(entry_id: str, lang: str) -> str:
    """One entry with its sources; the invitation to choose one where there is none of that name."""
    found = guide.entry(entry_id, lang)
    if found is None:
        return word("guide.choose", lang)
    lines = [safe_markdown(found.text), "", f"**{word('sources', lang)}** ({found.as_of})", ""]
    for source in found.sources:
        title = safe_markdown(str(source.get("title", source.get("url", "")))).replace("[", "\\[").replace("]", "\\]")
        link = web_link(str(source.get("url", "")))
        lines.append(f"- [{title}]({link})" if link else f"- {title}")
    return "\n".join(lines)


def search_html(passages: Any, query: str, lang: str, any_lang: bool) -> str:
    """Passages found for a query, whole, with their document; the list of entries where the query is empty."""
    if not query.strip():
        return list_html(lang)
    hits = passages.search(query, k=HITS, lang=None if any_lang else lang)
    if not hits:
        return render.render("empty", lang, kind="search")
    return render.render("hits", lang, hits=hits)


def build_guide(advisor: Any, settings: Any, labels: Labels, lang: gr.Radio, tab: gr.Tab) -> None:
    """Lay out the tab inside the open Blocks."""
    wish = gr.Textbox(visible="hidden", elem_id="guide-wish", container=False)
    wish_button = gr.Button(visible="hidden", elem_id="guide-wish-button")
    with gr.Row(elem_id="guide-pane"):
        with gr.Column(scale=4, min_width=300):
            query = labels.add(
                gr.Textbox(
                    label=labels.say("guide.search"),
                    placeholder=labels.say("guide.placeholder"),
                    max_length=400,
                    submit_btn=True,
                    elem_id="guide-query",
                ),
                label="guide.search",
                placeholder="guide.placeholder",
            )
            any_lang = labels.add(gr.Checkbox(label=labels.say("guide.any_lang"), value=False), label="guide.any_lang")
            found = gr.HTML(elem_id="guide-list")
        with gr.Column(scale=6, min_width=320):
            back = labels.add(gr.Button(labels.say("guide.back"), size="sm", elem_id="guide-back"), value="guide.back")
            shown = gr.Markdown(elem_id="guide-text", sanitize_html=True, latex_delimiters=[])

    def search(text: str, lang: str, every: bool) -> str:
        return search_html(advisor.passages if (text or "").strip() else None, text or "", lang, every)

    def open_entry(payload: str, lang: str) -> tuple[str, str]:
        try:
            entry_id = str(json.loads(payload or "{}").get("entry", ""))
        except (json.JSONDecodeError, AttributeError):
            entry_id = ""
        return entry_markdown(entry_id, lang), payload

    quiet: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
    limited = {**quiet, "concurrency_limit": settings.workers, "concurrency_id": "search"}
    gr.on([query.submit, any_lang.input, tab.select, lang.input], search, [query, lang, any_lang], found, **limited)
    gr.on([tab.select, lang.input], open_entry, [wish, lang], [shown, wish], **quiet)
    # On a phone an entry takes the place of the list, as the page's style says.
    back.click(None, None, None, js="() => window.advisorPage.leaveEntry()", queue=False, **quiet)
    wish_button.click(
        open_entry, [wish, lang], [shown, wish], js="(_, lang) => [window.advisorPage.takeEntry(), lang]", **quiet
    )
