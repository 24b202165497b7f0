"""Fetching addresses: time and size limits, few redirects, robots.txt, politeness, and no private addresses unless allowed.

Every host is resolved here, each of its addresses is checked, and the connection goes to the checked address itself, so
that a name that changes its answer between check and connection gains nothing. Redirects are followed one by one, each
checked again.
"""

from __future__ import annotations

import ipaddress
import socket
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin, urlsplit
from urllib.robotparser import RobotFileParser

import httpx

USER_AGENT = "interconnect-advisor/1.0 (+document ingestion; robots.txt is honoured)"
ROBOT_NAME = "interconnect-advisor"
MAX_BYTES = 20_000_000
MAX_REDIRECTS = 5
TIMEOUT_S = 20.0
TOTAL_TIMEOUT_S = 60.0
PAUSE_S = 1.0
ROBOTS_BYTES = 500_000
TEXT_TYPES = (
    "text/",
    "application/xhtml+xml",
    "application/pdf",
    "application/xml",
    "application/rss+xml",
    "application/x-ipynb+json",
    "application/json",
    "application/octet-stream",
)


class Refused(Exception):
    """An address that is not fetched, or an answer that is not taken; the message says why."""


@dataclass(frozen=True)
class Fetched:
    """One answer: the final address, the body, what the server called it. `unchanged` is a 304 for the ETag sent."""

    url: str
    data: bytes
    media_type: str | None
    charset: str | None
    etag: str | None
    last_modified: str | None
    unchanged: bool = False


Resolver = Callable[[str, int], list[str]]


def resolve(host: str, port: int) -> list[str]:
    """The addresses of a host. Raises Refused where it has none."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise Refused(f"the host {host!r} is not known ({error})") from error
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def is_public(address: str) -> bool:
    """Whether an address is one of the public internet: no private, loopback, link-local, shared, multicast or reserved range.

    Addresses that carry an IPv4 address inside (mapped, 6to4, Teredo, NAT64) are judged by it as well.
    """
    ip = ipaddress.ip_address(address.split("%")[0])
    inner: list[ipaddress.IPv4Address | ipaddress.IPv6Address] = [ip]
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped:
            inner.append(ip.ipv4_mapped)
        if ip.sixtofour:
            inner.append(ip.sixtofour)
        if ip.teredo:
            inner.extend(ip.teredo)
        if ip in ipaddress.ip_network("64:ff9b::/96"):
            inner.append(ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF))
            inner.remove(ip)
    return all(one.is_global and not one.is_multicast and not one.is_reserved for one in inner)


@dataclass
class Fetcher:
    """Fetches one address at a time. Keeps robots.txt and the time of the last visit for each host."""

    allow_private: bool = False
    max_bytes: int = MAX_BYTES
    timeout_s: float = TIMEOUT_S
    total_timeout_s: float = TOTAL_TIMEOUT_S
    pause_s: float = PAUSE_S
    resolver: Resolver = resolve
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    _robots: dict[str, RobotFileParser | None] = field(default_factory=dict)
    _last: dict[str, float] = field(default_factory=dict)

    def get(self, url: str, *, etag: str | None = None) -> Fetched:
        """The document at an address. Raises Refused with the reason where it is not to be had."""
        for _ in range(MAX_REDIRECTS + 1):
            self._check(url)
            if not self._may_visit(url):
                raise Refused("robots.txt asks not to fetch it")
            answer = self._once(url, etag=etag)
            if isinstance(answer, Fetched):
                return answer
            url = answer
        raise Refused(f"more than {MAX_REDIRECTS} redirects")

    def _check(self, url: str) -> None:
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise Refused(f"not an address ({error})") from error
        if parts.scheme not in ("http", "https"):
            raise Refused(f"only http and https are fetched, not {parts.scheme or 'this'!r}")
        if not parts.hostname:
            raise Refused("the address has no host")
        if parts.username or parts.password:
            raise Refused("addresses with a user name or password are not fetched")
        if port is not None and port not in (80, 443, 8080, 8443) and not self.allow_private:
            raise Refused(f"port {port} is not one of web servers")

    def _address(self, host: str, port: int) -> str:
        addresses = self.resolver(host, port)
        if not addresses:
            raise Refused(f"the host {host!r} is not known")
        if not self.allow_private:
            for address in addresses:
                if not is_public(address):
                    raise Refused(
                        f"{host} is at a private or reserved address ({address}); allow it with --allow-private"
                    )
        return addresses[0]

    def _once(self, url: str, *, etag: str | None = None, limit: int | None = None) -> Fetched | str:
        """One request; the next address where the server redirects."""
        parts = urlsplit(url)
        host = str(parts.hostname)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        address = self._address(host, port)
        self._wait(host)
        headers = {
            "User-Agent": USER_AGENT,
            "Host": host if parts.port is None else f"{host}:{parts.port}",
            "Accept": "text/html,text/markdown,text/plain,application/pdf;q=0.9,*/*;q=0.5",
            "Accept-Encoding": "gzip, deflate",
        }
        if etag:
            headers["If-None-Match"] = etag
        shown = f"[{address}]" if ":" in address else address
        target = parts._replace(netloc=f"{shown}:{port}", fragment="").geturl()
        started = self.clock()
        try:
            with (
                httpx.Client(timeout=self.timeout_s, follow_redirects=False, trust_env=False) as client,
                client.stream("GET", target, headers=headers, extensions={"sni_hostname": host}) as response,
            ):
                if response.is_redirect and response.headers.get("location"):
                    return urljoin(url, response.headers["location"])
                if response.status_code == 304:
                    return Fetched(url, b"", None, None, etag, None, unchanged=True)
                if response.status_code != 200:
                    raise Refused(f"the server answered {response.status_code}")
                media_type = _media_type(response)
                data = self._body(response, started, limit or self.max_bytes)
                return Fetched(
                    url,
                    data,
                    media_type,
                    response.charset_encoding,
                    response.headers.get("etag"),
                    response.headers.get("last-modified"),
                )
        except httpx.TimeoutException as error:
            raise Refused(f"no answer within {self.timeout_s:g} s") from error
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, OSError) as error:
            raise Refused(f"it cannot be fetched ({error or type(error).__name__})") from error

    def _body(self, response: httpx.Response, started: float, limit: int) -> bytes:
        told = response.headers.get("content-length", "")
        if told.isdigit() and int(told) > limit:
            raise Refused(f"larger than {limit} bytes")
        data = bytearray()
        for chunk in response.iter_bytes(65_536):
            data += chunk
            if len(data) > limit:
                raise Refused(f"larger than {limit} bytes")
            if self.clock() - started > self.total_timeout_s:
                raise Refused(f"not complete within {self.total_timeout_s:g} s")
        return bytes(data)

    def _wait(self, host: str) -> None:
        """Leave a pause between two visits of one host."""
        last = self._last.get(host)
        if last is not None:
            left = self.pause_s - (self.clock() - last)
            if left > 0:
                self.sleep(left)
        self._last[host] = self.clock()

    def _may_visit(self, url: str) -> bool:
        parts = urlsplit(url)
        site = f"{parts.scheme}://{parts.netloc}"
        if site not in self._robots:
            self._robots[site] = self._read_robots(site)
        rules = self._robots[site]
        return rules is None or rules.can_fetch(ROBOT_NAME, url)

    def _read_robots(self, site: str) -> RobotFileParser | None:
        """The rules of a site; none where it has no robots.txt or does not give it."""
        url = f"{site}/robots.txt"
        try:
            for _ in range(MAX_REDIRECTS):
                self._check(url)
                answer = self._once(url, limit=ROBOTS_BYTES)
                if isinstance(answer, Fetched):
                    rules = RobotFileParser()
                    rules.parse(answer.data.decode("utf-8", "replace").splitlines())
                    return rules
                url = answer
        except Refused:
            return None
        return None

    def site_maps(self, site: str) -> Iterable[str]:
        """The site maps that a site's robots.txt names."""
        self._may_visit(site)
        parts = urlsplit(site)
        rules: Any = self._robots.get(f"{parts.scheme}://{parts.netloc}")
        return (rules.site_maps() or []) if rules is not None else []


def _media_type(response: httpx.Response) -> str | None:
    told = str(response.headers.get("content-type", "")).split(";")[0].strip().lower()
    if told and not told.startswith(TEXT_TYPES):
        raise Refused(f"the content type {told!r} is not one of documents")
    return told or None
