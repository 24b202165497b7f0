"""The audit of dependencies and the bill of materials: what their outcomes mean."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def _load(name):
    spec = importlib.util.spec_from_file_location(f"deploy_{name}", ROOT / "deploy" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


AUDIT = _load("audit")
HOLE = {"id": "PYSEC-2020-1", "fix_versions": ["2.0"]}


def test_a_hole_fails_and_is_named():
    output = json.dumps({"dependencies": [{"name": "thing", "version": "1.0", "vulns": [HOLE]}]})
    assert AUDIT.judge(1, output, "") == (1, "thing 1.0: PYSEC-2020-1 (fixed in 2.0)")


def test_no_hole_passes():
    output = json.dumps({"dependencies": [{"name": "thing", "version": "1.0", "vulns": []}]})
    assert AUDIT.judge(0, output, "")[0] == 0


def test_an_accepted_hole_passes(monkeypatch):
    monkeypatch.setitem(AUDIT.ACCEPTED, HOLE["id"], "not reached")
    output = json.dumps({"dependencies": [{"name": "thing", "version": "1.0", "vulns": [HOLE]}]})
    assert AUDIT.judge(1, output, "")[0] == 0


@pytest.mark.parametrize("error", ["requests.exceptions.ConnectionError: x", "ServiceError: timed out"])
def test_without_its_database_it_is_skipped_with_a_message(error):
    status, text = AUDIT.judge(1, "", error)
    assert status == 0
    assert text.startswith("audit skipped")


def test_any_other_failure_is_a_failure():
    assert AUDIT.judge(2, "", "Traceback: a bug")[0] == 1


def test_the_bill_of_materials_lists_an_environment(tmp_path):
    pytest.importorskip("cyclonedx_py")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True, timeout=120)
    out = tmp_path / "sbom.json"
    command = [sys.executable, str(ROOT / "deploy" / "sbom.py"), str(out), str(tmp_path / "venv" / "bin" / "python")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr
    found = json.loads(out.read_text())
    assert found["bomFormat"] == "CycloneDX"
    assert found["metadata"]["component"]["name"] == "interconnect-advisor"


def test_the_default_install_has_not_grown():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    default = " ".join(project["dependencies"])
    for name in ("psycopg", "checkpoint-postgres", "opentelemetry", "pip-audit", "hadolint", "torch"):
        assert name not in default
    assert {"team", "traces", "deploy"} <= project["optional-dependencies"].keys()
