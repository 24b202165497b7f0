"""The server itself: health, metrics, headers, limits, sign-in, the programs' interface; no browser."""

from __future__ import annotations

import asyncio
import base64
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from conftest import serve_app
from fake_advisor import FakeAdvisor
from pydantic import SecretStr

from advisor.errors import BadRequest
from advisor.settings import Settings
from advisor.web import server
from advisor.web.headers import SafeHeaders
from advisor.web.server import Opening, check_port, create_app, is_public, users

ROOT = Path(__file__).resolve().parents[2]


def test_health_and_metrics(site):
    assert httpx.get(f"{site.url}/healthz").json() == {
        "status": "ok",
        "offers": 121,
        "passages": 3,
        "offers_as_of": "2026-06-01",
    }
    metrics = httpx.get(f"{site.url}/metrics")
    assert metrics.headers["content-type"].startswith("text/plain")
    assert "advisor_turn_seconds_bucket" in metrics.text


def test_a_broken_advisor_answers_the_health_check(site, monkeypatch):
    monkeypatch.setattr(site.advisor, "health", lambda: 1 / 0, raising=False)
    response = httpx.get(f"{site.url}/healthz")
    assert response.status_code == 503 and response.json() == {"status": "failed", "message": "ZeroDivisionError"}


@pytest.mark.parametrize("path", ["/", "/healthz", "/gradio_api/info", "/no/such/page"])
def test_every_response_has_safe_headers(site, path):
    headers = httpx.get(site.url + path).headers
    assert "default-src 'self'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"
    assert "https:" not in headers["content-security-policy"]


@pytest.mark.parametrize(
    "path",
    [
        "/gradio_api/file=/etc/passwd",
        "/gradio_api/file=../../../../etc/passwd",
        "/gradio_api/file=pyproject.toml",
        "/gradio_api/file=https://example.com/x",
        "/static/../../../../etc/passwd",
        "/assets/..%2f..%2f..%2f..%2fetc%2fpasswd",
        "/gradio_api/proxy=https://example.com",
        "/file=/etc/passwd",
    ],
)
def test_no_path_reads_a_file(site, path):
    response = httpx.get(site.url + path)
    assert response.status_code >= 400 or "root:" not in response.text
    assert "root:x" not in response.text and "[project]" not in response.text


def test_the_home_is_not_served(site):
    secret = site.settings.home / "conversations.txt"
    secret.write_text("secret words", encoding="utf-8")
    response = httpx.get(f"{site.url}/gradio_api/file={secret}")
    assert response.status_code in (403, 404) and "secret words" not in response.text


def test_a_body_that_is_too_large_is_refused(site):
    huge = b"x" * 9_000_000
    assert httpx.post(f"{site.url}/gradio_api/queue/join", content=huge).status_code == 413


def test_a_large_body_without_a_length_is_refused():
    sent = []

    async def app(scope, receive, send):
        while (await receive()).get("more_body"):
            pass

    async def receive():
        return {"type": "http.request", "body": b"x" * 60, "more_body": True}

    async def send(message):
        sent.append(message)

    asyncio.run(SafeHeaders(app, max_body=100)({"type": "http", "headers": []}, receive, send))
    assert sent[0]["status"] == 413


def test_gradio_client_calls_every_endpoint(site):
    from gradio_client import Client

    client = Client(site.url, verbose=False, analytics_enabled=False)
    assert set(client.view_api(return_format="dict", print_info=False)["named_endpoints"]) == {
        "/ask",
        "/offers",
        "/estimate",
        "/diagnose",
        "/search",
    }
    assert client.predict(question="7Bを学習", api_name="/ask")["lang"] == "ja"
    found = client.predict(gpu=["H100"], limit=2, api_name="/offers")
    assert found["count"] == 30 and len(found["offers"]) == 2
    assert client.predict("memory", model="x", api_name="/estimate")["asked"] == {"task": "memory", "model": "x"}
    assert client.predict("GPU0", api_name="/diagnose")["problems"][0]["code"] == "NVLINK_MISSING"
    assert client.predict("NVLink", api_name="/search")[0]["source"] == "guides/en/nvlink.md"
    for call in ({"min_gpus": -1, "api_name": "/offers"}, {"question": " ", "api_name": "/ask"}):
        with pytest.raises(Exception, match=r"min_gpus|empty"):
            client.predict(**call)


def test_threads_of_the_api_must_be_hard_to_guess(site):
    from gradio_client import Client

    client = Client(site.url, verbose=False, analytics_enabled=False)
    with pytest.raises(Exception, match="16 to 64"):
        client.predict(question="7B", thread="x", api_name="/ask")


def test_an_mcp_client_calls_every_tool(site):
    pytest.importorskip("mcp")
    from mcp import ClientSession
    from mcp.client.streamable_http import streamable_http_client

    async def talk():
        async with (
            streamable_http_client(f"{site.url}/mcp") as (read, write, _),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            tools = {tool.name: tool for tool in (await session.list_tools()).tools}
            assert set(tools) == {"ask", "offers", "estimate", "diagnose", "search"}
            assert tools["offers"].inputSchema["properties"]["sort"]["enum"][0] == "price"
            assert tools["offers"].outputSchema["properties"]["count"]["type"] == "integer"
            answer = await session.call_tool("ask", {"question": "7B full fine-tune"})
            assert answer.structuredContent["intent"] == "picks"
            offers = await session.call_tool("offers", {"gpu": ["H100"], "limit": 1})
            assert offers.structuredContent["count"] == 30
            hits = await session.call_tool("search", {"query": "NVLink", "k": 1})
            assert hits.structuredContent["result"][0]["rank"] == 1
            assert (await session.call_tool("estimate", {"task": "memory"})).structuredContent["low"] == 50
            assert not (await session.call_tool("diagnose", {"text": "GPU0"})).isError
            refused = await session.call_tool("offers", {"min_gpus": -1})
            assert refused.isError and "min_gpus" in refused.content[0].text

    asyncio.run(talk())


def test_mcp_refuses_a_foreign_host(site):
    response = httpx.post(f"{site.url}/mcp", headers={"host": "evil.example", "accept": "application/json"}, json={})
    assert response.status_code in (403, 421)


@pytest.fixture(scope="module")
def locked(tmp_path_factory):
    settings = Settings(
        home=tmp_path_factory.mktemp("home"), auth=SecretStr("ann:s3cret, bob:pw"), rate_limit_per_minute=3
    )
    running, port = serve_app(create_app(FakeAdvisor(settings), settings, mcp=True))
    yield f"http://127.0.0.1:{port}"
    running.should_exit = True


def test_sign_in_is_asked_for_everywhere_but_health(locked):
    assert httpx.get(f"{locked}/healthz").status_code == 200
    assert httpx.get(f"{locked}/gradio_api/info").status_code == 401
    assert httpx.post(f"{locked}/mcp", json={}).status_code == 401
    wrong = base64.b64encode(b"ann:bad").decode()
    assert httpx.post(f"{locked}/mcp", json={}, headers={"authorization": f"Basic {wrong}"}).status_code == 401
    right = base64.b64encode(b"bob:pw").decode()
    assert httpx.post(f"{locked}/mcp", json={}, headers={"authorization": f"Basic {right}"}).status_code != 401
    with httpx.Client(base_url=locked) as client:
        assert client.post("/login", data={"username": "ann", "password": "bad"}).status_code == 400
        assert client.post("/login", data={"username": "ann", "password": "s3cret"}).status_code == 200
        assert client.get("/gradio_api/info").status_code == 200


def test_rate_limit_of_programs(locked):
    from gradio_client import Client

    client = Client(locked, auth=("ann", "s3cret"), verbose=False, analytics_enabled=False)
    with pytest.raises(Exception, match="questions a minute"):
        for _ in range(5):
            client.predict("NVLink", api_name="/search")


def test_sign_in_list_is_read_or_refused():
    settings = SimpleNamespace(auth=SecretStr("a:b:c,d:e"))
    assert users(settings) == [("a", "b:c"), ("d", "e")]
    assert users(SimpleNamespace(auth=None)) is None
    for bad in ("", "a", "a:", ":b", "a:b,c"):
        with pytest.raises(BadRequest, match="ADVISOR_AUTH"):
            users(SimpleNamespace(auth=SecretStr(bad)))


@pytest.mark.parametrize(
    ("host", "public"),
    [("127.0.0.1", False), ("localhost", False), ("::1", False), ("0.0.0.0", True), ("10.0.0.5", True), ("::", True)],
)
def test_public_addresses(host, public):
    assert is_public(host) is public


def test_a_busy_port_is_one_clear_line():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(BadRequest, match=f"Port {port} on 127.0.0.1 cannot be used") as refused:
            check_port("127.0.0.1", port)
    assert "\n" not in str(refused.value)


def test_mcp_without_its_package_says_what_to_install(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(BadRequest, match="pip install"):
        server.check_mcp()


def opened(make):
    """A client's view of an Opening before and after its application is there."""
    running, port = serve_app(Opening(make))
    url = f"http://127.0.0.1:{port}"
    return running, url


def wait_for(url, true):
    for _ in range(200):
        response = httpx.get(url)
        if true(response):
            return response
        time.sleep(0.05)
    raise AssertionError(response.text[:200])


def test_the_address_answers_before_the_application_is_there():
    import threading

    from fastapi import FastAPI

    go = threading.Event()

    def make():
        go.wait(20)
        app = FastAPI()

        @app.get("/")
        def read():
            return {"ready": True}

        return app

    running, url = opened(make)
    waiting = httpx.get(url, headers={"accept-language": "ja"})
    assert waiting.status_code == 503 and "起動しています" in waiting.text and 'http-equiv="refresh"' in waiting.text
    assert httpx.get(f"{url}/healthz").json() == {"status": "starting"}
    go.set()
    assert wait_for(url, lambda response: response.status_code == 200).json() == {"ready": True}
    running.should_exit = True


@pytest.mark.parametrize("error", [BadRequest("ADVISOR_HOME <b> cannot be written."), RuntimeError("boom <b>")])
def test_a_failed_start_is_told_on_the_page(error, capsys):
    def make():
        raise error

    running, url = opened(make)
    page = wait_for(url, lambda response: "could not start" in response.text)
    assert page.status_code == 503 and "&lt;b&gt;" in page.text and "<b>" not in page.text
    assert httpx.get(f"{url}/healthz").json()["status"] == "failed"
    running.should_exit = True


def test_app_py_serves_and_a_second_one_is_told_that_the_port_is_taken(tmp_path):
    import os

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "ADVISOR_PORT": str(port), "ADVISOR_HOME": str(tmp_path / "home")}
    command = [sys.executable, str(ROOT / "app.py")]
    first = subprocess.Popen(
        command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert first.stdout is not None
        assert first.stdout.readline().strip() == f"Interconnect Advisor: http://127.0.0.1:{port}"
        assert wait_for(f"http://127.0.0.1:{port}/healthz", lambda r: r.json()["status"] in ("starting", "ok"))
        second = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=60)
        assert second.returncode == 2
        assert len(second.stderr.strip().splitlines()) == 1 and f"Port {port}" in second.stderr
    finally:
        first.terminate()
        first.wait(20)
