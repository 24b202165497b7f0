"""The result panel and the other tabs in a real browser."""

import json

import pytest

pytestmark = pytest.mark.browser


@pytest.fixture
def answered(visit):
    visitor = visit()
    visitor.ask("Full fine-tune of a 7B model on one node")
    return visitor


def test_a_mark_opens_the_passage_with_the_quote_marked(answered):
    answered.page.locator("#chat a[href*='#src-0-1']").click()
    mark = answered.page.locator("#src-0-1 mark")
    mark.wait_for(state="visible")
    assert mark.inner_text() == "so it stays inside the NVLink domain"
    assert answered.page.get_attribute("#src-0-1 blockquote", "lang") == "en"
    assert "Data parallelism" in answered.text("#src-0-1 blockquote")


def test_a_mark_of_an_older_answer_opens_that_answers_sources(answered):
    answered.ask("weather")
    answered.page.locator("#chat a[href*='#src-0-1']").click()
    answered.page.locator("#src-0-1 mark").wait_for(state="visible")


def test_the_comparison_sorts_and_exports(answered):
    answered.panel("compare")
    table = answered.page.locator("#compare table")
    head = table.locator("thead th", has_text="Time").locator("button")
    head.click()
    first = [row.split("\t")[1] for row in table.locator("tbody").inner_text().splitlines() if "\t" in row]
    assert first[0].startswith("h100-1x-8")
    head.click()
    assert table.locator("thead th[aria-sort='descending']").count() == 1
    assert table.locator("tbody tr").first.inner_text().split("\t")[1].startswith("h100-1x-4")
    with answered.page.expect_download() as download:
        answered.page.locator("#compare [data-name='picks.csv']").click()
    lines = download.value.path().read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("role,provider,instance_type") and len(lines) == 4
    with answered.page.expect_download() as download:
        answered.page.locator("#compare [data-name='picks.md']").click()
    assert "| --- |" in download.value.path().read_text(encoding="utf-8")


def test_charts_are_drawn_with_captions(answered):
    answered.panel("charts")
    answered.page.wait_for_selector("#chart-memory .js-plotly-plot")
    assert answered.page.locator("#tab-charts .js-plotly-plot, .js-plotly-plot").count() >= 4
    captions = answered.page.locator(".chart-caption")
    assert captions.count() == 4
    assert all(len(captions.nth(i).inner_text()) > 40 for i in range(4))


def test_changing_an_assumption_recomputes_and_the_chat_records_it(answered, site):
    answered.panel("assumptions")
    before = answered.page.locator("#chat .user.message").count()
    box = answered.page.locator("#field-tokens input, #field-tokens textarea")
    assert box.input_value() == "0.4"
    box.fill("0.8")
    box.press("Enter")
    answered.wait(lambda: answered.page.locator("#chat .user.message").count() == before + 1 and answered.idle())
    assert "0.4 → 0.8" in answered.page.locator("#chat .user.message").last.inner_text()
    answered.panel("picks")
    answered.wait(lambda: "62 h" in answered.text("#picks .card"))
    assert site.advisor.asked[-1][0] == ""


def test_an_impossible_assumption_is_refused_in_words(answered):
    answered.panel("assumptions")
    box = answered.page.locator("#field-budget_usd input, #field-budget_usd textarea")
    box.fill("lots")
    box.press("Enter")
    answered.page.wait_for_selector("text=is no amount")
    assert answered.page.locator("#chat .user.message").count() == 1


def test_offers_filter_without_typing_a_question(visit):
    visitor = visit()
    visitor.tab("offers")
    visitor.page.wait_for_selector("#offers-results table")
    assert "121 offers match" in visitor.text("#offers-results .count")
    visitor.page.locator("#filter-nvlink input").check()
    visitor.wait(lambda: "30 offers match" in visitor.text("#offers-results .count"))
    assert "nobody stated" in visitor.text("#offers-results")
    visitor.page.fill("#filter-max-price-gpu input, #filter-max-price-gpu textarea", "1.3")
    visitor.page.keyboard.press("Enter")
    visitor.wait(lambda: "30 offers match" not in visitor.text("#offers-results .count"))
    with visitor.page.expect_download() as download:
        visitor.page.locator("#offers-results [data-name='offers.csv']").click()
    assert download.value.path().read_text(encoding="utf-8").startswith("provider,instance_type")


def test_diagnose_shows_facts_problems_and_the_picture(visit):
    visitor = visit()
    visitor.tab("diagnose")
    visitor.page.fill("#diagnose-text textarea", "GPU0 GPU1 <script>window.hacked=1</script>")
    visitor.page.click("#diagnose-go")
    visitor.page.wait_for_selector("#diagnosis .problem")
    assert "NVLINK_MISSING" in visitor.text("#diagnosis")
    assert "<script>" in visitor.text("#diagnosis pre")
    assert "GPU1" in visitor.page.locator("#diagnosis .topology svg").inner_html()
    visitor.page.fill("#diagnose-instance input, #diagnose-instance textarea", "p5.48xlarge")
    visitor.page.click("#diagnose-go")
    visitor.page.wait_for_selector("#diagnosis .verify pre")
    assert visitor.page.evaluate("window.hacked === undefined")


def test_diagnose_reads_dropped_files(visit, tmp_path):
    path = tmp_path / "topo.txt"
    path.write_text("GPU0 NV18", encoding="utf-8")
    visitor = visit(locale="ja-JP")
    visitor.tab("diagnose")
    visitor.page.set_input_files("#diagnose-files input[type=file]", str(path))
    visitor.page.wait_for_selector("#diagnose-files >> text=topo")
    visitor.page.click("#diagnose-go")
    visitor.page.wait_for_selector("#diagnosis .problem")
    assert "topo.txt:2" in visitor.text("#diagnosis pre")


def test_guide_browses_and_searches(visit):
    visitor = visit()
    visitor.tab("guide")
    visitor.page.wait_for_selector("#guide-list details")
    entry = visitor.page.locator("#guide-list button").first
    entry.click()
    visitor.page.wait_for_selector("#guide-text h1")
    visitor.page.fill("#guide-query input, #guide-query textarea", "NVLink")
    visitor.page.press("#guide-query input, #guide-query textarea", "Enter")
    visitor.page.wait_for_selector("#guide-list .hits")
    assert "Tensor parallelism" in visitor.text("#guide-list .hits")
    visitor.page.fill("#guide-query input, #guide-query textarea", "weather")
    visitor.page.press("#guide-query input, #guide-query textarea", "Enter")
    visitor.page.wait_for_selector("#guide-list >> text=Nothing found")


def test_about_tells_data_age_and_versions(visit):
    visitor = visit(locale="ja-JP")
    visitor.tab("about")
    visitor.page.wait_for_selector("#about .facts")
    assert "2026-06-01" in visitor.text("#about") and "Python" in visitor.text("#about")


@pytest.mark.parametrize("locale", ["ja-JP", "en-US"])
@pytest.mark.parametrize("dark", [False, True])
def test_phone_width_has_no_sideways_scroll(visit, locale, dark):
    visitor = visit(locale=locale, width=390, height=844, dark=dark)
    visitor.ask("Full fine-tune of a 7B model")
    assert visitor.page.locator("#picks .card").count() == 3
    for name in ("compare", "charts", "assumptions", "sources"):
        visitor.panel(name)
        visitor.page.wait_for_timeout(400)
        assert visitor.page.evaluate("document.documentElement.scrollWidth") <= 391, name
    for name in ("offers", "diagnose", "guide", "about"):
        visitor.tab(name)
        visitor.page.wait_for_timeout(400)
        assert visitor.page.evaluate("document.documentElement.scrollWidth") <= 391, name


def test_theme_follows_the_system_and_the_button(visit):
    visitor = visit(dark=True)
    assert visitor.page.evaluate("document.body.classList.contains('dark')")
    visitor.page.click("#theme")
    assert not visitor.page.evaluate("document.body.classList.contains('dark')")
    visitor.page.reload()
    visitor.page.wait_for_selector("html.advisor-ready")
    assert not visitor.page.evaluate("document.body.classList.contains('dark')")


def axe_source() -> str:
    """The axe-core script that a Python package carries."""
    package = pytest.importorskip("axe_playwright_python")
    from pathlib import Path

    return next(Path(package.__file__).parent.rglob("axe.min.js")).read_text(encoding="utf-8")


@pytest.mark.parametrize(("locale", "dark", "width"), [("en-US", False, 1440), ("ja-JP", True, 390)])
def test_axe_finds_nothing_serious(visit, locale, dark, width):
    source = axe_source()
    visitor = visit(locale=locale, dark=dark, width=width)
    found = {}

    def check(name):
        visitor.wait(lambda: visitor.page.locator(".pending").count() == 0)
        visitor.page.evaluate(source)
        result = visitor.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        for violation in result["violations"]:
            if violation["impact"] in ("serious", "critical"):
                found[f"{name}: {violation['id']}"] = [node["html"][:160] for node in violation["nodes"]][:3]

    check("empty")
    visitor.ask("Full fine-tune of a 7B model")
    check("picks")
    for name in ("compare", "charts", "assumptions", "sources"):
        visitor.panel(name)
        if name == "charts":
            visitor.wait(lambda: visitor.page.locator(".js-plotly-plot").count() == 4)
        visitor.page.wait_for_timeout(700)
        check(name)
    for name in ("offers", "diagnose", "guide", "about"):
        visitor.tab(name)
        visitor.page.wait_for_timeout(700)
        check(name)
    visitor.tab("diagnose")
    visitor.page.fill("#diagnose-text textarea", "GPU0 GPU1")
    visitor.page.click("#diagnose-go")
    visitor.page.wait_for_selector("#diagnosis .problem")
    check("diagnosis")
    visitor.tab("guide")
    visitor.page.locator("#guide-list .guide button").first.click()
    visitor.page.wait_for_selector("#guide-text h1")
    check("guide entry")
    assert not found, json.dumps(found, indent=1, ensure_ascii=False)
