"""The web server: the page, health, metrics, headers, and an address that is open at once."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import json
import logging
import os
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from advisor.errors import AdvisorError, BadRequest
from advisor.web.headers import SafeHeaders
from advisor.web.words import page_lang, word

if TYPE_CHECKING:
    from fastapi import FastAPI

    from advisor.settings import Settings

log = logging.getLogger("advisor.web")

SHUTDOWN_S = 30
"""Seconds that running turns get to end when the process is told to stop; open pages would otherwise hold it for ever."""


def users(settings: Settings) -> list[tuple[str, str]] | None:
    """The sign-in list of `ADVISOR_AUTH`. Raises BadRequest where it is not user:password[,user:password…]."""
    if settings.auth is None:
        return None
    pairs = [part.strip().partition(":") for part in settings.auth.get_secret_value().split(",") if part.strip()]
    if not pairs or any(not name or not password for name, _, password in pairs):
        raise BadRequest("ADVISOR_AUTH must be user:password[,user:password…]; correct or unset it.")
    return [(name, password) for name, _, password in pairs]


def create_app(advisor: Any, settings: Settings, mcp: bool = False) -> FastAPI:
    """The whole application: page at /, `/healthz`, `/metrics`, endpoints under /gradio_api, MCP at /mcp when asked for.

    Raises BadRequest where MCP is asked for and its package is not installed, or the sign-in list is not readable.
    """
    if mcp:
        check_mcp()
    from advisor.web import gradio_start
    from advisor.web.gradio_start import adopt, laid_out_once, quick_import

    with quick_import():
        import gradio as gr
        from fastapi import FastAPI
        from fastapi.responses import JSONResponse, Response

        from advisor.web.diagnose_tab import MAX_FILES, UPLOAD_MB
        from advisor.web.metrics import CONTENT_TYPE, Metrics
        from advisor.web.page import build_page, page_options
        from advisor.web.turns import Turns

    gradio_start.remember_signatures()
    gradio_start.leave_matplotlib()
    metrics = Metrics()
    turns = Turns(advisor, settings, metrics)
    app = FastAPI(title="Interconnect Advisor", docs_url=None, redoc_url=None, openapi_url=None)
    if mcp:
        _add_mcp(app, turns, settings)

    @app.get("/healthz")
    def healthz() -> JSONResponse:
        if not getattr(advisor, "is_open", True):
            return JSONResponse({"status": "starting"}, status_code=503)
        try:
            return JSONResponse(dict(advisor.health()))
        except Exception as error:  # a health check must answer, whatever is broken behind it
            log.warning("health check failed: %s", error)
            return JSONResponse({"status": "failed", "message": _public(error)}, status_code=503)

    @app.get("/metrics")
    def metrics_text() -> Response:
        return Response(metrics.text(), media_type=CONTENT_TYPE)

    with laid_out_once():
        page = build_page(advisor, settings, turns)
    gr.mount_gradio_app(
        app,
        page,
        path="/",
        server_name=settings.host,
        server_port=settings.port,
        auth=users(settings),
        allowed_paths=[],
        blocked_paths=[str(settings.home)],
        mcp_server=False,
        favicon_path=str(Path(__file__).parent / "favicon.svg"),
        app_kwargs={"docs_url": None, "redoc_url": None, "openapi_url": None},
        **page_options(),
    )
    adopt(app, page)
    gradio_start.complete_models()
    # A form with several files is larger than each of them, and than all of them by what stands between.
    uploads = {"/gradio_api/upload": (MAX_FILES * UPLOAD_MB + 1) * 2**20}
    app.add_middleware(SafeHeaders, max_body=max(8_000_000, 8 * settings.max_input_chars), larger=uploads)
    return app


def _add_mcp(app: FastAPI, turns: Any, settings: Settings) -> None:
    from starlette.routing import Route

    from advisor.web.mcp_server import PATH, Mcp
    from advisor.web.operations import Operations

    server = Mcp(Operations(turns, settings), settings, users(settings))

    class Endpoint:
        """The MCP application as a route's endpoint: a class, so that the route hands it the raw connection."""

        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            """One ASGI connection."""
            await server.app(scope, receive, send)

    for path in (PATH, f"{PATH}/"):
        app.router.routes.append(Route(path, Endpoint(), methods=["GET", "POST", "DELETE"]))
    before = app.router.lifespan_context

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[Any]:
        async with before(app) as state, server.lifespan():
            yield state

    app.router.lifespan_context = lifespan


def _public(error: Exception) -> str:
    return str(error) if isinstance(error, AdvisorError) else type(error).__name__


def check_mcp() -> None:
    """Raise BadRequest where the `mcp` extra is not installed."""
    from importlib.util import find_spec

    if find_spec("mcp") is None:
        raise BadRequest("--mcp needs the package `mcp`; install it with: pip install 'interconnect-advisor[mcp]'")


def check_port(host: str, port: int) -> socket.socket:
    """A listening socket on the address. Raises BadRequest, in one line, where it is taken or not ours to bind."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name != "nt":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise BadRequest(
            f"Port {port} on {host} cannot be used ({error.strerror or error}). "
            f"Stop what uses it or choose another: PORT={port + 1 if port < 65535 else 7860} make run"
        ) from None
    return listener


def is_public(host: str) -> bool:
    """Whether other machines can reach a server bound to `host`."""
    try:
        return not ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host != "localhost"


@cache
def _waiting_page(lang: str) -> bytes:
    from advisor.web.render import render

    return render("starting", lang).encode()


class Opening:
    """An ASGI application that answers at once and becomes the real one when that is ready.

    Until then `/healthz` says `starting` (503) and every other address shows a page that reloads itself. Where making the
    real one fails, the page and `/healthz` say so. `opened` is called once the real one answers.
    """

    def __init__(self, make: Callable[[], Any], opened: Callable[[], None] = lambda: None):
        self._make, self._opened = make, opened
        self._app: Any = None
        self._failure: str | None = None
        self._lifespan: Any = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """One ASGI connection."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif self._app is not None:
            await self._app(scope, receive, send)
        else:
            await self._wait(scope, send)

    async def _live(self, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        opening = asyncio.create_task(self._open())
        await receive()
        opening.cancel()
        if self._lifespan is not None:
            await self._lifespan.__aexit__(None, None, None)
        await send({"type": "lifespan.shutdown.complete"})

    async def _open(self) -> None:
        loop = asyncio.get_running_loop()
        done = asyncio.Event()
        made: list[Any] = []

        def work() -> None:
            try:
                made.append(self._make())
            except AdvisorError as error:
                self._failure = str(error)
            except Exception as error:  # whoever looks at the page must see that it failed; the log has the rest
                log.exception("the page could not be made")
                self._failure = f"{type(error).__name__}: {error}"
            loop.call_soon_threadsafe(done.set)

        threading.Thread(target=work, daemon=True, name="opening").start()
        await done.wait()
        if self._failure:
            print(f"error: {self._failure}", file=sys.stderr, flush=True)
        if made:
            self._lifespan = made[0].router.lifespan_context(made[0])
            await self._lifespan.__aenter__()
            self._app = made[0]
            self._opened()

    async def _wait(self, scope: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        if scope["path"] == "/healthz":
            state = {"status": "failed", "message": self._failure} if self._failure else {"status": "starting"}
            kind, body = b"application/json", json.dumps(state).encode()
        else:
            sent = dict(scope["headers"]).get(b"accept-language", b"").decode("latin-1")
            lang = page_lang(sent)
            kind = b"text/html; charset=utf-8"
            if self._failure:
                from advisor.web.render import render

                body = render("failed", lang, text=self._failure).encode()
            else:
                body = _waiting_page(lang)
        headers = [(b"content-type", kind), (b"cache-control", b"no-store"), (b"retry-after", b"1")]
        await send({"type": "http.response.start", "status": 503, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def _advisor(settings: Settings) -> tuple[Any, Callable[[], None]]:
    """What answers, and what to do once the page is there."""
    if settings.engines:
        from advisor.web.apart import Apart

        apart = Apart(settings, settings.engines)
        apart.start()
        return apart, lambda: None
    from advisor.web.later import Later, make_advisor

    # The page first: what opens the stores would take processor time from it.
    later = Later(lambda: make_advisor(settings))
    return later, later.start


def serve(settings: Settings, mcp: bool = False) -> None:
    """Serve the page until interrupted. The address is open, and printed, before the heavy parts are loaded.

    Raises BadRequest where the port is taken, the sign-in list is unreadable or MCP is asked for and not installed.
    """
    import uvicorn

    from advisor.turnlog import start_logging

    start_logging()
    users(settings)
    if mcp:
        check_mcp()
    listener = check_port(settings.host, settings.port)
    shown = f"[{settings.host}]" if ":" in settings.host else settings.host
    print(f"Interconnect Advisor: http://{shown}:{settings.port}", flush=True)
    if mcp:
        print(f"MCP: http://{shown}:{settings.port}/mcp", flush=True)
    if is_public(settings.host):
        print(
            word("warn.public" if settings.auth is None else "warn.public_auth", "en", host=settings.host),
            file=sys.stderr,
            flush=True,
        )

    advisor, opened = _advisor(settings)
    config = uvicorn.Config(
        Opening(lambda: create_app(advisor, settings, mcp), opened),
        log_level="warning",
        access_log=False,
        lifespan="on",
        server_header=False,
        timeout_graceful_shutdown=SHUTDOWN_S,
    )
    server = uvicorn.Server(config)
    try:
        server.run(sockets=[listener])
    except KeyboardInterrupt:
        return
    finally:
        listener.close()
