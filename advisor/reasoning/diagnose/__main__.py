"""`python -m advisor.reasoning.diagnose FILE … [--json] [--lang ja|en] [--instance-type TYPE]`."""

from __future__ import annotations

import argparse
import sys

from advisor.errors import AdvisorError, BadRequest, NotFound

from . import run_files, topology_text


def main() -> int:
    """Diagnose the files named on the command line; 2 where the request was not understood."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="+")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--lang", choices=["ja", "en"], default="en")
    parser.add_argument("--instance-type")
    args = parser.parse_args()
    try:
        found = run_files(args.file, args.lang, args.instance_type)
    except (BadRequest, NotFound) as error:
        print(error, file=sys.stderr)
        return 2
    except AdvisorError as error:
        print(error, file=sys.stderr)
        return 1
    if args.json:
        print(found.model_dump_json(indent=2))
        return 0
    print(found.summary)
    for problem in found.problems:
        place = problem.evidence
        print(f"\n[{problem.severity}] {problem.title} ({problem.code})\n  {place.file}:{place.line}: {place.text}")
        print(f"  {problem.explanation}\n  → {problem.action}")
    picture = topology_text(found)
    if picture:
        print(f"\n{picture}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
