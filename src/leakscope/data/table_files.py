"""Tables in files: CSV with any separator, plain or compressed, Parquet, Arrow IPC (Feather), and folders of Parquet parts.

`open_table` finds the format from the first bytes of a file, not from its name. Types are those that pandas gives, with one
exception: nullable integers, numbers and booleans of Parquet and Arrow files become numpy types, which scikit-learn accepts.
"""

from __future__ import annotations

import csv
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from leakscope.core.errors import InputError, MissingExtraError
from leakscope.core.extras import import_extra
from leakscope.core.failures import cause, describe
from leakscope.core.wording import name as safe_text
from leakscope.data.text_format import TextFormat

#: Separators that are detected, the most common first.
SEPARATORS = (",", ";", "\t", "|")
#: Lines of a CSV file from which separator and decimal mark are detected.
SAMPLE = 1000
_EXTRA = "arrow"
_NUMBER = r"[+-]?\d*({}\d*)?([eE][+-]?\d+)?"
_LONG_ROWS = (
    "has rows with more fields than its header: name all columns, quote fields that contain the separator, or pass "
    "--separator and --decimal"
)


def open_table(path: Path, form: TextFormat | None = None) -> TableFile:
    """Open a table; its records are read by `TableFile.read` and `TableFile.texts`.

    Examples
    --------
    >>> open_table(Path("no/such.csv"))
    Traceback (most recent call last):
    leakscope.core.errors.InputError: there is no file no/such.csv: check the name
    """
    if not path.exists():
        raise InputError(f"there is no file {path}: check the name")
    first = path
    if path.is_dir():
        names = (part.relative_to(path) for part in sorted(path.rglob("*")) if part.is_file())
        first = path / next((name for name in names if not any(part[0] in "._" for part in name.parts)), "")
    start = b"" if first.is_dir() else _first_bytes(first)
    if start[:4] == b"PAR1":
        return ArrowTable(path, "parquet")
    if path.is_dir():
        raise InputError(f"{path} is a folder without Parquet parts: pass a CSV, Parquet or Feather file")
    return ArrowTable(path, "ipc") if start == b"ARROW1" else TextTable(path, form or TextFormat())


def _first_bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(6)
    except OSError as error:
        raise InputError(f"{path} can't be read: {describe(error)}") from cause(error)


class TableFile:
    """A table in a file: its column names, and its records where they are read.

    ``index`` holds names of columns that pandas wrote as the index: they are read only where they are named.
    """

    path: Path
    columns: list[str]
    index: tuple[str, ...] = ()
    decimal = "."

    def read(self, names: list[str] | None = None) -> pd.DataFrame:
        """Read columns with their types, by default all."""
        raise NotImplementedError

    def texts(self, names: list[str]) -> pd.DataFrame:
        """Read columns as text; a missing value is an empty text."""
        raise NotImplementedError

    def levels(self, names: list[str]) -> pd.DataFrame:
        """Read columns as `texts`, with decimal points: numbers of one value are one level in files of any format."""
        return self.texts(names)

    def check(self, names: list[str], what: str) -> None:
        """Refuse column names that the table lacks or that occur several times."""
        known = {*self.columns, *self.index}
        if missing := [name for name in names if name not in known]:
            raise InputError(f"{self.path} has no {what} column '{safe_text(missing[0])}'{self._hint(missing[0])}")

    def _hint(self, name: str) -> str:
        known = {column.lower(): column for column in reversed(self.columns)}
        if near := [safe_text(known[word], 40) for word in get_close_matches(name.lower(), known)]:
            return f": did you mean {' or '.join(near)}"
        more = ", …" if len(self.columns) > 12 else ""
        return f": its columns are {', '.join(safe_text(column, 40) for column in self.columns[:12])}{more}"


# --- CSV --------------------------------------------------------------------------------------------------------------


class TextTable(TableFile):
    """A CSV file, plain or compressed, with the types that pandas reads by default.

    A row with more fields than the header is refused as ambiguous: numbers with decimal commas can cause such rows.
    """

    def __init__(self, path: Path, form: TextFormat) -> None:
        self.path = path
        self._options: dict[str, Any] = {"sep": "\x1f"}  # whole lines
        raw = self._read(header=None, dtype=str, nrows=SAMPLE, na_filter=False, quoting=csv.QUOTE_NONE)[0].tolist()
        lines = [f"{line}\n" for line in raw]
        separator = form.mark or detect_separator(lines, path, form.decimal)
        self.decimal = form.decimal or detect_decimal(lines, separator, path)
        self._options |= {"sep": separator, "decimal": self.decimal}
        self._header = self._read(header=None, nrows=1, dtype=str).iloc[0].tolist()
        self.columns = [str(name) for name in self._read(nrows=0).columns]  # pandas renames duplicates

    def read(self, names: list[str] | None = None) -> pd.DataFrame:
        return self._whole if names is None else self._whole[names]

    def texts(self, names: list[str]) -> pd.DataFrame:
        """Read columns as the literal text of the file: 007 stays 007, and NA is not a missing value."""
        len(self._whole)  # pandas truncates long rows when it reads some columns only: refuse them first
        return self._read(dtype=str, keep_default_na=False, usecols=names).reindex(columns=names)

    def levels(self, names: list[str]) -> pd.DataFrame:
        read = self.texts(names)
        return read.replace(r"^([+-]?\d+),(\d+)$", r"\1.\2", regex=True) if self.decimal == "," else read

    def check(self, names: list[str], what: str) -> None:
        super().check(names, what)
        if twice := [name for name in names if self._header.count(name) > 1]:
            raise InputError(
                f"{self.path} has several columns named '{safe_text(twice[0])}': give each column a unique name"
            )

    @cached_property
    def _whole(self) -> pd.DataFrame:
        table = self._read(low_memory=False)
        if table.empty:
            raise InputError(f"{self.path} has no records: add one row per record below the header")
        return table

    def _hint(self, name: str) -> str:
        if _is_record(self._whole):
            return ", and its first line looks like a record: add a header with the column names"
        return super()._hint(name)

    def _read(self, **options: Any) -> pd.DataFrame:
        path = self.path
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", pd.errors.ParserWarning)
                table: pd.DataFrame = pd.read_csv(path, index_col=False, **(self._options | options))
            return table
        except pd.errors.ParserWarning as error:
            raise InputError(f"{path} {_LONG_ROWS}") from cause(error)
        except pd.errors.EmptyDataError as error:
            raise InputError(f"{path} is empty: write a header and one row per record") from cause(error)
        except UnicodeError as error:
            raise InputError(f"{path} is not UTF-8 text: save it as UTF-8 CSV, Parquet or Feather") from cause(error)
        except ImportError as error:  # pandas needs a package for .zst
            raise MissingExtraError(f"reading {path}", _EXTRA) from cause(error)
        except (ValueError, OSError, EOFError) as error:
            if "Expected" in str(error) and "fields" in str(error):
                raise InputError(f"{path} {_LONG_ROWS}") from cause(error)
            raise InputError(f"{path} can't be read as CSV: {describe(error)}") from cause(error)


def detect_separator(lines: list[str], path: Path, decimal: str | None = None) -> str:
    r"""Return the separator by which most rows have as many fields as the header; separators in quotes do not count.

    Examples
    --------
    >>> detect_separator(['"name, first";note\n', 'Ann;yes, twice\n'], Path("people.csv"))
    ';'
    """
    possible = [mark for mark in SEPARATORS if mark != decimal]
    fits = {}
    for mark in possible:
        header, *rows = _split(lines, mark)
        if len(header) > 1:
            fits[mark] = sum(len(row) == len(header) for row in rows) / max(len(rows), 1)
    best = [mark for mark in fits if fits[mark] == max(fits.values())]
    if len(best) > 1 and len(lines) > 1:
        marks = " or ".join(repr(mark) for mark in best)
        raise InputError(f"the columns of {path} may be separated by {marks}: pass --separator")
    return best[0] if best else possible[0]


def detect_decimal(lines: list[str], separator: str, path: Path) -> str:
    r"""Return a comma if all numbers of some column are written with decimal commas, and otherwise a point.

    Examples
    --------
    >>> detect_decimal(["age;pay\n", "40;1,5\n", "39;NA\n"], ";", Path("people.csv"))
    ','
    """
    if separator == ",":
        return "."
    header, *rows = _split(lines, separator)
    found = set()
    for column in zip(*(row for row in rows if len(row) == len(header)), strict=True):
        numbers = [text.strip() for text in column if any(map(str.isdigit, text))]
        found |= {
            mark
            for mark in ".,"
            if any(mark in text for text in numbers)
            and all(re.fullmatch(_NUMBER.format(re.escape(mark)), text) for text in numbers)
        }
    if len(found) > 1:
        raise InputError(f"{path} has columns with decimal points and others with decimal commas: pass --decimal")
    return found.pop() if found else "."


def _split(lines: list[str], mark: str) -> list[list[str]]:
    """The fields of the first lines; the last record of a long file is left out, because it may be cut."""
    try:
        rows = [row for row in csv.reader(lines, delimiter=mark) if row]
    except csv.Error:  # a field longer than 131,072 characters
        rows = [lines[0].rstrip("\n").split(mark)]
    return rows[:-1] if len(lines) == SAMPLE and len(rows) > 1 else rows


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


# --- Parquet and Arrow ------------------------------------------------------------------------------------------------


class ArrowTable(TableFile):
    """A Parquet or Arrow IPC file, or a folder of Parquet parts; only the columns asked for are read."""

    def __init__(self, path: Path, kind: str) -> None:
        datasets = import_extra("pyarrow.dataset", f"reading {path}", _EXTRA)
        self.path = path
        with _arrow_errors(path):
            levels = datasets.HivePartitioning.discover(infer_dictionary=True)
            self._data = datasets.dataset(path, format=kind, partitioning=levels)
            self._check_parts()
            schema, records = self._data.schema, self._data.count_rows()
        if not records:
            raise InputError(f"{path} has no records: write one row per record")
        stored = (schema.pandas_metadata or {}).get("index_columns", [])
        self.index = tuple(name for name in schema.names if name in stored)
        self.columns = [name for name in schema.names if name not in stored]

    def read(self, names: list[str] | None = None) -> pd.DataFrame:
        return self._frame(self.columns if names is None else names)

    def texts(self, names: list[str]) -> pd.DataFrame:
        table = self._frame(names, integer_object_nulls=True)  # 7 stays 7 beside missing values
        return table.astype(str).where(table.notna(), "")

    def _frame(self, names: list[str], **options: Any) -> pd.DataFrame:
        with _arrow_errors(self.path):
            # Without the metadata of pandas, nullable types become numpy types, and the index stays a column.
            table: pd.DataFrame = self._data.to_table(columns=names).to_pandas(ignore_metadata=True, **options)
        return table

    def _check_parts(self) -> None:
        """Refuse parts with other columns: pyarrow would fill or leave out columns that the first part has or lacks."""
        first, *others = self._data.get_fragments()
        for part in others:
            if set(part.physical_schema.names) != set(first.physical_schema.names):
                raise InputError(f"{part.path} has other columns than {first.path}: give all parts the same columns")


@contextmanager
def _arrow_errors(path: Path) -> Iterator[None]:
    """Turn what pyarrow raises into one sentence; its errors inherit from Python's."""
    try:
        yield
    except InputError:
        raise
    except (ValueError, TypeError, KeyError, NotImplementedError, OSError) as error:
        raise InputError(f"{path} can't be read as Parquet or Arrow: {describe(error)}") from cause(error)
