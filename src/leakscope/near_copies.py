r"""Near copies: held-out records that are training records with other digits.

Exact copies are found by hash (`fingerprints.row_hashes`). A record that was rounded, or exported with another float format,
has another hash, and a model that remembers the original answers on the copy as on a member. Such a holdout hides a leak.

For a record :math:`x` with nearest training record :math:`m` let

.. math:: r(x) = \frac{\lVert x - m\rVert}{\min_{m' \ne m}\lVert m - m'\rVert}

be the nearest-neighbour distance ratio. Held-out records drawn like the training records have the same distribution of
:math:`r` as training records among themselves, whatever the metric; a near copy has :math:`r` near zero. The two samples are
compared at several thresholds by Fisher's exact test (one-sided, Bonferroni). The ratio has no unit, so that a holdout from a
denser part of the population is no reason for an alarm. Before, training records are rounded to the decimals of the holdout,
column by column. The label counts as a column: records that differ in the label alone are different records.

Two distances are used. The Euclidean distance finds records in which all numbers changed a little. The share of columns with
different values (Hamming distance) finds records in which a few columns changed entirely, such as a row number, a date of export
or the spelling of a text.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leakscope import intervals
from leakscope.crossfit import Hashes
from leakscope.fingerprints import hash_column
from leakscope.records import Records
from leakscope.results import Estimate

Floats = NDArray[np.float64]
Codes = NDArray[np.uint16]
Indices = NDArray[np.intp]

#: Records of each side whose nearest training records are searched.
MOST_ASKED = 300
#: Training records without copies that are enough to ask about these only.
FEWEST_ASKED = 20
#: Training records that are searched.
MOST_SEARCHED = 20_000
#: Records that are compared with all searched ones at a time.
ROWS = 32
#: Wider records are seen through this many random projections.
MOST_COLUMNS = 32
#: For the Hamming distance, more columns are combined into this many blocks.
MOST_BLOCKS = 16
#: Ratios of Euclidean and of Hamming distances at which the two sides are compared.
RATIOS = (1e-6, 1e-3, 1e-2, 0.03, 0.1, 0.3), (0.3, 0.6)
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
    inside, once = _different(hashes[0], rng)
    outside, _ = _different(hashes[1], rng)
    outside = outside[~np.isin(hashes[1][outside], hashes[0])][:MOST_ASKED]
    # No held-out record that is asked about has a copy among the training records: neither may a training record.
    inside, once = inside[:MOST_SEARCHED], once[:MOST_SEARCHED]
    inside = inside[np.argsort(~once, kind="stable")]
    asked = min(MOST_ASKED, once.sum() if once.sum() >= FEWEST_ASKED else len(inside))
    if len(inside) < 4 or len(outside) < 4:
        return None
    sides = (members.take(inside), nonmembers.take(outside))
    numbers, columns = _numbers(*sides)
    rounded = _rounded_like(numbers[1], numbers[0])
    near = (
        _euclidean(*_coordinates(rounded, numbers[1], rng), asked),
        _hamming(*_blocks(rounded, numbers[1], columns, rng), asked),
    )
    found = [share for each, at in zip(near, RATIOS, strict=True) for share in _excess(*each, asked, at)]
    if not found:
        return None
    largest = max(found, key=lambda share: share.low)
    unsearched = len(np.unique(hashes[0])) / len(inside)
    value, low, high = (min(1.0, max(0.0, end * unsearched)) for end in (largest.value, largest.low, largest.high))
    return Estimate(value, low, high, largest.confidence, n=len(outside), method="nearest-neighbour distance ratios")


def _excess(ratios: Floats, nearest: Indices, asked: int, thresholds: tuple[float, ...]) -> list[Estimate]:
    """Share of held-out records beyond that of training records, at each threshold where it is significantly larger.

    Several records of one person make hits that depend on each other. In the test, held-out records with the same nearest
    training record count once, and hits among training records, which come in pairs, count half.
    """
    found, tests, others = [], sum(map(len, RATIOS)), len(ratios) - asked
    for threshold in thresholds:
        hit = ratios <= threshold
        out, within = int(hit[asked:].sum()), int(hit[:asked].sum())
        different, pair = len(np.unique(nearest[asked:][hit[asked:]])), 2 if within else 1
        if _fisher(different // pair, others // pair, -(-within // pair), asked // pair) * tests <= FALSE_ALARM:
            found.append(intervals.difference(intervals.proportion(out, others), intervals.proportion(within, asked)))
    return found


def _different(hashes: Hashes, rng: np.random.Generator) -> tuple[Indices, NDArray[np.bool_]]:
    """One position for each different record, in random order, and whether the record stands there once."""
    _, first, counts = np.unique(hashes, return_index=True, return_counts=True)
    order = rng.permutation(len(first))
    return first[order], counts[order] == 1


def _fisher(first: int, of: int, second: int, of_second: int) -> float:
    """Chance of at least ``first`` hits of ``of`` if both sides have the same rate."""
    from scipy.stats import hypergeom

    return float(hypergeom.sf(first - 1, of + of_second, first + second, of))


def _euclidean(searched: Floats, others: Floats, members: int) -> tuple[Floats, Indices]:
    """Ratio of Euclidean distances for the first ``members`` of the searched records and for the others, and the nearest."""
    from sklearn.neighbors import NearestNeighbors

    index = NearestNeighbors(algorithm="brute").fit(searched)
    asked = np.concatenate([searched[:members], others])
    own = np.concatenate([np.arange(members), np.full(len(others), -1)])
    neighbours = index.kneighbors(asked, 3, return_distance=False)
    nearest = _first_but(neighbours, own[:, None])
    second = _first_but(neighbours, np.column_stack([nearest, own]))
    # The search subtracts large squares; near copies need the distance itself.
    near = np.linalg.norm(asked - searched[nearest], axis=1)
    apart = np.linalg.norm(searched[nearest] - searched[second], axis=1)
    # The nearest record has a neighbour at this distance: the search for a nearer one can only raise the ratio.
    close = np.flatnonzero(near <= max(RATIOS[0]) * apart)
    if len(close):
        at = nearest[close]
        neighbours = index.kneighbors(searched[at], 3, return_distance=False)
        second = _first_but(neighbours, np.column_stack([at, own[close]]))
        apart[close] = np.linalg.norm(searched[at] - searched[second], axis=1)
    return _ratio(near, apart), nearest


def _hamming(searched: Codes, others: Codes, members: int) -> tuple[Floats, Indices]:
    """Ratio of Hamming distances for the first ``members`` of the searched records and for the others, and the nearest."""
    asked = np.concatenate([searched[:members], others])
    own = np.concatenate([np.arange(members), np.full(len(others), -1)])
    nearest, near = _most_equal(asked, searched, own[:, None])
    apart = np.zeros(len(asked), np.intp)  # stands for a ratio of infinity, where no distance could make it small
    close = np.flatnonzero(near <= max(RATIOS[1]) * searched.shape[1])
    apart[close] = _most_equal(searched[nearest[close]], searched, np.column_stack([nearest, own])[close])[1]
    ratios = _ratio(near.astype(np.float64), apart.astype(np.float64))
    return ratios, nearest


def _most_equal(asked: Codes, searched: Codes, excluded: NDArray[Any]) -> tuple[Indices, Indices]:
    """Position of the nearest searched record that is not excluded, and its Hamming distance."""
    nearest, equal = np.empty(len(asked), np.intp), np.empty(len(asked), np.intp)
    columns = np.ascontiguousarray(searched.T)
    for start in range(0, len(asked), ROWS):
        rows = slice(start, start + ROWS)
        blocks = _equal_blocks(asked[rows], columns, excluded[rows])
        nearest[rows] = blocks.argmax(axis=1)
        equal[rows] = blocks.max(axis=1)
    return nearest, searched.shape[1] - equal


def _equal_blocks(asked: Codes, columns: Codes, excluded: NDArray[Any]) -> NDArray[np.int8]:
    """Number of equal blocks of each asked and each searched record; -1 for excluded pairs."""
    equal = np.zeros((len(asked), columns.shape[1]), np.int8)
    for place, column in enumerate(columns):
        equal += (asked[:, place, None] == column).view(np.int8)
    for position in excluded.T:
        rows = np.flatnonzero(position >= 0)
        equal[rows, position[rows]] = -1
    return equal


def _ratio(near: Floats, apart: Floats) -> Floats:
    ratios: Floats = np.divide(near, apart, out=np.full(len(near), np.inf), where=apart > 0)
    ratios[(near == 0) & (apart == 0)] = 1.0
    return ratios


def _first_but(neighbours: NDArray[Any], excluded: NDArray[Any]) -> Indices:
    """Nearest neighbour of each row that is not excluded."""
    allowed = (neighbours[:, :, None] != excluded[:, None, :]).all(axis=2)
    return np.take_along_axis(neighbours, allowed.argmax(axis=1)[:, None], axis=1)[:, 0].astype(np.intp)


def _coordinates(first: Floats, second: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Both sides as points, in standard deviations of the training records."""
    missing = np.isnan(first)
    held = np.where(missing, 0.0, first) if missing.any() else first
    with np.errstate(over="ignore"):  # columns of extreme numbers then count for nothing
        centre = held.sum(axis=0) / np.maximum((~missing).sum(axis=0), 1)
        spread = np.where(missing, 0.0, first - centre).std(axis=0) if missing.any() else first.std(axis=0)
    spread[spread == 0] = 1.0
    points = [np.nan_to_num((part - centre) / spread, copy=False) for part in (first, second)]
    if first.shape[1] > MOST_COLUMNS:
        mix = rng.normal(size=(first.shape[1], MOST_COLUMNS))
        points = [part @ mix for part in points]
    return points[0], points[1]


def _blocks(first: Floats, second: Floats, columns: Indices, rng: np.random.Generator) -> tuple[Codes, Codes]:
    """Both sides as codes: equal codes for records with equal values in a column, or in a random block of columns."""
    block = rng.permutation(columns.max() + 1)[columns] % MOST_BLOCKS
    bits = (np.concatenate([first, second]) + 0.0).view(np.uint64)  # adding zero makes -0.0 and 0.0 equal
    codes = []
    for number in np.unique(block):
        mixed = np.zeros(len(bits), np.uint64)
        for place in np.flatnonzero(block == number):
            mixed = (mixed ^ bits[:, place] ^ bits[:, place] >> np.uint64(32)) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
        codes.append(np.unique(mixed, return_inverse=True)[1].astype(np.uint16))
    both = np.column_stack(codes)
    return both[: len(first)], both[len(first) :]


def _rounded_like(coarse: Floats, fine: Floats) -> Floats:
    """Round each column to the decimals of the other side, so that rounded copies coincide with their originals."""
    rounded, left = fine, np.ones(fine.shape[1], bool)
    for decimals in DECIMALS:
        fits = left & (np.isnan(coarse) | (np.round(coarse, decimals) == coarse)).all(axis=0)
        if fits.any():
            rounded = fine.copy() if rounded is fine else rounded
            rounded[:, fits] = np.round(fine[:, fits], decimals)
        left &= ~fits
    return rounded


def _numbers(first: Records, second: Records) -> tuple[tuple[Floats, Floats], Indices]:
    """Both sides as numbers, the label last, and the column that each number comes from.

    Columns that are numbers or dates on both sides stay as they are. Any other value becomes two numbers from its hash.
    """
    frames = [_frame(side) for side in (first, second)]
    if all(isinstance(frame, np.ndarray) for frame in frames):
        return (frames[0], frames[1]), np.arange(frames[0].shape[1])
    parts: list[list[Floats]] = [[], []]
    columns: list[int] = []
    for place in range(frames[0].shape[1]):
        pair = [frame.iloc[:, place] for frame in frames]
        numeric = all(_is_numeric(column) for column in pair)
        for part, column in zip(parts, pair, strict=True):
            part.extend([_as_numbers(column)] if numeric else _as_points(column))
        columns += [place] * (1 if numeric else 2)
    return (np.column_stack(parts[0]), np.column_stack(parts[1])), np.array(columns)


def _frame(side: Records) -> Any:
    """Features and label: an array if all of them are numbers, otherwise a table."""
    X = side.X
    if not isinstance(X, pd.DataFrame):
        X = X.reshape(len(X), -1)
        if X.dtype.kind in "biuf":
            return _finite(np.column_stack([X.astype(np.float64), side.y]))
        X = pd.DataFrame(X)
    return pd.concat([X.reset_index(drop=True), pd.Series(side.y)], axis=1)


def _is_numeric(column: Any) -> bool:
    kind = column.dtype
    if pd.api.types.is_datetime64_any_dtype(kind):
        return True
    return pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_complex_dtype(kind)


def _as_numbers(column: Any) -> Floats:
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        seconds = (pd.to_datetime(column, utc=True) - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(seconds=1)
        return np.asarray(seconds, dtype=np.float64)
    return _finite(column.to_numpy(dtype=np.float64, na_value=np.nan))


def _as_points(column: Any) -> list[Floats]:
    """Two numbers from the hash of each value; case and outer white space of texts do not count."""
    values = column.astype(object)
    bits = hash_column(values.map(lambda value: value.strip().casefold() if isinstance(value, str) else value))
    return [(bits >> np.uint64(shift) & np.uint64(0xFFFFFFFF)) / 2.0**32 for shift in (0, 32)]


def _finite(numbers: Floats) -> Floats:
    finite = np.isfinite(numbers)
    return numbers if finite.all() else np.where(finite, numbers, np.nan)
