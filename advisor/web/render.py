"""Values to HTML: pure functions over `templates/`, where every value is escaped."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from advisor.answer import Answer, Citation, Pick
from advisor.web import exports, guide, numbers
from advisor.web.passages import line_html, passage_blocks
from advisor.web.safe_text import web_link
from advisor.web.session import Session, Turn
from advisor.web.words import known, role_word, word
from knowledge.places import country_name

FABRIC_NAMES = {
    "infiniband": "InfiniBand",
    "efa": "EFA",
    "roce": "RoCE",
    "tcpxo": "GPUDirect-TCPXO",
    "tcpx": "GPUDirect-TCPX",
    "ethernet": "Ethernet",
}
TONES = {"yes": "good", "helpful": "fair", "partial": "fair", "no": "plain", "none": "plain", "unknown": "unknown"}


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters.update(
        money=numbers.money,
        signed_money=numbers.signed_money,
        coded=coded,
        number=numbers.number,
        big=numbers.big,
        percent=numbers.percent,
        link=source_address,
        passage=passage_html,
        quoted=line_html,
    )
    environment.globals.update(
        age_days=numbers.age_days, hours=numbers.hours, place=place, nearest=nearest_text, entry_of=guide.entry_of
    )
    return environment


def coded(text: str) -> Markup:
    """Plain text, escaped, with `words in back quotes` as code: advice names commands that way."""
    return Markup(re.sub(r"`([^`\n]+)`", r"<code>\1</code>", str(escape(text))))


def passage_html(text: str, quote: str = "") -> Markup:
    """A passage with the quote marked, as `passages.passage_blocks` reads it."""
    return Markup(_environment().get_template("passage.html").render(blocks=passage_blocks(text, quote)))


def source_address(source: str | None) -> str | None:
    """The web address that a source is or begins with: `https://… (list@commit)` names the list that quoted it after the page."""
    return web_link((source or "").split(" ", 1)[0])


def place(item: Any, lang: str) -> str:
    """Where a pick or an offer is: region and country, one word where both say the same."""
    region = word("region.unknown", lang) if item.region == "unknown" else item.region
    return region if item.country in (None, "", item.region) else f"{region} ({item.country})"


def render(template: str, lang: str, **values: Any) -> str:
    """`templates/<template>.html` with `values`; inside, `t(key)` is the page's word and everything is escaped."""

    def t(key: str, /, **fields: Any) -> str:
        return word(key, lang, **fields)

    def named(kind: str, value: Any) -> str:
        return known(f"{kind}.{value}", lang, str(value))

    return _environment().get_template(f"{template}.html").render(t=t, named=named, lang=lang, **values)


def fabric_name(fabric: str, lang: str) -> str:
    """A network between nodes by its name."""
    return FABRIC_NAMES.get(fabric) or known(f"fabric.{fabric}", lang, fabric)


def link_badges(item: Any, lang: str) -> list[dict[str, str]]:
    """The three link facts of a pick or an offer: board form, link inside the node, network between nodes.

    Each is {label, value, tone, title}; what nobody stated is the word for unknown with the tone `unknown`.
    """
    unknown = word("unknown", lang)
    variant = item.gpu_variant
    board = {
        "value": unknown if variant == "unknown" else variant,
        "tone": "unknown" if variant == "unknown" else "plain",
    }
    inside = known(f"nvlink.{item.nvlink}", lang, item.nvlink)
    if item.nvlink in ("yes", "partial"):
        if item.nvlink_gb_s_per_gpu:
            inside += f" {numbers.number(item.nvlink_gb_s_per_gpu)} GB/s"
        if item.nvlink_domain_gpus and item.nvlink_domain_gpus > 1:
            inside += " · " + word("badge.domain", lang, gpus=item.nvlink_domain_gpus)
    fabric = item.internode_fabric
    between = fabric_name(fabric, lang)
    if item.internode_gbit_s_per_node:
        between += f" {numbers.number(item.internode_gbit_s_per_node)} Gb/s"
    if fabric not in ("none", "unknown"):
        between += " · " + known(f"rdma.{item.internode_rdma}", lang, item.internode_rdma)
    tone = "unknown" if fabric == "unknown" else "good" if item.internode_rdma == "yes" else "plain"
    return [
        {"label": word("badge.board", lang), "title": word("badge.board.title", lang), **board},
        {
            "label": word("badge.inside", lang),
            "title": word("badge.inside.title", lang),
            "value": inside,
            "tone": TONES[item.nvlink],
        },
        {
            "label": word("badge.between", lang),
            "title": word("badge.between.title", lang),
            "value": between,
            "tone": tone,
        },
    ]


def nearest_text(field: str, nearest: str, lang: str) -> str:
    """The values nearest to what was asked of `field`, codes in words and money as money; unknown only where it is all."""
    values = nearest.split(", ")
    told = [value for value in values if value != "unknown"] or values
    if field.startswith("max_price"):
        return f"${nearest}"
    if field == "nvlink":
        return ", ".join(known(f"nvlink.{value}", lang, value) for value in told)
    if field == "fabric":
        return ", ".join(fabric_name(value, lang) for value in told)
    if field == "country":
        return ", ".join(country_name(value, lang) for value in told)
    return ", ".join(known(f"value.{value}", lang, value) for value in told)


def _why_empty(answer: Answer | None) -> str:
    if answer is None:
        return "picks"
    return "no_match" if answer.intent in ("no_match", "infeasible") else "no_picks"


def picks_html(turn: Turn | None, lang: str, stale_days: int = 30) -> str:
    """The cards of a turn's picks under what the job needs; an empty state before the first answer."""
    answer = turn.answer if turn else None
    if answer is None or (not answer.picks and answer.needs is None):
        return render("empty", lang, kind=_why_empty(answer))
    files = exports.pick_files(answer, lang) if answer.picks else {}
    roles = [pick.role for pick in answer.picks]
    cards = [
        {
            "pick": pick,
            "role": role_word(pick.role, roles, lang),
            "badges": link_badges(pick, lang),
            "dstack": exports.dstack_yaml(pick),
            "skypilot": exports.skypilot_yaml(pick),
        }
        for pick in answer.picks
    ]
    return render("picks", lang, answer=answer, cards=cards, files=files, stale_days=stale_days, tones=TONES)


def compare_html(turn: Turn | None, lang: str) -> str:
    """The picks as one sortable table with its exports."""
    answer = turn.answer if turn else None
    if answer is None or not answer.picks:
        return render("empty", lang, kind="compare")
    roles = [pick.role for pick in answer.picks]
    rows = [
        {"pick": pick, "role": role_word(pick.role, roles, lang), "badges": link_badges(pick, lang)}
        for pick in answer.picks
    ]
    return render("compare", lang, rows=rows, files=exports.pick_files(answer, lang))


def offers_html(page: Any, lang: str, files: dict[str, str]) -> str:
    """An `OfferPage` as a table with the count of all that match, and what is unknown or stands in the way."""
    rows = [{"offer": offer, "badges": link_badges(offer, lang)} for offer in page.offers]
    return render("offers", lang, rows=rows, page=page, files=files)


def sources_html(turn: Turn | None, index: int, lang: str, passages: Any) -> str:
    """The citations of a turn, each opening to its whole passage with the quote marked."""
    answer = turn.answer if turn else None
    if answer is None or not answer.citations:
        return render("empty", lang, kind="sources")
    items = [_source(citation, passages) for citation in answer.citations]
    return render("sources", lang, items=items, turn=index)


def _source(citation: Citation, passages: Any) -> dict[str, Any]:
    hit = passages.get(citation.passage_id) if citation.passage_id else None
    text = hit.text if hit else citation.quote
    return {"c": citation, "text": passage_html(text, citation.quote), "whole": hit is not None}


def summary_line(answer: Answer, lang: str) -> str:
    """One line for screen readers when an answer is there."""
    return word("said.answer", lang, picks=len(answer.picks), sources=len(answer.citations))


def cite_prefix(index: int) -> str:
    """The anchor prefix of the sources of turn number `index`."""
    return f"src-{index}"


def shown_index(session: Session) -> int:
    """The index, from 0, of the turn in the result panel."""
    return session.shown if session.shown >= 0 else len(session.turns) - 1


def pick_title(pick: Pick) -> str:
    """Provider, type and number of nodes."""
    return f"{pick.provider} {pick.instance_type}" + (f" × {pick.nodes}" if pick.nodes > 1 else "")
