"""The chat in a real browser: asking, streaming, stop, retry, edit, clear, copy, share, export, kept conversations."""

import json

import pytest
from fake_advisor import HOSTILE

pytestmark = pytest.mark.browser


def test_a_question_is_answered_with_cards_badges_and_sources(visit):
    visitor = visit()
    visitor.ask("Full fine-tune of a 7B model on one node")
    assert "112 GB" in visitor.text("#chat .bot.message")
    cards = visitor.page.locator("#picks .card")
    assert cards.count() == 3
    assert cards.first.locator(".badge").count() == 3
    assert "InfiniBand 3,200 Gb/s" in cards.first.inner_text()
    assert "unknown" in cards.nth(2).locator(".badge").nth(1).inner_text()
    assert "2026-06-01" in cards.first.inner_text()


@pytest.mark.parametrize(("locale", "word"), [("ja-JP", "相談"), ("en-US", "Advisor"), ("fr-FR", "Advisor")])
def test_the_page_speaks_the_browsers_language(visit, locale, word):
    visitor = visit(locale=locale)
    assert visitor.text("#page-ask-button") == word
    assert visitor.page.evaluate("document.documentElement.lang") == ("ja" if locale.startswith("ja") else "en")


def test_the_language_can_be_switched_at_any_time_and_is_remembered(visit):
    visitor = visit()
    visitor.ask("Full fine-tune of a 7B model")
    visitor.page.click("#lang label:has-text('日本語')")
    visitor.wait(lambda: visitor.text("#page-offers-button") == "料金一覧")
    visitor.wait(lambda: "最安" in visitor.text("#picks"))
    assert "例:" in visitor.page.get_attribute("#composer textarea", "placeholder")
    visitor.page.reload()
    visitor.page.wait_for_selector("html.advisor-ready")
    assert visitor.text("#page-offers-button") == "料金一覧"
    visitor.page.click("#lang label:has-text('English')")
    visitor.wait(lambda: visitor.text("#page-offers-button") == "Offers")


def test_steps_show_while_streaming_and_stop_ends_the_turn(visit):
    visitor = visit()
    visitor.ask("slow Full fine-tune of a 7B model", wait=False)
    visitor.page.wait_for_selector("#chat >> text=Searched the guides")
    visitor.page.evaluate("document.querySelector('#composer button.stop-button').click()")
    visitor.wait(visitor.idle)
    assert "Stopped" in visitor.text("#chat [role=log]")
    assert visitor.page.locator("#picks .card").count() == 0


def test_escape_stops(visit):
    visitor = visit()
    visitor.ask("slow Full fine-tune of a 7B model", wait=False)
    visitor.page.wait_for_selector("#composer button.stop-button")
    visitor.page.keyboard.press("Escape")
    visitor.wait(visitor.idle)
    assert "Stopped" in visitor.text("#chat [role=log]")


def test_updates_while_streaming_are_at_most_five_a_second(visit):
    visitor = visit()
    visitor.page.evaluate(
        """() => { window.changes = [];
        new MutationObserver(() => {
          const text = document.querySelector('#chat').innerText;
          if (text !== window.lastText) { window.lastText = text; window.changes.push(performance.now()); }
        }).observe(document.querySelector('#chat'), {subtree: true, childList: true, characterData: true}); }"""
    )
    visitor.ask("slow Full fine-tune of a 7B model")
    times = visitor.page.evaluate("window.changes")
    assert len(times) >= 5
    # What Gradio draws for one update may take two mutations, so updates are what lies more than 60 ms apart.
    updates = [t for i, t in enumerate(times) if i == 0 or t - times[i - 1] > 60]
    for start in updates:
        assert len([t for t in updates if start <= t < start + 1000]) <= 7


def test_retry_asks_again(visit, site):
    visitor = visit()
    visitor.ask("Full fine-tune of a 7B model, retried")
    before = len(site.advisor.asked)
    visitor.page.locator("#chat button[aria-label='Retry']:visible").first.click()
    visitor.wait(lambda: len(site.advisor.asked) == before + 1 and visitor.idle())
    assert site.advisor.asked[-1][0] == "Full fine-tune of a 7B model, retried"
    assert visitor.page.locator("#chat .user.message").count() == 1


def test_a_question_can_be_edited_in_place(visit, site):
    visitor = visit()
    visitor.ask("Full fine-tune of a 7B model")
    visitor.ask("explain NVLink")
    visitor.page.locator("#chat button[title='Edit'], #chat button[aria-label='Edit']").first.click()
    box = visitor.page.locator("#chat textarea").first
    box.fill("QLoRA of a 70B model")
    visitor.page.locator("#chat button[title='Submit'], #chat button[aria-label='Submit']").first.click()
    visitor.wait(lambda: site.advisor.asked[-1][0] == "QLoRA of a 70B model" and visitor.idle())
    visitor.wait(lambda: visitor.page.locator("#chat .user.message").count() == 1)


def test_clear_and_new_begin_another_conversation(visit, site):
    visitor = visit()
    visitor.ask("Full fine-tune of a 7B model")
    first = site.advisor.asked[-1][1]
    visitor.page.click("#new-chat")
    visitor.wait(lambda: visitor.page.locator("#chat .user.message").count() == 0)
    visitor.wait(lambda: visitor.page.locator("#picks .card").count() == 0)
    visitor.ask("Full fine-tune of a 13B model")
    assert site.advisor.asked[-1][1] != first


def test_followups_stay_in_one_thread_and_tabs_do_not_mix(visit, site):
    one, other = visit(), visit()
    one.ask("Full fine-tune of a 7B model")
    other.ask("Pretrain 70B")
    one.ask("and without NVLink?")
    threads = [thread for _, thread, _ in site.advisor.asked[-3:]]
    assert threads[0] == threads[2] != threads[1]


def test_kept_conversations_open_again_after_a_reload(visit):
    visitor = visit()
    visitor.ask("Full fine-tune of a 7B model, kept")
    visitor.wait(lambda: "kept" in visitor.page.evaluate("localStorage.getItem('advisor.conversations') || ''"))
    visitor.page.reload()
    visitor.page.wait_for_selector("html.advisor-ready")
    visitor.page.keyboard.press("Alt+KeyH")
    visitor.page.locator("#history-items .open").first.click()
    visitor.page.wait_for_selector("#picks .card")
    assert "kept" in visitor.text("#chat .user.message")


def test_a_conversation_damaged_in_the_browser_does_no_harm(visit):
    visitor = visit()
    bad = json.dumps([{"id": "x" * 20, "title": HOSTILE, "session": '{"thread": "../../etc"}'}])
    visitor.page.evaluate("text => localStorage.setItem('advisor.conversations', text)", bad)
    visitor.page.reload()
    visitor.page.wait_for_selector("html.advisor-ready")
    visitor.page.keyboard.press("Alt+KeyH")
    visitor.page.locator("#history-items .open").first.click()
    visitor.page.wait_for_selector("text=could not be read")
    assert visitor.page.evaluate("window.hacked === undefined")


def test_share_link_and_q(visit, site):
    visitor = visit(permissions=["clipboard-read", "clipboard-write"])
    visitor.ask("Full fine-tune of a 7B model & more")
    visitor.page.click("#share-link")
    visitor.page.wait_for_selector(".toast")
    link = visitor.page.evaluate("navigator.clipboard.readText()")
    assert link.endswith("/?q=Full+fine-tune+of+a+7B+model+%26+more")
    other = visit(query=link.removeprefix(site.url + "/"))
    other.page.wait_for_selector("#picks .card")
    assert "7B model & more" in other.text("#chat .user.message")


def test_export_of_the_conversation(visit):
    visitor = visit()
    visitor.ask("Full fine-tune of a 7B model")
    with visitor.page.expect_download() as download:
        visitor.page.click("#export-chat")
    text = download.value.path().read_text(encoding="utf-8")
    assert download.value.suggested_filename == "conversation.md"
    assert "> Full fine-tune of a 7B model" in text and "h100-1x-4" in text and "guides/en/nvlink.md" in text


def test_examples_can_be_clicked(visit, site):
    visitor = visit(locale="ja-JP")
    visitor.page.locator("#chat .example").first.click()
    visitor.page.wait_for_selector("#picks .card")
    assert "7B モデル" in site.advisor.asked[-1][0]


def test_a_thumb_with_a_comment_is_written_down(visit, site):
    visitor = visit()
    visitor.ask("Full fine-tune of a 7B model, rated")
    visitor.page.locator("#chat button[aria-label='Like']:visible").first.click()
    visitor.page.wait_for_selector("#feedback-comment")
    visitor.page.fill("#feedback-comment input, #feedback-comment textarea", "prices were right")
    visitor.page.locator("#feedback-row button").click()
    path = site.settings.home / "feedback.jsonl"
    visitor.wait(lambda: path.exists() and "prices were right" in path.read_text(encoding="utf-8"))
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert lines[-2]["liked"] is True and lines[-1]["question"] == "Full fine-tune of a 7B model, rated"


def test_errors_are_shown_and_the_next_question_works(visit):
    visitor = visit()
    visitor.ask("crash please")
    assert "cannot be opened" in visitor.text("#chat .bot.message")
    visitor.ask("Full fine-tune of a 7B model")
    assert visitor.page.locator("#picks .card").count() == 3


def test_enter_that_confirms_a_conversion_does_not_send(visit, site):
    visitor = visit(locale="ja-JP")
    before = len(site.advisor.asked)
    visitor.page.fill("#composer textarea", "7Bを学習したい")
    for init in ({"isComposing": True}, {"keyCode": 229}):
        visitor.page.evaluate(
            """init => { const box = document.querySelector('#composer textarea');
            for (const kind of ['keydown', 'keypress'])
              box.dispatchEvent(new KeyboardEvent(kind, {key: 'Enter', bubbles: true, cancelable: true, ...init})); }""",
            init,
        )
        visitor.page.wait_for_timeout(300)
    assert len(site.advisor.asked) == before
    assert visitor.page.input_value("#composer textarea") == "7Bを学習したい"
    visitor.page.press("#composer textarea", "Enter")
    visitor.page.wait_for_selector("#picks .card")
    assert len(site.advisor.asked) == before + 1


def test_shift_enter_is_a_new_line_and_keys_move_around(visit):
    visitor = visit()
    visitor.page.fill("#composer textarea", "one")
    visitor.page.press("#composer textarea", "End")
    visitor.page.press("#composer textarea", "Shift+Enter")
    visitor.page.keyboard.type("two")
    assert visitor.page.input_value("#composer textarea") == "one\ntwo"
    visitor.page.evaluate("document.activeElement.blur()")
    visitor.page.keyboard.press("Alt+Digit3")
    visitor.page.wait_for_selector("#diagnose-text textarea:visible")
    visitor.page.locator("#top h1").click()
    visitor.page.keyboard.press("/")
    visitor.wait(lambda: visitor.page.evaluate("document.activeElement.closest('#composer') !== null"))


def test_markup_in_questions_answers_documents_and_offers_is_shown_and_never_runs(visit):
    visitor = visit()
    visitor.ask(f"7B {HOSTILE} ![x](http://evil.example/x.png) [a](javascript:window.hacked=1)")
    assert "<script>window.hacked=1</script>" in visitor.text("#chat .user.message")
    assert "<img src=x onerror" in visitor.text("#chat .bot.message")
    visitor.panel("sources")
    assert "<script>" in visitor.text("#sources")
    visitor.page.locator("#sources summary").nth(1).click()
    assert "{{hacked}}" in visitor.text("#sources")
    visitor.tab("offers")
    visitor.page.wait_for_selector("#offers-results table")
    visitor.page.wait_for_timeout(300)
    assert visitor.page.evaluate("window.hacked === undefined")
    assert visitor.page.locator("a[href^='javascript']").count() == 0
    assert visitor.page.locator("#chat img[src*='evil']").count() == 0
