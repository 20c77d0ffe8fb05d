r"""Penalised least squares for stacks of training sets, and for all sets that differ from them in one record.

The minimum of :math:`\lambda\theta^\top\theta + \tfrac1n\sum (y - x^\top\theta)^2` over a training set S of n records
[farokhi2020, Eq. 1] has

.. math:: A_S\,\theta_S = X_S^\top y_S, \qquad A_S = X_S^\top X_S + n\lambda I.

**One factor for many sets.** With a root W of the inverse, :math:`A_T^{-1} = WW^\top`, and :math:`c = W^\top X_T^\top
y_T`, the solution is :math:`\theta_T = Wc`, and that for T and one more record (x, y) is

.. math:: \theta_{T+x} = W\Bigl(c + u\,\frac{y - u^\top c}{1 + u^\top u}\Bigr), \qquad u = W^\top x.

This is the formula of Sherman and Morrison in the coordinates of W: two matrix products for all records and all sets.
With both signs turned, :math:`c - u\,(y - u^\top c)/(1 - u^\top u)`, it takes a record out of T.

**Accuracy.** W comes from the Cholesky factor of the normal equations, columns scaled to length 1, as long as the
condition κ² of that matrix is at most 10⁶; the relative error is then of order κ²·10⁻¹⁶ ≤ 10⁻¹⁰. Beyond it, W comes from
a QR factor of the records themselves (and of :math:`\sqrt{n\lambda} I` below them), and the error is that of any
backward stable solver: κ·10⁻¹⁶ times the usual growth with the residual. The addition costs no more than κ·10⁻¹⁶, since
it happens before W multiplies: c is bounded by the labels even where :math:`\theta_T` is huge and nearly cancelled by
the added record. A factor with κ > 10¹⁰ counts as singular, and the sets concerned have no unique solution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakscope.core.arrays import Floats, Indices
from leakscope.core.errors import InputError
from leakscope.core.threads import one_thread
from leakscope.learners.linear import DEPENDENT, no_solution

SAFE = 1e6  # condition of the normal equations up to which their solution is exact enough
LEFT = 0.01  # 1 - leverage down to which a record is taken out of a factor; beyond, the set is solved anew
GROUP = 32  # records that are added to a set at a time
BLOCK = 2**18  # numbers held at a time: 2 MB, which stay near the processor


def solve_sets(records: Floats, sets: Indices, l2: float) -> tuple[Floats, NDArray[np.bool_]]:
    """Parameters (k, p) of training sets of one size, and whether each is unique.

    ``sets`` holds positions (k, n) in ``records`` (N, p + 1), whose last column is the labels.

    Examples
    --------
    >>> solve_sets(np.array([[1.0, 2.0], [1.0, 4.0], [1.0, 9.0]]), np.array([[0, 1], [1, 2]]), l2=0.0)
    (array([[3. ], [6.5]]), array([ True,  True]))
    """
    solved = np.empty((len(sets), records.shape[1] - 1))
    unique = np.empty(len(sets), dtype=bool)
    with one_thread():
        for part in _blocks(len(sets), sets.shape[1] * records.shape[1]):
            rows = records.take(sets[part], axis=0)
            factors = _factors(rows, _gram(rows), sets.shape[1] * l2)
            solved[part] = np.einsum("kij,kj->ki", factors.root, factors.c)
            unique[part] = factors.unique
    return solved, unique


def check_solved(bad: int, total: int, l2: float) -> None:
    """Refuse to go on with sets that have no unique solution, and say how many there are."""
    if bad:
        raise no_solution(bad, total, "their columns are linearly dependent", l2)


class SwapSolver:
    """Roots of each set without its last record, and of each set with its spare one: one takes records in, one out."""

    def __init__(self, records: Floats, sets: Any, spare: Any, l2: float) -> None:
        from joblib import effective_n_jobs

        self.records, self.l2 = records, l2
        self.sets, self.spare = _check_sets(sets, spare, len(records))
        self.cores = effective_n_jobs(-1)  # 1 within a task that is held to one thread
        with one_thread():
            self._factorise()
            self.itself = self._with_last()

    def _factorise(self) -> None:
        draws, size = self.sets.shape
        count = self.records.shape[1] - 1
        self.smaller, self.larger = (_Factors.empty(draws, count) for _ in range(2))
        everyone = np.column_stack([self.sets, self.spare])

        def factorise(part: slice) -> None:
            rows = self.records.take(everyone[part], axis=0)
            gram = _gram(rows[:, : size - 1])
            self.smaller.put(part, _factors(rows[:, : size - 1], gram, size * self.l2))
            self.larger.put(part, _factors(rows, gram + _gram(rows[:, size - 1 :]), size * self.l2))

        self._share(factorise, _blocks(draws, (size + 1) * (count + 1)))

    def _share(self, work: Callable[[slice], None], parts: Iterable[slice]) -> None:
        """Let the cores share the parts, each of which fills in its own place: numpy lets go of Python's lock."""
        with ThreadPoolExecutor(self.cores) as pool:
            list(pool.map(work, parts))

    def _with_last(self) -> Floats:
        """Parameters of the sets as they are."""
        last = self.records[self.sets[:, -1:]]
        itself = _add(self.smaller.root, self.smaller.c, last)[:, 0]
        few = ~self.smaller.unique
        if few.any():
            itself[few], unique = solve_sets(self.records, self.sets[few], self.l2)
            check_solved(int((~unique).sum()), len(self.sets), self.l2)
        return itself

    def models(self, records: Any) -> tuple[Floats, Floats]:
        """Parameters with and without each of these records, (R, D, p) each."""
        with one_thread():
            return self._models(self._positions(records))

    def _positions(self, records: Any) -> Indices:
        asked = np.asarray(records)
        if asked.ndim != 1 or asked.dtype.kind not in "iu" or len(np.unique(asked)) < len(asked):
            raise InputError("name the records by a list of different positions")
        if len(asked) and not 0 <= asked.min() <= asked.max() < len(self.records):
            raise InputError(f"there are no such records: they are numbered 0 to {len(self.records) - 1}")
        return asked.astype(np.intp, copy=False)

    def _models(self, asked: Indices) -> tuple[Floats, Floats]:
        number = np.full(len(self.records), -1, dtype=np.intp)
        number[asked] = np.arange(len(asked))
        draw, position = np.divmod(np.flatnonzero((number >= 0).take(self.sets)), self.sets.shape[1])
        row = number[self.sets[draw, position]]
        with_record = self._added(asked)
        bad = 0
        for few in np.flatnonzero(~self.smaller.unique):
            bad += self._add_directly(with_record, asked, int(few), np.delete(np.arange(len(asked)), row[draw == few]))
        check_solved(bad, len(asked) * len(self.sets), self.l2)
        with_record[row, draw] = self.itself[draw]
        without: Floats = np.broadcast_to(self.itself, with_record.shape)
        if len(row):
            without = without.copy()
            without[row, draw] = self._removed(draw, position)
        return with_record, without

    def _added(self, asked: Indices) -> Floats:
        """Parameters of all sets with their last record replaced by each of those asked for.

        Records go in groups of one size, the last filled up with zeros, and each set by itself: matrix products of
        another shape round differently, and a record's numbers must not depend on who else is asked for.
        """
        draws, count = self.smaller.c.shape
        added = np.empty((len(asked), draws, count))
        starts = range(0, len(asked), GROUP)
        groups = np.zeros((len(starts) * GROUP, count + 1))
        groups[: len(asked)] = self.records[asked]

        def add(part: slice) -> None:
            for start in starts:
                models = _add(self.smaller.root[part], self.smaller.c[part], groups[start : start + GROUP])
                here = added[start : start + GROUP, part]
                here[:] = models[:, : len(here)].transpose(1, 0, 2)

        self._share(add, _blocks(draws, GROUP * count))
        return added

    def _add_directly(self, added: Floats, asked: Indices, draw: int, rows: Indices) -> int:
        """Fill in a set that has no root without its last record; give the number of records with which it has none."""
        sets = np.repeat(self.sets[draw : draw + 1], len(rows), axis=0)
        sets[:, -1] = asked[rows]
        added[rows, draw], unique = solve_sets(self.records, sets, self.l2)
        return int((~unique).sum())

    def _removed(self, draw: Indices, position: Indices) -> Floats:
        """Parameters of the sets with one of their records replaced by the spare one."""
        removed = np.empty((len(draw), self.larger.c.shape[1]))
        safe = self.larger.unique[draw]
        for part in _blocks(len(draw), self.larger.root[0].size):
            root, c = self.larger.root[draw[part]], self.larger.c[draw[part]]
            record = self.records[self.sets[draw[part], position[part]]]
            u = np.einsum("kij,ki->kj", root, record[:, :-1])
            rest = 1 - (u**2).sum(axis=1)
            safe[part] &= rest >= LEFT
            error = (record[:, -1] - (u * c).sum(axis=1)) / np.maximum(rest, LEFT)
            removed[part] = np.einsum("kij,kj->ki", root, c - u * error[:, None])
        sets = self.sets[draw[~safe]]
        sets[np.arange(len(sets)), position[~safe]] = self.spare[draw[~safe]]
        if len(sets):
            removed[~safe], unique = solve_sets(self.records, sets, self.l2)
            check_solved(int((~unique).sum()), len(draw), self.l2)
        return removed


def _check_sets(sets: Any, spare: Any, records: int) -> tuple[Indices, Indices]:
    sets, spare = np.asarray(sets), np.asarray(spare)
    if sets.dtype.kind not in "iu" or spare.dtype.kind not in "iu":
        raise InputError("the sets and the spare records are positions: give whole numbers")
    if sets.ndim != 2 or not sets.size or spare.shape != sets.shape[:1]:
        raise InputError(f"sets of shape {sets.shape} and {spare.shape} spare records: give (D, n) and (D,)")
    if min(sets.min(), spare.min()) < 0 or max(sets.max(), spare.max()) >= records:
        raise InputError(f"the sets name records that are not there: records are numbered 0 to {records - 1}")
    if (inside := int((sets == spare[:, None]).any(axis=1).sum())) > 0:
        raise InputError(f"{inside} spare records are in their own set: give one outside of each")
    return sets.astype(np.intp, copy=False), spare.astype(np.intp, copy=False)


# --- linear algebra on stacks -----------------------------------------------------------------------------------------


def _blocks(count: int, numbers: int) -> Iterator[slice]:
    """Slices of a stack whose items hold so many numbers each, so that memory stays bounded."""
    step = max(1, BLOCK // numbers)
    return (slice(start, start + step) for start in range(0, count, step))


def _add(root: Floats, c: Floats, records: Floats) -> Floats:
    """Parameters with each of these records added to each base: (k, p, p), (k, p), (…, r, p + 1) to (k, r, p)."""
    u = np.matmul(records[..., :-1], root)
    error = records[..., -1] - np.matmul(u, c[:, :, None])[:, :, 0]
    error /= 1 + np.einsum("krj,krj->kr", u, u)
    u *= error[:, :, None]
    u += c[:, None, :]
    added: Floats = np.matmul(u, root.transpose(0, 2, 1))
    return added


@dataclass(frozen=True)
class _Factors:
    """Roots W (k, p, p), whitened labels c (k, p), and whether the solution W c is unique (k,)."""

    root: Floats
    c: Floats
    unique: NDArray[np.bool_]

    @classmethod
    def empty(cls, stack: int, count: int) -> _Factors:
        return cls(np.empty((stack, count, count)), np.empty((stack, count)), np.empty(stack, dtype=bool))

    def put(self, where: slice | NDArray[np.bool_], part: _Factors) -> None:
        self.root[where], self.c[where], self.unique[where] = part.root, part.c, part.unique


def _gram(rows: Floats) -> Floats:
    gram: Floats = np.matmul(rows.transpose(0, 2, 1), rows)
    return gram


def _factors(rows: Floats, gram: Floats, penalty: float) -> _Factors:
    """Factors of stacked records (k, n, p + 1), labels last, from their Gram matrices where these are exact enough."""
    found = _gram_factors(gram, penalty)
    if not found.unique.all():
        unsafe = ~found.unique
        found.put(unsafe, _row_factors(rows[unsafe], penalty))
    return found


def _gram_factors(gram: Floats, penalty: float) -> _Factors:
    """Factors by Cholesky; unique are those of a condition that is safe."""
    count = gram.shape[-1] - 1
    normal = gram[:, :count, :count] + penalty * np.eye(count)
    squares = np.einsum("kii->ki", normal)
    scale = 1 / np.sqrt(np.where(squares > 0, squares, 1.0))
    normal *= scale[:, :, None] * scale[:, None, :]
    lower, positive = _cholesky(normal)
    root = np.linalg.inv(lower).transpose(0, 2, 1)
    safe = positive & (count * (root**2).sum(axis=(1, 2)) <= SAFE)
    scaled: Floats = scale[:, :, None] * root
    return _Factors(scaled, np.einsum("kij,ki->kj", scaled, gram[:, :count, count]), safe)


def _cholesky(normal: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Cholesky factors, and which there are; numpy refuses a whole stack if one has none."""
    positive = np.ones(len(normal), dtype=bool)
    lower: Any
    try:
        lower = np.linalg.cholesky(normal)
    except np.linalg.LinAlgError:
        lower = np.broadcast_to(np.eye(normal.shape[-1]), normal.shape).copy()
        for place, matrix in enumerate(normal):
            try:
                lower[place] = np.linalg.cholesky(matrix)
            except np.linalg.LinAlgError:
                positive[place] = False
    return lower, positive


def _row_factors(rows: Floats, penalty: float) -> _Factors:
    """Factors by QR of the records themselves."""
    count = rows.shape[-1] - 1
    below = np.zeros((len(rows), count, count + 1))
    below[:, range(count), range(count)] = np.sqrt(penalty)
    stacked = np.concatenate([rows, below], axis=1)
    lengths = np.sqrt((stacked[:, :, :count] ** 2).sum(axis=1))
    lengths[lengths == 0] = 1.0
    stacked[:, :, :count] /= lengths[:, None, :]
    triangle: Any = np.linalg.qr(stacked, mode="r")
    upper, c = triangle[:, :count, :count].copy(), triangle[:, :count, count]
    unique = np.abs(np.einsum("kii->ki", upper)).min(axis=1) >= DEPENDENT
    upper[~unique] = np.eye(count)
    root = np.linalg.inv(upper)
    unique &= np.sqrt((root**2).sum(axis=(1, 2))) <= 1 / DEPENDENT
    scaled: Floats = root / lengths[:, :, None]
    return _Factors(scaled, c, unique)
