"""The command ``leakscope scores``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leakscope.cli import options as shared
from leakscope.cli.gate import Conditions, stop_if_failed
from leakscope.cli.options import ATTACKS, INPUT, option
from leakscope.core.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from leakscope.data.table_files import TableFile
    from leakscope.data.text_format import TextFormat

#: How other programs write a value that is not there.
MISSING_WORDS = ("", "na", "nan", "null", "none", "missing")


@shared.grouped
def scores(
    context: typer.Context,
    conditions: Conditions,
    table: Annotated[
        Path | None,
        typer.Argument(help="Table (CSV, Parquet, Feather) with a score and the membership of each record."),
    ] = None,
    members: Annotated[Path | None, option(INPUT, "Instead of one table: table of the members' scores.")] = None,
    nonmembers: Annotated[Path | None, option(INPUT, "Instead of one table: table of the non-members' scores.")] = None,
    score: Annotated[str, option(INPUT, "Column of the score, such as the model's loss.")] = "score",
    member: Annotated[
        str, option(INPUT, "Column of the membership: 1 or 0, true or false, yes or no, member or nonmember.")
    ] = "member",
    lower_is_member: Annotated[
        bool, option(INPUT, "Members have lower scores, as with losses.", "--lower-is-member")
    ] = False,
    control: Annotated[
        str | None, option(INPUT, "Column of the same score on a model that never saw the record.")
    ] = None,
    random_split: Annotated[
        bool, option(ATTACKS, "State that a random split decided who was trained on.", "--random-split")
    ] = False,
    groups: shared.Groups = None,
    bins: shared.Bins = None,
    id: Annotated[str | None, option(INPUT, "Column with the ids of the records.")] = None,  # noqa: A002
    *,
    form: shared.Format,
    out: shared.Out = None,
    confidence: shared.Confidence = 0.95,
    margin: shared.Margin = 0.05,
    seed: shared.Seed = 0,
    as_json: shared.Json = False,
) -> None:
    """Audit scores or losses that any program wrote: do they reveal who was in a training set?"""
    from leakscope.core.wording import name
    from leakscope.record.conditions import audit_scope
    from leakscope.studies.scores import audit_scores

    release = name(score)
    rules = conditions.read(audit_scope((release,), groups=groups is not None, explanations=False))
    shared.check_out(out)
    files = _files(table, members, nonmembers)
    read = _read(files, score, member if table is not None else None, control, groups, id, form)
    result = audit_scores(
        **read, bins=shared.read_bins(bins), higher_is_member=not lower_is_member, random_split=random_split, name=release, confidence=confidence,
        margin=margin, seed=seed, command=shared.command_line(context),
    )  # fmt: skip
    gate = None if rules is None else conditions.judge(rules, result)
    shared.finish(result, out, as_json, gate=gate)
    stop_if_failed(gate)


def _files(table: Path | None, members: Path | None, nonmembers: Path | None) -> list[Path]:
    """One file of both, or two."""
    if table is not None and members is None and nonmembers is None:
        return [table]
    if table is None and members is not None and nonmembers is not None:
        if members.resolve() == nonmembers.resolve():
            raise InputError("--members and --nonmembers are one file: give two, or one file with a --member column")
        return [members, nonmembers]
    raise InputError("name one table with a --member column, or two with --members and --nonmembers")


def _read(
    paths: list[Path],
    score: str,
    member: str | None,
    control: str | None,
    groups: str | None,
    id_column: str | None,
    form: TextFormat,
) -> dict[str, Any]:
    """What `audit_scores` takes, from the named columns; the others are not read."""
    import numpy as np
    import pandas as pd

    from leakscope.data.tables import open_tables
    from leakscope.studies.scores import read_members

    named = {"score": score, "member": member, "control": control, "id": id_column}
    files, chosen = open_tables(paths, named, {"group": groups}, form)
    numbers = [name for name in (score, control, member) if name is not None]
    if len(set(numbers)) < len(numbers) or set(numbers) & {*chosen["group"], id_column}:
        raise InputError(
            "--score, --control and --member must name different columns, and none that --groups or --id names"
        )
    names = list(dict.fromkeys(name for some in chosen.values() for name in some))
    parts = [file.texts(names) for file in files]
    side = read_members(parts[0][member]) if member is not None else np.repeat([True, False], [len(p) for p in parts])

    def floats(name: str | None) -> NDArray[np.float64] | None:
        if name is None:
            return None
        return np.concatenate([_numbers(part[name], file) for part, file in zip(parts, files, strict=True)])

    both = pd.concat(parts, ignore_index=True) if len(parts) > 1 else parts[0]
    return {
        "scores": floats(score),
        "member": side,
        "control": floats(control),
        "groups": None
        if groups is None
        else pd.concat([file.levels(chosen["group"]) for file in files], ignore_index=True),
        "ids": None if id_column is None else both[id_column].to_numpy(),
    }


def _numbers(texts: pd.Series[Any], file: TableFile) -> NDArray[np.float64]:
    """A column as numbers, every bit as it is written, or a sentence that names the first row that is none."""
    import numpy as np
    import pandas as pd

    from leakscope.core.wording import name as safe
    from leakscope.data.records import row_name

    name, path, words = safe(texts.name), file.path, texts.str.strip()
    if file.decimal == ",":  # a point is then no decimal mark
        words = words.str.translate(str.maketrans(",.", ".,"))
    if missing := int(words.str.lower().isin(MISSING_WORDS).sum()):
        raise InputError(f"{path} lacks {missing:,} of {len(texts):,} numbers in {name}: leave those records out")
    wrong = pd.to_numeric(words, errors="coerce").isna().to_numpy()  # unlike Python's own reading it refuses 1_000
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(
            f"{path} has something else than a number in {name}, {row_name(row)}: the column must hold numbers only"
        )
    numbers = np.asarray(words.to_numpy(dtype=object).astype(np.float64))
    long = words[np.isfinite(numbers) & (np.abs(numbers) > 2**53) & words.str.fullmatch(r"[+-]?[0-9]+").to_numpy(bool)]
    whole = {int(text) for text in long}
    if len({float(number) for number in whole}) < len(whole):
        raise InputError(
            f"{path} has whole numbers in {name} too long to be distinguished: write their ranks, since only the order counts"
        )
    return numbers
