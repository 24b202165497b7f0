"""Taking catalogues in: detection, folders, addresses, idempotence, changes, and what fails alone."""

import http.server
import io
import threading
import zipfile

import pytest

from ingest.offers import ingest_offers, inputs
from knowledge.errors import KnowledgeError
from knowledge.offers import OfferFilter, OfferStore

SKY = "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,Region,GpuInfo,SpotPrice\n"
HUNT = "instance_name,location,price,cpu,memory,gpu_count,gpu_name,gpu_memory,spot,disk_size,gpu_vendor,flags\n"


def sky(folder, provider, *lines):
    path = folder / provider / "vms.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(SKY + "\n".join(lines))
    return path


@pytest.fixture
def catalogues(tmp_path):
    folder = tmp_path / "catalogues"
    sky(folder, "cudo", "a40x1,A40,1,12,24,0.47,no-kristiansand-1,,", "cpu,,,2,4,0.05,no-kristiansand-1,,")
    sky(folder, "yotta", "x1,RTX5090,1,14,119,0.65,us-east-2,,", "x2,RTX5090,2,28,238,1.3,us-east-2,,")
    (folder / "common").mkdir()
    (folder / "common" / "accelerators.csv").write_text("AcceleratorName,Clouds\nA10,\"['Azure']\"\n")
    (folder / "slurm").mkdir()
    (folder / "slurm" / "pricing.csv").write_text("Region,Zone,PricePerVCPU\n,,0.0\n")
    (folder / "README.md").write_text("not a catalogue")
    return folder


def test_a_folder_of_catalogues(tmp_path, catalogues):
    report = ingest_offers([catalogues], home=tmp_path)
    assert report.rows_in == 4
    assert report.added == 3
    assert report.details["cudo"] == {"rows_in_offers": 1, "rows": 2, "offers": 1}
    others = {entry.source: entry.reason for entry in report.rejected}
    assert others == {
        "catalogues/common/accelerators.csv": "its columns are those of no known catalogue",
        "catalogues/slurm/pricing.csv": "its columns are those of no known catalogue",
    }


def test_again_changes_nothing(tmp_path, catalogues):
    ingest_offers([catalogues], home=tmp_path)
    stamp = (tmp_path / "offers" / "offers.parquet").stat().st_mtime_ns
    report = ingest_offers([catalogues], home=tmp_path)
    assert (report.added, report.updated, report.removed, report.unchanged, report.changes) == (0, 0, 0, 3, [])
    assert (tmp_path / "offers" / "offers.parquet").stat().st_mtime_ns == stamp


def test_a_newer_catalogue_replaces_the_provider_and_tells_what_changed(tmp_path, catalogues):
    ingest_offers([catalogues], home=tmp_path)
    path = sky(catalogues, "yotta", "x1,RTX5090,1,14,119,0.95,us-east-2,,", "x4,RTX5090,4,56,476,2.6,us-east-2,,")
    report = ingest_offers([path], home=tmp_path)
    assert (report.added, report.removed, report.updated) == (1, 1, 1)
    assert report.changes == [
        "! yotta x1 us-east-2: 0.65 -> 0.95 USD/h",
        "+ yotta x4 us-east-2",
        "- yotta x2 us-east-2",
    ]
    assert OfferStore(tmp_path).by_instance_type("a40x1")


def test_a_catalogue_that_fails_keeps_its_old_rows_and_the_others_go_on(tmp_path, catalogues):
    ingest_offers([catalogues], home=tmp_path)
    sky(catalogues, "yotta", "broken")
    sky(catalogues, "cudo", "a40x1,A40,1,12,24,0.50,no-kristiansand-1,,")
    report = ingest_offers([catalogues], home=tmp_path)
    assert report.updated == 1
    assert any("yotta" in warning and "kept" in warning for warning in report.warnings)
    assert len(OfferStore(tmp_path).search(OfferFilter(provider=("yotta",), instance_type=("x1", "x2"))).offers) == 2


def test_files_that_cannot_be_read_are_told(tmp_path):
    (tmp_path / "vms.csv").write_bytes(SKY.encode() + b"\xff\xfe\xff,L4,1,1,1,1,US,,\n")
    (tmp_path / "broken.zip").write_bytes(b"PK\x03\x04 not a zip")
    (tmp_path / "bad.json").write_text("{]")
    (tmp_path / "empty.csv").write_text("")
    names = ["vms.csv", "broken.zip", "bad.json", "empty.csv", "absent.csv"]
    report = ingest_offers([tmp_path / name for name in names], home=tmp_path / "home", provider="lambda")
    told = {entry.source.split("/")[-1] for entry in report.rejected}
    assert told == set(names)
    assert report.added == 0


def test_the_provider_can_be_named(tmp_path, catalogues):
    ingest_offers([catalogues / "yotta" / "vms.csv"], home=tmp_path, provider="Lambda Labs")
    assert {offer.provider for offer in OfferStore(tmp_path).by_instance_type("x2")} == {"lambda", "yotta"} - {"yotta"}


def test_an_unknown_provider_is_kept_as_written(tmp_path):
    report = ingest_offers([sky(tmp_path, "newcloud", "x,L4,1,8,32,0.5,US,,")], home=tmp_path)
    assert any("'newcloud' is not in providers.csv" in warning for warning in report.warnings)
    assert OfferStore(tmp_path).search(OfferFilter(provider=("newcloud",))).count == 1


def test_formats(tmp_path, catalogues):
    with pytest.raises(KnowledgeError, match="Unknown format 'excel'"):
        ingest_offers([catalogues], home=tmp_path, format="excel")
    report = ingest_offers([catalogues / "yotta" / "vms.csv"], home=tmp_path, format="gpuhunt")
    assert "lacks the columns of the gpuhunt form" in report.rejected[0].reason


def test_progress_is_told(tmp_path, catalogues):
    seen = []
    ingest_offers([catalogues], home=tmp_path, progress=lambda what, done, total: seen.append((done, total)))
    assert seen[0] == (0, 2)
    assert seen[-1] == (2, 2)


@pytest.fixture
def server(tmp_path):
    """A server of published catalogues: SkyPilot's files, and gpuhunt's version and zip."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("lambdalabs.csv", HUNT + "gpu_9x,us-east-1,9.5,8,32,1,L4,24,False,,nvidia,\n")
    pages = {
        "/catalogs/v8/yotta/vms.csv": (SKY + "web1,RTX5090,1,14,119,0.65,us-east-2,,\n").encode(),
        "/v3/lambdalabs/version": b"20260818-42\n",
        "/v3/lambdalabs/20260818-42/catalog.zip": buffer.getvalue(),
    }

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = pages.get(self.path)
            self.send_response(200 if body else 404)
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *args):
            pass

    served = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=served.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{served.server_port}"
    served.shutdown()
    served.server_close()


def test_published_catalogues(tmp_path, server):
    report = ingest_offers([f"{server}/catalogs/v8/yotta/vms.csv"], home=tmp_path, allow_private=True)
    assert report.rejected == []
    web = OfferStore(tmp_path).by_instance_type("web1")[0]
    assert (web.provider, web.source) == ("yotta", f"{server}/catalogs/v8/yotta/vms.csv")
    report = ingest_offers([f"{server}/v3"], home=tmp_path, format="gpuhunt", provider="lambdalabs", allow_private=True)
    assert report.rejected == []
    hunted = OfferStore(tmp_path).by_instance_type("gpu_9x")[0]
    assert (hunted.provider, hunted.as_of, hunted.catalogue) == ("lambda", "2026-08-18", "gpuhunt")


def test_addresses_that_fail_are_told_and_the_rest_goes_on(tmp_path, server, catalogues):
    report = ingest_offers(
        [f"{server}/none.csv", "http://127.0.0.1:1/vms.csv", catalogues], home=tmp_path, allow_private=True
    )
    assert any("answered 404" in entry.reason for entry in report.rejected)
    assert any("cannot be fetched" in entry.reason for entry in report.rejected)
    assert report.added == 3


def test_an_answer_without_end_is_refused(tmp_path, server, monkeypatch):
    monkeypatch.setattr(inputs, "MAX_BYTES", 10)
    report = ingest_offers([f"{server}/catalogs/v8/yotta/vms.csv"], home=tmp_path, allow_private=True)
    assert "10 bytes" in report.rejected[0].reason or "larger" in report.rejected[0].reason


def test_private_addresses_are_not_fetched_unasked(tmp_path, server):
    report = ingest_offers([f"{server}/catalogs/v8/yotta/vms.csv"], home=tmp_path)
    assert report.added == 0
    assert len(report.rejected) == 1


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("metadata.csv", "AcceleratorName,GpuMemoryGB"),
        ("servers.csv", "vendor_id,server_id,gpu_count,gpu_model,observed_at"),
        ("prices.csv", "provider,gpu,price_per_hour,tier,url"),
    ],
)
def test_sets_of_other_forms_are_not_taken_for_catalogues(tmp_path, name, header):
    """Tables without prices, or whose memory sizes and models are known to be wrong, have no reader and are told so."""
    (tmp_path / name).write_text(f"{header}\nx,80,8,H100,2026\n")
    report = ingest_offers([tmp_path / name], home=tmp_path)
    assert [entry.reason for entry in report.rejected] == ["its columns are those of no known catalogue"]
    assert report.added == 0
