"""The commands. Each is a few lines over the public API; heavy imports wait until a command runs."""

from __future__ import annotations

import io
import json
import sys
import traceback
from pathlib import Path
from typing import Annotated, Any

import typer

from leakscope.cli_attributes import attributes
from leakscope.cli_causal import causal
from leakscope.cli_frontier import frontier
from leakscope.cli_leakage import leakage
from leakscope.cli_reconstruct import reconstruct
from leakscope.cli_shared import (
    Cluster,
    Confidence,
    Drop,
    DropOverlap,
    Holdout,
    Id,
    Json,
    Label,
    Retrain,
    Seed,
    Train,
    Trust,
    TrustPickle,
    Workers,
    progress_bars,
)
from leakscope.errors import InputError

GATE_FAILED, BAD_INPUT, BROKEN, STOPPED = 1, 2, 70, 130
TASKS = ("classification", "regression")
OUTPUTS = ("probabilities", "logits", "log-probabilities")

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
    try:
        code = app(args=arguments, standalone_mode=False)
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
        traceback.print_exc()
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


@app.command()
def audit(
    model: Annotated[Path, typer.Argument(help="The model: .skops, .onnx, or a pickle with --trust-pickle.")],
    train: Train,
    holdout: Holdout,
    label: Label,
    out: Annotated[
        Path | None, typer.Option(help="Folder for audit.json, records.csv and report.html.", file_okay=False)
    ] = None,
    groups: Annotated[str | None, typer.Option(help="Columns to compare people by, separated by commas.")] = None,
    id: Id = None,  # noqa: A002
    drop: Drop = None,
    task: Annotated[str | None, typer.Option(help="classification or regression, where the file doesn't say.")] = None,
    outputs: Annotated[
        str | None, typer.Option(help="What an ONNX model gives: probabilities, logits or log-probabilities.")
    ] = None,
    fail_if: Annotated[
        list[str] | None, typer.Option(help="Exit 1 if this holds, such as 'auc.high > 0.6'; may be repeated.")
    ] = None,
    releases: Annotated[
        str | None,
        typer.Option(
            help="What is released, separated by commas: labels, probabilities, predictions, gradient, integrated_gradients, "
            "smoothgrad:sigma=0.1, … (see docs/feature-explanations.md)."
        ),
    ] = None,
    shadows: Annotated[
        int,
        typer.Option(help="The attacker knows no member and trains this many models on half of the holdout.", min=0),
    ] = 0,
    retrain: Retrain = True,
    drop_overlap: DropOverlap = False,
    confidence: Confidence = 0.95,
    margin: Annotated[float, typer.Option(help="“No evidence” excludes an AUC above 0.5 plus this.")] = 0.05,
    seed: Seed = 0,
    workers: Workers = None,
    cluster: Cluster = None,
    cache: Annotated[
        Path | None,
        typer.Option(
            help="Folder that keeps finished retrainings; it holds what is released of your records, so keep it private.",
            file_okay=False,
        ),
    ] = None,
    trust_pickle: TrustPickle = False,
    trust: Trust = None,
    as_json: Json = False,
) -> None:
    """Audit a trained model: what do its answers give away about who was in its training set?"""
    from leakscope.auditing import audit as run
    from leakscope.gate import Condition
    from leakscope.model_files import load_model
    from leakscope.risk import FALSE_POSITIVE_RATES
    from leakscope.selection import read_releases
    from leakscope.storage import check_writable
    from leakscope.tables import read_sets

    conditions = [Condition.parse(text) for text in fail_if or []]
    for condition in conditions:
        condition.check(FALSE_POSITIVE_RATES, groups is not None, explanations=_explains(releases))
    for value, name, known in ((task, "--task", TASKS), (outputs, "--outputs", OUTPUTS)):
        if value not in (None, *known):
            raise InputError(f"{name} must be {' or '.join(known)}, not {value}")
    if releases is not None:
        read_releases(releases.split(","))
    if out is not None:
        check_writable(out)
    loaded = load_model(model, trust_pickle=trust_pickle, trust=tuple(trust or ()))
    sets = read_sets((train, holdout), loaded, label=label, groups=groups, id_column=id, drop=drop)
    with progress_bars() as progress:
        result = run(
            loaded, sets.train, sets.holdout, groups=sets.groups, ids=sets.ids, task=task, outputs=outputs,
            releases=None if releases is None else releases.split(","), shadows=shadows,
            retrain=retrain, drop_overlap=drop_overlap, confidence=confidence, margin=margin, seed=seed,
            workers=workers, cluster=cluster, cache=cache, progress=progress,
        )  # fmt: skip
    if out is not None:
        result.save(out)
    failed = [condition for condition in conditions if condition.holds(result)]
    if as_json:
        print(_as_json(result, conditions, failed))
    else:
        print(result)
        if out is not None:
            print(f"\nreport: {out / 'report.html'}")
        for condition in failed:
            print(f"gate failed: {condition.text} (it is {condition.estimate(result)})")
    if failed:
        raise typer.Exit(GATE_FAILED)


def _explains(releases: str | None) -> bool:
    """Whether an explanation is released beside a prediction."""
    from leakscope.releases import RELEASES
    from leakscope.selection import PREDICTIONS

    names = set() if releases is None else {name.strip() for name in releases.split(",")}
    return bool(names & set(PREDICTIONS)) and not names <= set(RELEASES)


def _as_json(result: Any, conditions: list[Any], failed: list[Any]) -> str:
    from leakscope.storage import findings_to_dict

    gate = [{"condition": condition.text, "failed": condition in failed} for condition in conditions]
    return json.dumps(findings_to_dict(result.findings) | {"gate": gate}, indent=1, ensure_ascii=False, allow_nan=False)


for command in (frontier, causal, attributes, leakage, reconstruct):
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
    print(result)
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
    as_json: Json = False,
) -> None:
    """Make a figure of a paper anew: our numbers beside what the paper says, and whether they agree."""
    from leakscope import papers
    from leakscope.papers.show import list_all, show
    from leakscope.storage import check_writable

    if listing:
        print(list_all(as_json))
        return
    if (name is None) != every:
        raise InputError("name one reproduction, or say --all: leakscope reproduce --list says which there are")
    check_writable(out)
    results = []
    for wanted in papers.reproductions() if name is None else [name]:
        with progress_bars() as progress:
            result = papers.reproduce(wanted, quick, seed, progress, workers)
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
        print(
            json.dumps([{key: getattr(row, key) for key in fields} | {"where": where} for row, where in rows], indent=1)
        )
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


@data.command()
def fetch(name: Annotated[str, typer.Argument(help="A name from `leakscope data list`.")]) -> None:
    """Download a data set once, check it, and say where it is."""
    from leakscope import datasets

    with progress_bars() as progress:
        print(datasets.fetch(name, progress=lambda done, total: progress(f"fetching {name}", done, total)))
