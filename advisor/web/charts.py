"""An answer's figures as Plotly charts, each with a caption that says what to read from it.

Figures are plain Plotly JSON (dicts), so that this module needs no plotting library. Colours work on light and dark.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from advisor.answer import Answer, Pick
from advisor.web import numbers
from advisor.web.render import fabric_name, pick_title
from advisor.web.words import known, role_word, word

PALETTE = ("#2f7d6b", "#c2691c", "#5a6acf", "#a83f6f", "#7a8a1f", "#2b87b8", "#8b5fbf")
"""Seven hues of like lightness, at least 3:1 against white and against the dark page."""

ROLE_MARKS = {"cheapest": "diamond", "fastest": "triangle-up", "balanced": "circle", "match": "square"}


@dataclass(frozen=True)
class Chart:
    """One chart: Plotly JSON and the sentence under it."""

    name: str
    figure: dict[str, Any]
    caption: str

    def json(self) -> str:
        """The figure as Plotly reads it."""
        return json.dumps(self.figure)


def charts(answer: Answer | None, lang: str) -> list[Chart]:
    """The charts that this answer has figures for, in a fixed order."""
    if answer is None:
        return []
    made = [
        cost_time(answer.picks, answer.charts.get("cost_time"), lang),
        speed_by_nodes(answer.charts.get("speed_by_nodes"), lang),
        communication(answer.picks, lang),
        memory(answer.picks, lang),
    ]
    return [chart for chart in made if chart is not None]


def _layout(title: str, x: str, y: str, legend_rows: int = 1, **more: Any) -> dict[str, Any]:
    """Axes, title and legend; `legend_rows` lines of legend have room between title and drawing, and make the chart higher."""
    top = 54 + 20 * legend_rows
    axis = {"gridcolor": "rgba(128,128,128,0.22)", "zeroline": False, "automargin": True}
    return {
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "title": {
            "text": title,
            "x": 0,
            "xref": "container",
            "xanchor": "left",
            "y": 1,
            "yref": "container",
            "yanchor": "top",
            "pad": {"l": 16, "t": 14},
            "font": {"size": 14},
        },
        "margin": {"l": 56, "r": 24, "t": top, "b": 44},
        "height": 256 + top,
        "colorway": list(PALETTE),
        "font": {"family": "system-ui, sans-serif", "size": 12},
        "hoverlabel": {"align": "left"},
        "legend": {"orientation": "h", "yanchor": "bottom", "y": 1.01, "x": 0, "traceorder": "normal"},
        "xaxis": {**axis, "title": {"text": x}},
        "yaxis": {**axis, "title": {"text": y}, "rangemode": "tozero"},
        **more,
    }


ROW_PX = 58
"""Height of one bar with its label above it: beside the bars a long name leaves them no room on a phone."""


ROW_LABEL = 44
"""Characters of a label above a bar: as many as a phone is wide."""


def _rows(layout: dict[str, Any], labels: Sequence[str], legend_rows: int) -> None:
    """Make room for one bar a label, and write each label above its bar."""
    top = 44 + 20 * legend_rows
    layout["height"] = top + 60 + ROW_PX * len(labels)
    layout["margin"] = {"l": 16, "r": 24, "t": top, "b": 60}
    layout["yaxis"].update(
        {"autorange": "reversed", "showticklabels": False, "automargin": False, "title": {"text": ""}}
    )
    layout["bargap"] = 0.56
    layout["annotations"] = [
        {
            "text": label,
            "xref": "paper",
            "x": 0,
            "xanchor": "left",
            "yref": "y",
            "y": label,
            "yshift": 0.34 * ROW_PX,
            "showarrow": False,
            "font": {"size": 12},
        }
        for label in labels
    ]


def _plain(text: str) -> str:
    """Text that Plotly shows as it is: it reads a few HTML tags in labels."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _label(pick: Pick, longest: int = 34) -> str:
    title = pick_title(pick)
    if len(title) <= longest:
        return _plain(title)
    nodes = f" × {pick.nodes}" if pick.nodes > 1 else ""
    return _plain(title[: longest - 1 - len(nodes)] + "…" + nodes)


def _labels(picks: Sequence[Pick]) -> list[str]:
    """A label a pick, told apart where two picks have the same one: bars with one label would lie on each other."""
    labels: list[str] = []
    for pick in picks:
        label, n = _label(pick, ROW_LABEL), 2
        while label in labels:
            label, n = f"{_label(pick, ROW_LABEL)} ({n})", n + 1
        labels.append(label)
    return labels


DAY_FROM_H = 96
"""Hours from which a duration is told in days, as on the cards."""


def _log_ticks(low: float, high: float) -> list[float]:
    """Round values (1, 2, 5 of each power of ten; powers alone over a wide range) from `low` to `high`, both above zero."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if high / low < 200 else (1,)
    return [step * 10.0**power for power in powers for step in steps]


def cost_time(picks: Sequence[Pick], others: Any, lang: str) -> Chart | None:
    """Cost against time: the picks marked by role, other candidates (if the engine gives them) as small dots.

    `others`: a list of {hours, cost_usd, label}. Time is in days where all of it is long.
    """
    known_picks = [
        (p, p.estimate)
        for p in picks
        if p.estimate and p.estimate.hours is not None and p.estimate.cost_usd is not None
    ]
    if len(known_picks) < 2 and not others:
        return None
    data: list[dict[str, Any]] = []
    dots = [row for row in others or () if isinstance(row, Mapping) and row.get("hours") and row.get("cost_usd")]
    hours_all = [e.hours for _, e in known_picks if e.hours is not None] + [row["hours"] for row in dots]
    if not hours_all:
        return None
    unit, per, axis = ("d", 24.0, "chart.days") if min(hours_all) >= DAY_FROM_H else ("h", 1.0, "chart.hours")
    if dots:
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": word("chart.others", lang),
                "x": [row["hours"] / per for row in dots],
                "y": [row["cost_usd"] for row in dots],
                "text": [_plain(str(row.get("label", ""))) for row in dots],
                "hovertemplate": f"%{{text}}<br>%{{x:.3g}} {unit} · $%{{y:,.0f}}<extra></extra>",
                "marker": {"size": 6, "color": "rgba(128,128,128,0.55)"},
            }
        )
    roles = [pick.role for pick in picks]
    for i, (pick, estimate) in enumerate(known_picks):
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": f"{role_word(pick.role, roles, lang)}: {_label(pick)}",
                "x": [estimate.hours / per if estimate.hours is not None else None],
                "y": [estimate.cost_usd],
                "hovertemplate": f"%{{x:.3g}} {unit} · $%{{y:,.0f}}<extra>" + _label(pick) + "</extra>",
                "marker": {"size": 14, "symbol": ROLE_MARKS[pick.role], "color": PALETTE[i % len(PALETTE)]},
            }
        )
    layout = _layout(word("chart.cost_time", lang), word(axis, lang), word("chart.cost", lang), legend_rows=len(data))
    caption = word("chart.cost_time.caption", lang)
    if max(hours_all) > 20 * min(hours_all) > 0:
        ticks = _log_ticks(min(hours_all) / per, max(hours_all) / per)
        layout["xaxis"].update({"type": "log", "tickvals": ticks, "ticktext": [numbers.number(tick) for tick in ticks]})
        caption += (" " if lang == "en" else "") + word("chart.log", lang)
    return Chart("cost_time", {"data": data, "layout": layout}, caption)


def _apart(nodes: Sequence[int]) -> list[int]:
    """The numbers of nodes that have room for a label on a linear axis, the largest first."""
    kept: list[int] = []
    for n in sorted(nodes, reverse=True):
        if not kept or kept[-1] - n >= nodes[-1] / 18:
            kept.append(n)
    return kept[::-1]


def speed_by_nodes(series: Any, lang: str) -> Chart | None:
    """Speed by number of nodes, a line a fabric, with the range as a band where the engine gives `low` and `high`.

    `series`: a list of {fabric, gbit_s, nodes: [n], tokens_per_s: [v], low: [v], high: [v]}. A dotted line shows what the
    best start would give if every further node added its full speed; both axes are linear, so that it is straight.
    """
    rows = [row for row in series or () if isinstance(row, Mapping) and row.get("nodes") and row.get("tokens_per_s")]
    if not rows:
        return None
    data: list[dict[str, Any]] = []
    for i, row in enumerate(rows):
        colour = PALETTE[i % len(PALETTE)]
        fabric = str(row.get("fabric", "unknown"))
        name = fabric_name(fabric, lang)
        if row.get("gbit_s"):
            name += f" {numbers.number(row['gbit_s'])} Gb/s"
        if row.get("low") and row.get("high"):
            data.append(
                {
                    "type": "scatter",
                    "mode": "lines",
                    "x": [*row["nodes"], *reversed(row["nodes"])],
                    "y": [*row["high"], *reversed(row["low"])],
                    "fill": "toself",
                    "fillcolor": colour + "26",
                    "line": {"width": 0},
                    "hoverinfo": "skip",
                    "showlegend": False,
                }
            )
        data.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": _plain(name),
                "x": list(row["nodes"]),
                "y": list(row["tokens_per_s"]),
                "line": {"color": colour, "width": 2},
                "marker": {"size": 7},
                "hovertemplate": "%{x} · %{y:,.3s} tok/s<extra>" + _plain(name) + "</extra>",
            }
        )
    nodes = sorted({n for row in rows for n in row["nodes"]})
    start = max(row["tokens_per_s"][0] / row["nodes"][0] for row in rows)
    data.append(
        {
            "type": "scatter",
            "mode": "lines",
            "name": word("chart.ideal", lang),
            "x": [nodes[0], nodes[-1]],
            "y": [start * nodes[0], start * nodes[-1]],
            "line": {"color": "rgba(128,128,128,0.9)", "width": 1.5, "dash": "dot"},
            "hoverinfo": "skip",
        }
    )
    layout = _layout(
        word("chart.speed_by_nodes", lang),
        word("chart.nodes", lang),
        word("chart.tokens_per_s", lang),
        legend_rows=len(rows) + 1,
    )
    layout["xaxis"]["tickvals"] = _apart(nodes)
    return Chart("speed_by_nodes", {"data": data, "layout": layout}, word("chart.speed_by_nodes.caption", lang))


def communication(picks: Sequence[Pick], lang: str) -> Chart | None:
    """Share of a step that waits for communication, a bar a pick; None where no pick waits at all."""
    rows = [(p, p.estimate.comm_share) for p in picks if p.estimate and p.estimate.comm_share is not None]
    if not any(share for _, share in rows):
        return None  # nothing waits, and a chart of nothing says nothing
    labels = _labels([pick for pick, _ in rows])
    bars = [
        {
            "type": "bar",
            "orientation": "h",
            "name": word(key, lang),
            "y": labels,
            "x": values,
            "marker": {"color": colour},
            "hovertemplate": "%{x:.0%}<extra></extra>",
        }
        for key, values, colour in (
            ("chart.compute", [1 - share for _, share in rows], PALETTE[0]),
            ("chart.communication.bar", [share for _, share in rows], PALETTE[1]),
        )
    ]
    layout = _layout(
        word("chart.communication", lang),
        word("chart.step_share", lang),
        "",
        barmode="stack",
    )
    layout["xaxis"].update({"tickformat": ".0%", "range": [0, 1], "tickvals": [0, 0.25, 0.5, 0.75, 1]})
    _rows(layout, labels, legend_rows=1)
    return Chart("communication", {"data": bars, "layout": layout}, word("chart.communication.caption", lang))


def memory(picks: Sequence[Pick], lang: str) -> Chart | None:
    """What fills one card, a stacked bar a pick, with the card's size as a mark."""
    rows = [(p, p.estimate.memory_breakdown_gb) for p in picks if p.estimate and p.estimate.memory_breakdown_gb]
    if not rows:
        return None
    labels = _labels([pick for pick, _ in rows])
    parts = list(dict.fromkeys(name for _, breakdown in rows for name in breakdown))
    data: list[dict[str, Any]] = [
        {
            "type": "bar",
            "orientation": "h",
            "name": _plain(known(f"memory.{part}", lang, part.replace("_", " "))),
            "y": labels,
            "x": [breakdown.get(part, 0) for _, breakdown in rows],
            "marker": {"color": PALETTE[i % len(PALETTE)]},
            "hovertemplate": "%{x:.3g} GB<extra></extra>",
        }
        for i, part in enumerate(parts)
    ]
    sized = [(label, pick.gpu_memory_gb) for label, (pick, _) in zip(labels, rows, strict=True) if pick.gpu_memory_gb]
    if sized:
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": word("chart.card", lang),
                "y": [label for label, _ in sized],
                "x": [size for _, size in sized],
                "marker": {"symbol": "line-ns-open", "size": 26, "line": {"width": 3}, "color": "#d23f31"},
                "hovertemplate": "%{x:.0f} GB<extra></extra>",
            }
        )
    layout = _layout(word("chart.memory", lang), word("chart.gb", lang), "", barmode="stack")
    _rows(layout, labels, legend_rows=(len(data) + 1) // 2)
    return Chart("memory", {"data": data, "layout": layout}, word("chart.memory.caption", lang))
