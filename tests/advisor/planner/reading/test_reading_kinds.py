"""Tables of single parts: machine families, kinds of sellers, spans of rental, sides that are weighed, kinds of question."""

import pytest

from advisor.planner.reading import load_lexicon, read
from advisor.planner.reading.alternatives import kind_of_question, layouts
from advisor.planner.reading.conditions import bare_memory, together
from advisor.planner.reading.families import family_nodes, read_families
from advisor.planner.reading.models import apart
from advisor.planner.reading.normalize import normalize
from advisor.planner.reading.providers import group_mentions, provider_fields, read_providers
from advisor.planner.reading.quantities import read_numbers
from advisor.planner.reading.spans import rental_hours


@pytest.mark.parametrize(
    ("text", "cloud", "nodes"),
    [
        ("p5en in Tokyo", "aws", None),
        ("4x p4de for 30B", "aws", 4),
        ("ND H100 v5を4台で", "azure", 4),
        ("NC A100 v4 x 2", "azure", 2),
        ("p6-b200 price", "aws", None),
        ("GCPのA3 Megaを2ノード", "gcp", 2),
        ("ABCIのrt_HF", "abci", None),
        ("高火力 PHYを3台", "sakura", 3),
    ],
)
def test_a_family_is_a_cloud_s(text, cloud, nodes):
    norm = normalize(text)
    (family,) = read_families(norm, load_lexicon(), read_providers(norm, load_lexicon()))
    assert (family.cloud, family.nodes) == (cloud, nodes) and family.types
    assert family_nodes([family]) == ({"nodes": nodes} if nodes else {})


@pytest.mark.parametrize(
    "text", ["NVIDIA A2 price", "p5.js sketch", "standard_nd96isr_h100_v5", "p5.48xlarge", "p50 latency", "g2"]
)
def test_other_names_are_no_family(text):
    norm = normalize(text)
    assert read_families(norm, load_lexicon(), []) == []


@pytest.mark.parametrize(
    ("text", "kind", "field"),
    [
        ("no hyperscalers please", "hyperscaler", "not_providers"),
        ("大手クラウド以外で", "hyperscaler", "not_providers"),
        ("only hyperscalers", "hyperscaler", "providers"),
        ("exclude marketplaces", "marketplace", "not_providers"),
        ("neoclouds only", "hyperscaler", "not_providers"),
    ],
)
def test_kinds_of_sellers(text, kind, field):
    lexicon = load_lexicon()
    fields = provider_fields(group_mentions(normalize(text), lexicon))
    assert fields == {field: lexicon.provider_kinds[kind]}


def test_a_kind_that_is_only_spoken_of_limits_nothing():
    assert group_mentions(normalize("how do hyperscalers price H100?"), load_lexicon()) == []


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("AWSでもいい", {}),
        ("AWS fine too", {}),
        ("AWS is fine", {"providers": ("aws",)}),
        ("AWSのアカウントはないです", {"not_providers": ("aws",)}),
        ("we don't have Azure credits", {}),
        ("Azureのクレジットがないので他で", {"not_providers": ("azure",)}),
        ("stay away from RunPod", {"not_providers": ("runpod",)}),
        ("GCPじゃないところ", {"not_providers": ("gcp",)}),
        ("GCPじゃないとダメ", {"providers": ("gcp",)}),
        ("Azureは高いから嫌", {"not_providers": ("azure",)}),
    ],
)
def test_wanted_unwanted_or_either(text, fields):
    assert provider_fields(read_providers(normalize(text), load_lexicon())) == fields


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("rent it for 3 days", 72),
        ("8x H100 for two weeks", 336),
        ("six months of 4x H100", 4380),
        ("H100 for 45 min", 0.75),
        ("over the weekend", 60),
        ("8 hours a day for a month", 730 / 3),
        ("1日8時間、1ヶ月使う", 730 / 3),
        ("100時間で予算5万円", 100),
        ("半年で借りたい", 4380),
        ("1年間借りっぱなし", 8760),
        ("30分だけ試したい", 0.5),
        ("p5.48xlargeを100時間", 100),
        ("1時間の料金", None),
        ("5万時間の音声", None),
        ("200 hours of audio", None),
        ("3日で学習できるGPUを借りたい", None),
        ("6 months ago", None),
    ],
)
def test_time_of_rental(text, hours):
    norm = normalize(text)
    assert rental_hours(norm, read_numbers(norm)) == (None if hours is None else pytest.approx(hours))


def test_a_deadline_is_the_time_of_rental_only_where_there_is_no_job():
    assert rental_hours("b200", (), 60.0) == 60.0
    assert rental_hours("b200", (), 60.0, job=True) is None
    assert rental_hours("must be done", (), 60.0) is None


@pytest.mark.parametrize(
    ("text", "sides"),
    [
        ("1 node of 8 or 2 nodes of 4?", [(1, 8), (2, 4)]),
        ("8枚1ノードと4枚2ノード、どっち", [(1, 8), (2, 4)]),
        ("2 nodes of 8", []),
        ("2ノード8枚で学習", []),
    ],
)
def test_layouts(text, sides):
    assert [(side.nodes, side.count) for side in layouts(normalize(text))] == sides


@pytest.mark.parametrize(
    ("text", "kind", "names"),
    [
        ("spot or on-demand for a LoRA run?", "market", ["spot", "on_demand"]),
        ("IBとRoCEどっちがいい", "fabric", ["infiniband", "roce"]),
        ("さくらとGMOどっちが安い", "provider", ["sakura", "gmo"]),
        ("LoRA or full fine-tuning for 8B?", "method", ["lora", "full_ft"]),
        ("p4d vs p4de for 30B", "instance_type", ["p4d.24xlarge", "p4de.24xlarge"]),
        ("48GB4枚か80GB2枚か", "gpu", ["48 GB", "80 GB"]),
        ("RTX 4090 x4 vs one A100", "gpu", ["RTX 4090", "A100"]),
    ],
)
def test_sides_that_are_weighed(text, kind, names):
    sides = read(text).alternatives
    assert [side.name for side in sides] == names and {side.kind for side in sides} == {kind}
    assert all(0 <= side.start < side.end for side in sides)


def test_sides_set_no_condition_of_one_of_them():
    reading = read("2x H200 or 4x H100 for llama 70b fp8 serving")
    assert reading.constraints.gpus == () and reading.constraints.gpu_count is None
    assert read("spot or on-demand?").constraints.spot is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("is one H100 enough for 70B?", "yes_no"),
        ("4090 2枚で足りる?", "yes_no"),
        ("does it come with nvlink", "yes_no"),
        ("can you recommend a GPU", "which"),
        ("how many A100 for 70B", "how_many"),
        ("何枚必要", "how_many"),
        ("how long does it take", "how_long"),
        ("予算20万円で何時間使える", "how_long"),
        ("how much is an H200", "how_much"),
        ("月いくら", "how_much"),
        ("why is it slow?", "why"),
        ("なぜ遅いのですか", "why"),
        ("what is RDMA?", "what_is"),
        ("NVLinkって何", "what_is"),
        ("where can I rent it", "where"),
        ("どっちがいい", "which"),
        ("H100 or A100?", "which"),
        ("how do I test NCCL", "how"),
        ("8x H100 in Japan", "none"),
        ("国内ならどこでも", "none"),
        ("cheaper?", "none"),
        ("LoRAなら?", "none"),
    ],
)
def test_kinds_of_question(text, kind):
    assert kind_of_question(normalize(text)) == kind


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("48GB under $0.5/hr", 48),
        ("時給300円以内の48GB", 48),
        ("200 Gbit between nodes", None),
        ("64GB RAM", None),
        ("500GB dataset", None),
    ],
)
def test_a_size_alone_is_a_card_s(text, size):
    assert bare_memory(normalize(text)) == ({"min_gpu_memory_gb": size} if size else {})


def test_gpus_a_node_times_nodes():
    assert together({"gpus_per_node": 8, "nodes": 4, "gpu_count": 8}) == {"gpu_count": 32}
    assert together({"gpus_per_node": 8, "nodes": 4, "gpu_count": 16}) == {} == together({"nodes": 4})


@pytest.mark.parametrize(
    ("text", "wanted"), [("llama70bを", "llama 70bを"), ("sdxl", "sdxl"), ("gpu80gb", "gpu80gb"), ("abc7b", "abc7b")]
)
def test_a_size_glued_to_its_family(text, wanted):
    assert apart(text, load_lexicon()) == wanted


def test_an_amount_in_another_currency_is_told_and_no_limit():
    reading = read("3 EUR/h per gpu max, europe only, L40S")
    assert reading.mentions.other_currencies and reading.constraints.budget_usd is None
    assert reading.constraints.max_price_usd_gpu_hour is None


@pytest.mark.parametrize(
    ("first", "then", "field", "value"),
    [
        ("8x H100 for 7B full ft", "double the gpus", "gpu_count", 16),
        ("8x H100 for 7B full ft", "half the gpus", "gpu_count", 4),
        ("H100 8枚", "枚数を倍にしたら", "gpu_count", 16),
        ("7B LoRA under $10/hr", "half that budget", "max_price_usd_hour", 5),
        ("H100を3日間借りたい 予算5万円", "1週間なら?", "rent_hours", 168),
        ("4x A100", "80GB ones", "gpus", ("A100 80GB",)),
        ("8x H100 for 7B full ft", "what about A100", "gpus", ("A100",)),
        ("8x H100", "any infiniband ones?", "internode", "infiniband"),
    ],
)
def test_short_follow_ups(first, then, field, value):
    reading = read(then, read(first))
    assert reading.intent == "picks" and getattr(reading.constraints, field) == value


@pytest.mark.parametrize(
    ("then", "lang"), [("answer in Japanese please", "ja"), ("in English", "en"), ("日本語で", "ja"), ("in yen", "en")]
)
def test_the_answer_once_more(then, lang):
    first = read("8x H100 for 7B full ft")
    reading = read(then, first)
    assert (reading.intent, reading.answer_lang) == ("picks", lang) and reading.constraints == first.constraints


def test_in_dollars_again_forgets_the_rate():
    before = read("H100 8枚 円でいくら")
    assert before.fx is not None and read("ドル表示で", before).fx is None


def test_a_summary_in_another_language_is_no_new_answer():
    assert read("英語で要約して", read("8x H100 for 7B full ft")).intent == "explain"
