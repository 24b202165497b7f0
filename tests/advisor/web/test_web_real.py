"""The tabs over the real stores: what the page asks of them is there."""

from types import SimpleNamespace

import pytest

from advisor.web import about_tab, guide_tab, offers_tab
from advisor.web.diagnose_tab import diagnose
from advisor.web.panel import panel_updates
from advisor.web.session import Session, Turn


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_offers_tab(advisor, lang):
    found = offers_tab.suggestions(advisor.offers)
    assert set(found) == set(offers_tab.SUGGESTED)
    assert "H100" in found["gpu"] and "US" in found["country"] and "infiniband" in found["fabric"]
    assert all("unknown" not in values and values == sorted(set(values)) for values in found.values())
    html = offers_tab.search_html(advisor, {"gpu": ["H100"], "nvlink": True}, lang)
    assert html.count("<tr") > 10


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_guide_about_and_diagnose_tabs(advisor, lang):
    assert "<li" in guide_tab.search_html(advisor.passages, "NVLink", lang, False)
    assert str(advisor.offers.count)[:1] in about_tab.about_html(advisor, advisor.settings, lang)
    topology = "\tGPU0\tGPU1\nGPU0\t X \tNV12\nGPU1\tNV12\t X \n"
    assert "<svg" in diagnose(advisor, topology, None, "", lang)
    assert "p5.48xlarge" in diagnose(advisor, "", None, "p5.48xlarge", lang)


@pytest.mark.parametrize("question", ["Full fine-tune of a 7B model on 8 H100", "NVLink と InfiniBand の違いは？"])
def test_panel(advisor, question):
    answer = advisor.ask(question)
    session = Session(turns=[Turn(question=question, answer=answer)])
    updates = panel_updates(session, answer.lang, advisor, SimpleNamespace(stale_days=30), choose_tab=True)
    assert ("card" in updates[1]) == bool(answer.picks)
    assert ("<mark>" in updates[-1]) == bool(answer.citations)
