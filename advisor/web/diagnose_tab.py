"""Diagnose: paste what the machine printed, see what its links really are."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import gradio as gr

from advisor.errors import AdvisorError
from advisor.web import render
from advisor.web.words import Labels, word

MAX_PASTE = 2_000_000
"""Characters read in one go; NCCL logs of large jobs stay under it."""
MAX_FILES = 20


def read_texts(pasted: str, paths: list[str] | None, lang: str) -> dict[str, str]:
    """File name → text of what was pasted and uploaded; bytes that are no text are replaced, names are made unique."""
    texts: dict[str, str] = {}
    if pasted and pasted.strip():
        texts[word("diagnose.pasted", lang)] = pasted[:MAX_PASTE]
    for path in (paths or [])[:MAX_FILES]:
        name = Path(path).name
        while name in texts:
            name += "'"
        with Path(path).open("rb") as file:
            texts[name] = file.read(MAX_PASTE).decode("utf-8", errors="replace")
    return texts


def picture(svg: str | None) -> str | None:
    """An SVG as an image address: inside an image nothing in it can run."""
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode() if svg else None


def diagnosis_html(diagnosis: Any, lang: str) -> str:
    """A diagnosis: what was read, the link facts, the problems with their evidence and what to do."""
    return render.render(
        "diagnosis", lang, d=diagnosis, picture=picture(getattr(diagnosis, "topology_svg", None)), tones=render.TONES
    )


def diagnose(advisor: Any, pasted: str, paths: list[str] | None, instance_type: str, lang: str) -> str:
    """What the tab shows for an input; the empty state where there is none."""
    texts = read_texts(pasted, paths, lang)
    if not texts:
        return render.render("empty", lang, kind="diagnose")
    try:
        return diagnosis_html(advisor.diagnose(texts, lang, instance_type.strip() or None), lang)
    except AdvisorError as error:
        return render.render("notice", lang, text=str(error))


def build_diagnose(advisor: Any, settings: Any, labels: Labels, lang: gr.Radio, tab: gr.Tab) -> None:
    """Lay out the tab inside the open Blocks."""
    with gr.Row(elem_id="diagnose-pane"):
        with gr.Column(scale=5, min_width=320):
            pasted = labels.add(
                gr.Textbox(
                    label=labels.say("diagnose.paste"),
                    placeholder=labels.say("diagnose.placeholder"),
                    lines=16,
                    max_lines=24,
                    max_length=MAX_PASTE,
                    elem_id="diagnose-text",
                ),
                label="diagnose.paste",
                placeholder="diagnose.placeholder",
            )
            files = labels.add(
                gr.File(
                    label=labels.say("diagnose.files"),
                    file_count="multiple",
                    type="filepath",
                    height=120,
                    elem_id="diagnose-files",
                ),
                label="diagnose.files",
            )
            instance = labels.add(
                gr.Textbox(
                    label=labels.say("diagnose.instance"),
                    placeholder="p5.48xlarge",
                    max_length=200,
                    elem_id="diagnose-instance",
                ),
                label="diagnose.instance",
            )
            go = labels.add(
                gr.Button(labels.say("diagnose.go"), variant="primary", elem_id="diagnose-go"), value="diagnose.go"
            )
        with gr.Column(scale=6, min_width=320):
            result = gr.HTML(elem_id="diagnosis")

    def run(text: str | None, paths: list[str] | None, kind: str | None, lang: str) -> str:
        return diagnose(advisor, text or "", paths, kind or "", lang)

    quiet: dict[str, Any] = {
        "api_visibility": "private",
        "concurrency_limit": settings.workers,
        "concurrency_id": "diagnose",
    }
    gr.on(
        [go.click, tab.select, lang.input],
        run,
        [pasted, files, instance, lang],
        result,
        show_progress="minimal",
        **quiet,
    )
