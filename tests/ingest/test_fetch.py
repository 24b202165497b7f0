import gzip
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest

from ingest.documents import ingest_documents
from ingest.fetch import Fetcher, Refused, is_public
from knowledge.passages import PassageStore

PAGE = (
    "<html><head><title>Links</title></head><body><main><h1>Links</h1><p>"
    + "Every node has eight ports of 400 Gbps, and the ports of one rail meet in one leaf switch. " * 4
    + "</p></main></body></html>"
)


class Site(BaseHTTPRequestHandler):
    """A server with good and hostile pages; counts what was asked for."""

    asked: ClassVar[list[str]] = []
    removed = False

    def log_message(self, *args):
        pass

    def answer(self, body: bytes, kind="text/html; charset=utf-8", status=200, **headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if "Content_Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        type(self).asked.append(self.path)
        base = f"http://127.0.0.1:{self.server.server_address[1]}"
        if self.path == "/robots.txt":
            self.answer(b"User-agent: *\nDisallow: /private/\n", "text/plain")
        elif self.path == "/page":
            if self.headers.get("If-None-Match") == '"one"':
                self.answer(b"", status=304, ETag='"one"')
            else:
                self.answer(PAGE.encode(), ETag='"one"')
        elif self.path == "/loop":
            self.answer(b"", status=302, Location="/loop")
        elif self.path == "/inside":
            self.answer(b"", status=302, Location="http://169.254.169.254/latest/meta-data/")
        elif self.path == "/file":
            self.answer(b"", status=302, Location="file:///etc/passwd")
        elif self.path == "/huge":
            self.answer(b"x", Content_Length="99999999999")
        elif self.path == "/bomb":
            self.answer(gzip.compress(b"0" * 30_000_000), Content_Encoding="gzip")
        elif self.path == "/program":
            self.answer(b"MZ", "application/x-msdownload")
        elif self.path == "/sitemap.xml":
            pages = ["/page"] if type(self).removed else ["/page", "/second"]
            pages = [f"{base}{page}" for page in pages] + ["http://elsewhere.example/x"]
            body = "".join(f"<url><loc>{page}</loc></url>" for page in pages)
            self.answer(
                f"<?xml version='1.0'?><urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{body}</urlset>".encode(),
                "application/xml",
            )
        elif self.path == "/entities.xml":
            self.answer(
                b"<?xml version='1.0'?><!DOCTYPE urlset [<!ENTITY a 'b'>]><urlset><url><loc>&a;</loc></url></urlset>",
                "application/xml",
            )
        elif self.path in ("/second", "/private/x"):
            self.answer(PAGE.replace("eight", "sixteen").replace("rail", "plane").encode())
        else:
            self.answer(b"gone", status=404)


@pytest.fixture
def site():
    Site.asked, Site.removed = [], False
    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def fetcher():
    return Fetcher(allow_private=True, pause_s=0, max_bytes=1_000_000)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1", "240.0.0.1",
        "::1", "::", "fe80::1", "fc00::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "ff02::1", "fe80::1%eth0",
    ],
)  # fmt: skip
def test_addresses_that_are_not_of_the_internet(address):
    assert not is_public(address)


@pytest.mark.parametrize("address", ["1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "64:ff9b::101:101"])
def test_addresses_of_the_internet(address):
    assert is_public(address)


def test_private_hosts_are_refused_without_the_flag(site):
    with pytest.raises(Refused, match="private or reserved"):
        Fetcher(pause_s=0, resolver=lambda host, port: ["127.0.0.1"]).get("http://looks-public.example/page")
    with pytest.raises(Refused):
        Fetcher(pause_s=0).get(f"{site}/page")
    assert Site.asked == []


def test_one_private_address_among_several_is_enough_to_refuse():
    with pytest.raises(Refused, match="private"):
        Fetcher(pause_s=0, resolver=lambda host, port: ["1.1.1.1", "10.0.0.1"]).get("http://two.example/")


def test_a_redirect_into_a_private_range_is_refused(site):
    class HalfOpen(Fetcher):
        def _address(self, host, port):
            if host == "127.0.0.1":
                return host
            return super()._address(host, port)

    opener = HalfOpen(pause_s=0)
    opener._check = lambda url: None
    with pytest.raises(Refused, match=r"private or reserved address \(169\.254"):
        opener.get(f"{site}/inside")


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/loop", "redirects"),
        ("/file", "only http and https"),
        ("/huge", "larger than"),
        ("/bomb", "larger than"),
        ("/program", "content type"),
        ("/nothing", "answered 404"),
        ("/private/x", "robots.txt"),
    ],
)
def test_hostile_and_useless_answers(site, fetcher, path, reason):
    with pytest.raises(Refused, match=reason):
        fetcher.get(site + path)


@pytest.mark.parametrize(
    "url", ["ftp://a.example/x", "http://user:pw@a.example/", "http:///x", "gopher://x", "http://a.example:22/"]
)
def test_addresses_that_are_no_web_pages(url):
    with pytest.raises(Refused):
        Fetcher(resolver=lambda host, port: ["1.1.1.1"]).get(url)


def test_politeness_waits_between_visits_of_one_host(site):
    waits = []
    Fetcher(allow_private=True, pause_s=5, sleep=waits.append, clock=lambda: 100.0).get(f"{site}/page")
    assert waits == [5.0]


def test_a_page_goes_in_with_its_address_and_is_not_sent_again(site, tmp_path):
    options = {"home": tmp_path / "home", "embeddings": "hash", "allow_private": True}
    report = ingest_documents([f"{site}/page"], **options)
    assert (report.added, report.rejected) == (1, [])
    hit = PassageStore.open(tmp_path / "home", embeddings="hash").search("ports Gbps leaf switch", gate=False)[0]
    assert hit.source == hit.url == f"{site}/page"
    assert ingest_documents([f"{site}/page"], **options).unchanged == 1


def test_a_site_map_gives_the_pages_of_its_host_and_takes_back_what_it_lists_no_more(site, tmp_path, monkeypatch):
    monkeypatch.setattr("ingest.fetch.PAUSE_S", 0)
    monkeypatch.setattr(Fetcher, "_wait", lambda self, host: None)
    options = {"home": tmp_path / "home", "embeddings": "hash", "allow_private": True}
    report = ingest_documents([f"{site}/sitemap.xml"], **options)
    assert report.added == 2
    assert report.skipped == {"pages of another host in a site map": 1}
    Site.removed = True
    report = ingest_documents([f"{site}/sitemap.xml"], **options)
    assert (report.removed, report.unchanged) == (1, 1)


def test_a_site_map_with_entities_is_refused(site, tmp_path):
    report = ingest_documents([f"{site}/entities.xml"], home=tmp_path / "home", embeddings="hash", allow_private=True)
    assert "document type" in report.rejected[0].reason
