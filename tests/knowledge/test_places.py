"""Places by any name, and the places of regions as catalogues write them."""

import csv

import pytest

from knowledge.places import DATA, country_codes, country_name, locate, place_names, resolve_place


@pytest.mark.parametrize(
    ("text", "kind", "name"),
    [
        ("東京", "city", "Tokyo"),
        ("東京リージョン", "city", "Tokyo"),
        ("Tokyo", "city", "Tokyo"),
        ("大阪", "city", "Osaka"),
        ("国内", "country", "Japan"),
        ("日本", "country", "Japan"),
        ("JP", "country", "Japan"),
        ("アメリカ", "country", "United States"),
        ("米国", "country", "United States"),
        ("US", "country", "United States"),
        ("UK", "country", "United Kingdom"),
        ("シンガポール", "country", "Singapore"),
        ("Singapore", "country", "Singapore"),
        ("Europe", "group", "Europe"),
        ("ヨーロッパ", "group", "Europe"),
        ("欧州", "group", "Europe"),
        ("EU", "group", "EU"),
        ("アジア", "group", "Asia"),
        ("北米", "group", "North America"),
        ("ap-northeast-1", "region", "ap-northeast-1"),
        ("JAPANEAST", "region", "japaneast"),
    ],
)
def test_resolve_place(text, kind, name):
    place = resolve_place(text)
    assert (place.kind, place.name) == (kind, name)


@pytest.mark.parametrize("text", ["", "it", "us", "no", "nowhere", "H100", "ABC"])
def test_ordinary_words_are_no_places(text):
    assert resolve_place(text) is None


def test_what_a_place_holds():
    assert resolve_place("東京").cities == ("Tokyo",)
    assert resolve_place("東京").countries == ("JP",)
    europe, union = set(resolve_place("Europe").countries), set(resolve_place("EU").countries)
    assert union < europe
    assert {"GB", "NO", "CH", "IS"} <= europe - union
    assert resolve_place("ap-northeast-3").cities == ("Osaka",)


@pytest.mark.parametrize(
    ("region", "provider", "country", "city"),
    [
        ("ap-northeast-1", "aws", "JP", "Tokyo"),
        ("ap-northeast-3", "aws", "JP", "Osaka"),
        ("asia-northeast1", "gcp", "JP", "Tokyo"),
        ("asia-northeast2", "gcp", "JP", "Osaka"),
        ("japaneast", "azure", "JP", "Tokyo"),
        ("japanwest", "azure", "JP", "Osaka"),
        ("jp-osa", "ibm", "JP", "Osaka"),
        ("asia-northeast-2", "lambda", "JP", "Osaka"),
        ("me-west-1", "lambda", "IL", None),
        ("me-west-1", None, "IL", None),
        ("FIN-01", "verda", "FI", "Helsinki"),
        ("GRA", "ovhcloud", "FR", "Gravelines"),
        ("IT-fr2", "seeweb", "IT", None),
        ("CANADA-1", "hyperstack", "CA", "Montreal"),
        ("UTAH_USA", "fluidstack", "US", "Salt Lake City"),
        ("East Coast (NY2)", "paperspace", "US", "New York"),
        ("kansascity-usa-1", None, "US", "Kansas City"),
        ("tokyo-japan-5", None, "JP", "Tokyo"),
        ("Finland 3", "spheron", "FI", "Helsinki"),
        ("Denmark, DK, EU", "vast", "DK", None),
        (", CA, NA", "vast", "CA", None),
        ("British Columbia, CA, NA", "vast", "CA", None),
        ("Europe-NO", "simplepod", "NO", None),
        ("North America-CA", "simplepod", "CA", None),
        ("US", "lium", "US", None),
        ("us-east1-a", "crusoe", "US", None),
        ("default", "hyperbolic", None, None),
        ("", "seeweb", None, None),
        ("a3111bd4-550a-47d0-838a-0a52bff2ae3f", None, None, None),
    ],
)
def test_locate(region, provider, country, city):
    assert locate(region, provider) == (country, city)


def test_the_table_is_whole():
    with (DATA / "places.csv").open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    cities = {(row["key"], row["country"]) for row in rows if row["kind"] == "city"} | {
        ("Singapore", "SG"),
        ("Hong Kong", "HK"),
    }
    named = {row["country"] for row in rows if row["kind"] == "country"}
    for row in rows:
        assert row["source"], row
        if row["kind"] == "region":
            assert row["country"] in named, row
            assert not row["city"] or (row["city"], row["country"]) in cities, row
        if row["kind"] == "group":
            assert set(row["members"].split("|")) <= named, row
    keys = [(row["key"].lower(), row["provider"]) for row in rows if row["kind"] == "region"]
    assert len(keys) == len(set(keys))
    assert "JP" in country_codes()
    assert place_names()["東京"].cities == ("Tokyo",)
    assert country_name("JP", "ja") == "日本"
    assert country_name("JP") == "Japan"
    assert country_name("XX") == "XX"
