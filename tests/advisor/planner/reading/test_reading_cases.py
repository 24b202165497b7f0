"""Whole turns and dialogues of our own, in both languages: what must be read from them."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from advisor.planner.reading import load_lexicon, read
from advisor.planner.reading.lexicon import Rate

FOLDER = Path(__file__).parent


def _cases():
    for path in sorted(FOLDER.glob("cases_*.jsonl")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            yield pytest.param(path.stem[-2:], json.loads(line)["turns"], id=f"{path.stem}-{number}")


def _value(reading, name):
    side, field = name.rstrip("~").split(".")
    holder = {"W": reading.workload, "C": reading.constraints}[side]
    value = getattr(holder, field) if holder is not None else None
    return list(value) if isinstance(value, tuple) else value


def _side(side):
    """ "2 H200", "8*2 H100" (eight on each of two machines), "aws"."""
    nodes = f"*{side.nodes}" if side.nodes and side.kind == "gpu" else ""
    return f"{side.count}{nodes} {side.name}" if side.count else side.name


_FOLLOWS = {"any_vendor", "spot_only"}
"""Fields that follow from others, not from words of their own."""


def _limits(reading):
    empty = type(reading.constraints)()
    return {
        f"C.{name}"
        for name in type(empty).model_fields.keys() - _FOLLOWS
        if getattr(reading.constraints, name) != getattr(empty, name)
    }


def _check(reading, name, wanted):
    if name == "intent":
        return wanted == "any" or reading.intent == wanted
    if name == "kind":
        return (reading.workload.kind if reading.workload else None) == wanted
    if name == "answer_lang":
        return reading.answer_lang == wanted
    if name == "question":
        return reading.question_type == wanted
    if name == "sides":
        return [_side(a) for a in reading.alternatives] == wanted
    if name == "premise":
        return [p for p in reading.premises if [p.subject, p.relation, p.object] == wanted] != []
    if name.startswith("unknown_"):
        return list(getattr(reading.mentions, name)) == wanted
    value = _value(reading, name)
    if isinstance(wanted, int | float) and not isinstance(wanted, bool):
        return value is not None and abs(value - wanted) <= 0.02 * abs(wanted) + 1e-9
    return value == wanted


@pytest.mark.parametrize(("lang", "turns"), list(_cases()))
def test_turns_are_read(lang, turns):
    lexicon = replace(load_lexicon(), rate=Rate(155.0, "2026-01-01", "https://example.org/rate"))
    previous = None
    for number, turn in enumerate(turns):
        reading = read(turn["text"], previous, lexicon=lexicon)
        wrong = {
            name: (wanted, reading.intent if name == "intent" else None)
            for name, wanted in turn["expect"].items()
            if not _check(reading, name, wanted)
        }
        assert wrong == {}, f"{turn['text']} -> {reading.intent} {reading.workload} {reading.constraints}"
        if number == 0 and "answer_lang" not in turn["expect"]:
            assert reading.lang in (lang, "unknown")
        previous = reading


@pytest.mark.parametrize(
    "turns", [pytest.param(case.values[1], id=case.id) for case in _cases() if case.id.startswith("cases_kinds")]
)
def test_no_other_limit_is_read(turns):
    previous = None
    for turn in turns:
        previous = read(turn["text"], previous)
        assert _limits(previous) == {name for name in turn["expect"] if name.startswith("C.")}, turn["text"]
