import pytest

from advisor.planner.reading import load_lexicon, read
from advisor.planner.reading.models import read_models
from advisor.planner.reading.normalize import normalize
from advisor.planner.reading.places import place_fields
from advisor.planner.reading.providers import (
    provider_fields,
    read_instance_types,
    read_providers,
    read_unknown_providers,
)
from advisor.planner.reading.spelling import correct


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("on Nebius", {"providers": ("nebius",)}),
        ("not AWS", {"not_providers": ("aws",)}),
        ("AWS以外で", {"not_providers": ("aws",)}),
        ("AzureとGCPは除いて", {"not_providers": ("azure", "gcp")}),
        ("anything except Lambda or CoreWeave", {"not_providers": ("lambda", "coreweave")}),
        ("GCP縛り", {"providers": ("gcp",)}),
        ("さくらのクラウドで", {"providers": ("sakura",)}),
        ("do I need it", {}),
        ("lambda functions in Python", {}),
        ("a vast difference", {}),
        ("we are currently on AWS and want to leave", {}),
    ],
)
def test_providers(text, fields):
    assert provider_fields(read_providers(normalize(text), load_lexicon())) == fields


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("in Tokyo", {"regions": ("Tokyo",), "countries": ()}),
        ("only in the US", {"countries": ("US",), "regions": ()}),
        ("give us a price", {}),
        ("in my opinion", {}),
        ("国内のみ", {"countries": ("JP",), "regions": ()}),
        ("データを国外に出せない", {"countries": ("JP",), "regions": ()}),
        ("日本語コーパス", {}),
        ("Japanese text corpus", {}),
        ("マシンタイプ", {}),
        ("EU内", {"regions": ("EU",), "countries": ()}),
        ("Germany or Finland", {"countries": ("DE", "FI"), "regions": ()}),
        ("outside China", {"not_countries": ("CN",)}),
        ("中国以外", {"not_countries": ("CN",)}),
        ("us-east-1", {"regions": ("us-east-1",), "countries": ()}),
        ("asia-northeast1", {"regions": ("asia-northeast1",), "countries": ()}),
        ("東京 いくら", {"regions": ("Tokyo",), "countries": ()}),
    ],
)
def test_places(text, fields):
    norm = normalize(text)
    lang = "ja" if any(c > "\u3000" for c in norm) else "en"
    assert place_fields(norm, load_lexicon(), lang) == fields


@pytest.mark.parametrize(
    ("text", "name", "params"),
    [
        ("Llama-3.1-8B", "Llama 3.1 8B", 8.03),
        ("Qwen3-30B-A3B", "Qwen3 30B-A3B", 30.5),
        ("Mixtral 8x7B", "Mixtral 8x7B", 46.7),
        ("a 7B base model", "7B", 7),
        ("3億パラメータ", "0.3B", 0.3),
        ("1-trillion-parameter model", "1000B", 1000),
        ("Wan2.2 14B", "Wan2.2 14B", 14),
        ("starcoder", "StarCoder 15.5B", 15.517),
    ],
)
def test_models(text, name, params):
    (mention,) = read_models(normalize(text), load_lexicon())
    assert mention.name == name and mention.params_b == pytest.approx(params)


@pytest.mark.parametrize("text", ["50Bトークン", "30 GB", "$3b", "bloom filters", "step by step", "20億円", "400 Gb/s"])
def test_what_is_no_model(text):
    assert [m for m in read_models(normalize(text), load_lexicon()) if m.params_b] == []


def test_instance_types_known_and_unknown():
    known, unknown = read_instance_types(
        normalize("p5.48xlarge, Standard_ND96isr_H100_v5, a3-highgpu-8g and p9.48xlarge"), load_lexicon()
    )
    assert set(known) == {"p5.48xlarge", "standard_nd96isr_h100_v5", "a3-highgpu-8g"} and unknown == ("p9.48xlarge",)


def test_unknown_cloud():
    assert read_unknown_providers(normalize("H100 on FluffyCloud"), load_lexicon()) == ("fluffycloud",)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("udner $3", "under $3"),
        ("chepest h100", "cheapest h100"),
        ("infinibnad", "infiniband"),
        ("nvlnik", "nvlink"),
        ("deepsek-v3", "deepseek-v3"),
        ("provided models", "provided models"),
        ("distance matters", "distance matters"),
        ("rendering and lending", "rendering and lending"),
    ],
)
def test_spelling(text, right):
    assert correct(text, load_lexicon()) == right


def test_a_size_after_a_named_model_is_of_its_family():
    first = read("Serve Qwen3 32B to our team, which GPU?")
    assert read("what about the 14B?", first).workload.model == "Qwen3 14B"


def test_a_family_alone_is_an_assumption():
    job = read("LoRA training for FLUX, which GPU?").workload
    assert job.model == "FLUX.1 dev" and job.sources["model"] == "assumed"


def test_hours_of_a_gpu_are_no_count_of_gpus():
    reading = read("I have budget for 200 H100-hours. Which 7B job fits?")
    assert reading.constraints.gpu_count is None


def test_a_distilled_model_is_the_small_one():
    assert read("DeepSeek-R1 distill 32B, fp8, which GPU?").workload.params_b == pytest.approx(32.76)


def test_documents_to_summarise_are_a_job():
    reading = read("Summarise 40k documents (3k tokens each) with a 14B in under 6 hours. Which GPU?")
    assert (reading.intent, reading.workload.kind, reading.workload.deadline_hours) == ("picks", "batch_inference", 6)


def test_what_one_card_carries_is_read():
    reading = read("One L40S handles 6 streams of our 3B model. We need 60 concurrent streams. How many GPUs?")
    assert [q.value for q in reading.quantities if q.meaning == "capacity_per_gpu"] == [6]
    assert reading.workload.concurrency == 60
