"""The web app's entry: settings → advisor → page. The same as `advisor serve`."""

import sys

from advisor.errors import AdvisorError
from advisor.settings import load_settings
from advisor.web.server import serve


def main() -> int:
    """Serve the page; 2 where the settings or the port cannot be used."""
    try:
        serve(load_settings())
    except AdvisorError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
