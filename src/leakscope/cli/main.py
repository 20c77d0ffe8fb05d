"""The commands. Each calls one public function; heavy imports wait until a command runs."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from leakscope.cli.attributes import attributes
from leakscope.cli.audit import audit
from leakscope.cli.causal import causal
from leakscope.cli.compare import compare
from leakscope.cli.diff import diff
from leakscope.cli.frontier import frontier
from leakscope.cli.gate import gate
from leakscope.cli.leakage import leakage
from leakscope.cli.options import GATE_FAILED, Json, Seed, finish, progress_bars, show
from leakscope.cli.reconstruct import reconstruct
from leakscope.cli.report import report
from leakscope.cli.scores import scores
from leakscope.core.errors import InputError, chain, resource_error
from leakscope.core.failures import frames

#: Exit codes; 0 is done, and 1 (`GATE_FAILED`) a failed gate or check. Those from 128 on are 128 and a signal's number.
BAD_INPUT, NO_RESOURCE, BROKEN, STOPPED, CLOSED, TERMINATED = 2, 3, 70, 130, 141, 143


def _new_app() -> typer.Typer:
    return typer.Typer(
        help="Measure what a machine-learning model reveals about its training data.",
        epilog="Exit codes: 0 done, 1 a gate or check failed, 2 bad input, 3 the machine failed (memory, disk, workers; run "
        "again to resume), 70 a defect, 130 Ctrl-C, 141 output closed, 143 terminated.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        add_completion=False,
    )


app = _new_app()
data = typer.Typer(help="Named real data sets: list them, fetch them.", no_args_is_help=True)
app.add_typer(data, name="data")


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and turn errors into exit codes."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without “ or … shows a question mark
    given = sys.argv[1:] if arguments is None else arguments
    if sys.stdout is None:  # the next file that is opened would take its place
        _say("standard output is closed: redirect it to a file or to /dev/null")
        raise SystemExit(CLOSED)
    with _discarding(), _without_logs(), _terminable() as received:
        try:
            _run(given)
        except KeyboardInterrupt:
            _say(f"stopped{_advice(given)}")
            raise SystemExit(TERMINATED if received else STOPPED) from None
        except OSError:  # standard error can't be written to either
            raise SystemExit(NO_RESOURCE) from None


def _run(given: list[str]) -> None:
    try:
        code = _app_for(given)(args=given, standalone_mode=False, obj=given)
        if code == STOPPED:  # what Typer makes of Ctrl-C
            raise KeyboardInterrupt
        sys.stdout.flush()
    except SystemExit as error:
        if _is_closed_pipe(error):  # what Rich and Typer make of a closed output, with code 1
            raise SystemExit(CLOSED) from None
        # Only foreign code ends here. Its exit code is no statement about the model, and its message may hold values.
        _say("the model, or a library that it uses, ended the program (SystemExit): remove sys.exit from its code")
        raise SystemExit(BAD_INPUT) from None
    except Exception as error:
        if (fault := resource_error(error)) is not None:
            _say(f"{fault}{_advice(given)}")
            raise SystemExit(NO_RESOURCE) from None
        if isinstance(error, InputError):
            _say(str(error))
            raise SystemExit(BAD_INPUT) from None
        if isinstance(error, BrokenPipeError):  # `leakscope … | head` ends without a word, as other programs do
            raise SystemExit(CLOSED) from None
        if hasattr(error, "format_message"):  # a wrong option or command, told by Typer
            _print_usage(error)
            raise SystemExit(BAD_INPUT) from None
        print(frames(error), file=sys.stderr)
        print("leakscope: this is a defect of leakscope; please report it with the lines above", file=sys.stderr)
        raise SystemExit(BROKEN) from None
    raise SystemExit(code if isinstance(code, int) else 0)


def _app_for(given: list[str]) -> typer.Typer:
    """Give the app; for a command that pipelines run often one with this command only, which is made in less time."""
    quick: dict[str, Callable[..., None]] = {"gate": gate, "diff": diff}
    if not given or given[0] not in quick:
        return app
    small = _new_app()
    small.callback()(_about)
    small.command()(quick[given[0]])
    return small


def _is_closed_pipe(error: BaseException) -> bool:
    return any(isinstance(cause, BrokenPipeError) for cause in chain(error))


def _say(sentence: str) -> None:
    """Print one line on standard error, if anything can be printed there."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            print(f"leakscope: {' '.join(sentence.split())}", file=sys.stderr, flush=True)


def _advice(given: list[str]) -> str:
    """Say how to resume, where the command can keep finished work."""
    if any(word == "--cache" or word.startswith("--cache=") for word in given):
        return "; finished trainings are in the cache: run the same command again to resume"
    command = getattr(typer.main.get_command(app), "commands", {}).get(given[0] if given else "")
    if any("--cache" in option.opts for option in getattr(command, "params", ())):
        return "; add --cache DIR to keep finished trainings, so that the same command can resume"
    return ""


@contextlib.contextmanager
def _terminable() -> Iterator[list[int]]:
    """Stop on SIGTERM as on Ctrl-C, and say whether it came; a second one ends the process at once."""
    received: list[int] = []
    if threading.current_thread() is not threading.main_thread():  # Python allows signal handlers there alone
        yield received
        return

    def stop(number: int, _: Any) -> None:
        received.append(number)
        signal.signal(number, signal.SIG_DFL)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield received
    finally:
        signal.signal(signal.SIGTERM, before or signal.SIG_DFL)  # none where another program set it


@contextlib.contextmanager
def _without_logs() -> Iterator[None]:
    """Keep the logs of libraries off standard error: Dask prints tracebacks for what ends here in one sentence."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


@contextlib.contextmanager
def _discarding() -> Iterator[None]:
    """Drop what can't be written: Python would try again at exit, complain, and change the exit code."""
    try:
        yield
    finally:
        for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):  # Typer replaces those of a closed pipe
            try:
                if stream is not None:
                    stream.flush()
            except (OSError, ValueError):
                _redirect_to_nowhere(stream)


def _redirect_to_nowhere(stream: Any) -> None:
    with contextlib.suppress(OSError, ValueError):  # a stream without a file needs nothing
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _print_usage(error: Any) -> None:
    """One sentence for a wrong option; the help itself where nothing was asked for."""
    message = " ".join(error.format_message().split())
    if message:
        _say(f"{message.rstrip('.')}: see leakscope --help")
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
    """Train a model on data of scikit-learn, audit it, and write the report."""
    from leakscope.demo import run

    with progress_bars() as progress:
        result, command = run(out, seed, progress)
    show(result)
    print(f"\nreport: {out / 'audit' / 'report.html'}\nthe same from the command line:\n  {command}")


@app.command()
def selfcheck(
    seed: Annotated[int, typer.Option(help="Seed of the models.", min=0)] = 0,
    as_json: Json = False,
) -> None:
    """Audit models whose leakage is known, and check that this installation measures it correctly."""
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
            "passed: this installation measures known leakage correctly"
            if right
            else "FAILED: do not use this installation"
        )
    if not right:
        raise typer.Exit(GATE_FAILED)


@app.command()
def reproduce(
    name: Annotated[str | None, typer.Argument(help="Name of the reproduction, such as farokhi-fig1.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Run all reproductions.")] = False,
    listing: Annotated[bool, typer.Option("--list", help="List the reproductions and stop.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small settings, for a test run; do not quote the numbers.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for result.json, report.html and table.csv; with --all it has one folder for each.",
            file_okay=False,
        ),
    ] = None,
    seed: Seed = 0,
    workers: Annotated[int | None, typer.Option(help="Processes; by default as many as pay off.", min=1)] = None,
    synthetic: Annotated[
        bool, typer.Option("--synthetic", help="Use generated data; the numbers can't be compared with the paper's.")
    ] = False,
    cache: Annotated[
        Path | None,
        typer.Option(help="Folder that keeps finished work; a stopped run resumes from it.", file_okay=False),
    ] = None,
    as_json: Json = False,
) -> None:
    """Reproduce a figure, table or theorem of a paper: our numbers, and which statements of the paper hold."""
    from leakscope import papers
    from leakscope.record.files import check_writable
    from leakscope.worlds.workers import check_work

    if listing:
        _list_reproductions(as_json)
        return
    if (name is None) != every:
        raise InputError("name one reproduction or pass --all: leakscope reproduce --list shows the names")
    folder = out or Path("papers-out")
    check_writable(folder)
    check_work(workers, None, cache)
    results = []
    for wanted in papers.reproductions() if name is None else [name]:
        with progress_bars() as progress:
            result = papers.reproduce(wanted, quick, seed, progress, workers, synthetic=synthetic, cache=cache)
        place = folder if out is not None and name is not None else folder / wanted
        if as_json:
            result.save(place)
            results.append(result.as_dict())
        else:
            finish(result, place, as_json)
    if as_json:
        print(json.dumps(results if every else results[0], indent=1, ensure_ascii=False, allow_nan=False))


def _list_reproductions(as_json: bool) -> None:
    from leakscope import papers

    rows = [
        {"id": name, "title": module.TITLE, "paper": module.PAPER} for name, module in papers.reproductions().items()
    ]
    if as_json:
        print(json.dumps(rows, indent=1, ensure_ascii=False))
    else:
        print("\n".join(f"{row['id']:14} {row['title']}\n{'':14} {row['paper']['source']}" for row in rows))


@data.command("list")
def list_data(as_json: Json = False) -> None:
    """The data sets, what they are, and where this machine has them."""
    from leakscope.data import datasets

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
    from leakscope.data import datasets

    with progress_bars() as progress:
        print(datasets.fetch(name, progress=lambda done, total: progress(f"fetching {name}", done, total)))
