"""The command ``leakscope compare``."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leakscope.cli import options as shared
from leakscope.cli.options import ATTACKS, INPUT, option
from leakscope.core.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from leakscope.data.text_format import TextFormat
    from leakscope.defenses import Defense

#: Defenses by default: those that most models can have without an extra.
USUAL = "l2,early-stopping,fewer-features,distillation,parameter-noise,round,temperature,label-only"


@shared.grouped
def compare(
    context: typer.Context,
    data: shared.Data,
    training: shared.Training,
    defenses: Annotated[
        str, option(INPUT, "Defenses separated by commas, with settings after a colon: l2:0.01/0.1,round:1,label-only.")
    ] = USUAL,
    out: shared.Out = None,
    groups: shared.Groups = None,
    bins: shared.Bins = None,
    weights: shared.Weights = None,
    releases: Annotated[
        str | None, option(ATTACKS, "Feature explanations that are released too, separated by commas: gradient, ….")
    ] = None,
    record_explanations: Annotated[
        bool, option(ATTACKS, "Record explanations are released too.", "--record-explanations")
    ] = False,
    utility_loss: Annotated[
        float,
        option(
            ATTACKS,
            "Largest utility loss of a recommended version: loss of accuracy, or relative increase of the mean squared error.",
        ),
    ] = 0.01,
    margin: shared.Margin = 0.05,
    tolerance: Annotated[
        float, option(ATTACKS, "How much worse the AUC of a version may be than that of another one that it dominates.")
    ] = 0.05,
    defense_delta: Annotated[float, option(ATTACKS, "The δ of defenses that guarantee differential privacy.")] = 1e-5,
    more: Annotated[
        Path | None, option(INPUT, "Table (CSV, Parquet, Feather) of further labelled records, for more-data.")
    ] = None,
    public: Annotated[Path | None, option(INPUT, "Table (CSV, Parquet, Feather) of public records, for pate.")] = None,
    causes: Annotated[
        str | None, option(INPUT, "Columns that cause the label, separated by commas, for causal-features.")
    ] = None,
    environments: Annotated[
        str | None, option(INPUT, "Column with the environments, for irm and causal-features.")
    ] = None,
    as_json: shared.Json = False,
) -> None:
    """Compare a model with defended versions: which defense lowers the risk, and what does it cost? Exit code 1: a guarantee is refuted."""
    from leakscope.studies.compare import compare as run

    shared.check_out(out)
    wanted = read_defenses(defenses)
    # A column that the model does not use is passed to the defenses as a group.
    shown = ",".join(dict.fromkeys(name for name in (groups, environments) if name)) or None
    given = data.read(shown, weights)
    asked, sets = training.read(given), given.sets
    known = DefenseOptions(defense_delta, more, public, causes, environments, sets.train[0], data.label, data.form)
    chosen = [known.make(name, settings) for name, settings in wanted]
    with shared.progress_bars() as progress:
        found = run(
            given.model, sets.train, sets.holdout, groups=sets.groups, bins=shared.read_bins(bins), ids=sets.ids, defenses=chosen,
            releases=() if releases is None else releases.split(","), record_explanations=record_explanations, utility_loss=utility_loss,
            margin=margin, tolerance=tolerance,
            command=shared.command_line(context), progress=progress, **given.said, **asked,
        )  # fmt: skip
    shared.finish(found, out, as_json)
    if found.refuted:
        raise typer.Exit(shared.GATE_FAILED)


def read_defenses(text: str) -> list[tuple[str, tuple[Any, ...]]]:
    """Short names of defenses, each with its settings if any were named.

    Examples
    --------
    >>> read_defenses("l2:0.01/0.1, round")
    [('l2', (0.01, 0.1)), ('round', ())]
    """
    from leakscope.defenses import DEFENSES

    found: list[tuple[str, tuple[Any, ...]]] = []
    for part in text.split(","):
        name, colon, values = part.strip().partition(":")
        if colon and not values:
            raise InputError(f"{part.strip()[:40]!r} has no settings: write {name}:0.01/0.1, or {name} alone")
        if name not in DEFENSES:
            raise InputError(f"there is no defense {name[:40]!r}: choose from {', '.join(DEFENSES)}")
        if name in dict(found):
            raise InputError(f"the defense {name} is named twice: write its settings as {name}:1/2")
        found.append((name, tuple(_setting(value, part) for value in values.split("/")) if values else ()))
    return found


def _setting(text: str, part: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise InputError(f"the settings of {part.strip()[:40]!r} are not numbers: write them as l2:0.01/0.1")


@dataclasses.dataclass(frozen=True)
class DefenseOptions:
    """Options for defenses that need more than a setting."""

    delta: float
    more: Path | None
    public: Path | None
    causes: str | None
    environment: str | None
    records: pd.DataFrame
    label: str
    form: TextFormat

    def make(self, name: str, settings: tuple[Any, ...]) -> Defense:
        """The defense of a name, with its settings and what else it needs."""
        from leakscope.defenses import find

        kind = find(name)
        fields = [field.name for field in dataclasses.fields(kind)]
        takes = {"more-data": "shares", "causal-features": ""}.get(name, fields[0] if fields else "")
        if settings and not takes:
            raise InputError(f"{name} takes no settings here: write {name} alone")
        extra = self._extra(name) | ({"delta": self.delta} if "delta" in fields else {})
        made: Defense = kind(**({takes: settings} if settings else {}), **extra)
        return made

    def _extra(self, name: str) -> dict[str, Any]:
        from leakscope.data.tables import split_names

        if name == "more-data" and self.more is not None:
            return {"records": self._read(self.more, labelled=True)}
        if name == "pate" and self.public is not None:
            return {"public": self._read(self.public, labelled=False)[0]}
        if name == "causal-features" and self.causes is not None:
            return {"columns": tuple(split_names(self.causes, self.records.columns))}
        if name in ("causal-features", "irm") and self.environment is not None:
            return {"environment": self.environment}
        return {}

    def _read(self, path: Path, *, labelled: bool) -> tuple[Any, Any]:
        from leakscope.data.table_files import open_table

        file, names = open_table(path, self.form), [str(name) for name in self.records.columns]
        wanted = [*names, *([self.label] if labelled else [])]
        file.check(wanted, "training")
        table = file.read(wanted)
        return table[names], table[self.label] if labelled else None
