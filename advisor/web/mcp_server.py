"""The operations as an MCP server over streamable HTTP, with typed results."""

from __future__ import annotations

import base64
import functools
import hmac
from collections.abc import Callable
from typing import Any

import anyio

from advisor.errors import AdvisorError
from advisor.web.operations import CALLER, NAMES, Operations

PATH = "/mcp"


def tool(operation: Callable[..., Any], limiter: anyio.CapacityLimiter) -> Callable[..., Any]:
    """An operation as MCP calls it: in a worker thread, so that others are served meanwhile; refusals as tool errors."""
    from mcp.server.fastmcp.exceptions import ToolError

    @functools.wraps(operation)
    async def call(**kwargs: Any) -> Any:
        try:
            return await anyio.to_thread.run_sync(functools.partial(operation, **kwargs), limiter=limiter)
        except AdvisorError as error:
            raise ToolError(str(error)) from None

    return call


class Mcp:
    """The MCP application and its session manager. `app` is ASGI; run it inside `lifespan`."""

    def __init__(self, operations: Operations, settings: Any, users: list[tuple[str, str]] | None):
        from mcp.server.fastmcp import FastMCP
        from mcp.server.transport_security import TransportSecuritySettings

        from advisor.web.server import is_public

        # Against DNS rebinding: a page elsewhere must not reach a server that is bound to this machine only.
        local = [f"{name}:*" for name in ("127.0.0.1", "localhost", "[::1]")]
        security = TransportSecuritySettings(
            enable_dns_rebinding_protection=not is_public(settings.host),
            allowed_hosts=local,
            allowed_origins=[f"http://{host}" for host in local],
        )
        self._server = FastMCP(
            "Interconnect Advisor",
            instructions="Which GPU instance to rent, and whether NVLink or InfiniBand matters for a job.",
            stateless_http=True,
            json_response=True,
            streamable_http_path="/",
            transport_security=security,
            log_level="WARNING",
        )
        limiter = anyio.CapacityLimiter(settings.workers)
        for name in NAMES:
            self._server.add_tool(tool(getattr(operations, name), limiter), name=name)
        self._app = self._server.streamable_http_app()
        self._users = users

    def lifespan(self) -> Any:
        """An async context manager in which the server runs."""
        return self._server.session_manager.run()

    async def app(self, scope: Any, receive: Any, send: Any) -> None:
        """One ASGI connection: signed in where the page asks for it, and with the caller's address known."""
        if scope["type"] == "http" and not self._may_enter(dict(scope["headers"]).get(b"authorization", b"")):
            headers = [(b"content-type", b"text/plain"), (b"www-authenticate", b'Basic realm="Interconnect Advisor"')]
            await send({"type": "http.response.start", "status": 401, "headers": headers})
            await send({"type": "http.response.body", "body": b"Sign in with a user and password of ADVISOR_AUTH."})
            return
        client = scope.get("client")
        token = CALLER.set(str(client[0]) if client else "local")
        try:
            await self._app({**scope, "path": "/", "root_path": ""}, receive, send)
        finally:
            CALLER.reset(token)

    def _may_enter(self, header: bytes) -> bool:
        if self._users is None:
            return True
        given = header.removeprefix(b"Basic ").strip()
        wanted = [base64.b64encode(f"{name}:{password}".encode()) for name, password in self._users]
        return sum(hmac.compare_digest(given, known) for known in wanted) > 0
