"""What the commands share: options with one meaning, progress bars, and how a result is saved and printed."""

from __future__ import annotations

import inspect
import json
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, is_dataclass, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_type_hints

import typer
from typer.core import TyperCommand

from leakscope.core.errors import InputError
from leakscope.core.failures import safe_warnings
from leakscope.data.text_format import TextFormat

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
#: Options of the last version by command, each with its new name.
FORMER = {
    "audit": {"--shadows": "--references"},
    "causal": {"--parents": "--causes"},
    "compare": {
        "--shadows": "--references",
        "--explanations": "--releases",
        "--environment": "--environments",
        "--price": "--utility-loss",
        "--delta": "--defense-delta",
    },
    "frontier": {"--explanations": "--releases", "--beside": "--prediction", "--margin": "--tolerance"},
    "reconstruct": {"--records": "--size", "--l2": "--penalty", "--budget": "--queries", "--repeats": "--runs"},
}
TASKS = ("classification", "regression")
OUTPUTS = ("probabilities", "logits", "log-probabilities")
GATE_FAILED = 1  # exit code of a failed gate or check


def option(panel: str, words: str, *names: str, **settings: Any) -> Any:
    """Give an option in a panel of the help."""
    return typer.Option(*names, help=words, rich_help_panel=panel, **settings)


class Command(TyperCommand):
    """A command that takes the options of the last version too, and says what to write instead."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        former = FORMER.get(self.name or "", {})
        stop = args.index("--") if "--" in args else len(args)
        for at, word in enumerate(args[:stop]):
            old, equals, value = word.partition("=")
            if old in former:
                print(f"leakscope: write {former[old]}: the next version has no {old}", file=sys.stderr)
                args[at] = f"{former[old]}{equals}{value}"
        return super().parse_args(ctx, args)


AnyModel = Annotated[
    str,
    typer.Argument(
        help="The model: .skops, .onnx, a pickle with --trust-pickle, http(s)://…, or model.py:load (runs its code)."
    ),
]
Train = Annotated[Path, option(INPUT, "Table (CSV, Parquet, Feather) of the records that the model was trained on.")]
Holdout = Annotated[
    Path, option(INPUT, "Table (CSV, Parquet, Feather) of held-out records from the same population, never trained on.")
]
Label = Annotated[str, option(INPUT, "The column that the model predicts.")]
Id = Annotated[str | None, option(INPUT, "Column with the ids of the records; it is not an input of the model.")]
Drop = Annotated[str | None, option(INPUT, "Columns that are not inputs of the model, separated by commas.")]
IdColumn = Annotated[str | None, option(INPUT, "Column with the ids of the records; not used as a feature.")]
NoFeatures = Annotated[str | None, option(INPUT, "Columns that are not used as features, separated by commas.")]
Groups = Annotated[str | None, option(INPUT, "Columns of groups to compare, separated by commas.")]
Separator = Annotated[
    str | None, option(INPUT, "Character between the fields of CSV files, or tab; detected by default.")
]
Decimal = Annotated[str | None, option(INPUT, "Decimal mark of CSV files: . or ,; detected by default.")]
Weights = Annotated[
    str | None,
    option(INPUT, "Column with the sample weights that the model was trained with; not a feature.", "--weights"),
]
Bins = Annotated[
    list[str] | None,
    option(
        INPUT,
        "Ends of the bins of a numeric group column, age=18,30,50; may be repeated. Five bins by default.",
        "--bins",
    ),
]
Task = Annotated[str | None, option(INPUT, "classification or regression, if the file does not state it.")]
Outputs = Annotated[
    str | None, option(INPUT, "Outputs of an ONNX or remote model: probabilities, logits or log-probabilities.")
]
Retrain = Annotated[bool, option(RETRAINING, "Train reference models and controls that never saw the members.")]
References = Annotated[
    int | None,
    option(RETRAINING, "Reference models for the strongest attacks: 4 by default, 2 is quicker, 0 for none.", min=0),
]
Budget = Annotated[
    str | None,
    option(
        RETRAINING,
        "Time for training, such as 90s, 10m or 2h: reference models are trained in pairs until it is over, at most 64.",
    ),
]
RandomSplit = Annotated[
    bool,
    option(
        RETRAINING,
        "State that members and holdout come from one random split: fewer models are trained, and weaker leaks are found.",
        "--random-split",
    ),
]
DropOverlap = Annotated[bool, option(INPUT, "Remove training records from the holdout.", "--drop-overlap")]
Repeats = Annotated[
    int | None,
    option(ATTACKS, "Answers to average per record if the model's answers are random; 16 by default.", min=1),
]
Workers = Annotated[int | None, option(RETRAINING, "Processes for retraining; chosen automatically by default.")]
Cluster = Annotated[str | None, option(RETRAINING, "Address of a Dask scheduler, tcp://HOST:PORT.")]
Cache = Annotated[
    Path | None,
    option(
        RETRAINING,
        "Folder that keeps finished trainings; it holds outputs for your records, so keep it private.",
        file_okay=False,
    ),
]
TrustPickle = Annotated[bool, option(INPUT, "Unpickle the model: this runs its code.", "--trust-pickle")]
Trust = Annotated[list[str] | None, option(INPUT, "A type in a skops file to trust; may be repeated.")]
PythonPath = Annotated[
    list[Path] | None, option(INPUT, "Folder to search for Python modules of the model; may be repeated.", "--path")
]
Fit = Annotated[
    str | None,
    option(
        RETRAINING,
        "Function fit(X, y, rng) that trains the model again, as model.py:fit or package.module:fit (runs its code).",
    ),
]
With = Annotated[
    list[Path] | None,
    option(OUTPUT, "Folder of another saved result that the report shows too; may be repeated.", "--with"),
]
Out = Annotated[
    Path | None,
    option(OUTPUT, "Folder for result.json, report.html, table.csv and, by record, records.csv.", file_okay=False),
]
Json = Annotated[bool, option(OUTPUT, "Print JSON only.", "--json")]
Seed = Annotated[int, option(ATTACKS, "The same seed gives the same numbers.", min=0)]
Confidence = Annotated[float, option(ATTACKS, "Confidence of the intervals.")]
Margin = Annotated[float, option(ATTACKS, "“Not detected” excludes an AUC above 0.5 plus this.")]


@dataclass(frozen=True)
class Format(TextFormat):
    """Options of a command that reads tables: how CSV files are written."""

    separator: Separator = None
    decimal: Decimal = None


class GivenModel(NamedTuple):
    """The model, what was said of it, and its records; ``digest`` is that of the model's file.

    ``fit`` and ``code`` are how Python code trains the model again, and the name of the code that was run.
    """

    model: Any
    digest: str | None
    sets: Sets
    said: dict[str, Any]
    fit: Callable[..., Any] | None
    code: str | None


@dataclass(frozen=True)
class Data:
    """Options of a command that audits a model: the model and its records."""

    model: AnyModel
    train: Train
    holdout: Holdout
    label: Label
    id: Id = None
    drop: Drop = None
    separator: Separator = None
    decimal: Decimal = None
    task: Task = None
    outputs: Outputs = None
    trust_pickle: TrustPickle = False
    trust: Trust = None
    path: PythonPath = None

    def __post_init__(self) -> None:
        _ = self.form  # a wrong mark is refused before the model is read
        for value, name, known in ((self.task, "--task", TASKS), (self.outputs, "--outputs", OUTPUTS)):
            if value not in (None, *known):
                raise InputError(f"{name} must be {' or '.join(known)}, not {value}")

    @property
    def form(self) -> Format:
        """How CSV files are written."""
        return Format(self.separator, self.decimal)

    def read(self, groups: str | None = None, weights: str | None = None) -> GivenModel:
        """Load the model, and read the records that it was trained on and the holdout; ``weights`` is no feature."""
        from leakscope.data.tables import read_sets
        from leakscope.models.entry import entry_point, load_entry_point, search_folders
        from leakscope.models.provenance import load_with_digest

        if weights is not None and weights in (self.label, self.id):
            raise InputError(
                f"--weights names {weights!r}, which is the label or the id: name the column of the weights"
            )
        search_folders(self.path or ())
        digest, fit = None, None
        if (entry := entry_point(self.model)) is None:
            loaded, digest = load_with_digest(self.model, trust_pickle=self.trust_pickle, trust=tuple(self.trust or ()))
        else:
            announce_code(entry.module)
            loaded, fit = load_entry_point(entry)
        files = self.train, self.holdout
        shown, drop = (",".join(filter(None, names)) or None for names in ((groups, weights), (self.drop, weights)))
        sets = read_sets(files, loaded, label=self.label, groups=shown, id_column=self.id, drop=drop, form=self.form)
        said: dict[str, Any] = {"task": self.task, "outputs": self.outputs}
        if weights is not None:
            assert sets.groups is not None
            said["sample_weight"] = tuple(table[weights].replace("", None) for table in sets.groups)
            kept = None if groups is None else tuple(table.drop(columns=weights) for table in sets.groups)
            sets = replace(sets, groups=kept)
        return GivenModel(loaded, digest, sets, said, fit, None if entry is None else entry.module)


@dataclass(frozen=True)
class Training:
    """Options of a command that attacks a model: how models are trained again, and how all is measured."""

    fit: Fit = None
    references: References = None
    budget: Budget = None
    random_split: RandomSplit = False
    retrain: Retrain = True
    drop_overlap: DropOverlap = False
    repeats: Repeats = None
    confidence: Confidence = 0.95
    seed: Seed = 0
    workers: Workers = None
    cluster: Cluster = None
    cache: Cache = None

    def read(self, given: GivenModel) -> dict[str, Any]:
        """The same options as the studies take them."""
        from leakscope.models.entry import entry_point, find_function

        fit = given.fit
        if self.fit is not None:
            if (entry := entry_point(self.fit)) is None:
                raise InputError(f"--fit takes a function such as model.py:fit or package.module:fit, not {self.fit!r}")
            if entry.module != given.code:
                announce_code(entry.module)
            fit = find_function(entry)
        return vars(self) | {"fit": fit, "budget": seconds(self.budget, "--budget")}


def announce_code(module: str) -> None:
    """Say on standard error that a command runs the user's own code."""
    print(f"leakscope: runs code of {module}", file=sys.stderr)


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take groups of options: each field of a dataclass is an option.

    Examples
    --------
    >>> @grouped
    ... def attack(training: Training, out: Out = None) -> None: ...
    >>> list(inspect.signature(attack).parameters)[-3:]
    ['cluster', 'cache', 'out']
    """
    given = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in given.items() if is_dataclass(kind)}
    fields: dict[str, list[str]] = {}
    shown: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        one = [parameter]
        if parameter.name in groups:
            one = list(inspect.signature(groups[parameter.name]).parameters.values())
            fields[parameter.name] = [option.name for option in one]
        hints = get_type_hints(groups.get(parameter.name, command), include_extras=True)
        shown += [each.replace(annotation=hints[each.name], kind=inspect.Parameter.KEYWORD_ONLY) for each in one]

    @wraps(command)
    def run(**options: Any) -> None:
        made = {name: groups[name](**{field: options.pop(field) for field in fields[name]}) for name in groups}
        command(**options, **made)

    run.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    run.__annotations__ = {}
    return run


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
    """Show progress with the time left on standard error, if it is a terminal; no warning shows values.

    What the user's code prints goes to standard error, too: standard output holds the result alone.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with (
        Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars,
        safe_warnings(),
        redirect_stdout(sys.stderr),
    ):
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


def read_bins(given: Sequence[str] | None) -> dict[str, list[float] | None] | None:
    """The ends of bins by column; a column without ends keeps its values.

    Examples
    --------
    >>> read_bins(["age=18,30,50; pay=1000", "ward="])
    {'age': [18.0, 30.0, 50.0], 'pay': [1000.0], 'ward': None}
    """
    if not given:
        return None
    found: dict[str, list[float] | None] = {}
    for part in ";".join(given).split(";"):
        name, equals, ends = part.strip().rpartition("=")
        if not equals or not name:
            raise InputError(f"--bins takes a column and ends, such as age=18,30,50, not {part.strip()!r}")
        found[name] = numbers(ends, f"--bins {name}=", float) if ends.strip() else None
    return found


def numbers(text: str, option: str, kind: Callable[[str], Any]) -> list[Any]:
    """Numbers separated by commas."""
    try:
        return [kind(part) for part in text.split(",")]
    except ValueError:
        what = "whole numbers" if kind is int else "numbers"
        raise InputError(f"{option} takes {what} separated by commas, not {text!r}") from None
