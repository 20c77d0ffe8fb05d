"""The commands. Each is a few lines over the public API; heavy imports wait until a command runs."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from leakscope.cli_attributes import attributes
from leakscope.cli_audit import audit
from leakscope.cli_causal import causal
from leakscope.cli_compare import compare
from leakscope.cli_diff import diff
from leakscope.cli_frontier import frontier
from leakscope.cli_gate import GATE_FAILED, gate
from leakscope.cli_leakage import leakage
from leakscope.cli_reconstruct import reconstruct
from leakscope.cli_report import report
from leakscope.cli_scores import scores
from leakscope.cli_shared import Json, Seed, progress_bars, show_audit
from leakscope.errors import InputError
from leakscope.failures import frames

BAD_INPUT, BROKEN, STOPPED = 2, 70, 130

app = typer.Typer(
    help="What a machine-learning model gives away about the people it was trained on.",
    epilog="Exit codes: 0 done, 1 a gate or check failed, 2 bad input.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
data = typer.Typer(help="Named real data sets: list them, fetch them.", no_args_is_help=True)
app.add_typer(data, name="data")


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and turn errors into exit codes."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without “ or … shows a question mark
    given = sys.argv[1:] if arguments is None else arguments
    try:
        code = app(args=given, standalone_mode=False, obj=given)
        if code == STOPPED:  # what Typer makes of Ctrl-C
            raise KeyboardInterrupt
        raise SystemExit(code if isinstance(code, int) else 0)
    except InputError as error:
        print(f"leakscope: {' '.join(str(error).split())}", file=sys.stderr)
        raise SystemExit(BAD_INPUT) from None
    except KeyboardInterrupt:
        print("leakscope: stopped", file=sys.stderr)
        raise SystemExit(STOPPED) from None
    except Exception as error:
        if hasattr(error, "format_message"):  # a wrong option or command, told by Typer
            _print_usage(error)
            raise SystemExit(BAD_INPUT) from None
        print(frames(error), file=sys.stderr)
        print("leakscope: this is a defect of leakscope; please report it with the lines above", file=sys.stderr)
        raise SystemExit(BROKEN) from None


def _print_usage(error: Any) -> None:
    """One sentence for a wrong option; the help itself where nothing was asked for."""
    message = " ".join(error.format_message().split())
    if message:
        print(f"leakscope: {message.rstrip('.')}: see leakscope --help", file=sys.stderr)
    else:
        error.show()


def _version(wanted: bool) -> None:
    if wanted:
        from leakscope import __version__

        print(__version__)
        raise typer.Exit


@app.callback()
def _about(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None: ...


for command in (audit, compare, scores, report, diff, gate, frontier, causal, attributes, leakage, reconstruct):
    app.command()(command)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the model, its data and the audit.", file_okay=False)] = Path(
        "demo"
    ),
    seed: Seed = 0,
) -> None:
    """Train a model on data that ships with scikit-learn, audit it, and write the report."""
    from leakscope.demo import run

    with progress_bars() as progress:
        result, command = run(out, seed, progress)
    show_audit(result)
    print(f"\nreport: {out / 'audit' / 'report.html'}\nthe same from the command line:\n  {command}")


@app.command()
def selfcheck(
    seed: Annotated[int, typer.Option(help="Seed of the worlds.", min=0)] = 0,
    as_json: Json = False,
) -> None:
    """Audit worlds whose leakage is known, and say whether this installation measures right."""
    from leakscope.selfcheck import run

    with progress_bars() as progress:
        checks = run(seed, progress)
    right = all(check.passed for check in checks)
    if as_json:
        print(json.dumps({"passed": right, "checks": [check.as_dict() for check in checks]}, indent=1))
    else:
        for check in checks:
            print(check)
        print(
            "all right: this installation measures what it should" if right else "WRONG: don't trust this installation"
        )
    if not right:
        raise typer.Exit(GATE_FAILED)


@app.command()
def reproduce(
    name: Annotated[str | None, typer.Argument(help="Which one, such as farokhi-fig1.")] = None,
    every: Annotated[bool, typer.Option("--all", help="All of them, one after the other.")] = False,
    listing: Annotated[bool, typer.Option("--list", help="Say which there are, and stop.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Small settings: to see that it works, not to quote.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for the tables and figures.", file_okay=False)] = Path("papers-out"),
    seed: Seed = 0,
    workers: Annotated[int | None, typer.Option(help="Processes; by default as many as pay off.", min=1)] = None,
    synthetic: Annotated[
        bool, typer.Option("--synthetic", help="Use generated data; the numbers can't be compared with the paper's.")
    ] = False,
    cache: Annotated[
        Path | None,
        typer.Option(help="Folder that keeps finished work; a stopped run goes on from there.", file_okay=False),
    ] = None,
    as_json: Json = False,
) -> None:
    """Reproduce a figure of a paper: our numbers, the paper's statement, and whether they agree."""
    from leakscope import papers
    from leakscope.papers.show import list_all, show
    from leakscope.storage import check_writable
    from leakscope.workers import check_work

    if listing:
        print(list_all(as_json))
        return
    if (name is None) != every:
        raise InputError("name one reproduction, or say --all: leakscope reproduce --list says which there are")
    check_writable(out)
    check_work(workers, None, cache)
    results = []
    for wanted in papers.reproductions() if name is None else [name]:
        with progress_bars() as progress:
            result = papers.reproduce(wanted, quick, seed, progress, workers, synthetic=synthetic, cache=cache)
        files = result.write(out)
        results.append(result.as_dict())
        if not as_json:
            show(result, files)
    if as_json:
        print(json.dumps(results if every else results[0], indent=1, ensure_ascii=False, allow_nan=False))


@data.command("list")
def list_data(as_json: Json = False) -> None:
    """The data sets, what they are, and where this machine has them."""
    from leakscope import datasets

    rows = [(datasets.describe(name), datasets.where(name)) for name in datasets.names()]
    if as_json:
        fields = ("name", "title", "shape", "task", "licence", "source")
        shown = [
            {key: getattr(row, key) for key in fields} | {"where": where, "synthetic": bool(row.files)}
            for row, where in rows
        ]
        print(json.dumps(shown, indent=1))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE)
    for heading in ("name", "rows x columns", "task", "where"):
        table.add_column(heading, no_wrap=heading != "task")
    for row, where in rows:
        table.add_row(row.name, row.shape, row.task, where)
    Console().print(table)
    print(
        "download: `leakscope data fetch NAME`; every set that needs files has generated data: load(NAME, synthetic=True)"
    )


@data.command()
def fetch(name: Annotated[str, typer.Argument(help="A name from `leakscope data list`.")]) -> None:
    """Download a data set once, check it, and say where it is."""
    from leakscope import datasets

    with progress_bars() as progress:
        print(datasets.fetch(name, progress=lambda done, total: progress(f"fetching {name}", done, total)))
