"""A few rounds of the killing of ingestion; the script beside this file runs hundreds."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="needs fork")
def test_ingestion_killed_at_random_moments_loses_nothing():
    script = Path(__file__).with_name("kill_ingestion.py")
    done = subprocess.run(
        [sys.executable, str(script), "--rounds", "5", "--seed", "7"], capture_output=True, text=True, timeout=280
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing lost, nothing half there" in done.stdout
