"""The page as it looks and reads: narrow screens, words of the page's language on every control, lists that filter as one types."""

import re

import pytest

pytestmark = pytest.mark.browser

JAPANESE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
NAMES = """() => [...document.querySelectorAll("#chat button, #composer button, #history .toggle-button, #guide-query button")]
    .filter((node) => node.checkVisibility())
    .map((node) => node.getAttribute("aria-label") || node.title || node.innerText.trim())"""
BOX = "(selector) => document.querySelector(selector).getBoundingClientRect().toJSON()"


def text_right(visitor, selector):
    """The right end of the text itself, which may reach out of its element."""
    return visitor.page.evaluate(
        """(selector) => { const range = document.createRange();
            range.selectNodeContents(document.querySelector(selector)); return range.getBoundingClientRect().right; }""",
        selector,
    )


@pytest.mark.parametrize("width", [360, 390])
@pytest.mark.parametrize("locale", ["en-US", "ja-JP"])
def test_the_name_and_the_switches_do_not_lie_on_each_other_on_a_phone(visit, locale, width):
    visitor = visit(locale=locale, width=width, height=800)
    assert text_right(visitor, ".brand h1") <= visitor.page.evaluate(BOX, "#lang")["left"]
    assert visitor.page.evaluate(BOX, "#theme")["right"] <= width
    assert len(visitor.text("#theme").strip()) > 2, "the button keeps its name for a screen reader"


@pytest.mark.parametrize("locale", ["en-US", "ja-JP"])
def test_controls_speak_the_language_of_the_page_whatever_the_browser_speaks(visit, locale):
    visitor = visit(locale=locale, query="?lang=ja")
    visitor.ask("Full fine-tune of a 7B model")
    names = visitor.page.evaluate(NAMES)
    assert len(names) > 6 and all(JAPANESE.search(name) for name in names), names
    assert JAPANESE.search(visitor.page.title())
    visitor.page.locator("#lang label", has_text="English").click()
    visitor.wait(lambda: not JAPANESE.search(visitor.page.title()))
    visitor.settle()
    names = visitor.page.evaluate(NAMES)
    assert all(name and not JAPANESE.search(name) for name in names), names


def test_the_guide_on_a_phone_shows_the_list_or_the_entry(visit):
    visitor = visit(width=390, height=844)
    visitor.tab("guide")
    button = visitor.page.locator("#guide-list .guide details[open] button").nth(12)
    button.scroll_into_view_if_needed()
    name = button.inner_text()
    button.click()
    head = visitor.page.locator("#guide-text h1")
    head.wait_for(state="visible")
    assert head.bounding_box()["y"] < 300 and not visitor.page.locator("#guide-list").is_visible()
    visitor.page.click("#guide-back")
    visitor.page.wait_for_selector("#guide-list", state="visible")
    assert not head.is_visible()
    focused = visitor.page.evaluate("document.activeElement.innerText")
    assert focused == name and button.bounding_box()["y"] < 844


def test_the_guide_on_a_wide_screen_shows_both(visit):
    visitor = visit()
    visitor.tab("guide")
    visitor.page.locator("#guide-list .guide button").first.click()
    visitor.page.wait_for_selector("#guide-text h1")
    assert visitor.page.locator("#guide-list").is_visible() and not visitor.page.locator("#guide-back").is_visible()


def test_the_guide_is_searched_by_a_button_and_not_by_the_enter_of_a_conversion(visit):
    visitor = visit(locale="ja-JP")
    visitor.tab("guide")
    visitor.page.wait_for_selector("#guide-list .guide")
    visitor.page.fill("#guide-query input, #guide-query textarea", "NVLink")
    visitor.page.evaluate(
        """() => { const box = document.querySelector("#guide-query input, #guide-query textarea");
            for (const kind of ["keydown", "keypress"]) box.dispatchEvent(new KeyboardEvent(kind,
                { key: "Enter", keyCode: 229, isComposing: true, bubbles: true, cancelable: true })); }"""
    )
    visitor.page.wait_for_timeout(600)
    assert visitor.page.locator("#guide-list .hits").count() == 0
    visitor.page.click("#guide-query .submit-button")
    visitor.page.wait_for_selector("#guide-list .hits")


@pytest.mark.parametrize(("table", "where"), [("#compare", "ask"), ("#offers-results", "offers")])
def test_a_table_on_a_phone_needs_no_sideways_scroll_and_names_its_values(visit, table, where):
    visitor = visit(locale="ja-JP", width=390, height=844)
    if where == "ask":
        visitor.ask("Full fine-tune of a 7B model")
        visitor.panel("compare")
    else:
        visitor.tab("offers")
    row = visitor.page.locator(f"{table} tbody tr").first
    row.wait_for(state="visible")
    sizes = visitor.page.evaluate(
        "(table) => { const box = document.querySelector(`${table} .scroll`); return [box.scrollWidth, box.clientWidth]; }",
        table,
    )
    assert sizes[0] <= sizes[1]
    labels = row.locator("td[data-label]").evaluate_all(
        "cells => cells.map((cell) => [cell.dataset.label, getComputedStyle(cell, '::before').content])"
    )
    assert len(labels) >= 10 and all(label and label in shown for label, shown in labels)


def test_the_links_stand_in_view_on_a_usual_screen(visit):
    visitor = visit(width=1280)
    visitor.tab("offers")
    visitor.page.wait_for_selector("#offers-results tbody tr")
    box = visitor.page.evaluate(BOX, "#offers-results .scroll")
    head = visitor.page.locator("#offers-results thead th", has_text="Between nodes").bounding_box()
    assert head["x"] < box["right"] - 40


def test_a_list_of_the_form_filters_by_what_is_typed_and_cleared(visit):
    visitor = visit()
    visitor.tab("offers")
    visitor.page.wait_for_selector("#offers-results table")
    every = visitor.text("#offers-results .count")
    provider = visitor.text("#offers-results tbody th")
    visitor.page.click("#filter-provider input")
    visitor.page.keyboard.type(provider)
    visitor.page.keyboard.press("Enter")
    visitor.wait(lambda: visitor.text("#offers-results .count") != every)
    assert set(visitor.page.locator("#offers-results tbody th").all_inner_texts()) == {provider}
    visitor.page.keyboard.press("Backspace")
    visitor.wait(lambda: visitor.text("#offers-results .count") == every)
    visitor.page.keyboard.type(provider)
    visitor.page.keyboard.press("Enter")
    visitor.wait(lambda: visitor.text("#offers-results .count") != every)
    visitor.page.click("#offers-form button:has-text('Reset')")
    visitor.wait(lambda: visitor.text("#offers-results .count") == every)


def test_the_list_of_conversations_leaves_the_page_on_a_phone(visit):
    visitor = visit(width=390, height=844)
    toggle = visitor.page.locator("#history .toggle-button")
    toggle.click()
    visitor.page.wait_for_selector("#history.open .none")
    assert not visitor.page.locator("[data-act=clear-history]").is_visible()
    toggle.click()
    visitor.ask("Full fine-tune of a 7B model")
    toggle.click()
    visitor.page.wait_for_selector("#history.open #history-items .open")
    assert visitor.page.locator("[data-act=clear-history]").is_visible()
    visitor.page.locator("#history-items .open").first.click()
    visitor.page.wait_for_selector("#history:not(.open)", state="attached")


def test_frames_that_differ_by_side_are_drawn_on_every_side(visit):
    visitor = visit()
    visitor.tab("diagnose")
    visitor.page.fill("#diagnose-text textarea", "GPU0 GPU1")
    visitor.page.click("#diagnose-go")
    visitor.page.wait_for_selector("#diagnosis .problem")
    width = "(selector) => getComputedStyle(document.querySelector(selector)).borderWidth"
    assert visitor.page.evaluate(width, "#diagnosis .problem") == "1px 1px 1px 4px"
    visitor.tab("about")
    visitor.page.wait_for_selector("#about kbd")
    assert visitor.page.evaluate(width, "#about kbd") == "1px 1px 2px"


WHERE = """() => { const node = document.activeElement; const box = node.getBoundingClientRect();
    return [node.tagName, box.left >= 0 && box.right <= innerWidth && box.width > 0]; }"""


def test_the_tab_key_goes_through_the_form_and_never_out_of_sight(visit):
    visitor = visit(width=1280)
    visitor.ask("Full fine-tune of a 7B model, kept")
    visitor.page.wait_for_selector("#history-items .open", state="attached")
    visitor.page.focus("#history .toggle-button")
    seen = []
    for _ in range(6):
        visitor.page.keyboard.press("Tab")
        seen.append(visitor.page.evaluate(WHERE))
    assert all(in_sight for _, in_sight in seen), seen
    visitor.tab("offers")
    visitor.page.wait_for_selector("#offers-results table")
    visitor.page.focus("#filter-provider input")
    for _ in range(5):
        visitor.page.keyboard.press("Tab")
        assert visitor.page.evaluate(WHERE)[0] != "BODY"


@pytest.mark.parametrize("width", [390, 1280])
def test_the_question_field_stays_in_view_while_an_answer_is_rated(visit, width):
    visitor = visit(width=width, height=844)
    visitor.ask("Full fine-tune of a 7B model")
    visitor.page.locator("#chat button[aria-label='Like']:visible").first.click()
    visitor.page.wait_for_selector("#feedback-row")
    assert visitor.page.evaluate(BOX, "#composer")["bottom"] <= 844
