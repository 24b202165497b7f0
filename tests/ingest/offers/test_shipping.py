"""Making the shipped table from lists of facts: spot apart, brokers, currencies, Japan's yen, closed rates left out."""

import csv

import pytest

from ingest.offers import ship
from ingest.offers.japan import japan_rows
from ingest.report import Report
from knowledge.fx import usd_jpy
from knowledge.offer_table import SHIPPED

FACTS = "provider,instance_type,gpu_model,gpu_variant,gpu_count,gpu_memory_gb,vcpus,ram_gb,region,country,price_usd_hour,spot_usd_hour,currency,source,as_of"
JAPAN = "provider,product,instance_type,gpu_model,gpu_variant,gpu_count,gpu_memory_gb,vcpus,ram_gb,region,price_jpy_hour,price_jpy_month,tax,billing_unit,price_usd_hour,source_url,as_of"


def facts(tmp_path, *lines):
    path = tmp_path / "facts.csv"
    path.write_text("\n".join([FACTS, *lines]), encoding="utf-8")
    report = Report()
    return list(ship._once(list(ship.facts_rows(path, report)), report)), report


def japan(tmp_path, *lines):
    path = tmp_path / "japan.csv"
    path.write_text("\n".join([JAPAN, *lines]), encoding="utf-8")
    report = Report()
    return japan_rows(path, report), report


def test_on_demand_and_spot_are_rows_of_their_own(tmp_path):
    rows, _ = facts(tmp_path, "aws,g6.xlarge,L4,PCIe,1,24,4,16,us-east-1,US,0.8,0.3,USD,skypilot-catalog v8 aws@1,")
    assert [(row["spot"], row["price_usd_hour"], row["as_of"]) for row in rows] == [
        ("false", "0.8", "unknown"),
        ("true", "0.3", "unknown"),
    ]
    assert rows[0]["source"] == "skypilot-catalog v8/aws@1"


def test_a_spot_price_equal_to_the_price_is_none(tmp_path):
    rows, _ = facts(tmp_path, "runpod,x,L4,PCIe,1,24,4,16,US,US,0.8,0.8,USD,s v1,")
    assert [row["spot"] for row in rows] == ["false"]


def test_brokers(tmp_path):
    rows, _ = facts(
        tmp_path,
        "shadeform/lambdalabs,lambdalabs_H100-sxm5x8,H100,SXM,8,80,,,dallas-usa-3,US,31.9,,USD,s v1,",
        "primeintellect,hyperstack__1xA100_80GB__28__120,A100,PCIe,1,80,,,CANADA-1,CA,1.35,,USD,s v1,",
    )
    assert [(row["provider"], row["broker"]) for row in rows] == [
        ("lambda", "shadeform"),
        ("hyperstack", "primeintellect"),
    ]


def test_prices_of_pages_keep_their_address_and_tier(tmp_path):
    rows, _ = facts(
        tmp_path,
        "akash,akash-h100,H100,,1,80,,,,,,1.25,USD,set/prices@1 [marketplace] https://akash.network/pricing/,2026-05-24",
    )
    assert rows[0]["source"] == "https://akash.network/pricing/ (set/prices@1)"
    assert rows[0]["price_note"] == "Lowest price seen on a marketplace."
    assert (rows[0]["catalogue"], rows[0]["region"]) == ("price-page", "unknown")


def test_a_doubtful_currency_gives_no_dollars(tmp_path):
    rows, _ = facts(tmp_path, "seeweb,ECS1,L40S,PCIe,1,48,,,it-fr2,IT,0.85,,EUR(unverified),s v1,")
    assert (rows[0].get("price_usd_hour"), rows[0]["currency"], rows[0]["price_original_hour"]) == (
        None,
        "EUR?",
        "0.85",
    )


def test_what_is_not_known_is_told(tmp_path):
    rows, report = facts(
        tmp_path,
        "acme,x,L4,PCIe,1,24,,,us,US,1,,USD,s,",
        "aws,x,X9000,PCIe,1,24,,,us,US,1,,USD,s,",
        "aws,x,L4,PCIe,1,24,,,us,US,,,USD,s,",
    )
    assert rows == []
    assert set(report.reasons()) == {"provider not in providers.csv", "GPU not in gpu_names.csv", "no price"}


def test_twins_keep_the_lower_price(tmp_path):
    line = "simplepod,g,RTX 4090,PCIe,4,24,128,512,Europe-PL,PL,{},,USD,s v1,"
    rows, _ = facts(tmp_path, line.format(1.36), line.format(1.28))
    assert [row["price_usd_hour"] for row in rows] == ["1.28"]


def test_yen_is_converted_with_its_dated_rate_and_tax_told(tmp_path):
    rows, _ = japan(
        tmp_path,
        'Sakura Internet,高火力 VRT,x,H100,,1,80,24,240,"is1a, is1b (Ishikari)",990,385000,included (inferred),hour; caps 385000/month,,https://s.example,2026-06-13',
    )
    row = rows[0]
    assert float(row["price_usd_hour"]) == pytest.approx(990 / usd_jpy().rate, abs=1e-3)
    assert (row["region"], row["city"], row["country"], row["currency"]) == ("is1a", "Ishikari", "JP", "JPY")
    for words in ("990 JPY/h", usd_jpy().as_of, "385,000 JPY a month at most", "10 % consumption tax included"):
        assert words in row["price_note"]


def test_monthly_prices_make_no_hour_price(tmp_path):
    rows, _ = japan(
        tmp_path,
        "GMO,GMO GPUクラウド,8x,H200,SXM,8,141,,,Japan (Fukuoka),,3800000,unknown,month,,https://g.example,2026-03-10",
    )
    assert rows[0]["price_usd_hour"] == ""
    assert "3,800,000 JPY a month" in rows[0]["price_note"]
    assert "not stated" in rows[0]["price_note"]


def test_rates_of_closed_programmes_are_left_out(tmp_path):
    rows, report = japan(
        tmp_path,
        "Science Tokyo TSUBAME4.0,共同利用 (academic),node,H100,SXM,4,94,,,Tokyo,275,,included,unit,,https://t.example,2026-01-01",
        "AIST ABCI 3.0,ABCI 3.0,rt_HF standard,H200,SXM,8,141,,,Kashiwa,3520,,unknown,point,,https://a.example,2026-01",
    )
    assert [row["provider"] for row in rows] == ["abci"]
    assert rows[0]["as_of"] == "2026-01-01"
    assert "use is by application" in rows[0]["price_note"]
    assert "a rate of a closed programme is no offer" in report.reasons()


def test_the_command_writes_the_table(tmp_path, monkeypatch, capsys):
    path = tmp_path / "facts.csv"
    path.write_text("\n".join([FACTS, "aws,g6.xlarge,L4,PCIe,1,24,4,16,us-east-1,US,0.8,,USD,s v1,"]))
    out = tmp_path / "out.csv"
    monkeypatch.setattr("sys.argv", ["ship", "--facts", str(path), "--out", str(out)])
    ship.main()
    assert "1 offers of 1 providers" in capsys.readouterr().out
    with out.open(encoding="utf-8", newline="") as handle:
        assert [row["instance_type"] for row in csv.DictReader(handle)] == ["g6.xlarge"]


def test_the_shipped_table_is_what_the_command_makes(shared, tmp_path, monkeypatch):
    given = shared / "offers" / "offers_facts.csv"
    if not given.is_file():
        pytest.skip("the lists of facts are not beside the project")
    out = tmp_path / "out.csv"
    arguments = [
        "--facts",
        given,
        "--japan",
        shared / "facts" / "japan.csv",
        "--catalogues",
        shared / "offers" / "skypilot",
        "--out",
        out,
    ]
    monkeypatch.setattr("sys.argv", ["ship", *map(str, arguments)])
    ship.main()
    assert out.read_text(encoding="utf-8") == SHIPPED.read_text(encoding="utf-8")
