"""The result panel: picks, comparison, charts, assumptions, sources of the turn that is shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr
from gradio.components.plot import PlotData

from advisor.web import assumptions, charts, render
from advisor.web.assumptions import FIELDS, Field
from advisor.web.session import Session
from advisor.web.words import Labels, known, word

CHART_NAMES = ("cost_time", "speed_by_nodes", "communication", "memory")
PARTS = 7 + 2 * len(CHART_NAMES) + len(FIELDS)
"""How many components `Panel.outputs` holds."""


@dataclass
class Panel:
    """The panel's components."""

    tabs: gr.Tabs
    picks: gr.HTML
    compare: gr.HTML
    charts_empty: gr.HTML
    plots: list[gr.Plot]
    captions: list[gr.HTML]
    fields_empty: gr.HTML
    fields_head: gr.HTML
    fields: list[Any]
    sources: gr.HTML

    @property
    def outputs(self) -> list[Any]:
        """Components in the order of `panel_updates`."""
        plots = [part for pair in zip(self.plots, self.captions, strict=True) for part in pair]
        return [
            self.tabs, self.picks, self.compare, self.charts_empty, *plots,
            self.fields_empty, self.fields_head, *self.fields, self.sources,
        ]  # fmt: skip


def build_panel(labels: Labels) -> Panel:
    """Lay the panel out inside the open Blocks."""
    with gr.Tabs(elem_id="result-tabs", selected="picks") as tabs:
        with labels.add(gr.Tab(labels.say("tab.picks"), id="picks", elem_id="tab-picks"), label="tab.picks"):
            picks = gr.HTML(elem_id="picks")
        with labels.add(gr.Tab(labels.say("tab.compare"), id="compare", elem_id="tab-compare"), label="tab.compare"):
            compare = gr.HTML(elem_id="compare")
        with labels.add(gr.Tab(labels.say("tab.charts"), id="charts", elem_id="tab-charts"), label="tab.charts"):
            charts_empty = gr.HTML(elem_id="charts-empty")
            plots, captions = [], []
            for name in CHART_NAMES:
                title = f"chart.{name}"
                plots.append(
                    labels.add(
                        gr.Plot(label=labels.say(title), show_label=False, visible=False, elem_id=f"chart-{name}"),
                        label=title,
                    )
                )
                captions.append(gr.HTML(visible=False, elem_classes="caption"))
        with labels.add(
            gr.Tab(labels.say("tab.assumptions"), id="assumptions", elem_id="tab-assumptions"), label="tab.assumptions"
        ):
            fields_empty = gr.HTML(elem_id="assumptions-empty")
            fields_head = gr.HTML(visible=False, elem_id="assumptions-head")
            with gr.Row(elem_id="assumption-fields"):
                fields = [labels.add(_control(field, labels), label=f"field.{field.name}") for field in FIELDS]
        with labels.add(gr.Tab(labels.say("tab.sources"), id="sources", elem_id="tab-sources"), label="tab.sources"):
            sources = gr.HTML(elem_id="sources")
    return Panel(tabs, picks, compare, charts_empty, plots, captions, fields_empty, fields_head, fields, sources)


def _control(field: Field, labels: Labels) -> Any:
    common: dict[str, Any] = {
        "label": labels.say(f"field.{field.name}"),
        "visible": False,
        "min_width": 150,
        "elem_id": f"field-{field.name}",
        "elem_classes": ["assumption", "amount"] if field.kind == "number" else ["assumption"],
    }
    if field.kind == "choice":
        return gr.Dropdown(choices=list(field.choices), value=None, **common)
    if field.kind == "three":
        return gr.Dropdown(choices=list(field.choices), value="any", **common)
    return gr.Textbox(value="", max_length=200, **common)


def _choices(field: Field, lang: str) -> list[tuple[str, str]]:
    return [(known(f"value.{value}", lang, value), value) for value in field.choices]


def _field_update(field: Field, session: Session, lang: str) -> Any:
    turn = session.turn_shown()
    answer = turn.answer if turn else None
    if not assumptions.is_shown(field, answer):
        return gr.update(visible=False)
    info = word(f"from.{assumptions.source_of(field, answer)}", lang)
    update: dict[str, Any] = {"value": assumptions.value_of(field, answer), "visible": True, "info": info}
    if field.choices:
        update["choices"] = _choices(field, lang)
    return gr.update(**update)


def panel_updates(session: Session, lang: str, advisor: Any, settings: Any, choose_tab: bool = False) -> list[Any]:
    """Updates for `Panel.outputs` that show the session's current turn; `choose_tab` opens the tab that says most."""
    turn = session.turn_shown()
    answer = turn.answer if turn else None
    index = render.shown_index(session)
    passages = advisor.passages if answer is not None and answer.citations else None
    made = {chart.name: chart for chart in charts.charts(answer, lang)}
    tab = "picks" if answer is None or answer.picks or not answer.citations else "sources"
    updates: list[Any] = [
        gr.update(selected=tab) if choose_tab else gr.skip(),
        render.picks_html(turn, lang, settings.stale_days),
        render.compare_html(turn, lang),
        gr.update(visible=not made, value=render.render("empty", lang, kind="charts")),
    ]
    for name in CHART_NAMES:
        chart = made.get(name)
        updates += [
            gr.update(visible=chart is not None, value=PlotData(type="plotly", plot=chart.json()) if chart else None),
            gr.update(
                visible=chart is not None, value=render.render("caption", lang, text=chart.caption) if chart else ""
            ),
        ]
    has_job = answer is not None and answer.workload is not None
    updates.append(gr.update(visible=not has_job, value=render.render("empty", lang, kind="assumptions")))
    updates.append(
        gr.update(
            visible=has_job,
            value=render.render("assumptions", lang, lines=answer.assumptions if answer else ()),
        )
    )
    updates += [_field_update(field, session, lang) for field in FIELDS]
    updates.append(render.sources_html(turn, index, lang, passages))
    return updates
