"""The commands that whoever runs the advisor for others needs: publish, backup, restore."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def add_upkeep(app: typer.Typer) -> None:
    """Register the commands."""
    app.command()(publish)
    app.command()(backup)
    app.command()(restore)


def publish(as_json: Json = False) -> None:
    """Publish this home's knowledge and offers to ADVISOR_KNOWLEDGE, where web processes take them from."""
    from advisor.engine import Engine
    from advisor.settings import load_settings

    found = Engine(load_settings()).publish()
    _say(found, as_json, "Version {version}: {passages} passages and {offers} offers are in {folder}.")


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE.zip", help="Where to write the backup.")], as_json: Json = False
) -> None:
    """Back up ADVISOR_HOME; nothing needs to be stopped."""
    from advisor import backup as work
    from advisor.settings import load_settings

    _say(work.backup(load_settings().home, file), as_json, "{file}: {bytes:,} bytes.")


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE.zip", help="A backup.")],
    force: Annotated[bool, typer.Option("--force", help="Replace a home that is not empty.")] = False,
    as_json: Json = False,
) -> None:
    """Put a backup in the place of ADVISOR_HOME; stop what uses it first."""
    from advisor import backup as work
    from advisor.settings import load_settings

    found = work.restore(load_settings().home, file, force)
    kept = "" if found["kept"] is None else " What was there before is in {kept}."
    _say(found, as_json, "{home} is as it was at {at}." + kept)


def _say(found: dict[str, Any], as_json: bool, sentence: str) -> None:
    typer.echo(json.dumps(found, ensure_ascii=False) if as_json else sentence.format(**found))
