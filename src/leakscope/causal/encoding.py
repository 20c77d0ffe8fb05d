"""Encoding of tables for causal models: codes of levels, standardised numbers, one-hot columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leakscope.core.errors import InputError
from leakscope.data.encoding import text_codes
from leakscope.data.records import list_names
from leakscope.models.model import Task

#: Largest number of different values of a column of whole numbers that is treated as levels.
MOST_VALUES = 20
MOST_LEVELS = 256
MISSING = "?"
#: Squares of larger numbers overflow, and those of smaller differences underflow.
LARGEST, SMALLEST = 1e100, 1e-100


@dataclass(frozen=True, eq=False)
class EncodedRecords:
    """A table with a label, encoded as numbers.

    Parameters
    ----------
    X
        One row per record: codes of levels, or standardised numbers; uint8 if all columns are codes.
    y
        Positions in ``classes``, or values.
    names
        The columns.
    levels
        Number of levels of each column; 0 for numbers.
    classes
        The labels in rising order; None for a regression.
    """

    X: NDArray[Any]
    y: NDArray[Any]
    names: tuple[str, ...]
    levels: tuple[int, ...]
    classes: NDArray[Any] | None

    def columns(self, names: Sequence[str], what: str) -> tuple[int, ...]:
        """Return the positions of some columns."""
        if unknown := [name for name in names if name not in self.names]:
            raise InputError(f"{what}: unknown column {list_names(unknown)}: choose from {list_names(self.names, 12)}")
        return tuple(self.names.index(name) for name in dict.fromkeys(names))


def encode(table: pd.DataFrame, label: str, *, task: Task | None = None) -> EncodedRecords:
    """Encode a table: texts, booleans and few whole numbers become codes of sorted levels, other numbers are standardised.

    A missing text is the level "?". Without a ``task``, labels that are texts, booleans or at most 20 whole numbers are
    classes.

    Examples
    --------
    >>> people = pd.DataFrame({"job": ["cook", "nurse", "cook"], "height": [1.5, 1.75, 2.0], "ill": ["no", "yes", "no"]})
    >>> encoded = encode(people, "ill")
    >>> encoded.names, encoded.levels, encoded.X.round(2).tolist(), encoded.y.tolist()
    (('job', 'height'), (2, 0), [[0.0, -1.22], [1.0, 0.0], [0.0, 1.22]], [0, 1, 0])
    """
    if label not in table.columns:
        raise InputError(f"unknown label column {label!r}: the columns are {list_names(table.columns, 12)}")
    labels = table[label]
    if labels.isna().any():
        raise InputError(f"label {label!r} is missing in {int(labels.isna().sum())} records: drop them")
    names = [name for name in table.columns if name != label]
    if same := [name for name in names if _values(table[name]) < 2]:
        raise InputError(f"column {list_names(same)} has only one value: drop it")
    if not names:
        raise InputError(f"the table has no column but the label {label!r}: add features")
    parts = [_column(table[name], str(name)) for name in names]
    levels = tuple(count for _, count in parts)
    kind = np.uint8 if all(levels) else np.float64
    X = np.empty((len(names), len(table)), kind)
    for row, (values, _) in zip(X, parts, strict=True):
        row[:] = values
    y, classes = _labels(labels, str(label), task)
    return EncodedRecords(X.T, y, tuple(map(str, names)), levels, classes)


def _values(column: pd.Series[Any]) -> int:
    """Return the number of different values of a column."""
    try:
        return column.nunique(dropna=False)
    except TypeError:
        raise InputError(
            f"column {column.name!r} has cells that are neither texts nor numbers, such as lists: drop it"
        ) from None


def _column(values: pd.Series[Any], name: str) -> tuple[NDArray[Any], int]:
    """Return codes and the number of levels, or standardised numbers and 0."""
    if _is_continuous(values):
        numbers = values.to_numpy(np.float64, na_value=np.nan)
        if not np.isfinite(numbers).all():
            raise InputError(f"column {name!r} has missing or infinite numbers: fill or drop them")
        spread = numbers.std()
        if not (np.isfinite(spread) and spread > 0):
            raise InputError(f"column {name!r} has numbers too large or too close together to be scaled: rescale it")
        return (numbers - numbers.mean()) / spread, 0
    codes, levels = pd.factorize(values, sort=True) if _is_number(values) else text_codes(values, MISSING)
    if len(levels) > MOST_LEVELS:
        raise InputError(
            f"column {name!r} has {len(levels):,} levels, too many for a table: drop it, or group its levels"
        )
    return codes, len(levels)


def _labels(labels: pd.Series[Any], name: str, task: Task | None) -> tuple[NDArray[Any], NDArray[Any] | None]:
    if task == "regression" or (task is None and _is_continuous(labels)):
        if not _is_number(labels):
            raise InputError(f"label {name!r} is text, and a regression needs numbers: use task='classification'")
        values = labels.to_numpy(np.float64)
        if not np.isfinite(values).all() or np.abs(values).max() > LARGEST or np.ptp(values) < SMALLEST:
            raise InputError(
                f"the label {name!r} is the same for all records, or has values too large to learn: rescale it"
            )
        return values, None
    codes, classes = pd.factorize(labels if _is_number(labels) else labels.astype("str"), sort=True)
    if not 2 <= len(classes) <= MOST_LEVELS:
        raise InputError(f"the label {name!r} must have 2 to {MOST_LEVELS} classes, and has {len(classes):,}")
    return codes.astype(np.int64), np.asarray(classes)


def _is_number(values: pd.Series[Any]) -> bool:
    return pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)


def _is_continuous(values: pd.Series[Any]) -> bool:
    if not _is_number(values):
        return False
    if values.nunique() > MOST_VALUES or values.isna().any():
        return True
    return not bool((values.to_numpy(np.float64) % 1 == 0).all())


def one_hot(codes: NDArray[Any], levels: Sequence[int]) -> NDArray[np.float32]:
    """Return one-hot columns: one per level, one for two levels, none for one level; numbers are unchanged.

    Parameters
    ----------
    codes
        Codes of levels, or numbers.
    levels
        Number of levels of each column; 0 for numbers.

    Examples
    --------
    >>> one_hot(np.array([[0, 2], [1, 0]]), [2, 3])
    array([[0., 0., 0., 1.],
           [1., 1., 0., 0.]], dtype=float32)
    """
    widths = [1 if count == 0 else count if count > 2 else count - 1 for count in levels]
    table = np.zeros((len(codes), sum(widths)), np.float32)
    start, rows = 0, np.arange(len(codes))
    for column, (count, width) in enumerate(zip(levels, widths, strict=True)):
        if count > 2:
            table[rows, start + codes[:, column].astype(np.intp)] = 1.0
        elif width:
            table[:, start] = codes[:, column]
        start += width
    return table
