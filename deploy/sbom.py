"""The software bill of materials of an environment as CycloneDX JSON, with no network.

python deploy/sbom.py OUT.json [PYTHON]      PYTHON: the interpreter of another environment
"""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    """Write the file named by the first argument."""
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    if find_spec("cyclonedx_py") is None:
        print("cyclonedx-bom is not installed; the extra `deploy` has it", file=sys.stderr)
        return 1
    command = [sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible", "--of", "JSON"]
    command += [
        "--pyproject",
        str(ROOT / "pyproject.toml"),
        "--mc-type",
        "application",
        "-o",
        sys.argv[1],
        sys.argv[2] if len(sys.argv) == 3 else sys.executable,
    ]
    return subprocess.run(command, timeout=300).returncode


if __name__ == "__main__":
    sys.exit(main())
