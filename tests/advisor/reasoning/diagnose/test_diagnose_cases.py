"""Pasted outputs in the real formats, one file a case, with what must be read in them and what must not."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from advisor.reasoning.diagnose import Diagnosis, diagnose, run_files, tables

CASES = Path(__file__).parent / "cases"
GOLD = json.loads((CASES / "cases.json").read_text(encoding="utf-8"))


@cache
def found_in(name: str, lang: str = "en") -> Diagnosis:
    return run_files([CASES / name], lang)  # type: ignore[arg-type]


def codes(diagnosis: Diagnosis, *severities: str) -> set[str]:
    return {p.code for p in diagnosis.problems if p.severity in (severities or ("error", "warning"))}


@pytest.mark.parametrize("gold", GOLD, ids=[gold["file"].removesuffix(".txt") for gold in GOLD])
class TestCase:
    def test_verdicts(self, gold):
        found = found_in(gold["file"])
        got = {name: getattr(found, name) for name in ("nvlink", "transport", "gpudirect")}
        assert got == {name: gold[name] for name in got}

    def test_problems_present_and_no_false_alarm(self, gold):
        found = found_in(gold["file"])
        assert set(gold["problems"]) <= codes(found)
        assert not set(gold["not_problems"]) & codes(found)
        assert set(gold["infos"]) <= codes(found, "info")

    def test_evidence_is_part_of_its_line(self, gold):
        raw = (CASES / gold["file"]).read_bytes()
        text = raw.decode("utf-16" if raw[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8")
        lines = text.replace("\r\n", "\n").split("\n")
        for problem in found_in(gold["file"]).problems:
            assert problem.evidence.text.strip() == problem.evidence.text != ""
            assert problem.evidence.text in lines[problem.evidence.line - 1]

    def test_both_languages_find_the_same(self, gold):
        english, japanese = found_in(gold["file"]), found_in(gold["file"], "ja")
        assert [p.code for p in english.problems] == [p.code for p in japanese.problems]
        for a, b in zip(english.problems, japanese.problems, strict=True):
            assert a.explanation != b.explanation and a.action != b.action
            assert any("\u3040" <= char <= "\u30ff" for char in b.explanation + b.action)
            assert "{" not in a.explanation + b.explanation

    def test_same_text_in_memory_and_from_a_file(self, gold):
        raw = (CASES / gold["file"]).read_bytes()
        text = raw.decode("utf-16") if raw[:2] in {b"\xff\xfe", b"\xfe\xff"} else raw.decode("utf-8")
        from_text = diagnose({str(CASES / gold["file"]): text})
        assert from_text == found_in(gold["file"])


@pytest.mark.parametrize("code", sorted(set(tables.codes()) - {"devices_missing"}))
class TestEveryCode:
    def test_stands_in_one_case(self, code):
        assert any(code in gold["problems"] + gold["infos"] for gold in GOLD)

    def test_is_kept_out_of_another(self, code):
        absent = [gold for gold in GOLD if code not in codes(found_in(gold["file"]), "error", "warning", "info")]
        assert absent
        assert code in {"dcgm_failure"} or any(code in gold["not_problems"] for gold in GOLD) or len(absent) > 100


def test_there_are_enough_cases():
    assert len(GOLD) >= 60
