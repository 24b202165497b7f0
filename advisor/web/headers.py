"""Headers and limits on every response, as plain ASGI so that streams pass through untouched."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

POLICY = "; ".join(
    (
        "default-src 'self'",
        # Gradio starts from an inline script and compiles small handlers in the browser.
        "script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "connect-src 'self'",
        "worker-src 'self' blob:",
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
        "frame-ancestors 'self'",
    )
)
HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"SAMEORIGIN"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=(), payment=()"),
    (b"cross-origin-opener-policy", b"same-origin"),
]

NAMES = frozenset(name for name, _ in HEADERS)


class _TooLarge(Exception):
    """A body went past the limit while it was read."""


class SafeHeaders:
    """Adds the headers to every response and refuses bodies larger than `max_body` bytes (413), announced or not.

    `larger`: path → its own limit, for files.
    """

    def __init__(self, app: Any, max_body: int, larger: Mapping[str, int] = MappingProxyType({})):
        self.app, self.max_body, self.larger = app, max_body, larger

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """One ASGI connection."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = False
        limit = self.larger.get(scope.get("path", "").rstrip("/"), self.max_body)

        async def safe_send(message: Any) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                kept = [(name, value) for name, value in message.get("headers", []) if name.lower() not in NAMES]
                message = {**message, "headers": [*kept, *HEADERS]}
            await send(message)

        length = dict(scope["headers"]).get(b"content-length", b"0")
        if length.isdigit() and int(length) > limit:
            await self._refuse(safe_send, limit)
            return
        read = 0

        async def counted_receive() -> Any:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > limit:
                raise _TooLarge
            return message

        try:
            await self.app(scope, counted_receive, safe_send)
        except _TooLarge:
            if not started:
                await self._refuse(safe_send, limit)

    async def _refuse(self, send: Any, limit: int) -> None:
        await send({"type": "http.response.start", "status": 413, "headers": [(b"content-type", b"text/plain")]})
        await send({"type": "http.response.body", "body": f"At most {limit} bytes.".encode()})
