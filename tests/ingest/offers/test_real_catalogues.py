"""The real catalogues, where they lie beside the project: nothing crashes, every row is in or in the report."""

import csv
import io

import pytest

from ingest.offers import ingest_offers
from ingest.offers.inputs import find_files
from ingest.offers.run import read_file
from ingest.report import Report
from knowledge.offers import OfferFilter, OfferStore


@pytest.fixture
def skypilot(shared):
    folder = shared / "offers" / "skypilot"
    if not folder.is_dir():
        pytest.skip("the real catalogues are not beside the project")
    return folder


def test_every_row_is_in_or_in_the_report(skypilot):
    for file in find_files(skypilot, "auto", None, Report()):
        report = Report()
        read_file(file, report)
        lines = sum(1 for row in csv.reader(io.StringIO(file.raw.decode())) if row) - 1
        assert report.rows_in == lines, file.label
        if file.provider != "gcp":
            counts = [
                part.get(name, 0)
                for part in report.details.values()
                for name in ("rows_in_offers", "rows_without_offer")
            ]
            refused = {
                entry.row
                for entry in report.rejected
                if "values under" in entry.reason or entry.field == "AcceleratorCount"
            }
            assert sum(counts) + sum(report.skipped.values()) + len(refused) == lines, file.label
        told = {entry.row for entry in report.rejected}
        assert len(told) >= sum(
            part.get("rows_without_offer", 0) for part in report.details.values()
        ) - report.details.get("gcp", {}).get("rows_without_offer", 0), file.label


def test_the_whole_folder_goes_in_twice_without_a_change(skypilot, tmp_path):
    first = ingest_offers([skypilot], home=tmp_path)
    assert first.rows_in > 5000
    assert first.added + first.updated > 4000
    again = ingest_offers([skypilot], home=tmp_path)
    assert (again.added, again.updated, again.removed) == (0, 0, 0)
    store = OfferStore(tmp_path)
    assert store.count > 4500
    rdma = store.search(OfferFilter(provider=("gcp",), rdma=True, limit=9999)).offers
    assert all(offer.instance_type.startswith(("a3-ultragpu", "a4")) for offer in rdma)
    infiniband = store.search(OfferFilter(provider=("azure",), fabric=("infiniband",), limit=9999)).offers
    assert infiniband
    assert all(
        offer.instance_type.startswith("Standard_ND") and "r" in offer.instance_type.split("_")[1][2:]
        for offer in infiniband
    )
    assert not store.search(OfferFilter(provider=("mithril",))).count
    cheap = list(store.search(OfferFilter(provider=("gcp",), gpu=("H100",), spot=False, limit=9999)).offers)
    assert all(offer.price_usd_gpu_hour > 9 for offer in cheap if offer.price_usd_gpu_hour)


def test_gpuhunt_samples(shared, tmp_path):
    folder = shared / "offers" / "gpuhunt_sample"
    if not folder.is_dir():
        pytest.skip("the samples are not beside the project")
    report = ingest_offers([folder], home=tmp_path)
    assert report.rejected == []
    assert report.added + report.updated + report.unchanged == report.rows_in - report.merged
    assert {"lambda", "nebius", "oci", "verda"} <= set(report.details)
