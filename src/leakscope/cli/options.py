"""What the commands share: options with one meaning, progress bars, and how a result is saved and printed."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from leakscope.core.errors import InputError
from leakscope.core.failures import safe_warnings

if TYPE_CHECKING:
    from leakscope.core.result import Result
    from leakscope.data.tables import Sets
    from leakscope.record.gate import GateResult

#: Whatever stands before the host or after the path of an address can be a password or a key.
_ADDRESS = re.compile(
    r"(?P<start>(?:--[\w-]+=)?[a-z][a-z0-9+.-]*:/+)(?:[^/@]*@)?(?P<place>[^?#]*)(?P<rest>.*)", re.I | re.S
)
#: Panels of the help.
INPUT, ATTACKS, RETRAINING, GATE, OUTPUT = "Input", "Attacks and statistics", "Retraining", "Gate", "Output"
GATE_FAILED = 1  # exit code of a failed gate or check
AnyModel = Annotated[
    str, typer.Argument(help="The model: .skops, .onnx, a pickle with --trust-pickle, or http(s)://….")
]
Train = Annotated[Path, typer.Option(help="CSV of the records that the model was trained on.", rich_help_panel=INPUT)]
Holdout = Annotated[
    Path,
    typer.Option(help="CSV of held-out records from the same population, never trained on.", rich_help_panel=INPUT),
]
Label = Annotated[str, typer.Option(help="The column that the model predicts.", rich_help_panel=INPUT)]
Id = Annotated[
    str | None,
    typer.Option(help="Column with the ids of the records; it is not an input of the model.", rich_help_panel=INPUT),
]
Drop = Annotated[
    str | None,
    typer.Option(help="Columns that are not inputs of the model, separated by commas.", rich_help_panel=INPUT),
]
IdColumn = Annotated[
    str | None, typer.Option(help="Column with the ids of the records; not used as a feature.", rich_help_panel=INPUT)
]
NoFeatures = Annotated[
    str | None, typer.Option(help="Columns that are not used as features, separated by commas.", rich_help_panel=INPUT)
]
Groups = Annotated[
    str | None, typer.Option(help="Columns of groups to compare, separated by commas.", rich_help_panel=INPUT)
]
Task = Annotated[
    str | None, typer.Option(help="classification or regression, if the file does not state it.", rich_help_panel=INPUT)
]
Outputs = Annotated[
    str | None,
    typer.Option(
        help="Outputs of an ONNX or remote model: probabilities, logits or log-probabilities.", rich_help_panel=INPUT
    ),
]
Retrain = Annotated[
    bool,
    typer.Option(help="Train reference models and controls that never saw the members.", rich_help_panel=RETRAINING),
]
References = Annotated[
    int | None,
    typer.Option(
        help="Reference models for the strongest attacks: 4 by default, 2 is quicker, 0 for none.",
        min=0,
        rich_help_panel=RETRAINING,
    ),
]
Budget = Annotated[
    str | None,
    typer.Option(
        help="Time for training, such as 90s, 10m or 2h: reference models are trained in pairs until it is over, at most 64.",
        rich_help_panel=RETRAINING,
    ),
]
RandomSplit = Annotated[
    bool,
    typer.Option(
        "--random-split",
        help="State that members and holdout come from one random split: fewer models are trained, and weaker leaks are found.",
        rich_help_panel=RETRAINING,
    ),
]
Shadows = Annotated[
    int | None, typer.Option(help="Old name of --references.", min=0, hidden=True, rich_help_panel=RETRAINING)
]
DropOverlap = Annotated[
    bool, typer.Option("--drop-overlap", help="Remove training records from the holdout.", rich_help_panel=INPUT)
]
Repeats = Annotated[
    int | None,
    typer.Option(
        help="Answers to average per record if the model's answers are random; 16 by default.",
        min=1,
        rich_help_panel=ATTACKS,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(help="Processes for retraining; by default as many as pay off.", rich_help_panel=RETRAINING),
]
Cluster = Annotated[
    str | None, typer.Option(help="Address of a Dask scheduler, tcp://HOST:PORT.", rich_help_panel=RETRAINING)
]
Cache = Annotated[
    Path | None,
    typer.Option(
        help="Folder that keeps finished trainings; it holds outputs for your records, so keep it private.",
        file_okay=False,
        rich_help_panel=RETRAINING,
    ),
]
TrustPickle = Annotated[
    bool, typer.Option("--trust-pickle", help="Unpickle the model: this runs its code.", rich_help_panel=INPUT)
]
Trust = Annotated[
    list[str] | None, typer.Option(help="A type in a skops file to trust; may be repeated.", rich_help_panel=INPUT)
]
With = Annotated[
    list[Path] | None,
    typer.Option(
        "--with",
        help="Folder of another saved result that the report shows too; may be repeated.",
        rich_help_panel=OUTPUT,
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        help="Folder for result.json, report.html, table.csv and, by record, records.csv.",
        file_okay=False,
        rich_help_panel=OUTPUT,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON only.", rich_help_panel=OUTPUT)]
Seed = Annotated[int, typer.Option(help="The same seed gives the same numbers.", min=0, rich_help_panel=ATTACKS)]
Confidence = Annotated[float, typer.Option(help="Confidence of the intervals.", rich_help_panel=ATTACKS)]
Margin = Annotated[
    float, typer.Option(help="“Not detected” excludes an AUC above 0.5 plus this.", rich_help_panel=ATTACKS)
]


class Given(NamedTuple):
    """The model and the records that a command was given; ``digest`` is that of the model's file."""

    model: Any
    digest: str | None
    sets: Sets


def read_given(
    model: str | Path,
    files: tuple[Path, Path],
    label: str,
    *,
    groups: str | None = None,
    id_column: str | None,
    drop: str | None,
    trust_pickle: bool,
    trust: list[str] | None,
) -> Given:
    """Load the model, and read the records that it was trained on and the holdout."""
    from leakscope.data.tables import read_sets
    from leakscope.models.provenance import load_with_digest

    loaded, digest = load_with_digest(model, trust_pickle=trust_pickle, trust=tuple(trust or ()))
    sets = read_sets(files, loaded, label=label, groups=groups, id_column=id_column, drop=drop)
    return Given(loaded, digest, sets)


def check_out(out: Path | None) -> None:
    """Refuse a folder that can't be written to, before any work."""
    from leakscope.record.files import check_writable
    from leakscope.record.storage import FILES

    if out is not None:
        check_writable(out, FILES)


def command_line(context: typer.Context) -> str:
    """The command as it was typed, without what may be secret in an address.

    Examples
    --------
    >>> class Context:
    ...     obj = ["audit", "https://ann:secret@host/predict?key=secret", "--label", "a b"]
    >>> command_line(Context())
    "leakscope audit 'https://host/predict?…' --label 'a b'"
    """
    arguments = sys.argv[1:] if context.obj is None else context.obj
    line = shlex.join(["leakscope", *map(_without_secrets, arguments)])
    return line.encode(errors="replace").decode()  # a path that is no text could not be saved


def _without_secrets(argument: str) -> str:
    found = _ADDRESS.fullmatch(argument)
    return argument if found is None else found["start"] + found["place"] + ("?…" if found["rest"] else "")


@contextmanager
def progress_bars() -> Iterator[Callable[[str, int, int], None]]:
    """Show progress with the time left on standard error, if it is a terminal; no warning shows values."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars, safe_warnings():
        tasks: dict[str, Any] = {}

        def report(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total)
            bars.update(tasks[stage], completed=done, total=total)

        yield report


def finish(
    result: Result,
    out: Path | None,
    as_json: bool,
    *,
    context: typer.Context | None = None,
    include: Sequence[Result] = (),
    gate: GateResult | None = None,
) -> None:
    """Save a result where that is asked for, and print it: in colour on a terminal, as plain text elsewhere, or as JSON.

    Parameters
    ----------
    context
        Of a command whose result does not hold the command line yet.
    include
        Other results that the report shows too.
    gate
        What a gate made of the result.
    """
    if context is not None:
        result = replace(result, command=command_line(context))
    if out is not None:
        result.save(out, include)
    if as_json:
        document = result.as_dict() | {"gate": None if gate is None else gate.as_dict()}
        print(json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False))
        return
    show(result, include)
    if out is not None:
        print(f"\nreport: {out / 'report.html'}")
    if gate is not None:
        print(gate)


def show(result: Result, include: Sequence[Result] = ()) -> None:
    """Print a result: in colour on a terminal, as plain text elsewhere."""
    from rich.console import Console

    from leakscope.report.renderers import terminal, text

    console = Console()
    if console.is_terminal:
        console.print(terminal.render(result, include))
    else:
        print(text.render(result, include))


def seconds(text: str | None, option: str) -> float | None:
    """A duration such as 90s, 10m or 2h in seconds.

    Examples
    --------
    >>> seconds("10m", "--budget"), seconds("1.5h", "--budget"), seconds("45", "--budget")
    (600.0, 5400.0, 45.0)
    """
    if text is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d*)?)\s*([smh]?)", text.strip())
    if found is None or not float(found[1]):
        raise InputError(f"{option} takes a time such as 90s, 10m or 2h, not {text!r}")
    return float(found[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[found[2]]


def numbers(text: str, option: str, kind: Callable[[str], Any]) -> list[Any]:
    """Numbers separated by commas."""
    try:
        return [kind(part) for part in text.split(",")]
    except ValueError:
        what = "whole numbers" if kind is int else "numbers"
        raise InputError(f"{option} takes {what} separated by commas, not {text!r}") from None
