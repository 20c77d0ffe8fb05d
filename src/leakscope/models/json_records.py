"""Conversion of records to JSON types, for requests to HTTP endpoints."""

from __future__ import annotations

import math
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leakscope.core.errors import InputError
from leakscope.data.records import as_array, list_names


def plain_rows(X: Any) -> list[Any]:
    """Convert records to lists, or to dicts by column name, of Python numbers and strings; missing values become None.

    Dates become ISO 8601 strings. Values without a JSON type are refused.

    Examples
    --------
    >>> plain_rows(np.array([[1.5, np.nan]])), plain_rows(pd.DataFrame({"age": [30], "job": ["cook"]}))
    ([[1.5, None]], [{'age': 30, 'job': 'cook'}])
    """
    if not isinstance(X, pd.DataFrame):
        return _plain(as_array(X))
    names = [str(name) for name in X.columns]
    if len(set(names)) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise InputError(f"two columns have the same name as text, {list_names([twice])}: rename one of them")
    columns = [_plain(X.iloc[:, number].to_numpy()) for number in range(len(names))]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _plain(array: NDArray[Any]) -> list[Any]:
    """Return the cells of an array in nested lists."""
    if array.dtype.kind in "biuU":
        return list(array.tolist())
    if array.dtype.kind == "M":  # Python has no type for finer units
        array = array.astype("datetime64[us]")
    cells = np.empty(array.size, dtype=object)
    cells[:] = [_plain_cell(cell) for cell in array.astype(object).ravel()]
    return list(cells.reshape(array.shape).tolist())


def _plain_cell(cell: Any) -> Any:
    value = cell.item() if isinstance(cell, np.generic) else cell
    if value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, float) and math.isinf(value):
        raise InputError("the records contain infinite values, which JSON lacks: replace them, or pass encode=")
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, date):
        return value.isoformat()
    raise InputError(f"the records contain a {type(value).__name__}, which JSON lacks: convert it, or pass encode=")
