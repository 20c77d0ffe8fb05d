"""Encodings of tables: one-hot, integer codes and principal components, with levels and ranges of the whole table."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array

from leakscope.core.arrays import Floats
from leakscope.data.containers import is_sparse

#: Wider records, such as images, are reduced to this many random projections.
MOST_COLUMNS = 200


def one_hot(
    table: pd.DataFrame, categorical: Collection[str], rows: NDArray[np.intp] | slice = slice(None)
) -> pd.DataFrame:
    """Encode categorical columns as indicators, and scale the others to [0, 1] by minimum and maximum.

    A level becomes a column ``name=level``; a column of two levels becomes one, for the later level in sorted order. A
    missing value is zero in every column. Only ``rows`` are returned, by default all; levels, minimum and maximum are
    those of the whole table.

    Examples
    --------
    >>> table = pd.DataFrame({"age": [20, 40, 30], "sex": ["F", "M", "F"], "job": ["a", "b", "c"]})
    >>> one_hot(table, {"sex", "job"})
       age  sex=M  job=a  job=b  job=c
    0  0.0    0.0    1.0    0.0    0.0
    1  1.0    1.0    0.0    1.0    0.0
    2  0.5    0.0    0.0    0.0    1.0
    """
    columns: dict[str, NDArray[np.float64]] = {}
    for name in table.columns:
        if name in categorical:
            codes, levels = pd.factorize(table[name], sort=True)
            first = 1 if len(levels) == 2 else 0
            for code, level in enumerate(levels[first:], start=first):
                columns[f"{name}={level}"] = (codes[rows] == code).astype(np.float64)
        else:
            values = table[name].to_numpy(np.float64)
            columns[name] = (values[rows] - values.min()) / np.ptp(values)
    return pd.DataFrame(columns, index=table.index[rows])


def finite(numbers: Floats) -> Floats:
    """Numbers with NaN for those that are infinite."""
    fine = np.isfinite(numbers)
    return numbers if fine.all() else np.where(fine, numbers, np.nan)


def numbers_of_column(column: pd.Series[Any]) -> Floats | None:
    """Numbers and truth values of a column, with NaN for missing and infinite ones; None for a column of another kind."""
    if not (pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column)):
        return None
    return finite(column.to_numpy(dtype=np.float64, na_value=np.nan))


def text_codes(column: pd.Series[Any], missing: str = "?") -> tuple[NDArray[np.intp], pd.Index[Any]]:
    """Rank of each text among the sorted texts, and these; a missing value is the text ``missing``."""
    return pd.factorize(column.astype("str").where(column.notna(), missing), sort=True)


def integer_codes(table: pd.DataFrame, categorical: Collection[str]) -> pd.DataFrame:
    """Encode categorical columns as the rank of the level in sorted order; a missing value is the level ``?``.

    Examples
    --------
    >>> integer_codes(pd.DataFrame({"age": [20, 40], "job": ["b", None]}), {"job"})
       age  job
    0   20    1
    1   40    0
    """
    coded = {name: text_codes(column)[0] if name in categorical else column for name, column in table.items()}
    return pd.DataFrame(coded, index=table.index)


def principal_components(table: pd.DataFrame, count: int) -> pd.DataFrame:
    """Return the scores on the first principal components of the standardised columns, largest variance first.

    Columns are standardised to mean 0 and variance 1. The largest loading of each component is positive, so that the
    signs do not depend on the linear-algebra library.

    Examples
    --------
    >>> table = pd.DataFrame({"a": [0.0, 1.0, 2.0], "b": [0.0, 10.0, 20.0]})
    >>> principal_components(table, 1).round(3).squeeze().tolist()
    [-1.732, 0.0, 1.732]
    """
    values = table.to_numpy(np.float64)
    standard = (values - values.mean(axis=0)) / values.std(axis=0)
    _, vectors = np.linalg.eigh(standard.T @ standard / len(standard))
    loadings = vectors[:, ::-1][:, :count]
    largest = np.abs(loadings).argmax(axis=0)
    loadings = loadings * np.sign(loadings[largest, np.arange(count)])
    names = [f"component_{number}" for number in range(1, count + 1)]
    return pd.DataFrame(standard @ loadings, columns=names, index=table.index)


def of_columns(names: Collection[str], table: pd.DataFrame) -> tuple[str, ...]:
    """Return the columns of a prepared table that derive from the named raw columns."""
    return tuple(column for column in table.columns if column.split("=")[0] in names)


def as_numbers(X: Any, rng: np.random.Generator, below: Any = None) -> Floats:
    """Records as numbers, (n, columns), with those ``below`` under them: text becomes codes, wide records random projections.

    Examples
    --------
    >>> as_numbers(pd.DataFrame({"a": [1.0, np.inf], "b": ["y", "x"]}), np.random.default_rng(0))
    array([[ 1.,  1.],
           [nan,  0.]])
    """
    parts = [X] if below is None else [X, below]
    if is_sparse(X):
        parts = dense_rows(parts, rng, MOST_COLUMNS)
    elif isinstance(X, pd.DataFrame) or X.dtype.kind not in "biuf":
        both = pd.concat([_frame(part) for part in parts], ignore_index=True)
        parts = [np.column_stack([_numbers(both.iloc[:, column]) for column in range(both.shape[1])])]
    else:
        parts = [part.reshape(len(part), -1) for part in parts]
    if parts[0].shape[1] > MOST_COLUMNS:
        mix = rng.normal(size=(parts[0].shape[1], MOST_COLUMNS))
        parts = [np.nan_to_num(part) @ mix for part in parts]
    table = np.empty((sum(map(len, parts)), parts[0].shape[1]))
    np.concatenate(parts, out=table, casting="unsafe")
    return finite(table)


def dense_rows(parts: Sequence[Any], rng: np.random.Generator, most: int) -> list[Floats]:
    """Sparse records as dense rows; more columns than ``most`` are added up in that many, each with a random sign.

    This projection (a count sketch) keeps distances on average, and a change of a few columns changes a few sums.

    Examples
    --------
    >>> from scipy.sparse import eye_array
    >>> (rows,) = dense_rows([eye_array(5, format="csr")], np.random.default_rng(0), most=2)
    >>> rows.shape, np.abs(rows).sum(axis=1).tolist()
    ((5, 2), [1.0, 1.0, 1.0, 1.0, 1.0])
    """
    width = parts[0].shape[1]
    if width > most:
        signs, places = rng.choice([-1.0, 1.0], width), rng.integers(most, size=width)
        mix = csr_array((signs, places, np.arange(width + 1)), shape=(width, most))
        parts = [part @ mix for part in parts]
    return [part.toarray() for part in parts]


def _frame(X: Any) -> pd.DataFrame:
    return X if isinstance(X, pd.DataFrame) else pd.DataFrame(X.reshape(len(X), -1))


def _numbers(column: pd.Series[Any]) -> Floats:
    if (numbers := numbers_of_column(column)) is not None:
        return numbers
    # Codes in sorted order: in the order of appearance they would tell members, who come first, from the others.
    try:
        return pd.factorize(column, sort=True)[0].astype(np.float64)
    except TypeError:  # lists and mixed types have no order but that of their text
        return pd.factorize(column.map(str), sort=True)[0].astype(np.float64)
