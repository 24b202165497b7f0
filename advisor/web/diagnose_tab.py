"""Diagnose: paste what the machine printed, see what its links really are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr

from advisor.answer import Lang
from advisor.errors import AdvisorError, BadRequest
from advisor.reasoning.diagnose import file_lines, topology_svg
from advisor.web import render
from advisor.web.pictures import safe_svg
from advisor.web.words import Labels, word
from knowledge.errors import KnowledgeError

if TYPE_CHECKING:
    from advisor.reasoning.diagnose import Diagnosis, VerifyPlan

MAX_PASTE = 2_000_000
"""Characters of pasted text; a browser grows slow beyond. Larger logs come as files."""
UPLOAD_MB = 64
"""Largest file taken, packed or not: NCCL logs of large jobs reach 50 MB."""
MAX_READ = 200_000_000
"""Characters read of all files together once they are unpacked, so that a small packed file cannot hold the server for minutes."""
MAX_FILES = 20


class Texts:
    """What was pasted and uploaded, as (name, lines), read as it is asked for; names are made unique.

    `is_cut` says afterwards whether some of it was left out because it was too much.
    """

    def __init__(self, pasted: str, paths: list[str] | None, lang: str):
        self._pasted, self._paths, self._lang = pasted or "", (paths or [])[:MAX_FILES], lang
        self.is_cut = len(self._pasted) > MAX_PASTE or len(paths or []) > MAX_FILES
        self._left = MAX_READ

    def __bool__(self) -> bool:
        return bool(self._pasted.strip() or self._paths)

    def __iter__(self) -> Iterator[tuple[str, Iterable[str]]]:
        names: set[str] = set()
        if self._pasted.strip():
            name = word("diagnose.pasted", self._lang)
            names.add(name)
            yield name, self._pasted[:MAX_PASTE].splitlines()
        for path in self._paths:
            name = Path(path).name
            while name in names:
                name += "'"
            names.add(name)
            yield name, self._lines(path, name)

    def _lines(self, path: str, name: str) -> Iterator[str]:
        try:
            for line in file_lines(path):
                self._left -= len(line) + 1
                if self._left < 0:
                    self.is_cut = True
                    return
                yield line
        except BadRequest as error:  # where the server keeps an upload is nobody's business
            raise BadRequest(str(error).replace(path, name)) from None


def diagnosis_html(diagnosis: Diagnosis, lang: str) -> str:
    """A diagnosis: the link facts, the problems with their evidence and what to do, the promise, the picture."""
    picture = safe_svg(topology_svg(diagnosis)) if diagnosis.topology else None
    return render.render("diagnosis", lang, d=diagnosis, picture=picture, tones=render.TONES)


def verify_html(plan: VerifyPlan, lang: str) -> str:
    """The commands for the first minutes on an instance type, with what they should print, and as a script."""
    return render.render("verify", lang, plan=plan)


def diagnose(advisor: Any, pasted: str, paths: list[str] | None, instance_type: str, lang: Lang) -> str:
    """What the tab shows for an input: a diagnosis, or what to check on the named type; the empty state for neither."""
    texts = Texts(pasted, paths, lang)
    kind = instance_type.strip()[:200]
    if not texts and not kind:
        return render.render("empty", lang, kind="diagnose")
    try:
        shown = diagnosis_html(advisor.diagnose(texts, lang, kind or None), lang) if texts else ""
        if texts.is_cut:
            shown = render.render("notice", lang, text=word("diagnose.cut", lang)) + shown
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
                    height=150,
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
