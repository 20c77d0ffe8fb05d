"""Bins of numeric group columns, so that groups by age or income are large enough to be compared."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leakscope.core.arrays import Floats
from leakscope.core.errors import InputError

#: A numeric column with more different values is binned.
MOST_LEVELS = 20
#: Number of bins of equal numbers of records.
BINS = 5
#: A rounded bin has at most this many times the records of the quantile bin, and at least its inverse.
SIMILAR = 4 / 3
#: Text that is a number; a code such as 02139 is not.
NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?")

Bins = Mapping[str, Sequence[float] | None]


def bin_columns(train: pd.DataFrame, holdout: pd.DataFrame, bins: Bins | None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Replace numeric columns with many values by bins, such as "30 to 45", which holds 30 and not 45.

    ``bins`` has the ends for columns by name, or None for a column that keeps its values. Otherwise a column with more than
    `MOST_LEVELS` values has `BINS` bins between quantiles of both sets, rounded.

    Examples
    --------
    >>> ages = pd.DataFrame({"age": np.arange(20, 70)})
    >>> sorted(set(bin_columns(ages, ages, None)[0]["age"]))
    ['30 to 40', '40 to 50', '50 to 60', '60 and above', 'below 30']
    >>> sorted(set(bin_columns(ages, ages, {"age": [18, 65]})[0]["age"]))
    ['18 to 65', '65 and above']
    """
    for name in bins or {}:
        if name not in map(str, train.columns):
            raise InputError(f"bins= names {name!r}, which is not a group column{did_you_mean(name, train.columns)}")
    tables = train.copy(), holdout.copy()
    for name in train.columns:
        columns = train[name], holdout[name]
        asked = str(name) in (bins or {})
        ends = (bins or {}).get(str(name))
        if asked and ends is None:
            continue
        values = _numbers(pd.concat(columns, ignore_index=True))
        if asked and values is None:
            raise InputError(f"the group column {str(name)!r} has no numbers to bin: leave it out of bins= (--bins)")
        if values is None or (not asked and len(np.unique(values[~np.isnan(values)])) <= MOST_LEVELS):
            continue
        levels = name_bins(values, _checked(ends, str(name)) if ends is not None else quantile_ends(values))
        for table, part in zip(tables, np.split(levels, [len(train)]), strict=True):
            table[name] = pd.Series(part, index=table.index, dtype=object)
    return tables


def _numbers(column: pd.Series[Any]) -> Floats | None:
    """Return the numbers of a column, with NaN for missing ones; None for a column of another kind."""
    if pd.api.types.is_bool_dtype(column):
        return None
    if not pd.api.types.is_numeric_dtype(column):
        different = [value for value in column.dropna().unique() if not (isinstance(value, str) and value == "")]
        if not different or not all(isinstance(value, str) and NUMBER.fullmatch(value) for value in different):
            return None
        column = pd.to_numeric(column, errors="coerce")
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def quantile_ends(values: Floats) -> Floats:
    """Return the inner ends of `BINS` bins between quantiles, rounded to the largest step that keeps the bins about as large.

    Ends that are not rounded would be values of records.

    Examples
    --------
    >>> quantile_ends(np.arange(18.0, 90.0)).tolist()
    [30.0, 45.0, 60.0, 75.0]
    """
    known = np.sort(values[np.isfinite(values)])
    ends = np.unique(np.quantile(known, np.arange(1, BINS) / BINS))
    records = _records_between(known, ends)
    largest = int(np.ceil(np.log10(np.ptp(known))))
    for step in (leading * 10.0**power for power in range(largest, largest - 12, -1) for leading in (1.0, 0.5, 0.2)):
        rounded = np.array([float(f"{end:.12g}") for end in np.round(ends / step) * step + 0.0])
        change = _records_between(known, rounded) / np.maximum(records, 1)
        if (np.diff(rounded) > 0).all() and (
            np.abs(np.log(np.maximum(change, 1e-9)))[records > 0] <= np.log(SIMILAR)
        ).all():
            return rounded
    return ends


def _records_between(known: Floats, ends: Floats) -> NDArray[np.intp]:
    return np.diff(np.searchsorted(known, ends), prepend=0, append=len(known))


def name_bins(values: Floats, ends: Floats) -> NDArray[Any]:
    """Return the name of each value's bin; None for missing values.

    Examples
    --------
    >>> name_bins(np.array([3.0, 18.0, 70.0, np.nan]), np.array([18.0, 50.5])).tolist()
    ['below 18', '18 to 50.5', '50.5 and above', None]
    """
    texts = [str(int(end)) if float(end).is_integer() else f"{end:.12g}" for end in ends]
    names = [f"below {texts[0]}", *(f"{low} to {high}" for low, high in pairwise(texts)), f"{texts[-1]} and above"]
    found = np.array([*names, None], object)[np.searchsorted(ends, values, side="right")]
    found[np.isnan(values)] = None
    return np.asarray(found)


def _checked(ends: Any, name: str) -> Floats:
    try:
        numbers = np.asarray(ends, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.ndim != 1 or not len(numbers) or not np.isfinite(numbers).all() or (np.diff(numbers) <= 0).any():
        raise InputError(
            f"the bins of {name!r} are not ascending numbers: write them as [18, 30, 50] (--bins {name}=18,30,50)"
        )
    return numbers


def did_you_mean(name: Any, known: Any) -> str:
    """Return the nearest of the known names as the end of a message.

    Examples
    --------
    >>> did_you_mean("aeg", ["age", "pay"]), did_you_mean("x", [])
    (": did you mean 'age'?", '')
    """
    names = [str(one) for one in known]
    near = get_close_matches(str(name), names, n=2) or get_close_matches(str(name).lower(), names, n=2)
    return f": did you mean {' or '.join(map(repr, near))}?" if near else ""
