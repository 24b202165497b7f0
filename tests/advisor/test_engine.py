"""What the engine keeps: recommendations, for as long as the offers are the same."""

import pytest

from advisor import engine as module
from advisor import selection
from advisor.answer import Constraints, Workload
from advisor.engine import Engine
from advisor.settings import Settings

JOB = Workload(kind="full_ft", params_b=7.0, sources={"params_b": "stated"})


@pytest.fixture
def engine(built_home):
    return Engine(Settings(home=built_home))


@pytest.fixture
def worked_out(monkeypatch):
    seen = []
    real = selection.recommend_from_store

    def counted(store, facts, workload, constraints, lang):
        seen.append((workload, constraints, lang))
        return real(store, facts, workload, constraints, lang)

    monkeypatch.setattr(selection, "recommend_from_store", counted)
    return seen


def test_the_same_job_is_worked_out_once(engine, worked_out):
    first = engine.recommend(JOB, Constraints(), "en")
    assert engine.recommend(JOB.model_copy(), Constraints(), "en") is first
    assert len(worked_out) == 1


@pytest.mark.parametrize(
    ("workload", "constraints", "lang"),
    [
        (JOB.model_copy(update={"params_b": 13.0}), Constraints(), "en"),
        (JOB, Constraints(spot=False), "en"),
        (JOB, Constraints(), "ja"),
    ],
)
def test_another_job_limit_or_language_is_worked_out_anew(engine, worked_out, workload, constraints, lang):
    first = engine.recommend(JOB, Constraints(), "en")
    other = engine.recommend(workload, constraints, lang)
    assert other is not first and len(worked_out) == 2
    assert other == selection.recommend_from_store(engine.offers, engine.facts, workload, constraints, lang)


def test_changed_offers_are_seen_at_once(engine, worked_out, monkeypatch):
    engine.recommend(JOB, Constraints(), "en")
    monkeypatch.setattr(engine.offers, "_stamp", None)
    monkeypatch.setattr(engine.offers, "_table", None)
    engine.recommend(JOB, Constraints(), "en")
    assert len(worked_out) == 2


def test_what_was_not_asked_for_longest_leaves(engine, worked_out, monkeypatch):
    monkeypatch.setattr(module, "KEPT_RECOMMENDATIONS", 2)
    for params in (7.0, 8.0, 7.0, 9.0, 7.0):
        engine.recommend(JOB.model_copy(update={"params_b": params}), Constraints(), "en")
    assert [job.params_b for job, _, _ in worked_out] == [7.0, 8.0, 9.0]
    assert len(engine._kept) == 2
