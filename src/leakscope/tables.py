"""Tables from files: CSV in, a DataFrame out, with errors that name the file and the column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from leakscope.errors import InputError


def read_table(path: Path) -> pd.DataFrame:
    """A CSV file (plain or compressed) as pandas reads it by default.

    Examples
    --------
    >>> read_table(Path("no/such.csv"))
    Traceback (most recent call last):
    leakscope.errors.InputError: there is no file no/such.csv
    """
    if path.is_dir():
        raise InputError(f"{path} is a folder: name a CSV file")
    if not path.exists():
        raise InputError(f"there is no file {path}")
    try:
        table = pd.read_csv(path, low_memory=False)
    except (ValueError, OSError, EOFError) as error:
        raise InputError(f"{path} can't be read as CSV: {str(error).splitlines()[0]}") from error
    if table.empty:
        raise InputError(f"{path} has no records")
    return table


def take_columns(table: pd.DataFrame, names: list[str], path: Path, what: str) -> pd.DataFrame:
    """The named columns, or an error that says which are missing and which there are."""
    missing = [name for name in names if name not in table.columns]
    if missing:
        there = ", ".join(map(str, table.columns[:12])) + (", …" if table.shape[1] > 12 else "")
        raise InputError(f"{path} has no {what} column {missing[0]!r}: its columns are {there}")
    return table[names]


def split_names(text: str | None) -> list[str]:
    """Names separated by commas.

    Examples
    --------
    >>> split_names("race, sex")
    ['race', 'sex']
    """
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def features(table: pd.DataFrame, drop: list[str], model: Any, groups: list[str]) -> pd.DataFrame:
    """What the model is shown: all columns but those dropped.

    Group columns are shown too, unless the model counts its columns, has no names for them, and fits only without.
    """
    rest = table.drop(columns=drop)
    wanted = getattr(model, "n_features_in_", None)
    without = rest.drop(columns=[name for name in groups if name in rest.columns])
    named = getattr(model, "feature_names_in_", None) is not None
    return without if not named and wanted != rest.shape[1] and wanted == without.shape[1] else rest
