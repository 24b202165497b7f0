"""gpuhunt catalogues: rows, flags, errors, zips and dates."""

import io
import types
import zipfile

import pytest

from ingest.offers import ingest_offers
from ingest.offers.gpuhunt import items_to_csv, live_csv, read_gpuhunt, version_date
from ingest.offers.rows import to_offers
from ingest.report import Report
from knowledge.errors import StoreUnavailable
from knowledge.offers import OfferFilter, OfferStore

HEADER = "instance_name,location,price,cpu,memory,gpu_count,gpu_name,gpu_memory,spot,disk_size,gpu_vendor,flags,cpu_arch,provider_data"
ROWS = (
    "gpu_8x_h100_sxm5,us-east-1,31.92,208,1800.0,8,H100,80.0,False,,nvidia,,x86,{}",
    "gpu_8x_h100_sxm5,us-east-1,15.00,208,1800.0,8,H100,80.0,True,,nvidia,,x86,{}",
    "gpu_1x_h100_pcie,us-east-1,3.29,26,200.0,1,H100,80.0,false,,nvidia,,x86,{}",
    "cpu_4x,us-east-1,0.20,4,16.0,0,,,False,,,,x86,{}",
    "cluster,us-east-1,9.00,4,16.0,8,H100,80.0,False,,nvidia,runpod-cluster,x86,{}",
)


def read(*rows, provider="lambda", **more):
    report = Report()
    text = "\r\n".join([HEADER, *rows]) + "\r\n"
    return to_offers(read_gpuhunt(text, provider, f"{provider}.csv", "gpuhunt", report, **more), report), report


def test_rows():
    offers, report = read(*ROWS)
    assert {(o.instance_type, o.spot, o.price_usd_hour, o.gpu_variant) for o in offers} == {
        ("gpu_8x_h100_sxm5", False, 31.92, "SXM"),
        ("gpu_8x_h100_sxm5", True, 15.0, "SXM"),
        ("gpu_1x_h100_pcie", False, 3.29, "PCIe"),
    }
    assert report.skipped == {"no GPU": 1, "flag runpod-cluster": 1}
    assert report.rows_in == 5


def test_a_flag_can_be_allowed():
    offers, _ = read(ROWS[4], allow_flags=("runpod-cluster",))
    assert [offer.instance_type for offer in offers] == ["cluster"]


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ("x,us,cheap,4,16,1,L4,24,False,,nvidia,,x86,{}", "price"),
        ("x,us,,4,16,1,L4,24,False,,nvidia,,x86,{}", "price"),
        ("x,,1.0,4,16,1,L4,24,False,,nvidia,,x86,{}", "location"),
        ("x,us,1.0,4,16,1,L4,24,perhaps,,nvidia,,x86,{}", "spot"),
        ("x,us,1.0,4,16,1,L4,much,False,,nvidia,,x86,{}", "gpu_memory"),
    ],
)
def test_a_bad_row_is_told_and_the_rest_goes_in(row, field):
    offers, report = read(row, ROWS[2])
    assert len(offers) == 1
    assert (report.rejected[0].row, report.rejected[0].field) == (2, field)


def test_names_without_spaces_and_tpus():
    offers, _ = read(
        "a,us,1.0,4,16,1,RTX6000Ada,48,False,,nvidia,,x86,{}",
        "b,us,1.0,4,16,1,H100NVL,94,False,,nvidia,,x86,{}",
        "c,us,1.0,4,16,1,v5litepod-8,16,False,,google,,x86,{}",
        "d,us,1.0,4,16,1,A100,40,False,,nvidia,,x86,{}",
        "e,us,1.0,4,16,8,MI300X,192,False,,amd,,x86,{}",
        provider="oci",
    )
    assert [(o.gpu, o.gpu_variant, o.gpu_memory_gb) for o in offers] == [
        ("RTX 6000 Ada", "PCIe", 48),
        ("H100", "NVL", 94),
        ("TPU v5e", "unknown", 16),
        ("A100", "unknown", 40),
        ("MI300X", "OAM", 192),
    ]


def test_a_folder_and_a_zip_of_it_give_the_same(tmp_path):
    text = "\r\n".join([HEADER, *ROWS])
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "lambdalabs.csv").write_text(text)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("lambdalabs.csv", text)
    (tmp_path / "catalog.zip").write_bytes(buffer.getvalue())
    first = ingest_offers([tmp_path / "in"], home=tmp_path / "a")
    second = ingest_offers([tmp_path / "catalog.zip"], home=tmp_path / "b", as_of="2026-08-18")
    assert first.added + first.updated == second.added + second.updated == 3
    found = OfferStore(tmp_path / "b").search(OfferFilter(provider=("lambda",), limit=999)).offers
    assert {offer.as_of for offer in found if offer.catalogue == "gpuhunt"} == {"2026-08-18"}


def test_version_dates():
    assert version_date("20260818-42\n") == "2026-08-18"
    assert version_date("latest") == "unknown"


def test_live_items_take_the_published_form():
    item = types.SimpleNamespace(
        instance_name="x", location="us", price=1.5, cpu=8, memory=32.0, gpu_count=1, gpu_name="L4", gpu_memory=24.0,
        spot=False, gpu_vendor=types.SimpleNamespace(value="nvidia"), flags=[],
    )  # fmt: skip
    report = Report()
    offers = to_offers(read_gpuhunt(items_to_csv([item]), "runpod", "live", "live", report), report)
    assert [(offer.gpu, offer.price_usd_hour) for offer in offers] == [("L4", 1.5)]


def test_live_without_the_package_is_one_clear_line(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "gpuhunt", None)
    with pytest.raises(StoreUnavailable, match=r"pip install .*gpuhunt"):
        live_csv("vastai")
