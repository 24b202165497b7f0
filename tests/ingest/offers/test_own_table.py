"""Our own table of offers: CSV, JSON, JSON lines and Parquet; what it states of links is believed."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ingest.offers import ingest_offers
from knowledge.fx import usd_jpy
from knowledge.offers import OfferFilter, OfferStore

ROWS = [
    {"provider": "acme", "instance_type": "big", "gpu": "HGX H200", "gpu_count": 8, "price_usd_hour": 20.5, "region": "Tokyo", "nvlink": "yes", "internode_fabric": "infiniband", "internode_gbit_s_per_node": 3200, "internode_rdma": "yes", "as_of": "2026-11-01"},
    {"provider": "さくら", "instance_type": "vrt", "gpu": "H100 80GB", "gpu_count": 1, "price_hour": 990, "currency": "jpy", "region": "is1a"},
    {"provider": "acme", "instance_type": "ask", "gpu": "B300", "gpu_count": 8},
    {"provider": "acme", "instance_type": "euro", "gpu": "L4", "gpu_count": 1, "price_hour": 0.5, "currency": "EUR"},
]  # fmt: skip


def write(path, rows):
    names = list(dict.fromkeys(name for row in rows for name in row))
    if path.suffix == ".csv":
        lines = [",".join(names)] + [",".join(str(row.get(name, "")) for name in names) for row in rows]
        path.write_text("\n".join(lines), encoding="utf-8")
    elif path.suffix == ".jsonl":
        path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    elif path.suffix == ".json":
        path.write_text(json.dumps({"offers": rows}), encoding="utf-8")
    else:
        pq.write_table(pa.Table.from_pylist([{name: row.get(name) for name in names} for row in rows]), path)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".json", ".jsonl", ".parquet"])
def test_every_form_gives_the_same_offers(tmp_path, suffix):
    report = ingest_offers([write(tmp_path / f"private{suffix}", ROWS)], home=tmp_path)
    assert (report.added, report.rejected) == (4, [])
    store = OfferStore(tmp_path)
    big = store.by_instance_type("big")[0]
    assert (big.gpu, big.gpu_variant, big.city, big.as_of) == ("H200", "SXM", "Tokyo", "2026-11-01")
    assert (big.nvlink, big.internode_fabric, big.internode_gbit_s_per_node, big.fabric_confidence) == (
        "yes",
        "infiniband",
        3200,
        "stated",
    )
    assert store.search(OfferFilter(provider=("acme",), rdma=True, fabric=("infiniband",))).count == 1
    yen = store.by_instance_type("vrt")[0]
    assert yen.provider == "sakura"
    assert yen.price_usd_hour == pytest.approx(990 / usd_jpy().rate, abs=1e-3)
    assert (yen.currency, yen.price_original_hour) == ("JPY", 990)
    assert usd_jpy().as_of in yen.price_note
    assert store.by_instance_type("ask")[0].price_usd_hour is None
    euro = store.by_instance_type("euro")[0]
    assert (euro.price_usd_hour, euro.price_original_hour) == (None, 0.5)
    assert "no rate" in euro.price_note


@pytest.mark.parametrize(
    ("change", "field", "reason"),
    [
        ({"gpu": ""}, "gpu", "required"),
        ({"gpu_count": "many"}, "gpu_count", "not a number"),
        ({"price_usd_hour": -1}, "price_usd_hour", "zero or more"),
        ({"nvlink": "sure"}, "nvlink", "must be one of"),
        ({"internode_fabric": "wifi"}, "internode_fabric", "must be one of"),
        ({"spot": "perhaps"}, "spot", "neither true nor false"),
    ],
)
def test_a_bad_row_is_refused_with_field_value_and_reason(tmp_path, change, field, reason):
    rows = [ROWS[0], {**ROWS[0], "instance_type": "bad", **change}]
    report = ingest_offers([write(tmp_path / "t.csv", rows)], home=tmp_path)
    assert report.added == 1
    assert [(entry.row, entry.field) for entry in report.rejected] == [(3, field)]
    assert reason in report.rejected[0].reason


def test_links_left_empty_are_joined(tmp_path):
    rows = [
        {
            "provider": "aws",
            "instance_type": "p5.48xlarge",
            "gpu": "H100",
            "gpu_count": 8,
            "price_usd_hour": 40,
            "region": "us-east-1",
        }
    ]
    ingest_offers([write(tmp_path / "contract.csv", rows)], home=tmp_path)
    mine = [
        offer for offer in OfferStore(tmp_path).by_instance_type("p5.48xlarge") if offer.catalogue == "table:contract"
    ]
    assert [(o.nvlink, o.internode_fabric, o.gpu_variant) for o in mine] == [("yes", "efa", "SXM")]


def test_a_row_that_left_the_table_leaves_the_store(tmp_path):
    path = write(tmp_path / "private.csv", ROWS)
    ingest_offers([path], home=tmp_path)
    report = ingest_offers([write(path, ROWS[:1])], home=tmp_path)
    assert (report.removed, report.unchanged) == (3, 1)
    assert any(line.startswith("- ") for line in report.changes)


def test_exported_offers_can_be_taken_in_again(tmp_path):
    store = OfferStore(tmp_path / "a")
    exported = [offer.model_dump() for offer in store.search(OfferFilter(provider=("oci",), limit=5)).offers]
    (tmp_path / "export.json").write_text(json.dumps(exported))
    report = ingest_offers([tmp_path / "export.json"], home=tmp_path / "b")
    assert report.rejected == []
    assert report.warnings == []
    assert report.updated == 5


def test_columns_that_are_not_read_are_told(tmp_path):
    report = ingest_offers([write(tmp_path / "t.csv", [{**ROWS[0], "colour": "red"}])], home=tmp_path)
    assert any("colour" in warning for warning in report.warnings)


def test_a_memory_that_no_such_card_has_is_told(tmp_path):
    rows = [
        {
            "provider": "acme",
            "instance_type": "b",
            "gpu": "B300",
            "gpu_count": 8,
            "gpu_memory_gb": 180,
            "price_usd_hour": 60,
        }
    ]
    report = ingest_offers([write(tmp_path / "t.csv", rows)], home=tmp_path)
    assert report.added == 1
    assert any("180 GB is no size of the B300" in warning for warning in report.warnings)


def test_a_price_far_from_what_such_cards_cost_is_told(tmp_path):
    rows = [{"provider": "acme", "instance_type": "b", "gpu": "H100", "gpu_count": 8, "price_usd_hour": 0.8}]
    report = ingest_offers([write(tmp_path / "t.csv", rows)], home=tmp_path)
    assert any("outside" in warning and "H100" in warning for warning in report.warnings)
