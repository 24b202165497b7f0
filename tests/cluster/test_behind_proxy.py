"""Limits by address and sign-in behind nginx: whose address counts, and that it cannot be chosen."""

import sys
import threading
import time
from pathlib import Path

import httpx
import pytest
from cluster_services import Nginx, ask, nginx_program
from pydantic import SecretStr

from advisor.settings import Settings
from advisor.web.server import create_app

sys.path.insert(0, str(Path(__file__).parents[1] / "advisor" / "web"))

LIMIT = 3


def _serve(home, **more):
    import uvicorn
    from fake_advisor import FakeAdvisor

    settings = Settings(home=home, rate_limit_per_minute=LIMIT, **more)
    server = uvicorn.Server(uvicorn.Config(create_app(FakeAdvisor(settings), settings), port=0, log_level="error"))
    threading.Thread(target=server.run, daemon=True).start()
    end = time.monotonic() + 60
    while not server.started and time.monotonic() < end:
        time.sleep(0.05)
    return server, server.servers[0].sockets[0].getsockname()[1]


@pytest.fixture
def behind(tmp_path):
    """nginx before one process: (its address, the process's own)."""
    if nginx_program() is None:
        pytest.skip("nginx is not installed")
    server, port = _serve(tmp_path / "home")
    with Nginx(tmp_path / "nginx", [port]) as nginx:
        yield nginx.url, f"http://127.0.0.1:{port}"
    server.should_exit = True


def _refused_after(base, headers):
    for number in range(LIMIT + 2):
        try:
            ask(base, "Does one node need InfiniBand?", "", headers=headers(number))
        except RuntimeError:
            return number
    return None


def test_a_forged_address_does_not_get_around_the_limit(behind):
    assert (
        _refused_after(behind[0], lambda n: {"x-forwarded-for": f"203.0.113.{n}", "forwarded": f"for=203.0.113.{n}"})
        == LIMIT
    )


def test_the_address_that_the_proxy_saw_is_counted(behind):
    """What nginx would send for several visitors: each has a limit of its own."""
    direct = behind[1]
    assert _refused_after(direct, lambda n: {"x-forwarded-for": f"203.0.113.{n}"}) is None
    assert _refused_after(direct, lambda n: {"x-forwarded-for": "203.0.113.77"}) == LIMIT


def test_a_body_that_is_too_large_does_not_reach_the_process(behind):
    answer = httpx.post(f"{behind[0]}/gradio_api/call/ask", content=b"x" * 11_000_000)
    assert answer.status_code == 413


def test_a_log_file_larger_than_other_bodies_reaches_the_process(behind):
    log = b"NCCL INFO Using network Socket\n" * 400_000
    assert len(log) > 11_000_000
    answer = httpx.post(f"{behind[0]}/gradio_api/upload", files={"files": ("nccl.log", log)}, timeout=60)
    assert answer.status_code == 200
    assert answer.json()[0].endswith("nccl.log")


def test_sign_in_works_through_nginx(tmp_path):
    if nginx_program() is None:
        pytest.skip("nginx is not installed")
    server, port = _serve(tmp_path / "home", auth=SecretStr("ann:s3cret"))
    try:
        with Nginx(tmp_path / "nginx", [port]) as nginx, httpx.Client(base_url=nginx.url) as client:
            assert client.get("/healthz").status_code == 200
            assert client.get("/gradio_api/info").status_code == 401
            assert client.post("/login", data={"username": "ann", "password": "bad"}).status_code == 400
            assert client.post("/login", data={"username": "ann", "password": "s3cret"}).status_code == 200
            assert client.get("/gradio_api/info").status_code == 200
    finally:
        server.should_exit = True
