"""Columns of the records: the sensitive one, those that the attacker knows, and records with some of them replaced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leakscope.core.arrays import Booleans, Floats, Indices
from leakscope.core.errors import InputError
from leakscope.data.encoding import numbers_of_column, text_codes
from leakscope.data.records import list_names, take_rows

MOST_LEVELS = 20
#: Records that each level has at least on each side: two in each half.
FEWEST_OF_LEVEL = 4
#: Texts of more different values than this are numbered in sorted order and taken as ordered.
MOST_CATEGORIES = 200


@dataclass(frozen=True, eq=False)
class Columns:
    """Which column is sensitive, which are known, and which are neither."""

    names: tuple[Any, ...]
    sensitive: Any
    known: tuple[Any, ...]

    @property
    def unknown(self) -> tuple[Any, ...]:
        return tuple(name for name in self.names if name != self.sensitive and name not in self.known)


def choose_columns(X: Any, sensitive: Any, known: Sequence[Any] | None, label: Any = None) -> Columns:
    """Find the columns, and refuse wrong names; ``label`` is the name of the labels.

    Examples
    --------
    >>> choose_columns(np.zeros((2, 3)), 1, None).known
    (0, 2)
    """
    if not isinstance(X, pd.DataFrame) and X.ndim != 2:
        raise InputError(f"records of shape {X.shape[1:]} have no columns to choose from: pass a table")
    names = tuple(X.columns) if isinstance(X, pd.DataFrame) else tuple(range(X.shape[1]))
    kind = "columns" if isinstance(X, pd.DataFrame) else "column numbers from 0 on"
    if isinstance(sensitive, str) and isinstance(label, str) and sensitive == label:
        raise InputError(f"the sensitive column {sensitive!r} is the label itself: choose a feature")
    if isinstance(sensitive, bool) or not _is_in(sensitive, names):
        raise InputError(f"there is no sensitive column {sensitive!r}: name one of the {kind} {list_names(names)}")
    if known is None:
        return Columns(names, sensitive, tuple(name for name in names if name != sensitive))
    if isinstance(known, str) or not isinstance(known, Sequence):
        raise InputError(f"known is a list of {kind}, not {known!r}")
    if strange := [name for name in known if not _is_in(name, names)]:
        raise InputError(f"known names columns that the records don't have: {list_names(strange)}")
    if sensitive in known:
        raise InputError(f"{sensitive!r} is the sensitive column: leave it out of known")
    return Columns(names, sensitive, tuple(dict.fromkeys(known)))


def _is_in(name: Any, names: tuple[Any, ...]) -> bool:
    try:
        return name in names
    except (TypeError, ValueError):  # an array, or another thing that is not equal or unequal
        return False


def column(X: Any, name: Any) -> pd.Series[Any]:
    """One column of a DataFrame or an array."""
    return X[name] if isinstance(X, pd.DataFrame) else pd.Series(X[:, name])


def read_levels(X: Any, name: Any) -> tuple[Indices, NDArray[Any]]:
    """Code of each record's level, and the levels in order; a column that can't be inferred is refused."""
    values = column(X, name)
    if missing := int(values.isna().sum()):
        raise InputError(f"the sensitive column {name!r} has {missing} missing values: drop these records or fill them")
    distinct = pd.unique(values)
    if len(distinct) < 2:
        raise InputError(f"the sensitive column {name!r} has the same value in all records: name another column")
    if len(distinct) > MOST_LEVELS:
        hint = (
            "train the model on bins of it (pandas.cut)" if pd.api.types.is_numeric_dtype(values) else "merge the rare"
        )
        raise InputError(
            f"the sensitive column {name!r} has {len(distinct)} different values, more than {MOST_LEVELS}: {hint}"
        )
    texts = values.astype(object).map(str) if values.dtype == object else values
    codes, levels = pd.factorize(texts, sort=True)
    return codes.astype(np.intp), np.asarray(levels)


def check_counts(level: Indices, levels: NDArray[Any], name: Any, where: str) -> None:
    """Refuse levels too rare to be measured."""
    counts = np.bincount(level, minlength=len(levels))
    if rare := int((counts < FEWEST_OF_LEVEL).sum()):
        raise InputError(
            f"{where} has fewer than {FEWEST_OF_LEVEL} records of {rare} of the {len(levels)} levels of "
            f"{name!r}: leave out or merge rare levels, or give more records"
        )


def as_numbers(X: Any, names: Sequence[Any]) -> tuple[Floats, Booleans]:
    """Columns as numbers for trees, texts as codes, and which are codes without an order."""
    table, unordered = np.empty((len(X), len(names))), np.zeros(len(names), dtype=bool)
    for place, name in enumerate(names):
        values = column(X, name)
        if (numbers := numbers_of_column(values)) is not None:
            table[:, place] = numbers
            continue
        codes, distinct = text_codes(values, missing="")
        table[:, place] = codes
        unordered[place] = len(distinct) <= MOST_CATEGORIES
    return table, unordered


def replaced(X: Any, rows: Indices, names: Sequence[Any], donors: Indices) -> Any:
    """Copies of some rows, with these columns taken from as many other rows.

    Examples
    --------
    >>> replaced(np.array([[1, 2], [3, 4]]), np.array([0]), [1], np.array([1]))
    array([[1, 4]])
    """
    part = take_rows(X, rows)
    if not isinstance(X, pd.DataFrame):
        part[:, list(names)] = X[np.ix_(donors, list(names))]
        return part
    for name in names:
        part[name] = X[name].array.take(donors)  # keeps categories and other types as they are
    return part
