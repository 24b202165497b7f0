"""The page: header, conversations, tabs; every word from the catalogue, in the browser's language."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gradio as gr

from advisor.web import messages
from advisor.web.about_tab import build_about
from advisor.web.api import add_api
from advisor.web.blocks import PageBlocks
from advisor.web.chat import AT_ONCE, MINE, QUIET, Chat, build_chat, example_prompts
from advisor.web.diagnose_tab import UPLOAD_MB, build_diagnose
from advisor.web.guide_tab import build_guide
from advisor.web.metrics import Metrics
from advisor.web.offers_tab import build_offers
from advisor.web.operations import Operations
from advisor.web.panel import panel_updates
from advisor.web.render import render
from advisor.web.session import Held, Session, held_or_mine, pack, restored, unpack
from advisor.web.theme import make_theme
from advisor.web.turns import Turns
from advisor.web.words import Labels, page_lang, translations, word

HERE = Path(__file__).parent
TABS = ("ask", "offers", "diagnose", "guide", "about")
MAX_SESSIONS = 300
"""Tabs whose conversation the server holds at once; the longest unused leave first (the browser keeps its own copy)."""
PLACE_S = 5.0
"""Seconds between two messages on one's place in the queue; else each turn that begins would tell everybody who waits."""
UPLOAD_S = 3600
"""Seconds that an uploaded file stays on the server."""
LOOK_S = 0.01
"""Seconds after which Gradio's queue looks again whether something is to be done; its own 0.001 cost 5 % of a core for ever."""
MAX_QUEUE = 200
"""Turns waiting at once; more are told that the page is busy instead of waiting without end."""


def build_page(advisor: Any, settings: Any, turns: Turns | None = None) -> gr.Blocks:
    """The whole page over an advisor (`ask`, `stream`, `offers`, `passages`, `diagnose`, `health`).

    Nothing of the advisor is touched before a visitor needs it. Pass `page_options()` to the mount.
    """
    turns = turns or Turns(advisor, settings, Metrics())
    labels = Labels(gr.I18n(**translations()))
    with PageBlocks(
        title="Interconnect Advisor", analytics_enabled=False, fill_width=True, delete_cache=(UPLOAD_S, UPLOAD_S)
    ) as page:
        add_api(Operations(turns, settings), settings)  # first, so that the endpoints have the plain names
        with gr.Row(elem_id="top"):
            brand = gr.HTML(render("brand", "en"), elem_id="brand")
            lang = gr.Radio(
                choices=[("English", "en"), ("日本語", "ja")],
                value="en",
                label="Language / 言語",
                show_label=False,
                container=False,
                elem_id="lang",
            )
            look = labels.add(gr.Button(labels.say("theme"), size="sm", elem_id="theme", min_width=40), value="theme")
        with gr.Sidebar(open=False, elem_id="history", width=300):
            history = gr.HTML(elem_id="history-list")
        built: dict[str, gr.Tab] = {}
        with gr.Tabs(elem_id="pages", selected="ask"):
            for name in TABS:
                with labels.add(
                    gr.Tab(labels.say(f"tab.{name}"), id=name, elem_id=f"page-{name}"), label=f"tab.{name}"
                ) as tab:
                    built[name] = tab
                    if name == "ask":
                        chat = build_chat(turns, settings, labels, lang)
                    elif name == "offers":
                        build_offers(advisor, settings, labels, lang, tab)
                    elif name == "diagnose":
                        build_diagnose(advisor, settings, labels, lang, tab)
                    elif name == "guide":
                        build_guide(advisor, settings, labels, lang, tab)
                    else:
                        build_about(advisor, settings, labels, lang, tab)
        _connect_language(page, labels, lang, chat, brand, history, advisor, settings)
        look.click(None, None, None, js="() => window.advisorPage.toggleTheme()", **AT_ONCE)
    page.state_session_capacity = MAX_SESSIONS
    page.queue(default_concurrency_limit=settings.workers, max_size=MAX_QUEUE, status_update_rate=PLACE_S)
    page._queue.sleep_when_free = LOOK_S
    return page


def _connect_language(
    page: gr.Blocks,
    labels: Labels,
    lang: gr.Radio,
    chat: Chat,
    brand: gr.HTML,
    history: gr.HTML,
    advisor: Any,
    settings: Any,
) -> None:
    def speak(lang: str, held: Held | None, mine: str) -> list[Any]:
        return _in_words(lang, held_or_mine(held, mine))

    def _in_words(lang: str, session: Session) -> list[Any]:
        said = list(labels.updates(lang))
        at = labels.components.index(chat.chatbot)
        del said[at]
        prompts = example_prompts(lang)
        talk = gr.update(
            label=word("chat", lang),
            placeholder=word("hello", lang),
            examples=prompts,
            value=messages.conversation(session, lang),
        )
        return [
            *said,
            render("brand", lang),
            render("history", lang),
            talk,
            *panel_updates(session, lang, advisor, settings),
        ]

    def start(wanted: str, held: Held | None, copy: str, request: gr.Request) -> list[Any]:
        chosen = wanted if wanted in ("en", "ja") else page_lang(request.headers.get("accept-language"))
        session = unpack(held) if held else restored(copy or "") or Session()
        return [chosen, pack(session), *_in_words(chosen, session)]

    outputs = [component for component in labels.components if component is not chat.chatbot]
    outputs += [brand, history, chat.chatbot, *chat.panel.outputs]
    page.load(
        start,
        [lang, chat.session, chat.mine],
        [lang, chat.session, *outputs],
        js="(_, session) => [window.advisorPage.lang(), session, window.advisorPage.resumed()]",
        **QUIET,
    ).then(None, None, None, js="() => window.advisorPage.ready()", **AT_ONCE)
    lang.input(speak, [lang, chat.session, chat.mine], outputs, js=MINE, **QUIET)
    lang.change(None, [lang], None, js="(lang) => window.advisorPage.setLang(lang)", **AT_ONCE)


def page_options() -> dict[str, Any]:
    """What `gr.mount_gradio_app` needs for this page: theme, style, script, translations; no footer, no recording."""
    script = (HERE / "page.js").read_text(encoding="utf-8")
    return {
        "theme": make_theme(),
        "css_paths": [HERE / "page.css"],
        "head": render("head", "en", script=script),
        "i18n": gr.I18n(**translations()),
        "footer_links": [],
        "run_history": False,
        "ssr_mode": False,
        "pwa": False,
        "enable_monitoring": False,
        "show_error": True,
        "max_file_size": f"{UPLOAD_MB}mb",
    }
