"""Diagnose: paste what the machine printed, see what its links really are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr

from advisor.answer import Lang
from advisor.errors import AdvisorError
from advisor.reasoning.diagnose import topology_svg
from advisor.web import render
from advisor.web.pictures import safe_svg
from advisor.web.words import Labels, word
from knowledge.errors import KnowledgeError

if TYPE_CHECKING:
    from advisor.reasoning.diagnose import Diagnosis, VerifyPlan

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


def diagnosis_html(diagnosis: Diagnosis, lang: str) -> str:
    """A diagnosis: the link facts, the problems with their evidence and what to do, the promise, the picture."""
    picture = safe_svg(topology_svg(diagnosis)) if diagnosis.topology else None
    return render.render("diagnosis", lang, d=diagnosis, picture=picture, tones=render.TONES)


def verify_html(plan: VerifyPlan, lang: str) -> str:
    """The commands for the first minutes on an instance type, with what they should print, and as a script."""
    return render.render("verify", lang, plan=plan)


def diagnose(advisor: Any, pasted: str, paths: list[str] | None, instance_type: str, lang: Lang) -> str:
    """What the tab shows for an input: a diagnosis, or what to check on the named type; the empty state for neither."""
    texts = read_texts(pasted, paths, lang)
    kind = instance_type.strip()[:200]
    if not texts and not kind:
        return render.render("empty", lang, kind="diagnose")
    try:
        shown = diagnosis_html(advisor.diagnose(texts, lang, kind or None), lang) if texts else ""
        return shown + (verify_html(advisor.engine.verify(kind, lang), lang) if kind else "")
    except (AdvisorError, KnowledgeError) as error:
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

    def run(text: str | None, paths: list[str] | None, kind: str | None, lang: Lang) -> str:
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
