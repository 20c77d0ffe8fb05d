r"""Near copies: held-out records that differ from a training record by rounding, format or a few columns.

Exact copies are found by hash (`fingerprints.row_hashes`). A record that was rounded, or exported with another float
format, has another hash, and a model that memorised the original treats the copy as a member. This hides a leak.

For a record :math:`x` with nearest training record :math:`m` let

.. math:: r(x) = \frac{\lVert x - m\rVert}{\min_{m' \ne m}\lVert m - m'\rVert}

be the nearest-neighbour distance ratio. Held-out records from the population of the training records have the same
distribution of :math:`r` as training records among themselves, whatever the metric; a near copy has :math:`r` near
zero. The two samples are compared at several thresholds by Fisher's exact test (one-sided, Bonferroni). The ratio has
no unit, so that a holdout from a denser part of the population does not cause a false positive. Training records are
first rounded to the decimals of the holdout, column by column. The label counts as a column: records that differ in the
label alone are different records.

Two distances are used. The Euclidean distance finds records in which all numbers changed a little. The share of columns with
different values (Hamming distance) finds records in which a few columns changed entirely, such as a row number, a date of export
or the spelling of a text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leakscope.core import intervals
from leakscope.core.arrays import Floats, Indices
from leakscope.core.estimate import Estimate
from leakscope.data.containers import is_sparse
from leakscope.data.encoding import MOST_COLUMNS as MOST_DENSE
from leakscope.data.encoding import dense_rows, finite
from leakscope.data.fingerprints import hash_column
from leakscope.data.records import Records, take_rows
from leakscope.evaluation.crossfit import Hashes

Codes = NDArray[np.uint16]
Side = tuple[Records, Indices]
Metric = Callable[..., Any]

#: Records of each side whose nearest training records are searched.
MOST_ASKED = 300
#: Training records without copies from which on only these are compared.
FEWEST_ASKED = 20
#: Training records that are searched.
MOST_SEARCHED = 20_000
#: Records that are compared with all searched ones at a time.
ROWS = 32
#: Rows that are copied at a time: allocating memory for all rows costs more than copying.
COPIED = 500
#: Wider records are reduced to this many random projections.
MOST_COLUMNS = 32
#: For the Hamming distance, more columns are combined into this many blocks.
MOST_BLOCKS = 16
#: Ratios of Euclidean and of Hamming distances at which the two sides are compared.
RATIOS = (1e-6, 1e-3, 1e-2, 0.03, 0.1, 0.3), (0.3, 0.6)
#: Decimals that a column may have been rounded to, the coarsest first.
DECIMALS = range(-6, 13)
#: Held-out records that rule out most decimals.
FEW = 16
#: False-positive rate if holdout and training records are from the same population.
FALSE_ALARM = 1e-3


def near_copies(
    members: Records, nonmembers: Records, hashes: tuple[Hashes, Hashes], rng: np.random.Generator
) -> Estimate | None:
    """Estimate the share of held-out records that are near copies of training records; None if not significant.

    Exact copies, identified by ``hashes``, do not count.

    Examples
    --------
    >>> from leakscope.data.fingerprints import row_hashes
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 3))
    >>> sides = [Records(part, np.zeros(200), np.arange(200)) for part in (X[:200], np.round(X[100:300], 3))]
    >>> near_copies(*sides, tuple(row_hashes(side.X) for side in sides), rng)
    0.50 [0.42, 0.58]
    """
    inside, once = _different(hashes[0], rng)
    outside, _ = _different(hashes[1], rng)
    outside = outside[~np.isin(hashes[1][outside], hashes[0])][:MOST_ASKED]
    # The compared held-out records have no copy among the training records: neither may a training record.
    inside, once = inside[:MOST_SEARCHED], once[:MOST_SEARCHED]
    inside = inside[np.argsort(~once, kind="stable")]
    asked = min(MOST_ASKED, once.sum() if once.sum() >= FEWEST_ASKED else len(inside))
    if len(inside) < 4 or len(outside) < 4:
        return None
    (table, columns), searched = _numbers((members, inside), (nonmembers, outside), rng), len(inside)
    width = table.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):  # records with extreme numbers are near to none
        _round_like(table[searched:], table[:searched])
        mix = rng.normal(size=(width, MOST_COLUMNS)) if width > MOST_COLUMNS else np.eye(width)
        codes = _codes(table, rng.permutation(columns.max() + 1)[columns] % MOST_BLOCKS)
        points = _points(table, searched, mix)
        near = _euclidean(points, searched, asked), _hamming(codes, searched, asked)
    found = [share for each, at in zip(near, RATIOS, strict=True) for share in _excess(*each, asked, at)]
    if not found:
        return None
    largest = max(found, key=lambda share: share.low)
    unsearched = len(np.unique(hashes[0])) / len(inside)
    value, low, high = (min(1.0, max(0.0, end * unsearched)) for end in (largest.value, largest.low, largest.high))
    return Estimate(value, low, high, largest.confidence, n=len(outside), method="nearest-neighbour distance ratios")


def _excess(ratios: Floats, nearest: Indices, asked: int, thresholds: tuple[float, ...]) -> list[Estimate]:
    """Share of held-out records beyond that of training records, at each threshold where it is significantly larger.

    Several records of one person make dependent hits. In the test, held-out records with the same nearest training record
    count once, and hits among training records, which come in pairs, count half.
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
    """One position for each different record, in random order, and whether the record occurs once."""
    _, first, counts = np.unique(hashes, return_index=True, return_counts=True)
    order = rng.permutation(len(first))
    return first[order], counts[order] == 1


def _fisher(first: int, of: int, second: int, of_second: int) -> float:
    """Probability of at least ``first`` hits of ``of`` if both sides have the same rate."""
    from scipy.stats import hypergeom

    return float(hypergeom.sf(first - 1, of + of_second, first + second, of))


def _euclidean(points: Floats, searched: int, members: int) -> tuple[Floats, Indices]:
    """Ratios of Euclidean distances and the nearest records, as `_ratios` gives them."""
    squares = np.einsum("ij,ij->i", points[:searched], points[:searched])
    columns = np.ascontiguousarray(np.column_stack([points[:searched], -0.5 * squares]).T)
    space = np.empty((ROWS, searched))

    def closeness(asked: Floats) -> Any:
        # The squared distance is the square of the asked record minus twice this.
        return np.matmul(np.column_stack([asked, np.ones(len(asked))]), columns, out=space[: len(asked)])

    # The search subtracts large squares; near copies need the distance itself.
    return _ratios(points, searched, members, closeness, lambda x, m: np.linalg.norm(x - m, axis=1), max(RATIOS[0]))


def _hamming(codes: Codes, searched: int, members: int) -> tuple[Floats, Indices]:
    """Ratios of Hamming distances and the nearest records, as `_ratios` gives them."""
    columns = np.ascontiguousarray(codes.T)
    counts = [np.bincount(column) for column in columns]
    space = np.empty((2, ROWS, searched), np.int8)

    def closeness(asked: Codes) -> Any:
        total, equal = space[:, : len(asked)]
        total.fill(0)
        for code, column, count in zip(asked.T, columns[:, :searched], counts, strict=True):
            if (count[code] > 1).any():  # otherwise no other record has the same code
                total += np.equal(code[:, None], column, out=equal.view(np.bool_)).view(np.int8)
        return total

    return _ratios(codes, searched, members, closeness, lambda x, m: (x != m).sum(axis=1) / 1.0, max(RATIOS[1]))


def _ratios(
    records: Any, searched: int, members: int, closeness: Metric, distance: Metric, largest: float
) -> tuple[Floats, Indices]:
    """Ratio of distances, exact up to ``largest`` and otherwise above it, and the nearest of the ``searched`` first records.

    Asked are the first ``members`` of the searched records and all records that are not searched.
    """
    own = np.concatenate([np.arange(members), np.arange(searched, len(records))])
    nearest, second = _two_closest(records[own], [own], closeness)
    near, apart = distance(records[own], records[nearest]), distance(records[nearest], records[second])
    # The nearest record has a neighbour at this distance: the search for a nearer one can only raise the ratio.
    close = np.flatnonzero(near <= largest * apart)
    at = nearest[close]
    apart[close] = distance(records[at], records[_two_closest(records[at], [at, own[close]], closeness)[0]])
    ratios: Floats = np.divide(near, apart, out=np.full(len(near), np.inf), where=apart > 0)
    ratios[(near == 0) & (apart == 0)] = 1.0
    return ratios, nearest


def _two_closest(asked: Any, excluded: list[Indices], closeness: Metric) -> Indices:
    """Positions of the two closest searched records that are not excluded."""
    found = np.empty((2, len(asked)), np.intp)
    for start in range(0, len(asked), ROWS):
        rows = slice(start, start + ROWS)
        scores = closeness(asked[rows])
        for positions in excluded:
            _exclude(scores, positions[rows])
        found[0, rows] = scores.argmax(axis=1)
        _exclude(scores, found[0, rows])
        found[1, rows] = scores.argmax(axis=1)
    return found


def _exclude(scores: NDArray[Any], positions: Indices) -> None:
    rows = np.flatnonzero(positions < scores.shape[1])  # others are not searched
    scores[rows, positions[rows]] = -np.inf if scores.dtype.kind == "f" else -1


def _points(table: Floats, members: int, mix: Floats) -> Floats:
    """Projections of all records, in standard deviations of the training records, which come first; the table is overwritten."""
    missing = np.isnan(table)
    known = members - np.count_nonzero(missing[:members], axis=0)
    np.copyto(table, 0.0, where=missing)
    table -= table[:members].sum(axis=0) / np.maximum(known, 1)
    np.copyto(table, 0.0, where=missing)
    spread = np.sqrt(np.einsum("ij,ij->j", table[:members], table[:members]) / members)
    extreme = ~np.isfinite(spread)  # such columns are ignored
    table[:, extreme] = 0.0
    spread[extreme | (spread == 0)] = 1.0
    points: Floats = table @ (mix / spread[:, None])
    return points


def _codes(table: Floats, block: Indices) -> Codes:
    """Give records equal codes if they have equal values in all columns of a block."""
    bits = np.add(table, 0.0, out=table).view(np.uint64)  # adding zero makes -0.0 and 0.0 equal
    codes = []
    for number in np.unique(block):
        mixed = np.zeros(len(table), np.uint64)
        for place in np.flatnonzero(block == number):
            mixed ^= bits[:, place]
            mixed *= np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(32)
        codes.append(pd.factorize(mixed)[0].astype(np.uint16))
    return np.column_stack(codes)


def _round_like(coarse: Floats, fine: Floats) -> None:
    """Round each column to the decimals of the other side, so that rounded copies coincide with their originals."""
    left = np.arange(fine.shape[1])
    for decimals in DECIMALS:
        fits = left
        for some in (coarse[:FEW], coarse):
            numbers = some[:, fits]
            fits = fits[(np.isnan(numbers) | (np.round(numbers, decimals) == numbers)).all(axis=0)]
        if len(fits):
            fine[:, fits] = np.round(fine[:, fits], decimals)
            left = np.setdiff1d(left, fits)


def _numbers(first: Side, second: Side, rng: np.random.Generator) -> tuple[Floats, Indices]:
    """Rows of both sides as numbers, the label last, and the column that each number comes from.

    Columns that are numbers or dates on both sides stay as they are. Any other value becomes two numbers from its hash.
    """
    sides = first, second
    if is_sparse(first[0].X):
        rows = dense_rows([take_rows(side.X, some) for side, some in sides], rng, MOST_DENSE)
        labelled = [np.column_stack([part, side.y[some]]) for part, (side, some) in zip(rows, sides, strict=True)]
        return finite(np.concatenate(labelled)), np.arange(labelled[0].shape[1])
    if all(isinstance(side.X, np.ndarray) and side.X.dtype.kind in "biuf" for side, _ in sides):
        table = _matrix(*sides)
        return table, np.arange(table.shape[1])
    frames = [_frame(*side) for side in sides]
    parts: list[list[Floats]] = [[], []]
    columns: list[int] = []
    for place in range(frames[0].shape[1]):
        pair = [frame.iloc[:, place] for frame in frames]
        numeric = all(_is_numeric(column) for column in pair)
        for part, column in zip(parts, pair, strict=True):
            part.extend([_as_numbers(column)] if numeric else _as_points(column))
        columns += [place] * (1 if numeric else 2)
    return np.concatenate([np.column_stack(part) for part in parts]), np.array(columns)


def _matrix(*sides: Side) -> Floats:
    table, end = np.empty((sum(len(rows) for _, rows in sides), sides[0][0].X[0].size + 1)), 0
    for side, rows in sides:
        X = side.X.reshape(len(side), -1)
        for some in np.array_split(rows, len(rows) // COPIED + 1):
            start, end = end, end + len(some)
            table[start:end, :-1], table[start:end, -1] = X[some], side.y[some]
    return finite(table)


def _frame(side: Records, rows: Indices) -> pd.DataFrame:
    X = side.X.iloc[rows] if isinstance(side.X, pd.DataFrame) else pd.DataFrame(side.X.reshape(len(side), -1)[rows])
    return pd.concat([X.reset_index(drop=True), pd.Series(side.y[rows])], axis=1)


def _is_numeric(column: Any) -> bool:
    types, kind = pd.api.types, column.dtype
    return types.is_datetime64_any_dtype(kind) or (types.is_numeric_dtype(kind) and not types.is_complex_dtype(kind))


def _as_numbers(column: Any) -> Floats:
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        seconds = (pd.to_datetime(column, utc=True) - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(seconds=1)
        return np.asarray(seconds, dtype=np.float64)
    return finite(column.to_numpy(dtype=np.float64, na_value=np.nan))


def _as_points(column: Any) -> list[Floats]:
    """Two numbers from the hash of each value; case and outer white space of text are ignored."""
    values = column.astype(object)
    bits = hash_column(values.map(lambda value: value.strip().casefold() if isinstance(value, str) else value))
    return [(bits >> np.uint64(shift) & np.uint64(0xFFFFFFFF)) / 2.0**32 for shift in (0, 32)]
