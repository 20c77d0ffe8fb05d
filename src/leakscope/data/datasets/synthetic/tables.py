"""Random tables of text and numbers with given level frequencies and one latent variable per record.

Every column has a score, the weighted sum of the latent variable and independent noise. Levels are assigned in the
order of the scores, so the frequency of each level is exact and columns with a loading are correlated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leakscope.core.arrays import Floats

Weights = Sequence[float] | NDArray[np.floating[Any]]


class Column(NamedTuple):
    """The levels of a column with their weights, and how a record gets its level.

    Parameters
    ----------
    levels
        Text or integers, in the order of the scores that they are assigned to.
    weights
        Relative frequency of each level; each level occurs at least once.
    loading
        Correlation of the score with the latent variable, from −1 to 1.
    missing
        Share of records without a value.
    """

    levels: Sequence[Any]
    weights: Weights
    loading: float = 0.0
    missing: float = 0.0


def level_counts(weights: Weights, rows: int) -> NDArray[np.int64]:
    """Divide a number of records among levels by weight, with at least one record each.

    Examples
    --------
    >>> level_counts([90, 9, 0.1], 100).tolist()
    [90, 9, 1]
    """
    shares = np.asarray(weights, np.float64) / np.sum(weights)
    counts: NDArray[np.int64] = 1 + np.floor(shares * (rows - len(shares))).astype(np.int64)
    counts[np.argmax(counts)] += rows - counts.sum()
    return counts


def deal(score: Floats, weights: Weights) -> NDArray[np.intp]:
    """Assign a level number to each record, in the order of the scores.

    Examples
    --------
    >>> deal(np.array([0.3, -1.0, 2.0, 0.1]), [3, 1]).tolist()
    [0, 0, 1, 0]
    """
    codes = np.empty(len(score), np.intp)
    codes[np.argsort(score)] = np.repeat(np.arange(len(weights)), level_counts(weights, len(score)))
    return codes


def draw_column(column: Column, hidden: Floats, rng: np.random.Generator) -> Any:
    """Draw the values of one column: integers, or text with missing values."""
    score = column.loading * hidden + np.sqrt(1 - column.loading**2) * rng.standard_normal(len(hidden))
    present = rng.permutation(len(hidden))[round(column.missing * len(hidden)) :]
    codes = np.full(len(hidden), -1)
    codes[present] = deal(score[present], column.weights)
    return pd.Series(list(column.levels)).array.take(codes, allow_fill=bool(column.missing))


def draw_table(columns: Mapping[str, Column], hidden: Floats, rng: np.random.Generator) -> pd.DataFrame:
    """Draw a table, with one row per value of the latent variable.

    Examples
    --------
    >>> table = draw_table({"a": Column(["x", "y"], [1, 1])}, np.zeros(4), np.random.default_rng(0))
    >>> sorted(table["a"])
    ['x', 'x', 'y', 'y']
    """
    return pd.DataFrame({name: draw_column(column, hidden, rng) for name, column in columns.items()})


def falling(levels: Sequence[Any], *, steepness: float = 1.0, loading: float = 0.0, missing: float = 0.0) -> Column:
    """Return a column whose levels have the weights 1, 1/2, 1/3, …, to the power of ``steepness``."""
    return Column(levels, np.arange(1, len(levels) + 1) ** -steepness, loading, missing)
