"""What a reading becomes: calls, sizes of cards that are asked about, and the price an hour that a total leaves."""

import pytest

from advisor.answer import Constraints
from advisor.planner.plan import next_calls, rented_for
from advisor.planner.reading import read
from advisor.planner.reading.result import GpuMention
from advisor.planner.sizing import memory_classes, sized_gpu
from advisor.selection import hourly_cap, offer_filter
from knowledge.gpu_names import resolve_gpu


def _calls(text):
    return [(name, arguments) for name, arguments in next_calls(read(text)) if name != "search_guides"]


@pytest.mark.parametrize(
    ("text", "sized"),
    [
        ("24GBでSDXLの学習いける?", [("RTX 4090", 1)]),
        ("one 96GB card or two 48GB cards for 70B q4?", [("RTX PRO 6000", 1), ("L40S", 2)]),
        ("2x H200 or 4x H100 for llama 70b fp8", [("H200", 2), ("H100", 4)]),
        ("is one A100 80GB enough for 8B lora?", [("A100 80GB", 1)]),
    ],
)
def test_machines_that_are_asked_about_are_sized(text, sized):
    calls = [c for name, c in _calls(text) if name == "size_workload"]
    assert [(c["gpu"], c["gpus"]) for c in calls] == sized


def test_every_class_of_memory_has_a_known_gpu_of_that_size():
    for size, name in memory_classes():
        found = resolve_gpu(name)
        assert found is not None and (found.memory_gb is None or abs(found.memory_gb - size) <= 0.05 * size)


def test_a_size_of_no_card_is_not_sized():
    assert sized_gpu(GpuMention(gpu=None, text="5 gb", start=0, end=4, memory_gb=5.0)) is None
    assert sized_gpu(GpuMention(gpu="H150", text="h150", start=0, end=4, known=False)) is None


def test_the_time_of_rental_is_the_time_that_the_job_has():
    job = rented_for(read("7B LoRA on 8x H100 for 3 days, budget $1000"))
    assert job.deadline_hours == 72 and job.sources["deadline_hours"] == "stated"
    assert rented_for(read("7B LoRA on 8x H100")).deadline_hours is None
    assert rented_for(read("7B LoRA within 2 days")).deadline_hours == 48


@pytest.mark.parametrize(
    ("limits", "cap"),
    [
        ({"budget_usd": 1000.0, "rent_hours": 100.0}, 10.0),
        ({"budget_usd": 1000.0, "rent_hours": 100.0, "max_price_usd_hour": 4.0}, 4.0),
        ({"budget_usd": 1000.0, "rent_hours": 100.0, "nodes": 2}, 5.0),
        ({"budget_usd": 1000.0, "rent_hours": 100.0, "gpu_count": 32}, 2.5),
        ({"budget_usd": 1000.0}, None),
        ({"rent_hours": 100.0}, None),
    ],
)
def test_a_total_over_the_hours_is_a_price_an_hour(limits, cap):
    constraints = Constraints(**limits)
    assert hourly_cap(constraints) == cap
    assert offer_filter(constraints, limit=50).max_price == cap


def test_a_job_of_known_length_is_not_held_to_the_hours_of_rental():
    assert offer_filter(Constraints(budget_usd=1000.0, rent_hours=100.0)).max_price is None


def test_a_listing_is_capped_by_budget_and_time():
    ((name, arguments),) = _calls("8x H100 for 100 hours, budget $2000")[:1]
    assert name == "filter_offers" and arguments["max_price"] == pytest.approx(20.0)


@pytest.mark.parametrize(
    ("text", "grow"),
    [
        ("Llama 3.3 70Bを50リクエスト同時に動かす。H100とA100のどちらがいい？", True),
        ("Serving a 70B. Which is better, H100 or A100?", True),
        ("Does a 70B in FP16 fit on one H100?", False),
        ("2x A100 80GB or 4x A6000 for LoRA of a 70B?", False),
    ],
)
def test_cards_compared_without_a_number_are_as_many_as_the_job_takes(text, grow):
    sized = [arguments for name, arguments in _calls(text) if name == "size_workload"]
    assert sized and all(arguments.get("grow", False) is grow for arguments in sized)
