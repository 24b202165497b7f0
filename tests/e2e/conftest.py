"""A running page and a headless browser; both are skipped where the machine lacks them."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "advisor" / "web"))

BROWSER_ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def serve_app(app: Any) -> tuple[Any, int]:
    """Run an ASGI application in a thread on a free port; returns (server, port)."""
    import uvicorn

    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
    threading.Thread(target=server.run, daemon=True).start()
    end = time.monotonic() + 60
    while not server.started and time.monotonic() < end:
        time.sleep(0.05)
    return server, server.servers[0].sockets[0].getsockname()[1]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The page over the scripted advisor: `.url`, `.advisor`, `.settings`."""
    from fake_advisor import FakeAdvisor

    from advisor.settings import Settings
    from advisor.web.server import create_app

    settings = Settings(home=tmp_path_factory.mktemp("home"), rate_limit_per_minute=100_000)
    advisor = FakeAdvisor(settings)
    server, port = serve_app(create_app(advisor, settings, mcp=True))
    yield SimpleNamespace(url=f"http://127.0.0.1:{port}", advisor=advisor, settings=settings)
    server.should_exit = True


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless Chromium for one file of tests: its event loop must not outlive it, other tests start loops of their own."""
    sync_api = pytest.importorskip("playwright.sync_api")
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("no Chromium on this machine")
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=BROWSER_ARGS)
        yield chromium
        chromium.close()


class Visitor:
    """One browser tab on the page, with what a visitor does there; it notes foreign requests and script errors."""

    def __init__(self, page: Any, url: str):
        self.page, self.url = page, url
        self.foreign: list[str] = []
        self.errors: list[str] = []
        page.set_default_timeout(60_000)
        page.on("request", self._request)
        page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def _request(self, request: Any) -> None:
        if not request.url.startswith((self.url, "data:", "blob:", self.url.replace("http", "ws", 1))):
            self.foreign.append(request.url)

    def open(self, query: str = "") -> None:
        self.page.goto(f"{self.url}/{query}")
        self.page.wait_for_selector("html.advisor-ready")

    def ask(self, question: str, wait: bool = True) -> None:
        before = self.answers()
        self.page.fill("#composer textarea", question)
        self.page.press("#composer textarea", "Enter")
        if wait:
            self.wait(lambda: self.answers() > before and self.idle())
            self.settle()

    def settle(self, seconds: float = 60) -> None:
        """Wait until chat and panel have shown the same for three looks: the panel follows the answer by an event of its own."""
        end = time.monotonic() + seconds
        seen: list[str] = []
        while len(seen) < 3 or len(set(seen[-3:])) > 1 or not self.idle():
            if time.monotonic() > end:
                raise AssertionError("the page does not come to rest")
            seen.append(self.page.evaluate("['#chat', '#picks'].map(s => document.querySelector(s)?.innerText).join()"))
            self.page.wait_for_timeout(400)

    def answers(self) -> int:
        return self.page.locator("#chat .bot.message").count()

    def idle(self) -> bool:
        return self.page.locator("#composer button.submit-button").count() == 1

    def wait(self, true: Callable[[], bool], seconds: float = 60) -> None:
        end = time.monotonic() + seconds
        while not true():
            if time.monotonic() > end:
                raise AssertionError("the page did not get there in time")
            self.page.wait_for_timeout(50)

    def panel(self, name: str) -> None:
        self._open("result-tabs", f"tab-{name}", ("picks", "compare", "charts", "assumptions", "sources").index(name))

    def tab(self, name: str) -> None:
        self._open("pages", f"page-{name}", ("ask", "offers", "diagnose", "guide", "about").index(name))

    def _open(self, tabs: str, tab_id: str, index: int) -> None:
        """Click a tab, out of the menu of further tabs where the page is too narrow for it."""
        button = self.page.locator(f"#{tab_id}-button")
        if button.count() == 0:
            in_row = self.page.locator(f"#{tabs} > .tab-wrapper [role=tab]").count()
            self.page.locator(f"#{tabs} > .tab-wrapper .overflow-menu > button").click()
            button = self.page.locator(f"#{tabs} > .tab-wrapper .overflow-dropdown button").nth(index - in_row)
        button.click()

    def text(self, selector: str) -> str:
        return self.page.locator(selector).first.inner_text()


@pytest.fixture
def visit(site: Any, browser: Any) -> Iterator[Callable[..., Visitor]]:
    """A function that opens the page: `visit(locale=…, width=…, dark=…, query=…)`. Fails on foreign requests or errors."""
    opened: list[tuple[Visitor, Any]] = []

    def make(
        locale: str = "en-US", width: int = 1440, height: int = 900, dark: bool = False, query: str = "", **options: Any
    ) -> Visitor:
        context = browser.new_context(
            locale=locale,
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            accept_downloads=True,
            **options,
        )
        visitor = Visitor(context.new_page(), site.url)
        opened.append((visitor, context))
        visitor.open(query)
        return visitor

    yield make
    for visitor, context in opened:
        context.close()
        assert visitor.foreign == [], "a request left the machine"
        assert visitor.errors == [], "the browser reported errors"
