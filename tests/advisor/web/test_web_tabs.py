"""The tabs Offers, Diagnose, Guide and About as their users read them, in both languages."""

import re
from pathlib import Path

import pytest
import yaml
from fake_advisor import FakeAdvisor, FakePassages

import knowledge
from advisor.messages import catalogue
from advisor.settings import Settings
from advisor.web import about_tab, charts, guide, guide_tab, offers_tab, render
from advisor.web.diagnose_tab import MAX_FILES, UPLOAD_MB
from advisor.web.session import Turn
from advisor.web.words import LANGS, word
from knowledge.offers import NearMiss, OfferPage

JAPANESE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")


@pytest.mark.parametrize("lang", LANGS)
def test_every_area_of_the_guide_has_a_name_and_a_place(lang):
    areas = [area for area, _ in guide.by_area(lang)]
    assert set(areas) <= set(guide.AREAS)
    assert all(f"web.area.{area}" in catalogue() for area in areas)
    headings = re.findall(r"<summary>\s*(.+?) <span", guide_tab.list_html(lang))
    assert headings == [word(f"area.{area}", lang) for area in areas]


@pytest.mark.parametrize("lang", LANGS)
def test_a_passage_of_a_guide_leads_to_its_entry(lang):
    name = guide.entries(lang)[0].entry_id
    path = Path(knowledge.__file__).parent / "guides" / lang / f"{name}.md"
    assert yaml.safe_load(path.read_text(encoding="utf-8").split("---\n")[1])["id"] == name
    assert guide.entry_of(f"guides/{lang}/{name}.md") == name
    for other in ("guides/en/no-such-entry.md", "guides/en/../../x.md", "contract.pdf", f"{name}.md"):
        assert guide.entry_of(other) is None
    html = guide_tab.search_html(FakePassages(), "NVLink", "en", True)
    assert "data-entry" not in html, "no guide of the shipped ones is among these passages"


def offers_page(values, lang):
    return offers_tab.search_html(FakeAdvisor(None), values, lang)


def test_what_is_no_amount_is_said_in_the_language_of_the_page():
    english, japanese = (offers_page({"min_gpus": "lots"}, lang) for lang in LANGS)
    assert "GPUs, at least" in english and "lots is no amount" in english
    assert "GPU 数の下限" in japanese and "数値ではありません" in japanese and "amount" not in japanese


def test_what_the_filter_refuses_is_said_in_the_language_of_the_page():
    html = offers_page({"sort": "<b>fame"}, "ja")
    assert "並べ替え" in html and "指定できません" in html and "&lt;b&gt;fame" in html and "Input" not in html


def test_countries_and_networks_are_offered_by_name():
    assert offers_tab.labelled("country", ["JP"], "ja") == [("日本 (JP)", "JP")]
    assert offers_tab.labelled("country", ["JP"], "en") == [("Japan (JP)", "JP")]
    assert offers_tab.labelled("fabric", ["efa", "none"], "ja") == [("EFA", "efa"), ("なし", "none")]
    assert offers_tab.labelled("gpu", ["H100"], "ja") == [("H100", "H100")]


@pytest.mark.parametrize("reason", ["amd_infinity_fabric", "no_nvlink_connector", "single_gpu"])
def test_why_nothing_matches_is_said_in_words(reason):
    miss = NearMiss(field="nvlink", value="true", count=3, reason=reason)
    html = render.offers_html(OfferPage(count=0, offers=[], near_misses=[miss]), "ja", {})
    assert reason not in html and JAPANESE.search(html.split(" · ")[1])


@pytest.mark.parametrize("lang", LANGS)
def test_the_upload_tells_its_limits(lang):
    assert {str(MAX_FILES), str(UPLOAD_MB)} <= set(re.findall(r"\d+", word("diagnose.files", lang)))


def test_about_names_the_built_in_planner_and_gives_each_formula_a_line(tmp_path):
    html = about_tab.about_html(FakeAdvisor(None), Settings(home=tmp_path), "ja")
    assert "内蔵プランナー" in html and ">planner<" not in html
    formula = re.search(r"<pre[^>]*><code>(.*?)</code>", html, re.S).group(1)
    assert [line.split(" = ")[0] for line in formula.splitlines()] == ["1 ステップ", "時間", "費用"]
    named = about_tab.about_html(FakeAdvisor(None), Settings(home=tmp_path, model="ollama:qwen3"), "en")
    assert "ollama:qwen3" in named


@pytest.mark.parametrize("intent", ["no_match", "infeasible"])
def test_an_answer_without_a_match_says_so_where_picks_would_stand(intent):
    answer = FakeAdvisor(None).ask("Full fine-tune of a 7B model")
    none = answer.model_copy(update={"picks": (), "intent": intent, "relaxed": ("nvlink",)})
    html = render.picks_html(Turn(question="q", answer=none), "en")
    assert "No machine meets all of it" in html and "Loosened" not in html and "needs" in html
    bare = none.model_copy(update={"needs": None})
    assert "No machine meets all of it" in render.picks_html(Turn(question="q", answer=bare), "en")


def test_a_pick_without_a_price_says_so():
    answer = FakeAdvisor(None).ask("Full fine-tune of a 7B model")
    gone = {"price_usd_hour": None, "price_usd_gpu_hour": None, "total_usd_hour": None}
    pick = answer.picks[0].model_copy(update=gone)
    html = render.picks_html(Turn(question="q", answer=answer.model_copy(update={"picks": (pick,)})), "ja")
    assert "公開価格なし" in html and "/h</small>" not in html


def test_no_chart_of_communication_where_nothing_communicates():
    answer = FakeAdvisor(None).ask("Full fine-tune of a 7B model")
    alone = [p.model_copy(update={"estimate": p.estimate.model_copy(update={"comm_share": 0.0})}) for p in answer.picks]
    assert charts.communication(alone, "en") is None and charts.communication(answer.picks, "en") is not None


@pytest.mark.parametrize(
    ("field", "nearest", "told"),
    [
        ("max_price_gpu", "0.02", "$0.02"),
        ("nvlink", "no", "NVLink なし"),
        ("fabric", "efa, none", "EFA, なし"),
        ("country", "JP, US", "日本, アメリカ"),
        ("region", "unknown, us-east-1", "us-east-1"),
        ("region", "unknown", "不明"),
        ("rdma", "no", "いいえ"),
        ("gpu", "H100, A100", "H100, A100"),
    ],
)
def test_what_is_nearest_is_told_in_words(field, nearest, told):
    assert render.nearest_text(field, nearest, "ja") == told
