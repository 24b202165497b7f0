"""Items from addresses: a page, a raw file, or a site map with the pages it lists."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit
from xml.etree import ElementTree

from ingest.documents.discover import Found, Item, Unchanged
from ingest.fetch import Fetched, Fetcher, Refused
from ingest.report import Report

MAX_PAGES = 2000
MAX_SITE_MAPS = 50


def find_remote(
    url: str,
    report: Report,
    *,
    allow_private: bool = False,
    etags: Mapping[str, str | None] | None = None,
    fetcher: Fetcher | None = None,
) -> Found:
    """The items of an address. A site map gives its pages, of its own host only; what cannot be fetched is reported."""
    fetcher = fetcher or Fetcher(allow_private=allow_private)
    etags = etags or {}
    try:
        answer = fetcher.get(url, etag=etags.get(url))
    except Refused as error:
        report.reject(url, str(error))
        return Found(url, [], complete=False)
    if answer.unchanged:
        report.unchanged += 1
        report.rows_in += 1
        report.details[url] = {"unchanged": 1}
        return Found(url, [], complete=False)
    if not _is_site_map(answer):
        return Found(url, [_item(url, answer, url)])
    found = Found(url)
    host = urlsplit(answer.url).hostname
    pages = _pages(fetcher, answer, report, host)
    for page in pages[:MAX_PAGES]:
        found.items.append(_late(page, fetcher, url, etags.get(page)))
    if len(pages) > MAX_PAGES:
        report.warn(f"{url} lists {len(pages)} pages; the first {MAX_PAGES} were taken.")
        found.complete = False
    return found


def _is_site_map(answer: Fetched) -> bool:
    return bool(re.search(rb"<(?:\w+:)?(?:urlset|sitemapindex)\b", answer.data[:2000]))


def _pages(fetcher: Fetcher, answer: Fetched, report: Report, host: str | None) -> list[str]:
    """The pages of a site map and of the site maps it names, of one host, each once."""
    out: dict[str, None] = {}
    waiting, seen = [answer], {answer.url}
    while waiting:
        one = waiting.pop()
        kind, addresses = _locations(one, report)
        for address in addresses:
            if urlsplit(address).hostname != host:
                report.skip("pages of another host in a site map")
            elif kind == "urlset":
                out[address] = None
            elif address not in seen and len(seen) < MAX_SITE_MAPS:
                seen.add(address)
                try:
                    waiting.append(fetcher.get(address))
                except Refused as error:
                    report.reject(address, str(error))
    return list(out)


def _locations(answer: Fetched, report: Report) -> tuple[str, list[str]]:
    if b"<!ENTITY" in answer.data or b"<!DOCTYPE" in answer.data[:2000]:
        report.reject(answer.url, "a site map with a document type is not read")
        return "", []
    try:
        root = ElementTree.fromstring(answer.data)
    except ElementTree.ParseError as error:
        report.reject(answer.url, f"the site map cannot be read ({error})")
        return "", []
    kind = root.tag.rsplit("}", 1)[-1]
    addresses = [str(node.text).strip() for node in root.iter() if node.tag.rsplit("}", 1)[-1] == "loc" and node.text]
    return kind, addresses


def _item(url: str, answer: Fetched, root: str) -> Item:
    return _fill(Item(source=url, key=url, relative="", root=root, read=lambda: answer.data), answer)


def _fill(item: Item, answer: Fetched) -> Item:
    parts = urlsplit(answer.url)
    item.relative = parts.path.strip("/") or "index.html"
    item.host = parts.hostname
    item.url = answer.url
    item.media_type, item.charset, item.etag = answer.media_type, answer.charset, answer.etag
    item.file_date = _date(answer.last_modified)
    return item


def _late(url: str, fetcher: Fetcher, root: str, etag: str | None) -> Item:
    """An item that is fetched when it is read."""
    parts = urlsplit(url)
    item = Item(
        source=url,
        key=url,
        relative=parts.path.strip("/") or "index.html",
        root=root,
        read=lambda: b"",
        url=url,
        host=parts.hostname,
        media_type="text/html",
    )

    def read() -> bytes:
        try:
            answer = fetcher.get(url, etag=etag)
        except Refused as error:
            raise OSError(str(error)) from error
        if answer.unchanged:
            raise Unchanged(url)
        _fill(item, answer)
        return answer.data

    reader: Callable[[], bytes] = read
    item.read = reader
    return item


def _date(value: str | None) -> str | None:
    if not value:
        return None
    try:
        return parsedate_to_datetime(value).date().isoformat()
    except (TypeError, ValueError):
        return None
