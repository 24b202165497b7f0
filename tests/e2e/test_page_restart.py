"""A page whose server was replaced goes on with its conversation, in the open page and after a reload."""

import socket
import threading
import time

import pytest

pytestmark = pytest.mark.browser


class Replaceable:
    """A server on a fixed port that can be replaced by another process's: a new application over the same advisor."""

    def __init__(self, advisor, settings):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.advisor, self.settings, self.server = advisor, settings, None
        self.url = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self):
        import uvicorn

        from advisor.web.server import create_app

        app = create_app(self.advisor, self.settings)
        self.server = uvicorn.Server(
            uvicorn.Config(app, port=self.port, log_level="error", timeout_graceful_shutdown=1)
        )
        self.thread = threading.Thread(target=self.server.run, daemon=True)
        self.thread.start()
        end = time.monotonic() + 60
        while not self.server.started and time.monotonic() < end:
            time.sleep(0.05)

    def replace(self):
        self.server.should_exit = True
        self.thread.join(30)
        self.start()


@pytest.fixture
def place(tmp_path):
    from fake_advisor import FakeAdvisor

    from advisor.settings import Settings

    settings = Settings(home=tmp_path, rate_limit_per_minute=100_000)
    found = Replaceable(FakeAdvisor(settings), settings)
    yield found
    found.server.should_exit = True


@pytest.fixture
def visitor(place, browser):
    from conftest import Visitor

    context = browser.new_context(locale="en-US")
    found = Visitor(context.new_page(), place.url)
    found.open()
    yield found
    context.close()


def threads(place):
    return [thread for _, thread, _ in place.advisor.asked]


def test_a_reloaded_tab_shows_its_conversation_and_goes_on_with_it(visitor, place):
    visitor.ask("Full fine-tune of a 7B model")
    visitor.page.reload()
    visitor.page.wait_for_selector("html.advisor-ready")
    visitor.settle()
    assert visitor.answers() == 1 and visitor.page.locator("#picks .card").count() == 3
    visitor.ask("and with 13B?")
    assert visitor.answers() == 2
    first, second = threads(place)
    assert first == second


def test_after_a_restart_the_conversation_goes_on(visitor, place):
    visitor.ask("Full fine-tune of a 7B model")
    place.replace()
    # Gradio reloads a page that noticed the loss; one that did not asks the new server in a session it does not know.
    visitor.page.wait_for_timeout(500)
    visitor.wait(lambda: "Connection" not in visitor.text("body"))
    visitor.page.wait_for_selector("html.advisor-ready")
    visitor.settle()
    visitor.ask("and with 13B?")
    assert visitor.answers() == 2 and "7B" in visitor.text("#chat .user-row")
    first, second = threads(place)
    assert first == second


def test_a_server_that_forgot_an_open_tab_is_told_where_it_was(visitor, place):
    visitor.ask("Full fine-tune of a 7B model")
    mounted = next(
        route.app for route in place.server.config.app.routes if hasattr(getattr(route, "app", 0), "state_holder")
    )
    mounted.state_holder.session_data.clear()
    visitor.page.evaluate("Date.now = () => 4e12")  # the tab was idle for long
    visitor.ask("and with 13B?")
    assert visitor.answers() == 2
    first, second = threads(place)
    assert first == second


def test_a_new_visit_begins_anew(visitor, place):
    visitor.ask("Full fine-tune of a 7B model")
    visitor.open()
    assert visitor.answers() == 0
    visitor.ask("Full fine-tune of a 13B model")
    first, second = threads(place)
    assert first != second and visitor.answers() == 1
