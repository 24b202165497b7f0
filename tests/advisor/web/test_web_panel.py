"""What the panel shows: assumptions, charts, cards, tables, sources, exports."""

import csv
import gzip
import io
import json
from types import SimpleNamespace

import pytest
import yaml
from fake_advisor import HOSTILE, FakeAdvisor, FakePassages, make_offer, make_pick
from hypothesis import given
from hypothesis import strategies as st

from advisor.answer import Citation, Constraints, Workload
from advisor.errors import BadRequest
from advisor.reasoning.diagnose import diagnose as engine_diagnose
from advisor.web import assumptions, charts, diagnose_tab, exports, guide, guide_tab, offers_tab, render
from advisor.web.assumptions import FIELDS
from advisor.web.diagnose_tab import Texts, diagnose
from advisor.web.session import Session, Turn
from advisor.web.words import known, role_word
from knowledge.offers import OfferFilter


@pytest.fixture
def answer():
    return FakeAdvisor(None).ask("Full fine-tune of a 7B model", lang="en")


@pytest.fixture
def turn(answer):
    return Turn(question="Full fine-tune of a 7B model", answer=answer)


def values(answer, **changes):
    return [changes.get(field.name, assumptions.value_of(field, answer)) for field in FIELDS]


def test_an_untouched_form_changes_nothing(answer):
    assert assumptions.changed_fields(answer, values(answer)) == []


def test_a_change_becomes_stated_and_what_was_assumed_is_worked_out_anew(answer):
    changes = assumptions.changed_fields(answer, values(answer, tokens="2", budget_usd="5,000", regions="東京、Europe"))
    workload, constraints = assumptions.edited(answer, changes)
    assert workload.tokens == 2e9 and workload.sources["tokens"] == "stated"
    assert workload.precision is None and workload.seq_len is None
    assert workload.kind == "full_ft" and workload.params_b == 7.0
    assert constraints.budget_usd == 5000 and constraints.regions == ("東京", "Europe") and constraints.spot is False


def test_a_new_model_drops_the_size_of_the_old_one(answer):
    changes = assumptions.changed_fields(answer, values(answer, model="Llama 3.1 70B"))
    workload, _ = assumptions.edited(answer, changes)
    assert workload.model == "Llama 3.1 70B" and workload.params_b is None


def test_an_emptied_field_is_unknown(answer):
    changes = assumptions.changed_fields(answer, values(answer, budget_usd="", spot="any", params_b=""))
    workload, constraints = assumptions.edited(answer, changes)
    assert constraints.budget_usd is None and constraints.spot is None and workload.params_b is None


@pytest.mark.parametrize("bad", [{"tokens": "many"}, {"kind": "cooking"}, {"precision": "fp99"}, {"nodes": "-2"}])
def test_impossible_values_are_refused(answer, bad):
    changes = assumptions.changed_fields(answer, values(answer, **bad))
    with pytest.raises(BadRequest):
        assumptions.edited(answer, changes)


@given(st.sampled_from([f.name for f in FIELDS if f.kind == "number"]), st.floats(min_value=1, max_value=1e6))
def test_every_number_field_comes_back_as_typed(name, amount):
    base = FakeAdvisor(None).ask("7B", lang="en")
    field = next(f for f in FIELDS if f.name == name)
    part = getattr(base, field.part).model_copy(update={name: round(amount) * field.unit})
    shown = assumptions.value_of(field, base.model_copy(update={field.part: part}))
    assert assumptions.same(field, shown, str(round(amount)))


def test_fields_show_where_they_matter(answer):
    shown = {f.name for f in FIELDS if assumptions.is_shown(f, answer)}
    assert "tokens" in shown and "concurrency" not in shown
    serving = answer.model_copy(update={"workload": Workload(kind="inference", lora_rank=8)})
    shown = {f.name for f in FIELDS if assumptions.is_shown(f, serving)}
    assert "concurrency" in shown and "tokens" not in shown and "lora_rank" in shown
    assert not any(assumptions.is_shown(f, None) for f in FIELDS)


def test_the_source_of_a_value(answer):
    named = {f.name: assumptions.source_of(f, answer) for f in FIELDS}
    assert named["kind"] == "stated" and named["params_b"] == "registry" and named["precision"] == "assumed"
    assert named["deadline_hours"] == "unset" and named["budget_usd"] == "stated"


def test_the_chats_record_of_a_change(answer):
    changes = assumptions.changed_fields(answer, values(answer, tokens="2", spot="yes"))
    assert assumptions.change_line(changes, "en") == "Changed: Training tokens (billion) 0.4 → 2; Spot no → yes"
    assert "スポット いいえ → はい" in assumptions.change_line(changes, "ja")


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_charts_have_units_and_captions(answer, lang):
    made = charts.charts(answer, lang)
    assert [chart.name for chart in made] == ["cost_time", "speed_by_nodes", "communication", "memory"]
    for chart in made:
        figure = json.loads(chart.json())
        assert figure["data"] and len(chart.caption) > 20 and figure["layout"]["title"]["text"]
        assert figure["layout"]["xaxis"]["title"]["text"]
    assert "US$" in made[0].json()


def test_charts_show_what_is_known_and_nothing_else(answer):
    bare = [pick.model_copy(update={"estimate": None}) for pick in answer.picks]
    assert charts.charts(answer.model_copy(update={"picks": tuple(bare), "charts": {}}), "en") == []
    assert charts.charts(None, "en") == []


def test_other_candidates_are_dots_and_ranges_are_bands(answer):
    cost = charts.cost_time(answer.picks, [{"hours": 500, "cost_usd": 9, "label": HOSTILE}, {"hours": None}, 3], "en")
    assert len(cost.figure["data"]) == 4 and "<script" not in cost.json()
    assert cost.figure["layout"]["xaxis"]["type"] == "log"
    row = {"fabric": "roce", "gbit_s": None, "nodes": [1, 2], "tokens_per_s": [1, 2], "low": [1, 1], "high": [2, 3]}
    speed = charts.speed_by_nodes([row, {"nodes": []}, None], "en")
    assert [trace.get("fill") for trace in speed.figure["data"]] == ["toself", None, None]


def test_speed_by_nodes_has_linear_axes_and_the_line_of_no_loss(answer):
    series = answer.charts["speed_by_nodes"]
    figure = charts.speed_by_nodes(series, "en").figure
    assert "type" not in figure["layout"]["xaxis"] and "type" not in figure["layout"]["yaxis"]
    assert figure["layout"]["xaxis"]["tickvals"] == [1, 2, 4, 8]
    ideal = figure["data"][-1]
    assert ideal["line"]["dash"] == "dot" and ideal["x"] == [1, 8] and ideal["y"] == [9e3, 72e3]


def test_labels_of_nodes_do_not_lie_on_each_other():
    row = {"fabric": "roce", "nodes": [1, 2, 4, 8, 16, 32, 64], "tokens_per_s": [1, 2, 4, 8, 16, 32, 64]}
    assert charts.speed_by_nodes([row], "en").figure["layout"]["xaxis"]["tickvals"] == [4, 8, 16, 32, 64]


def test_long_times_are_in_days_and_every_tick_of_a_wide_axis_is_a_whole_number(answer):
    wide = charts.cost_time(answer.picks, [{"hours": 900, "cost_usd": 9, "label": "x"}], "en")
    assert wide.figure["layout"]["xaxis"]["title"]["text"] == "Hours to finish"
    assert {"20", "50", "100", "200"} <= set(wide.figure["layout"]["xaxis"]["ticktext"])
    assert "logarithmic" in wide.caption
    slow = [pick.model_copy(update={"estimate": pick.estimate.model_copy(update={"hours": 2400.0})})
            for pick in answer.picks]  # fmt: skip
    days = charts.cost_time(slow, None, "ja")
    assert days.figure["layout"]["xaxis"]["title"]["text"] == "完了までの日数"
    assert days.figure["data"][0]["x"] == [100.0] and "対数" not in days.caption


def test_the_legend_has_room_below_the_title(answer):
    few, many = (charts.cost_time(answer.picks[:n], None, "en").figure["layout"] for n in (2, 3))
    assert many["margin"]["t"] - few["margin"]["t"] == many["height"] - few["height"] == 20


def test_a_long_name_keeps_its_number_of_nodes(answer):
    pick = answer.picks[0].model_copy(update={"instance_type": "x" * 80, "nodes": 8})
    bars = charts.communication([pick], "en").figure["data"][0]
    assert bars["y"][0].endswith("… × 8") and len(bars["y"][0]) == charts.ROW_LABEL


def test_cards_tell_three_link_facts_price_age_and_estimate(turn):
    html = render.picks_html(turn, "en")
    assert html.count("<article") == 3 and html.count('class="badge ') == 9
    for text in (
        "InfiniBand 3,200 Gb/s · RDMA",
        "NVLink 900 GB/s",
        "2026-06-01",
        "days old",
        "31 h",
        "41%",
        "1.6× slower",
    ):
        assert text in html
    assert "Loosened to find these: region" in html.replace("\n", " ")


def test_unknown_is_said_and_never_no(turn):
    last = render.picks_html(turn, "ja").split("<article")[3]
    assert last.count("不明") >= 2 and "NVLink なし" not in last


def test_badges_of_other_fabrics():
    efa = make_offer(1)
    assert [b["value"] for b in render.link_badges(efa, "en")] == ["SXM", "NVLink, some pairs", "EFA · RDMA"]
    none = make_offer(2, internode_fabric="none")
    assert render.link_badges(none, "en")[2]["value"] == "none"
    bare = make_offer(3, gpu_variant="unknown")
    assert {b["tone"] for b in render.link_badges(bare, "en")} == {"unknown"}


def test_markup_in_any_field_of_a_pick_is_escaped():
    hostile = make_pick(
        "match", 0, 1, 1.0, 0.1, provider=HOSTILE, instance_type=HOSTILE, region=HOSTILE, source=HOSTILE, why=(HOSTILE,),
        caveats=(HOSTILE,), fabric_source="javascript:alert(1)", fabric_confidence=HOSTILE, as_of=HOSTILE,
    )  # fmt: skip
    answer = FakeAdvisor(None).ask("7B", lang="en").model_copy(update={"picks": (hostile,)})
    turn = Turn(question="q", answer=answer)
    for html in (render.picks_html(turn, "en"), render.compare_html(turn, "ja")):
        assert "<script" not in html and "<img" not in html and 'href="javascript' not in html
        assert "&lt;script&gt;" in html


def test_empty_states():
    assert "No answer yet" in render.picks_html(None, "en")
    assert "まだ" in render.compare_html(None, "ja")
    explain = FakeAdvisor(None).ask("explain NVLink").model_copy(update={"needs": None})
    assert "explanation" in render.picks_html(Turn(question="q", answer=explain), "en")
    assert "No sources yet" in render.sources_html(None, 0, "en", None)


def test_sources_open_to_the_passage_with_the_quote_marked(turn):
    html = render.sources_html(turn, 4, "en", FakePassages())
    assert 'id="src-4-1"' in html and "<mark>so it stays inside the NVLink domain</mark>" in html
    assert (
        "<script" not in html
        and "javascript" not in html.replace("javascript:alert(1)", "")
        and 'href="javascript' not in html
    )


def test_a_source_whose_passage_is_gone_shows_its_quote(answer):
    citation = Citation(n=1, title="t", source="s", quote="words", passage_id="gone")
    turn = Turn(question="q", answer=answer.model_copy(update={"citations": (citation,)}))
    html = render.sources_html(turn, 0, "en", FakePassages())
    assert "<mark>words</mark>" in html and "Only the quoted" in html


def test_picks_as_csv_read_back(answer):
    rows = list(csv.DictReader(io.StringIO(exports.picks_csv(answer))))
    assert [row["provider"] for row in rows] == [pick.provider for pick in answer.picks]
    assert rows[1]["nvlink"] == "unknown" and rows[1]["nvlink_gb_s_per_gpu"] == ""
    assert float(rows[0]["price_usd_gpu_hour"]) == answer.picks[0].price_usd_gpu_hour


def test_a_formula_in_a_csv_is_text():
    table = exports.table_csv([{"a": "=HYPERLINK(1)", "b": "-1+2", "c": -5}], ("a", "b", "c"))
    assert table.splitlines()[1] == "'=HYPERLINK(1),'-1+2,-5"


def test_picks_as_markdown(answer):
    pick = answer.picks[0].model_copy(update={"instance_type": "a|b\n<script>"})
    lines = exports.picks_markdown(answer.model_copy(update={"picks": (pick,)}), "en").splitlines()
    assert len(lines) == 3 and "a\\|b &lt;script>" in lines[2] and lines[0].count("|") == lines[1].count("|")


def test_picks_as_markdown_are_in_words(answer):
    text = exports.picks_markdown(answer, "ja")
    assert "スポット" in text or "オンデマンド" in text
    assert not any(code in text for code in ("True", "False", "None", "unknown", "infiniband", "balanced", "| match"))
    assert "不明" in text and "$" in text


def test_what_only_matches_is_a_further_candidate_beside_picks_with_a_role():
    assert role_word("match", ["balanced", "match"], "en") == "Also fits"
    assert role_word("match", ["match", "match"], "en") == "Match"
    assert role_word("fastest", ["fastest"], "ja") == "最速"


def test_a_place_is_named_once():
    pick = launch("aws", region="JP", country="JP")
    assert render.place(pick, "en") == "JP"
    assert render.place(pick.model_copy(update={"region": "ap-northeast-1"}), "en") == "ap-northeast-1 (JP)"
    assert render.place(pick.model_copy(update={"region": "unknown", "country": None}), "ja") == "リージョン不明"


@pytest.mark.parametrize(
    ("source", "address"),
    [
        ("https://a.example/pricing (list@0a1b)", "https://a.example/pricing"),
        ("https://a.example/pricing", "https://a.example/pricing"),
        ("skypilot-catalog v8/aws@00148f2a", None),
        ("javascript:alert(1) https://a.example", None),
        ("", None),
        (None, None),
    ],
)
def test_a_source_links_to_the_address_that_it_begins_with(source, address):
    assert render.source_address(source) == address


def test_a_conversation_as_markdown(turn):
    session = Session(turns=[turn, Turn(question="two\nlines", stopped=True)])
    text = exports.conversation_markdown(session, "ja")
    assert "> two\n> lines" in text and "h100-1x-4" in text and "> so it stays inside the NVLink domain" in text


def launch(provider, **more):
    return make_pick(
        "match", 3, 2, 1.0, 0.1, provider=provider, instance_type="p5.48xlarge", gpu_memory_gb=80.0, **more
    )


def test_launch_files_are_yaml_that_asks_for_the_pick():
    pick = launch("AWS", region="us-east-1", spot=True, gpu="H100")
    task = yaml.safe_load(exports.skypilot_yaml(pick))
    assert task["num_nodes"] == 2
    assert task["resources"] == {"infra": "aws/us-east-1", "instance_type": "p5.48xlarge", "use_spot": True}
    task = yaml.safe_load(exports.dstack_yaml(pick))
    assert task["nodes"] == 2 and task["backends"] == ["aws"] and task["resources"]["gpu"] == "H100:80GB:8"
    assert task["spot_policy"] == "spot" and task["regions"] == ["us-east-1"]


def test_no_launch_file_where_the_tool_does_not_know_the_provider_or_the_card_is_sliced():
    assert exports.skypilot_yaml(launch("Aurora Cloud")) is None and exports.dstack_yaml(launch("Aurora Cloud")) is None
    assert exports.skypilot_yaml(launch("aws", gpu_count=0.5)) is None


def test_the_form_has_every_field_of_the_filter_but_the_hidden():
    assert set(offers_tab.form_fields()) | set(offers_tab.HIDDEN_FIELDS) == set(OfferFilter.model_fields)
    assert {offers_tab.shape(name) for name in offers_tab.form_fields()} == {
        "many",
        "number",
        "flag",
        "three",
        "choice",
    }
    assert (
        offers_tab.shape("spot") == "three"
        and offers_tab.shape("nvlink") == "flag"
        and offers_tab.shape("sort") == "choice"
    )


def test_form_values_become_the_filter():
    wanted = offers_tab.filter_of(
        {
            "provider": ["x"],
            "gpu": None,
            "spot": "no",
            "nvlink": True,
            "max_price": "1,000",
            "sort": "memory",
            "min_gpus": "",
        }
    )
    assert wanted == OfferFilter(
        provider=("x",), spot=False, nvlink=True, max_price=1000, sort="memory", limit=offers_tab.SHOWN
    )


@pytest.mark.parametrize("bad", ["lots", "-1"])
def test_an_impossible_filter_is_said_in_words(bad):
    html = offers_tab.search_html(FakeAdvisor(None), {"max_price": bad}, "en")
    assert 'role="alert"' in html and "amount" in html


def test_offers_table_escapes_counts_and_tells_what_is_missing():
    advisor = FakeAdvisor(None)
    html = offers_tab.search_html(advisor, {}, "en")
    assert "121 offers match; 100 shown" in html and "<script" not in html
    html = offers_tab.search_html(advisor, {"nvlink": True}, "ja")
    assert "接続の情報がありません" in html
    html = offers_tab.search_html(advisor, {"max_price_gpu": "0.01"}, "en")
    assert "No offer matches" in html and "Without the limit on" in html


def test_suggestions_come_from_the_table():
    found = offers_tab.suggestions(FakeAdvisor(None).offers)
    assert found["gpu"] == ["A100", "H100", "H200", "L40S"] and "unknown" not in found["fabric"]


@pytest.mark.parametrize("draw", [charts.communication, charts.memory])
def test_bars_have_their_labels_above_them_and_one_each(answer, draw):
    pick = next(p for p in answer.picks if p.estimate and p.estimate.memory_breakdown_gb)
    layout = draw([pick, pick, pick], "ja").figure["layout"]
    labels = [note["text"] for note in layout["annotations"]]
    assert len(set(labels)) == 3 and [note["y"] for note in layout["annotations"]] == labels
    assert layout["yaxis"]["showticklabels"] is False and layout["margin"]["l"] < 20
    assert layout["height"] > 3 * charts.ROW_PX


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_every_part_of_memory_has_a_word(advisor, lang):
    for question in ("Full fine-tune of a 7B model on 8 H100", "Serve a 70B model to 20 users", "LoRA of a 13B model"):
        parts = {
            name for p in advisor.ask(question).picks if p.estimate for name in p.estimate.memory_breakdown_gb or ()
        }
        assert parts and all(known(f"memory.{name}", lang, "") for name in parts), parts


def read_all(texts):
    return {name: "\n".join(lines) for name, lines in texts}


def test_texts_are_what_was_pasted_and_the_files_whatever_their_encoding(tmp_path):
    contents = (b"one", "二".encode("utf-16"), gzip.compress(b"three"), b"\xfffour")
    paths = [tmp_path / str(i) / "log.txt" for i in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.parent.mkdir()
        path.write_bytes(content)
    texts = Texts("pasted\ntext", [str(path) for path in paths], "en")
    assert texts and read_all(texts) == {
        "pasted": "pasted\ntext", "log.txt": "one", "log.txt'": "二", "log.txt''": "three", "log.txt'''": "�four",
    }  # fmt: skip
    assert not texts.is_cut and not Texts("  ", None, "en")


def test_too_much_text_is_cut_and_said(tmp_path, monkeypatch):
    monkeypatch.setattr(diagnose_tab, "MAX_READ", 50)
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(b"line of text\n" * 1_000_000))
    texts = Texts("", [str(path), str(path)], "en")
    assert sum(len(text) for text in read_all(texts).values()) <= 50 and texts.is_cut

    class Reads(FakeAdvisor):
        def diagnose(self, texts, lang, instance_type=None):
            return super().diagnose(read_all(texts), lang, instance_type)

    assert "first part" in diagnose(Reads(None), "", [str(path)], "", "en")
    assert "first part" not in diagnose(Reads(None), "short", None, "", "en")


def test_a_file_that_cannot_be_unpacked_is_said_in_words(tmp_path):
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(b"line\n" * 1000)[:40])
    real = SimpleNamespace(diagnose=lambda texts, lang, kind: engine_diagnose(texts, lang=lang))
    html = diagnose(real, "", [str(path)], "", "en")
    assert "log.gz: cannot be read" in html and str(tmp_path) not in html


def test_diagnose_shows_problem_picture_and_checks():
    advisor = FakeAdvisor(None)
    html = diagnose(advisor, "GPU0 <script>", None, "p5.48xlarge", "en")
    assert (
        "NVLINK_MISSING" in html
        and "<svg" in html
        and "&lt;script&gt;" in html
        and "First checks on p5.48xlarge" in html
    )
    assert "貼り付けて" in diagnose(advisor, "", None, " ", "ja")
    assert "<article" not in diagnose(advisor, "", None, "p5.48xlarge", "en")


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_the_shipped_guide_can_be_browsed(lang):
    entries = guide.entries(lang)
    assert len(entries) > 20 and all(entry.question and entry.text for entry in entries)
    html = guide_tab.list_html(lang)
    assert html.count("<details") == len(guide.by_area(lang)) and html.count("data-entry") == len(entries)
    text = guide_tab.entry_markdown(entries[0].entry_id, lang)
    assert text.startswith("# ") and "**" in text


def test_an_unknown_guide_entry_invites():
    assert guide_tab.entry_markdown("../../etc/passwd", "en") == "Choose a question from the list, or search."


def test_guide_search_escapes_and_says_when_nothing_is_found():
    html = guide_tab.search_html(FakePassages(), "NVLink", "en", True)
    assert "<script" not in html and html.count("<details") == 3
    assert "Nothing found" in guide_tab.search_html(FakePassages(), "weather", "en", True)


def test_constraints_alone_do_not_make_a_form():
    with pytest.raises(BadRequest):
        assumptions.edited(FakeAdvisor(None).ask("weather").model_copy(update={"constraints": Constraints()}), [])
