r"""Near copies: held-out records that are training records with other digits.

Exact copies are found by hash (`fingerprints.row_hashes`). A record that was rounded, or exported with another float format,
has another hash, and a model that remembers the original answers on the copy as on a member. Such a holdout hides a leak.

For a record :math:`x` with nearest training record :math:`m` let

.. math:: r(x) = \frac{\lVert x - m\rVert}{\min_{m' \ne m}\lVert m - m'\rVert}

be the nearest-neighbour distance ratio. Held-out records drawn like the training records have the same distribution of
:math:`r` as training records among themselves, whatever the metric; a near copy has :math:`r` near zero. The two samples are
compared at several thresholds by Fisher's exact test (one-sided, Bonferroni). The ratio has no unit, so that a holdout from a
denser part of the population is no reason for an alarm. Before, training records are rounded to the decimals of the holdout,
column by column.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leakscope import intervals
from leakscope.crossfit import Hashes
from leakscope.fingerprints import hash_column
from leakscope.records import Records, take_rows
from leakscope.results import Estimate

Floats = NDArray[np.float64]

#: Records of each side whose nearest training records are searched.
MOST_ASKED = 500
#: Training records that are searched.
MOST_SEARCHED = 20_000
#: Wider records are seen through this many random projections.
MOST_COLUMNS = 64
#: Distance ratios at which the two sides are compared.
RATIOS = (1e-6, 1e-3, 1e-2, 0.03, 0.1, 0.3)
#: Decimals that a column may have been rounded to, the coarsest first.
DECIMALS = range(-6, 13)
#: Probability of an alarm where the holdout is drawn like the training records.
FALSE_ALARM = 1e-3


def near_copies(
    members: Records, nonmembers: Records, hashes: tuple[Hashes, Hashes], rng: np.random.Generator
) -> Estimate | None:
    """Estimate which share of the held-out records are near copies of training records; None without evidence.

    Exact copies, known by ``hashes``, do not count.

    Examples
    --------
    >>> from leakscope.fingerprints import row_hashes
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 3))
    >>> sides = [Records(part, np.zeros(200), np.arange(200)) for part in (X[:200], np.round(X[100:300], 3))]
    >>> near_copies(*sides, tuple(row_hashes(side.X) for side in sides), rng)
    0.50 [0.43, 0.57]
    """
    inside = _different(hashes[0], rng)[:MOST_SEARCHED]
    outside = _different(hashes[1], rng)
    outside = outside[~np.isin(hashes[1][outside], hashes[0])][:MOST_ASKED]
    asked = min(MOST_ASKED, len(inside))
    if len(inside) < 4 or len(outside) < 4:
        return None
    searched, others = _coordinates(take_rows(members.X, inside), take_rows(nonmembers.X, outside), rng)
    ratios = _ratios(searched, np.concatenate([searched[:asked], others]), asked)
    near = [(int((ratios[asked:] <= at).sum()), int((ratios[:asked] <= at).sum())) for at in RATIOS]
    chances = [_fisher(out, len(others), within, asked) for out, within in near]
    best = int(np.argmin(chances))
    if chances[best] * len(RATIOS) > FALSE_ALARM:
        return None
    out, within = near[best]
    found = intervals.difference(intervals.proportion(out, len(others)), intervals.proportion(within, asked))
    unsearched = len(np.unique(hashes[0])) / len(inside)
    value, low, high = (min(1.0, max(0.0, end * unsearched)) for end in (found.value, found.low, found.high))
    return Estimate(value, low, high, found.confidence, n=len(others), method="nearest-neighbour distance ratios")


def _different(hashes: Hashes, rng: np.random.Generator) -> NDArray[np.intp]:
    """One position for each different record, in random order."""
    return rng.permutation(np.unique(hashes, return_index=True)[1])


def _fisher(first: int, of: int, second: int, of_second: int) -> float:
    """Chance of at least ``first`` hits of ``of`` if both sides have the same rate."""
    from scipy.stats import hypergeom

    return float(hypergeom.sf(first - 1, of + of_second, first + second, of))


def _ratios(searched: Floats, asked: Floats, members: int) -> Floats:
    """Distance ratio of each asked record; the first ``members`` of them are the first of the searched records."""
    from sklearn.neighbors import NearestNeighbors

    index = NearestNeighbors(algorithm="brute").fit(searched)
    own = np.concatenate([np.arange(members), np.full(len(asked) - members, -1)])
    nearest = _first_but(index.kneighbors(asked, 2, return_distance=False), own[:, None])
    neighbours = index.kneighbors(searched[nearest], 3, return_distance=False)
    second = _first_but(neighbours, np.column_stack([nearest, own]))
    # The search subtracts large squares; near copies need the distance itself.
    near = np.linalg.norm(asked - searched[nearest], axis=1)
    apart = np.linalg.norm(searched[nearest] - searched[second], axis=1)
    ratios: Floats = np.divide(near, apart, out=np.full(len(near), np.inf), where=apart > 0)
    ratios[(near == 0) & (apart == 0)] = 1.0
    return ratios


def _first_but(neighbours: NDArray[Any], excluded: NDArray[Any]) -> NDArray[np.intp]:
    """Nearest neighbour of each row that is not excluded."""
    allowed = (neighbours[:, :, None] != excluded[:, None, :]).all(axis=2)
    return np.take_along_axis(neighbours, allowed.argmax(axis=1)[:, None], axis=1)[:, 0].astype(np.intp)


def _coordinates(inside: Any, outside: Any, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Both sides as points: numbers in standard deviations of the training records, any other value as a random point."""
    first, second = (_numbers(side) for side in (inside, outside))
    first = _rounded_like(second, first)
    missing = np.isnan(first)
    with np.errstate(over="ignore"):  # columns of extreme numbers then count for nothing
        centre = np.where(missing, 0.0, first).sum(axis=0) / np.maximum((~missing).sum(axis=0), 1)
        spread = np.where(missing, 0.0, first - centre).std(axis=0)
    spread[spread == 0] = 1.0
    points = [np.nan_to_num((part - centre) / spread) for part in (first, second)]
    if first.shape[1] > MOST_COLUMNS:
        mix = rng.normal(size=(first.shape[1], MOST_COLUMNS))
        points = [part @ mix for part in points]
    return points[0], points[1]


def _rounded_like(coarse: Floats, fine: Floats) -> Floats:
    """Round each column to the decimals of the other side, so that rounded copies coincide with their originals."""
    rounded = fine.copy()
    left = np.ones(fine.shape[1], bool)
    for decimals in DECIMALS:
        fits = left & (np.isnan(coarse) | (np.round(coarse, decimals) == coarse)).all(axis=0)
        rounded[:, fits] = np.round(fine[:, fits], decimals)
        left &= ~fits
    return rounded


def _numbers(X: Any) -> Floats:
    """Columns of numbers as they are; of any other column two numbers from the hash of each value."""
    if not isinstance(X, pd.DataFrame):
        if X.dtype.kind in "biuf":
            return _finite(X.reshape(len(X), -1).astype(np.float64))
        X = pd.DataFrame(X.reshape(len(X), -1))
    columns: list[Floats] = []
    for place in range(X.shape[1]):
        column = X.iloc[:, place]
        if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_complex_dtype(column.dtype):
            columns.append(_finite(column.to_numpy(dtype=np.float64, na_value=np.nan)))
        else:
            bits = hash_column(column)
            columns += [(bits >> np.uint64(shift) & np.uint64(0xFFFFFFFF)) / 2.0**32 for shift in (0, 32)]
    return np.column_stack(columns)


def _finite(numbers: Floats) -> Floats:
    return np.where(np.isfinite(numbers), numbers, np.nan)
