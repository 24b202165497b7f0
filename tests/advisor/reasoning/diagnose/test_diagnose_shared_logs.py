"""Real logs kept outside the repository, where they are at hand."""

import json

import pytest

from advisor.reasoning.diagnose import run_files


def test_real_logs_are_read_right(shared):
    folder = shared / "logs"
    if not (folder / "gold.json").exists():
        pytest.skip("no real logs here")
    wrong = []
    for gold in json.loads((folder / "gold.json").read_text(encoding="utf-8")):
        found = run_files([folder / gold["file"]])
        codes = {p.code for p in found.problems if p.severity != "info"}
        for name in ("nvlink", "transport", "gpudirect"):
            if getattr(found, name) != gold[name]:
                wrong.append((gold["file"], name, getattr(found, name)))
        wrong += [(gold["file"], "missed", code) for code in gold["problems"] if code not in codes]
        wrong += [(gold["file"], "false alarm", code) for code in gold["not_problems"] if code in codes]
    assert not wrong
