"""Search for the record and the column that a model fails on, by repeated predictions of subsets."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from leakscope.data.containers import is_sparse
from leakscope.data.records import take_rows

#: Maximum number of calls of the model: enough for 32,768 records and 256 columns.
MOST_CALLS = 28


@dataclass(frozen=True)
class FailingCell:
    """First row that a model fails on, and the first column that causes the failure, if a single column does.

    ``column`` is the name in a DataFrame and the position in an array, or None.
    """

    row: int
    column: Any = None


def failing_cell(predict: Callable[[Any], Any], X: Any) -> FailingCell | None:
    """Find the first record that ``predict`` fails on, given that it fails on ``X``.

    Bisection needs about as many calls as the base-2 logarithms of the numbers of records and columns. Returns None if
    no single record is the cause, for example if the model fails on all of them.

    Examples
    --------
    >>> failing_cell(lambda X: 1 / np.array([float(text) for text in X["age"]]), pd.DataFrame({"age": ["4", "2", "?"]}))
    FailingCell(row=2, column='age')
    """
    counted = _CountedPredict(predict)
    try:
        row = _first_failing(lambda start, stop: counted.fails(take_rows(X, slice(start, stop))), len(X))
        if row is None or not counted.fails(take_rows(X, slice(row, row + 1))):
            return None
        works = next((one for one in (row - 1, len(X) - 1) if one >= 0 and counted.works(X, one)), None)
        return None if works is None else FailingCell(row, _column(counted, X, row, works))
    except _TooManyCallsError:
        return None


class _TooManyCallsError(Exception):
    pass


@dataclass
class _CountedPredict:
    """A prediction function with a counter of its calls."""

    predict: Callable[[Any], Any]
    calls: int = field(default=0)

    def fails(self, part: Any) -> bool:
        if self.calls >= MOST_CALLS:
            raise _TooManyCallsError
        self.calls += 1
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # they were shown for the first call
                self.predict(part)
        except Exception:
            return True
        return False

    def works(self, X: Any, row: int) -> bool:
        return not self.fails(take_rows(X, slice(row, row + 1)))


def _first_failing(fails: Callable[[int, int], bool], most: int) -> int | None:
    """Return the first failing position below ``most``; positions before ``start`` of ``fails(start, stop)`` work."""
    works, fewest = 0, most
    while fewest - works > 1:
        middle = (works + fewest) // 2
        works, fewest = (works, middle) if fails(works, middle) else (middle, fewest)
    return fewest - 1 if most else None


def _column(counted: _CountedPredict, X: Any, row: int, works: int) -> Any:
    """Return the first column that makes the row fail if all later columns have the values of a working row."""
    if not isinstance(X, pd.DataFrame) and (X.ndim != 2 or is_sparse(X)):
        return None
    bad, good = take_rows(X, slice(row, row + 1)), take_rows(X, slice(works, works + 1))

    def mixed(count: int) -> Any:
        if isinstance(X, pd.DataFrame):
            parts = [bad.iloc[:, :count], good.iloc[:, count:].set_axis(bad.index)]
            return pd.concat(parts, axis=1)
        return np.concatenate([bad[:, :count], good[:, count:]], axis=1)

    column = _first_failing(lambda _, count: counted.fails(mixed(count)), X.shape[1])
    if column is None:
        return None
    return X.columns[column] if isinstance(X, pd.DataFrame) else column
