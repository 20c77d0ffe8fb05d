"""CSV files as DataFrames, training set and holdout for the command line, and errors that name file and column."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from numpy.typing import NDArray

from leakscope.core.errors import InputError
from leakscope.core.failures import cause, describe

_LONG_ROWS = (
    "has rows with more fields than its header: name all columns, separate them by commas, and use decimal points"
)


def read_table(path: Path) -> pd.DataFrame:
    """Read a CSV file (plain or compressed) with the defaults of pandas.

    A row with more fields than the header is refused as ambiguous; decimal commas cause such rows.

    Examples
    --------
    >>> read_table(Path("no/such.csv"))
    Traceback (most recent call last):
    leakscope.core.errors.InputError: there is no file no/such.csv: check the name
    """
    if path.is_dir():
        raise InputError(f"{path} is a folder: pass a CSV file")
    if not path.exists():
        raise InputError(f"there is no file {path}: check the name")
    table = _read(path, low_memory=False)
    if table.empty:
        raise InputError(f"{path} has no records: add one row per record below the header")
    if table.shape[1] == 1 and set(str(table.columns[0])) & set(";\t|"):
        raise InputError(f"{path} has one column, with a semicolon, tab or bar in its name: separate columns by commas")
    return table


def read_texts(path: Path, names: list[str]) -> pd.DataFrame:
    """Read some columns as the literal text of the file: 007 stays 007, and NA is not a missing value.

    Use it only for a file that `read_table` accepts: pandas truncates long rows when it reads some columns only.
    """
    read: pd.DataFrame = _read(path, dtype=str, keep_default_na=False, usecols=names)
    return read.reindex(columns=names)


def _read(path: Path, **options: Any) -> pd.DataFrame:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            table: pd.DataFrame = pd.read_csv(path, index_col=False, **options)
        return table
    except pd.errors.ParserWarning as error:
        raise InputError(f"{path} {_LONG_ROWS}") from cause(error)
    except pd.errors.EmptyDataError as error:
        raise InputError(f"{path} is empty: write a header with the column names, and one row per record") from cause(
            error
        )
    except UnicodeError as error:
        raise InputError(f"{path} is not UTF-8 text: save it as UTF-8 CSV") from cause(error)
    except (ValueError, OSError, EOFError) as error:
        if "Expected" in str(error) and "fields" in str(error):
            raise InputError(f"{path} {_LONG_ROWS}") from cause(error)
        raise InputError(f"{path} can't be read as CSV: {describe(error)}") from cause(error)


def check_columns(table: pd.DataFrame, names: list[str], path: Path, what: str) -> None:
    """Refuse column names that the table lacks or that occur several times."""
    from leakscope.core.wording import name as safe_text

    missing = [name for name in names if name not in table.columns]
    if missing:
        if _is_record(table):
            raise InputError(
                f"{path} has no {what} column '{safe_text(missing[0])}', and its first line looks like a record: add a "
                "header with the column names"
            )
        there = ", ".join(safe_text(name, 40) for name in table.columns[:12]) + (", …" if table.shape[1] > 12 else "")
        raise InputError(f"{path} has no {what} column '{safe_text(missing[0])}': its columns are {there}")
    if not names:
        return
    header = _read(path, header=None, nrows=1, dtype=str).iloc[0].tolist()  # pandas renames duplicates
    if twice := [name for name in names if header.count(name) > 1]:
        raise InputError(f"{path} has several columns named '{safe_text(twice[0])}': give each column a unique name")


def _is_record(table: pd.DataFrame) -> bool:
    """Return whether a file seems to lack a header, so that its column names are the values of its first record.

    A column name is then a number, a date or an address, or also occurs as a value of its column. Names such as 0, 1, 2
    are positions, which pandas writes for columns without names.

    Examples
    --------
    >>> _is_record(pd.DataFrame({"39": [50], "Bachelors": ["HS-grad"]})), _is_record(pd.DataFrame({"0": [39], "age": [50]}))
    (True, False)
    >>> _is_record(pd.DataFrame({"Jane Doe": ["John Doe"], "f": ["f"]}))
    True
    """
    header = table.columns
    numbers = pd.to_numeric(pd.Series(header, dtype=object), errors="coerce")
    positions = {str(place) for place in range(len(header) + 1)}
    if any(not pd.isna(number) and str(name) not in positions for name, number in zip(header, numbers, strict=True)):
        return True
    if any(re.search(r"@|\d{1,4}([-/.])\d{1,2}\1\d{1,4}", str(name)) for name in header):
        return True
    return any(
        (table[name] == name).any() for name in header if isinstance(name, str) and table[name].dtype.kind == "O"
    )


def split_names(text: str | None, columns: pd.Index[Any]) -> list[str]:
    """Split names at commas, unless the whole text is the name of a column.

    Examples
    --------
    >>> split_names("race, sex", pd.Index(["race", "sex"])), split_names("a,b", pd.Index(["a,b"]))
    (['race', 'sex'], ['a,b'])
    """
    if text is None or text in columns:
        return [] if text is None else [text]
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise InputError(f"{text!r} contains no column name: pass names separated by commas")
    return list(dict.fromkeys(names))


def read_tables(
    paths: Sequence[Path], one: Mapping[str, str | None], several: Mapping[str, str | None]
) -> tuple[list[pd.DataFrame], dict[str, list[str]]]:
    """Read files, and check that each has the columns chosen in an option; return the tables and the names by option.

    ``one`` holds options that name a column, by what the column is (``"label"``), and ``several`` those that name several,
    separated by commas.
    """
    tables = [read_table(path) for path in paths]
    names = {what: [] if name is None else [name] for what, name in one.items()}
    names |= {what: split_names(text, tables[0].columns) for what, text in several.items()}
    for path, table in zip(paths, tables, strict=True):
        for what, some in names.items():
            check_columns(table, some, path, what)
    return tables, names


def read_labelled(
    paths: Sequence[Path], label: str, *, drop: str | None, id_column: str | None, groups: str | None = None
) -> tuple[list[pd.DataFrame], list[str], dict[str, list[str]]]:
    """Read files to learn from: as `read_tables`, with the columns that features may come from; missing labels are refused."""
    tables, names = read_tables(paths, {"label": label, "id": id_column}, {"dropped": drop, "group": groups})
    for path, table in zip(paths, tables, strict=True):
        if missing := int(table[label].isna().sum()):
            raise InputError(f"{path} has no {label!r} in {missing} records: remove these records")
    for what, option in (("dropped", "dropped"), ("id", "the id")):
        if label in names[what]:
            raise InputError(f"{label!r} is the label and can't be {option}")
    columns = [name for name in tables[0].columns if name not in {label, *names["dropped"], *names["id"]}]
    if not columns:
        raise InputError(f"{paths[0]} has no columns but {label!r}: there is nothing to learn from")
    return tables, columns, names


def _labels(table: pd.DataFrame, path: Path, label: str, model: Any) -> pd.Series[Any]:
    """Return the label column, as text if the classes of the model are text: class "1" is not the number 1."""
    classes = getattr(model, "classes_", None)
    if classes is not None and getattr(classes, "dtype", None) is not None and classes.dtype.kind in "OU":
        texts = read_texts(path, [label])[label]
        return texts if "" in classes else texts.mask(texts == "")
    return table[label]


def _features(table: pd.DataFrame, drop: list[str], model: Any, groups: list[str]) -> pd.DataFrame:
    """Return the features: all columns except the dropped ones.

    Group columns are included, unless the model has a number but no names of features, and matches only without them.
    """
    rest = table.drop(columns=drop)
    wanted = getattr(model, "n_features_in_", None)
    without = rest.drop(columns=[name for name in groups if name in rest.columns])
    named = getattr(model, "feature_names_in_", None) is not None
    return without if not named and wanted != rest.shape[1] and wanted == without.shape[1] else rest


@dataclass(frozen=True)
class Sets:
    """Training set and holdout in the form that `leakscope.audit` takes."""

    train: tuple[pd.DataFrame, pd.Series[Any]]
    holdout: tuple[pd.DataFrame, pd.Series[Any]]
    groups: tuple[pd.DataFrame, ...] | None
    ids: tuple[NDArray[Any], ...] | None


def read_sets(
    paths: tuple[Path, Path], model: Any, *, label: str, groups: str | None, id_column: str | None, drop: str | None
) -> Sets:
    """Read both files; groups and ids are the literal text of the files."""
    tables, names = read_tables(paths, {"label": label, "id": id_column}, {"group": groups, "dropped": drop})
    group_columns, id_columns = names["group"], names["id"]
    hidden = list(dict.fromkeys([label, *names["dropped"], *id_columns]))
    train, holdout = (
        (_features(table, hidden, model, group_columns), _labels(table, path, label, model))
        for path, table in zip(paths, tables, strict=True)
    )
    return Sets(
        train,
        holdout,
        tuple(read_texts(path, group_columns) for path in paths) if group_columns else None,
        tuple(read_texts(path, id_columns)[id_column].to_numpy() for path in paths) if id_columns else None,
    )
