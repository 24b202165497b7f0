"""Take catalogues of offers in: find the files, read them, and put each provider's rows in place in one step."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from ingest.offers.gpuhunt import read_gpuhunt
from ingest.offers.inputs import FORMATS, CatalogueFile, find_files
from ingest.offers.rows import CatalogueRow, to_offers
from ingest.offers.skypilot import read_skypilot
from ingest.offers.table import csv_records, json_records, parquet_records, read_table
from ingest.report import Progress, Report
from knowledge.errors import KnowledgeError
from knowledge.offer_model import Offer
from knowledge.offer_store import Changes, OfferStore

SHOWN_CHANGES = 20


def ingest_offers(
    paths_or_urls: Iterable[str | Path],
    *,
    home: Path,
    format: str = "auto",
    provider: str | None = None,
    as_of: str = "unknown",
    allow_flags: tuple[str, ...] = (),
    allow_private: bool = False,
    progress: Progress | None = None,
) -> Report:
    """Read catalogues into the store of `home` and say what went in, what changed and what was refused.

    `format` is "auto", "skypilot", "gpuhunt" or "table". `provider` overrides the provider that a file's name or folder gives.
    `as_of` (a date) is used where the source states none; `allow_flags` are gpuhunt flags whose rows are taken;
    `allow_private` lets addresses of private networks be fetched. A file or provider that fails keeps its old rows, and the others
    go on. The same input again changes nothing. Errors: KnowledgeError for an unknown format or an unwritable home.
    """
    if format not in FORMATS:
        raise KnowledgeError(f"Unknown format {format!r}; use one of {', '.join(FORMATS)}.")
    report = Report()
    store = OfferStore(home)
    files = [
        file for given in paths_or_urls for file in find_files(given, format, provider, report, as_of, allow_private)
    ]
    found: dict[tuple[str | None, str], list[Offer]] = {}
    for number, file in enumerate(files):
        if progress:
            progress(file.label, number, len(files))
        before = report.rows_in
        offers = read_file(file, report, allow_flags)
        if file.provider:
            _tally(report, file.provider, rows=report.rows_in - before, offers=len(offers))
        if offers:
            found.setdefault((file.provider, _catalogue(file)), []).extend(offers)
        else:
            report.warn(f"{file.label}: no offer in it; what was there before is kept")
    for changes in store.replace_all([(*key, offers) for key, offers in found.items()]):
        report.added += len(changes.new)
        report.updated += changes.updated
        report.unchanged += changes.unchanged
        report.removed += len(changes.gone)
        report.changes += describe(changes)
    if progress:
        progress("offers", len(files), len(files))
    return report


def _tally(report: Report, provider: str, **counts: int) -> None:
    known = report.details.setdefault(provider, {})
    for name, count in counts.items():
        known[name] = known.get(name, 0) + count


def read_file(file: CatalogueFile, report: Report, allow_flags: tuple[str, ...] = ()) -> list[Offer]:
    """The offers of one catalogue file."""
    return to_offers(_rows(file, report, allow_flags), report)


def _rows(file: CatalogueFile, report: Report, allow_flags: tuple[str, ...]) -> list[CatalogueRow]:
    try:
        if file.kind == "table":
            return read_table(_records(file), file.label, file.source, _catalogue(file), report, file.as_of)
        text = file.raw.decode("utf-8-sig")
    except ValueError as error:
        report.reject(file.label, f"cannot be read: {error}")
        return []
    if file.provider is None:
        report.reject(file.label, "no provider: name it with --provider, or the file after it")
        return []
    if file.kind == "skypilot":
        return read_skypilot(text, file.provider, file.label, file.source, report, file.as_of)
    return read_gpuhunt(text, file.provider, file.label, file.source, report, file.as_of, allow_flags)


def _records(file: CatalogueFile):  # type: ignore[no-untyped-def]
    if file.suffix == ".parquet":
        return parquet_records(file.raw)
    text = file.raw.decode("utf-8-sig")
    return json_records(text) if file.suffix in (".json", ".jsonl") else csv_records(text)


def _catalogue(file: CatalogueFile) -> str:
    return file.kind if file.kind != "table" else f"table:{PurePosixPath(file.label).stem}"


def describe(changes: Changes) -> list[str]:
    """What changed, one line each; a price that moved by more than a quarter is flagged with a leading "!"."""
    lines = [f"! {_name(move.offer)}: {move.before:.6g} -> {move.after:.6g} USD/h" for move in changes.price_moves]
    for sign, offers in (("+", changes.new), ("-", changes.gone)):
        lines += [f"{sign} {_name(offer)}" for offer in offers[:SHOWN_CHANGES]]
        if len(offers) > SHOWN_CHANGES:
            lines.append(f"{sign} {len(offers) - SHOWN_CHANGES} more")
    return lines


def _name(offer: Offer) -> str:
    via = f" via {offer.broker}" if offer.broker else ""
    return f"{offer.provider}{via} {offer.instance_type} {offer.region}{' spot' if offer.spot else ''}"
