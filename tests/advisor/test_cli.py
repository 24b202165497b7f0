"""The command line as a person and a program use it."""

import inspect
import json
import subprocess
import sys

import pytest

from advisor.cli import _filter_options
from knowledge.offers import OfferFilter


def run(*args, stdin="", home=None, **env):
    import os

    environment = {**os.environ, **({"ADVISOR_HOME": str(home)} if home else {}), **env}
    return subprocess.run(
        [sys.executable, "-m", "advisor", *args],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=180,
        env=environment,
    )


def test_offers_has_an_option_for_each_field_of_the_filter():
    assert list(_filter_options().parameters) == [*OfferFilter.model_fields, "as_json", "as_csv"]
    assert all(p.kind is inspect.Parameter.KEYWORD_ONLY for p in _filter_options().parameters.values())


def test_offers_json(built_home):
    done = run("offers", "--gpu", "H100", "--min-gpus", "8", "--rdma", "--country", "JP", "--json", home=built_home)
    page = json.loads(done.stdout)
    assert done.returncode == 0 and page["count"] >= 1
    assert {(o["gpu"], o["country"], o["internode_rdma"]) for o in page["offers"]} == {("H100", "JP", "yes")}


def test_nothing_matches_says_what_to_loosen(built_home):
    done = run("offers", "--gpu", "MI300X", "--nvlink", home=built_home)
    assert done.returncode == 0
    assert "Nothing matches" in done.stdout and "nvlink" in done.stdout


def test_json_lines_answer_in_order_and_go_on_after_a_bad_line(built_home, tmp_path):
    lines = [
        '{"id": 1, "question": "What is NVLink?"}',
        "{broken",
        '{"id": 3}',
        '{"id": 4, "turns": ["LoRA of 8B", "cheaper?"]}',
    ]
    out = tmp_path / "out.jsonl"
    done = run("ask", "--jsonl", "-", "--out", str(out), stdin="\n".join(lines), home=built_home)
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert done.returncode == 0
    assert [row["id"] for row in rows] == [1, None, 3, 4]
    assert rows[0]["turns"][0]["intent"] == "explain"
    assert rows[1]["error"]["code"] == "bad_request" and "Line 2" in rows[1]["error"]["message"]
    assert rows[2]["error"]["code"] == "bad_request"
    assert len(rows[3]["turns"]) == 2


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("ask",), "Nothing was asked"),
        (("search", " "), "Nothing to search for"),
        (("offers", "--max-price", "-3"), "--max-price"),
        (("offers", "--limit", "many"), "--limit"),
        (("estimate", "--jsonl", "no-such-file"), "no-such-file"),
        (("nonsense",), "nonsense"),
    ],
)
def test_a_request_not_understood_is_one_line_and_exit_2(built_home, args, says):
    done = run(*args, home=built_home)
    assert done.returncode == 2
    assert says in done.stderr and "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_wrong_setting_names_its_variable(built_home):
    done = run("offers", home=built_home, ADVISOR_PORT="eighty")
    assert done.returncode == 2
    assert "ADVISOR_PORT" in done.stderr and "eighty" in done.stderr


def test_a_home_that_cannot_be_written_is_said(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    done = run("offers", home=blocked / "home")
    assert done.returncode == 1
    assert "ADVISOR_HOME" in done.stderr and "Traceback" not in done.stderr


def test_search_finds_and_declines(built_home):
    found = json.loads(run("search", "NVSwitch", "-k", "2", "--json", home=built_home).stdout)["hits"]
    assert len(found) == 2 and found[0]["rank"] == 1
    assert json.loads(run("search", "chocolate cake recipe", "--json", home=built_home).stdout)["hits"] == []


def test_help_does_not_import_what_is_heavy():
    code = "import sys; import advisor.cli; print([m for m in ('langchain', 'chromadb', 'gradio', 'duckdb', 'pandas') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]"
