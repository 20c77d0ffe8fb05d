"""Bisection: find the record and the column that a model fails on by asking it again, not by reading its message."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from leakscope.data.records import take_rows

#: Calls of the model at most: enough for 32,768 records and 256 columns.
MOST_CALLS = 28


@dataclass(frozen=True)
class FailingCell:
    """First row that a model fails on, and the first column that makes it fail, where one column does.

    ``column`` is the name in a DataFrame and the position in an array, or None.
    """

    row: int
    column: Any = None


def failing_cell(predict: Callable[[Any], Any], X: Any) -> FailingCell | None:
    """Find the first record that ``predict`` fails on, given that it fails on ``X``.

    A search in halves needs few calls: about the base-2 logarithm of the number of records and of columns. None if no single
    record is the cause, as where the model fails on all of them.

    Examples
    --------
    >>> failing_cell(lambda X: 1 / np.array([float(text) for text in X["age"]]), pd.DataFrame({"age": ["4", "2", "?"]}))
    FailingCell(row=2, column='age')
    """
    asked = _CountedPredict(predict)
    try:
        row = _first_failing(lambda start, stop: asked.fails(take_rows(X, slice(start, stop))), len(X))
        if row is None or not asked.fails(take_rows(X, slice(row, row + 1))):
            return None
        works = next((one for one in (row - 1, len(X) - 1) if one >= 0 and asked.works(X, one)), None)
        return None if works is None else FailingCell(row, _column(asked, X, row, works))
    except _TooManyCallsError:
        return None


class _TooManyCallsError(Exception):
    pass


@dataclass
class _CountedPredict:
    """A model and how often it was asked."""

    predict: Callable[[Any], Any]
    calls: int = field(default=0)

    def fails(self, part: Any) -> bool:
        if self.calls >= MOST_CALLS:
            raise _TooManyCallsError
        self.calls += 1
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the first call has shown them
                self.predict(part)
        except Exception:
            return True
        return False

    def works(self, X: Any, row: int) -> bool:
        return not self.fails(take_rows(X, slice(row, row + 1)))


def _first_failing(fails: Callable[[int, int], bool], most: int) -> int | None:
    """Position of the first of ``most`` that fails; ``fails(start, stop)`` is asked where all before ``start`` work."""
    works, fewest = 0, most
    while fewest - works > 1:
        middle = (works + fewest) // 2
        works, fewest = (works, middle) if fails(works, middle) else (middle, fewest)
    return fewest - 1 if most else None


def _column(asked: _CountedPredict, X: Any, row: int, works: int) -> Any:
    """First column whose value makes the row fail, where all columns after it have the values of a row that works."""
    if not isinstance(X, pd.DataFrame) and X.ndim != 2:
        return None
    bad, good = take_rows(X, slice(row, row + 1)), take_rows(X, slice(works, works + 1))

    def mixed(count: int) -> Any:
        if isinstance(X, pd.DataFrame):
            parts = [bad.iloc[:, :count], good.iloc[:, count:].set_axis(bad.index)]
            return pd.concat(parts, axis=1)
        return np.concatenate([bad[:, :count], good[:, count:]], axis=1)

    column = _first_failing(lambda _, count: asked.fails(mixed(count)), X.shape[1])
    if column is None:
        return None
    return X.columns[column] if isinstance(X, pd.DataFrame) else column
