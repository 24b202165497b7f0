"""The offers explorer: one form, generated from the one filter definition."""

from __future__ import annotations

import types
from typing import Any, Literal, Union, get_args, get_origin

import gradio as gr
from pydantic import ValidationError

from advisor.errors import BadRequest
from advisor.web import exports, render
from advisor.web.numbers import parse_amount
from advisor.web.words import FieldRefused, Labels, word
from knowledge.offers import OfferFilter
from knowledge.places import country_name

SHOWN = 100
"""Rows shown at once; the CSV has as many."""
HIDDEN_FIELDS = ("limit", "not_provider", "not_gpu", "not_country", "instance_type")
"""Fields of the filter that the form leaves to the command line and the chat, to stay readable."""
SUGGESTED = {
    "provider": "provider",
    "gpu": "gpu",
    "gpu_variant": "gpu_variant",
    "country": "country",
    "fabric": "internode_fabric",
}
"""Filter field → offer column whose values the form suggests."""
QUIET: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}


def form_fields() -> list[str]:
    """The names of the filter's fields that the form has, in the filter's order."""
    return [name for name in OfferFilter.model_fields if name not in HIDDEN_FIELDS]


def shape(name: str) -> str:
    """How a filter field is edited: many (a list), flag, three (yes, no, both), number or choice."""
    annotation = OfferFilter.model_fields[name].annotation
    options = get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)
    if get_origin(annotation) is Literal:
        return "choice"
    if get_origin(annotation) is tuple:
        return "many"
    if bool in options:
        return "three" if type(None) in options else "flag"
    return "number"


def filter_of(values: dict[str, Any]) -> OfferFilter:
    """The filter that the form's values mean. Raises FieldRefused where a value is not possible."""
    wanted: dict[str, Any] = {"limit": SHOWN}
    for name, value in values.items():
        kind = shape(name)
        if kind == "many":
            wanted[name] = tuple(value or ())
        elif kind == "three":
            wanted[name] = {"yes": True, "no": False}.get(str(value))
        elif kind == "number":
            try:
                wanted[name] = parse_amount(value)
            except BadRequest:
                raise FieldRefused("field.no_amount", f"filter.{name}", value) from None
        elif value is not None:
            wanted[name] = value
    try:
        return OfferFilter(**wanted)
    except ValidationError as error:
        first = error.errors()[0]
        raise FieldRefused("field.impossible", f"filter.{first['loc'][0]}", first["input"]) from None


def suggestions(offers: Any) -> dict[str, list[str]]:
    """Values to offer for the list fields, from the table itself."""
    found = {}
    for name, column in SUGGESTED.items():
        found[name] = [value for value in offers.values(column) if value != "unknown"]
    return found


def search_html(advisor: Any, values: dict[str, Any], lang: str) -> str:
    """The rows that match the form as HTML; a line that says what is wrong where a value is not possible."""
    try:
        wanted = filter_of(values)
    except FieldRefused as error:
        return render.render("notice", lang, text=error.in_words(lang))
    page = advisor.offers.search(wanted)
    return render.offers_html(page, lang, {"offers.csv": exports.offers_csv(list(page.offers))})


def labelled(name: str, values: list[str], lang: str) -> list[tuple[str, str]]:
    """(what the form shows, value) of a list field: countries and networks by their names, all else as it is."""
    if name == "country":
        return [(f"{country_name(value, lang)} ({value})", value) for value in values]
    if name == "fabric":
        return [(render.fabric_name(value, lang), value) for value in values]
    return [(value, value) for value in values]


def _choices(name: str, lang: str) -> list[tuple[str, str]]:
    if shape(name) == "three":
        return [(word(f"value.{value}", lang), value) for value in ("any", "yes", "no")]
    return [(word(f"sort.{value}", lang), value) for value in get_args(OfferFilter.model_fields[name].annotation)]


def build_offers(advisor: Any, settings: Any, labels: Labels, lang: gr.Radio, tab: gr.Tab) -> None:
    """Lay out the explorer inside the open Blocks; it searches when its tab opens and at every change."""
    names = form_fields()
    controls: list[Any] = []
    with gr.Row(elem_id="offers-pane"):
        with gr.Column(scale=1, min_width=240, elem_id="offers-form"):
            for name in names:
                controls.append(labels.add(_control(name, labels), label=f"filter.{name}"))
            reset = labels.add(gr.Button(labels.say("offers.reset"), size="sm"), value="offers.reset")
        with gr.Column(scale=4, min_width=320):
            results = gr.HTML(elem_id="offers-results")
    chosen = gr.State()  # language of the form's choices

    def search(lang: str, *values: Any) -> str:
        return search_html(advisor, dict(zip(names, values, strict=True)), lang)

    def opened(chosen: Any, lang: str, *values: Any) -> list[Any]:
        many = suggestions(advisor.offers) if chosen != lang else {}
        updates = []
        for name in names:
            if chosen == lang:
                updates.append(gr.skip())
            elif name in many:
                updates.append(gr.update(choices=labelled(name, many[name], lang)))
            elif shape(name) in ("three", "choice"):
                updates.append(gr.update(choices=_choices(name, lang)))
            else:
                updates.append(gr.skip())
        return [lang, *updates, search(lang, *values)]

    limited: dict[str, Any] = {**QUIET, "concurrency_limit": settings.workers, "concurrency_id": "offers"}
    triggers = []
    for name, control in zip(names, controls, strict=True):
        if shape(name) == "number":
            triggers += [control.submit, control.blur]
        else:
            # Of a list, Gradio reports what was typed, and what was cleared, as a change only.
            triggers.append(control.change if shape(name) == "many" else control.input)
    gr.on(triggers, search, [lang, *controls], results, trigger_mode="always_last", **limited)
    gr.on([tab.select, lang.input], opened, [chosen, lang, *controls], [chosen, *controls, results], **limited)
    empty = OfferFilter()
    blank = {
        name: "any" if shape(name) == "three" else [] if shape(name) == "many" else getattr(empty, name)
        for name in names
    }
    reset.click(lambda: list(blank.values()), None, controls, **QUIET).then(
        search, [lang, *controls], results, **limited
    )


def _control(name: str, labels: Labels) -> Any:
    kind = shape(name)
    common: dict[str, Any] = {"label": labels.say(f"filter.{name}"), "elem_id": f"filter-{name.replace('_', '-')}"}
    if kind == "many":
        return gr.Dropdown(choices=[], value=[], multiselect=True, allow_custom_value=True, **common)
    if kind == "flag":
        return gr.Checkbox(value=False, **common)
    if kind == "number":
        return gr.Textbox(value="", max_length=20, elem_classes="amount", **common)
    value = "any" if kind == "three" else OfferFilter.model_fields[name].default
    return gr.Dropdown(choices=_choices(name, "en"), value=value, **common)
