"""A shared offers table as a file, a folder, on a web server and in object storage."""

import http.server
import os
import threading
import urllib.parse

import pytest

from knowledge.errors import StoreUnavailable
from knowledge.offer_source import SharedTable
from knowledge.offer_table import make_offer, write_table
from knowledge.offers import OfferFilter, OfferStore


def _offers(price, count=3):
    return [
        make_offer(
            provider="teamcloud",
            instance_type=f"t{number}",
            gpu="H100",
            gpu_count=8,
            source="own",
            price_usd_hour=price,
        )
        for number in range(count)
    ]


def _write(path, price, count=3):
    write_table(path, _offers(price, count), {})
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + int(price * 1e9)))


def _prices(store):
    return {offer.price_usd_hour for offer in store.search(OfferFilter(provider=("teamcloud",))).offers}


def test_a_file_and_its_changes(tmp_path):
    path = tmp_path / "offers.parquet"
    _write(path, 10)
    store = OfferStore(tmp_path / "home", source=str(path))
    assert (store.count, _prices(store)) == (3, {10.0})
    _write(path, 20, 4)
    assert (store.count, _prices(store)) == (4, {20.0})
    with pytest.raises(StoreUnavailable, match="read only"):
        store.replace("teamcloud", "own", [])


def test_a_folder_of_files(tmp_path):
    folder = tmp_path / "offers"
    folder.mkdir()
    _write(folder / "a.parquet", 10)
    store = OfferStore(tmp_path / "home", source=str(folder))
    assert store.count == 3
    write_table(folder / "b.parquet", _offers(30), {})
    assert store.count == 6
    assert _prices(store) == {10.0, 30.0}


def test_a_damaged_new_state_leaves_the_one_before(tmp_path):
    path = tmp_path / "offers.parquet"
    _write(path, 10)
    store = OfferStore(tmp_path / "home", source=str(path))
    path.write_bytes(b"PAR1 not a table")
    assert _prices(store) == {10.0}
    _write(path, 20)
    assert _prices(store) == {20.0}


@pytest.mark.parametrize("make", [lambda path: None, lambda path: path.mkdir(), lambda path: path.write_text("x")])
def test_what_cannot_be_read_at_the_start_is_said(tmp_path, make):
    path = tmp_path / "offers.parquet"
    make(path)
    with pytest.raises(StoreUnavailable, match="ADVISOR_OFFERS"):
        OfferStore(tmp_path / "home", source=str(path))


def test_keys_in_an_address_are_not_in_messages():
    with pytest.raises(StoreUnavailable) as caught:
        SharedTable("http://user:secret-1@127.0.0.1:1/offers.parquet?token=secret-2").read()
    assert "secret" not in str(caught.value)


class Storage(http.server.BaseHTTPRequestHandler):
    """As much of a web server, and of S3, as reading an object needs: HEAD, GET with ranges."""

    def _send(self, body):
        found = self.server.objects.get(urllib.parse.urlsplit(self.path).path)
        self.server.seen.append((self.command, self.path))
        if found is None or self.server.down:
            self.send_response(404 if not self.server.down else 503)
            self.send_header("content-length", "0")
            self.end_headers()
            return
        first, last = 0, len(found) - 1
        asked = self.headers.get("range")
        if asked:
            low, high = asked.removeprefix("bytes=").split("-")
            first, last = int(low), min(int(high or last), last)
        part = found[first : last + 1]
        self.send_response(206 if asked else 200)
        self.send_header("content-length", str(len(part)))
        if asked:
            self.send_header("content-range", f"bytes {first}-{last}/{len(found)}")
        self.send_header("etag", f'"{hash(found)}"')
        self.send_header("last-modified", "Mon, 02 Nov 2026 00:00:00 GMT")
        self.end_headers()
        if body:
            self.wfile.write(part)

    def do_HEAD(self):
        self._send(False)

    def do_GET(self):
        self._send(True)

    def log_message(self, *_):
        pass


@pytest.fixture
def storage(tmp_path):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Storage)
    server.objects, server.seen, server.down = {}, [], False
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def _bytes(tmp_path, price, count=3):
    _write(tmp_path / "made.parquet", price, count)
    return (tmp_path / "made.parquet").read_bytes()


def test_a_web_server_and_its_absence(tmp_path, storage, monkeypatch):
    monkeypatch.setattr("knowledge.offer_source.CHECK_S", 0.0)
    storage.objects["/offers.parquet"] = _bytes(tmp_path, 10)
    store = OfferStore(tmp_path / "home", source=f"http://127.0.0.1:{storage.server_port}/offers.parquet")
    assert _prices(store) == {10.0}
    gets = sum(method == "GET" for method, _ in storage.seen)
    assert _prices(store) == {10.0}
    assert sum(method == "GET" for method, _ in storage.seen) == gets
    storage.objects["/offers.parquet"] = _bytes(tmp_path, 20, 5)
    assert (store.count, _prices(store)) == (5, {20.0})
    storage.down = True
    assert _prices(store) == {20.0}


def test_object_storage(tmp_path, storage, monkeypatch):
    for name, value in (
        ("AWS_ACCESS_KEY_ID", "k"),
        ("AWS_SECRET_ACCESS_KEY", "s"),
        ("AWS_EC2_METADATA_DISABLED", "true"),
    ):
        monkeypatch.setenv(name, value)
    storage.objects["/team/offers.parquet"] = _bytes(tmp_path, 10)
    address = f"s3://team/offers.parquet?scheme=http&endpoint_override=127.0.0.1:{storage.server_port}&region=us-east-1"
    store = OfferStore(tmp_path / "home", source=address)
    assert _prices(store) == {10.0}
