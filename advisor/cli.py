"""The command line: every capability of the page without a browser. Thin: options in, one call, text or JSON out."""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from advisor.errors import AdvisorError, BadRequest
from advisor.upkeep import add_upkeep
from knowledge.errors import KnowledgeError
from knowledge.offers import OfferFilter

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Which GPU instance to rent, and whether NVLink or InfiniBand matters for the job.",
)
ingest_app = typer.Typer(no_args_is_help=True, help="Add documents or offers.")
app.add_typer(ingest_app, name="ingest")

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Jsonl = Annotated[
    str | None, typer.Option("--jsonl", metavar="FILE", help="One request a line; - reads standard input.")
]
Out = Annotated[Path | None, typer.Option("--out", help="Write the answer lines here instead of standard output.")]
AnswerLang = Annotated[Literal["auto", "ja", "en"], typer.Option("--lang", help="Language of the answer.")]
MaybeLang = Annotated[Literal["ja", "en"] | None, typer.Option("--lang", help="Only this language.")]


@app.command()
def ask(
    question: Annotated[str | None, typer.Argument(help="The question, in Japanese or English.")] = None,
    as_json: Json = False,
    jsonl: Jsonl = None,
    out: Out = None,
    lang: AnswerLang = "auto",
    model: Annotated[str | None, typer.Option(help="planner, or provider:model.")] = None,
    thread: Annotated[str | None, typer.Option(help="Continue this conversation.")] = None,
) -> None:
    """Answer a question, or a file of them."""
    from advisor.conversation import build_advisor

    if jsonl is None and question is None:
        raise BadRequest('Nothing was asked. Give a question, for instance: advisor ask "70B full fine-tune, 2 nodes"')
    advisor = build_advisor(_settings(**({"model": model} if model else {})))
    if jsonl is not None:
        from advisor.jsonl import ask_lines, run

        run(jsonl, out, ask_lines(advisor, lang))
        return
    answer = advisor.ask(question or "", thread=thread, lang=lang)
    if as_json:
        _print_json(answer)
        return
    from advisor.plain import answer_text

    typer.echo(answer_text(answer))


@app.command()
def search(
    query: Annotated[str | None, typer.Argument(help="What to look for.")] = None,
    k: Annotated[int, typer.Option("-k", min=1, max=100, help="Passages returned.")] = 5,
    lang: MaybeLang = None,
    provider: Annotated[str | None, typer.Option(help="Only passages about this provider.")] = None,
    as_json: Json = False,
    jsonl: Jsonl = None,
    out: Out = None,
) -> None:
    """Find passages in the guides and the ingested documents."""
    if jsonl is None and not (query or "").strip():
        raise BadRequest("Nothing to search for. Give a query or --jsonl FILE.")
    passages = _engine().passages
    if jsonl is not None:
        from advisor.jsonl import run, search_lines

        run(jsonl, out, search_lines(passages, k, lang, provider))
        return
    hits = passages.search(query or "", k=k, lang=lang, provider=provider)
    if as_json:
        _print_json({"hits": [hit.model_dump(mode="json") for hit in hits]})
        return
    for hit in hits:
        typer.echo(f"{hit.rank}. {hit.title} > {hit.section}  ({hit.source}, {hit.as_of})\n{hit.text}\n")
    if not hits:
        typer.echo("No passage about this.")


def offers(**options: Any) -> None:
    """List offers that meet all conditions."""
    as_json, as_csv = options.pop("as_json"), options.pop("as_csv")
    wanted = _validated(options)
    page = _engine().offers.search(wanted)
    if as_json:
        _print_json(page)
        return
    from advisor.plain import offers_csv, offers_text

    typer.echo(offers_csv(page) if as_csv else offers_text(page))


def _validated(options: dict[str, Any]) -> OfferFilter:
    from pydantic import ValidationError

    try:
        return OfferFilter.model_validate(
            {key: tuple(value) if isinstance(value, list) else value for key, value in options.items()}
        )
    except ValidationError as error:
        first = error.errors()[0]
        raise BadRequest(f"--{str(first['loc'][0]).replace('_', '-')} {first['input']!r}: {first['msg']}") from None


def _filter_options() -> inspect.Signature:
    """The command's options, generated from OfferFilter."""
    parameters = []
    for name, field in OfferFilter.model_fields.items():
        flag = "--" + name.replace("_", "-")
        annotation, default = field.annotation, field.default
        names = [f"{flag}/--no-{name}"] if name == "spot" else [flag]
        if default == ():
            annotation, default = list[str], []
        option = typer.Option(*names, help=field.description)
        parameters.append(
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[annotation, option]
            )
        )
    for name, flag, text in (("as_json", "--json", "Print one JSON object."), ("as_csv", "--csv", "Print CSV.")):
        option = Annotated[bool, typer.Option(flag, help=text)]
        parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=option))
    return inspect.Signature(parameters)


offers.__signature__ = _filter_options()  # type: ignore[attr-defined]
offers.__annotations__ = {p.name: p.annotation for p in _filter_options().parameters.values()}
app.command()(offers)


@app.command()
def estimate(
    jsonl: Annotated[
        str, typer.Option("--jsonl", metavar="FILE", help="One described run a line; - reads standard input.")
    ],
    out: Out = None,
) -> None:
    """Memory, throughput or scaling of described runs."""
    from advisor.jsonl import run
    from advisor.reasoning.estimate import estimate as one
    from knowledge.facts import load_facts

    facts = load_facts()
    run(jsonl, out, lambda row: one(row, facts))


@app.command()
def diagnose(
    files: Annotated[list[str], typer.Argument(metavar="FILE…|-", help="Pasted outputs; - reads standard input.")],
    as_json: Json = False,
    lang: Annotated[Literal["ja", "en"] | None, typer.Option("--lang", help="Language of the explanations.")] = None,
    instance_type: Annotated[str | None, typer.Option(help="What was rented, to compare with.")] = None,
) -> None:
    """Read outputs of nvidia-smi, NCCL, ibstat and the like: what did I really rent?"""
    from advisor.reasoning.diagnose import run_files, topology_text

    lookup = _engine().offers.by_instance_type if instance_type else None
    diagnosis = run_files(files, lang=lang or _settings().lang, instance_type=instance_type, offers_lookup=lookup)
    if as_json:
        _print_json(diagnosis)
        return
    from advisor.plain import diagnosis_text

    typer.echo(diagnosis_text(diagnosis, topology_text(diagnosis)))


@app.command()
def verify(
    instance_type: Annotated[str, typer.Argument(help="What you rented, for instance p5.48xlarge.")],
    as_json: Json = False,
    lang: Annotated[Literal["ja", "en"] | None, typer.Option("--lang", help="Language of the explanations.")] = None,
) -> None:
    """The commands of the first five minutes on an instance type, and what good output looks like."""
    plan = _engine().verify(instance_type, lang or _settings().lang)
    if as_json:
        _print_json(plan)
        return
    from advisor.plain import verify_text

    typer.echo(verify_text(plan))


@ingest_app.command("docs")
def ingest_docs(
    sources: Annotated[list[str], typer.Argument(metavar="PATH|URL…", help="Files, folders, zips or addresses.")],
    provider: Annotated[str | None, typer.Option(help="Whose documents these are.")] = None,
    lang: AnswerLang = "auto",
    allow_private: Annotated[bool, typer.Option(help="Fetch from private and loopback addresses too.")] = False,
    as_json: Json = False,
) -> None:
    """Add documents to the knowledge base."""
    engine = _engine()
    with _progress() as progress:
        report = engine.ingest_documents(
            sources,
            provider=provider,
            lang=lang,
            progress=progress,
            **({"allow_private": True} if allow_private else {}),
        )
    _print_report(report, as_json)


@ingest_app.command("offers")
def ingest_offers(
    sources: Annotated[
        list[str], typer.Argument(metavar="PATH|URL…", help="Catalogue files, folders, zips or addresses.")
    ],
    format: Annotated[Literal["auto", "skypilot", "gpuhunt", "table"], typer.Option(help="Catalogue format.")] = "auto",
    provider: Annotated[str | None, typer.Option(help="Provider, where the file does not say it.")] = None,
    as_json: Json = False,
) -> None:
    """Add or renew a catalogue of offers."""
    engine = _engine()
    with _progress() as progress:
        report = engine.ingest_offers(sources, format=format, provider=provider, progress=progress)
    _print_report(report, as_json)


@app.command()
def sources(as_json: Json = False) -> None:
    """What is in, and how old it is."""
    engine = _engine()
    found = {
        "offers": [_plain(row) for row in engine.offers.sources()],
        "documents": [_plain(row) for row in engine.passages.sources()],
    }
    if as_json:
        _print_json(found)
        return
    from advisor.plain import sources_text

    typer.echo(sources_text(found))


@app.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Address to bind to.")] = None,
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="Port to bind to.")] = None,
    mcp: Annotated[bool, typer.Option("--mcp", help="Serve the tools over MCP as well.")] = False,
) -> None:
    """Open the page."""
    from advisor.web.server import serve as run_server

    given = {key: value for key, value in (("host", host), ("port", port)) if value is not None}
    run_server(_settings(**given), mcp=mcp)


add_upkeep(app)


def _settings(**overrides: Any) -> Any:
    from advisor.settings import load_settings

    settings = load_settings()
    return settings.model_copy(update=overrides) if overrides else settings


def _engine() -> Any:
    from advisor.engine import Engine

    return Engine(_settings())


def _progress() -> Any:
    from advisor.plain import progress_bar

    return progress_bar()


def _plain(value: Any) -> Any:
    return value.model_dump(mode="json", by_alias=True) if hasattr(value, "model_dump") else value


def _print_json(value: Any) -> None:
    typer.echo(json.dumps(_plain(value), ensure_ascii=False))


def _print_report(report: Any, as_json: bool) -> None:
    if as_json:
        _print_json(report)
        return
    from advisor.plain import report_text

    typer.echo(report_text(report))


def main() -> None:
    """Run the command line; no traceback ever reaches a person."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")
    sys.exit(_run())


def _run() -> int:
    try:
        result = app(standalone_mode=False)
        return result if isinstance(result, int) else 0
    except (typer.Abort, KeyboardInterrupt):
        typer.echo("advisor: stopped", err=True)
        return 1
    except BadRequest as error:
        typer.echo(f"advisor: {error}", err=True)
        return 2
    except (AdvisorError, KnowledgeError) as error:
        typer.echo(f"advisor: {error}", err=True)
        return 1
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except Exception as error:  # the last line of defence: one line for the person, never a traceback
        if hasattr(error, "format_message"):
            return _usage(error)
        typer.echo(f"advisor: {type(error).__name__}: {error}", err=True)
        return 1


def _usage(error: Any) -> int:
    """A command line that was not understood: help where nothing was given, else one line."""
    message = error.format_message().strip()
    if type(error).__name__ == "NoArgsIsHelpError":
        typer.echo(message)
    else:
        typer.echo(f"advisor: {' '.join(message.split())} (see advisor --help)", err=True)
    return 2


if __name__ == "__main__":
    main()
