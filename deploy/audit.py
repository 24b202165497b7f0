"""Known holes in the installed packages, by pip-audit; where its database cannot be reached, one line says so and all is well.

    python deploy/audit.py [--timeout SECONDS]

Exit status: 0 nothing found, or the audit could not be made; 1 something was found, which is printed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from importlib.util import find_spec

NO_DATABASE = ("ConnectionError", "ServiceError", "MaxRetryError", "Timeout", "HTTPError", "ProxyError", "SSLError")
ACCEPTED: dict[str, str] = {}
"""Ids of findings that do not concern this project, each with the reason."""


def audit(timeout: int) -> tuple[int, str]:
    """Exit status and what to print."""
    if find_spec("pip_audit") is None:
        return 0, "audit skipped: pip-audit is not installed (the extra `deploy` has it)"
    command = [sys.executable, "-m", "pip_audit", "--format", "json", "--progress-spinner", "off", "--skip-editable"]
    try:
        done = subprocess.run(
            [*command, "--timeout", "10"], capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        return 0, f"audit skipped: no answer from the database of known holes within {timeout} s"
    return judge(done.returncode, done.stdout, done.stderr)


def judge(status: int, output: str, errors: str) -> tuple[int, str]:
    """What pip-audit's outcome means."""
    try:
        packages = json.loads(output)["dependencies"]
    except (ValueError, KeyError, TypeError):
        if any(word in errors for word in NO_DATABASE):
            return 0, "audit skipped: the database of known holes cannot be reached from here"
        return 1, f"pip-audit ended with {status} and no result: {errors.strip()[-500:]}"
    found = [
        f"{package['name']} {package['version']}: {hole['id']} (fixed in {', '.join(hole['fix_versions']) or 'none yet'})"
        for package in packages
        for hole in package.get("vulns", [])
        if hole["id"] not in ACCEPTED
    ]
    if found:
        return 1, "\n".join(found)
    return 0, f"audit: {len(packages)} packages, no known hole"


def main() -> int:
    """Read the options, print the outcome."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--timeout", type=int, default=90)
    status, text = audit(parser.parse_args().timeout)
    print(text)
    return status


if __name__ == "__main__":
    sys.exit(main())
