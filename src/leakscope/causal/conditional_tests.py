r"""Invariance tests by counts: whether Y given X_S has the same distribution in every environment E.

:math:`H_{0,S}`: Y and E are independent given :math:`X_S`. A test is constructed once for the data and then called for any set S;
common quantities are computed once. This test is for Y and X of few levels; `conditional_regressions` has those for numbers.

Each configuration of :math:`X_S` is a stratum with an environments × classes table of counts N and its expectation M given the
margins. The p-value is twice the smaller one of two statistics (Bonferroni):

.. math:: X^2 = \sum_s \sum_{e,y} \frac{(N_{sey} - M_{sey})^2}{M_{sey}}, \qquad
          Q = d^\top V^+ d, \quad d = \sum_s (N_s - M_s), \quad V = \operatorname{Cov}(d).

:math:`X^2` (Pearson) detects any difference; Q (Cochran, Mantel and Haenszel; Birch 1965 for several classes) detects one with the
same direction in all strata, even in small strata. If every expectation is 5 or more, both are compared with the chi squared
distribution. Otherwise environments are permuted within strata, which is exact: given :math:`H_{0,S}` each table has the
hypergeometric distribution of its margins, and tables are drawn from it. Drawing stops after 10 exceedances (Besag and Clifford
1991). No table is drawn if Cantelli's inequality with the exact moments of :math:`X^2` (Haldane 1940), or Markov's for Q, bounds
the p-value by a twentieth of the level.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, special

from leakscope.core.arrays import Floats

Integers = NDArray[np.int64]

EXPECTED_COUNT = 5.0  # smallest expectation of every cell for the chi squared distribution
EXCEEDANCES = 10  # drawing stops after this number of draws that reach the observed statistic
CELLS = 2**20  # cells of tables in memory at once


class SetOutcome(NamedTuple):
    """Result for one set: the p-value of invariance, and the BIC of the label (lower is better)."""

    p_value: float
    bic: float


class ConditionalTest(Protocol):
    """A test of invariance for any set of columns, by their positions."""

    def __call__(self, columns: Sequence[int]) -> SetOutcome: ...


def both(first: float, second: float) -> float:
    """Combine the p-values of two tests of one hypothesis by Bonferroni.

    Examples
    --------
    >>> both(0.01, 0.8), both(0.6, 0.8)
    (0.02, 1.0)
    """
    return min(1.0, 2 * min(first, second))


def pseudo_inverse(matrix: Floats) -> tuple[Floats, int]:
    """Return pseudo-inverse and rank of a covariance or Gram matrix; eigenvalues below 1e-9 of the largest count as 0.

    Examples
    --------
    >>> pseudo_inverse(np.diag([2.0, 0.0]))[0].tolist(), pseudo_inverse(np.diag([2.0, 0.0]))[1]
    ([[0.5, 0.0], [0.0, 0.0]], 1)
    """
    values, vectors = linalg.eigh(matrix)
    kept = values > 1e-9 * max(values[-1], 0.0)
    return np.asarray((vectors[:, kept] / values[kept]) @ vectors[:, kept].T), int(kept.sum())


class Tables(NamedTuple):
    """Counts of some strata, (strata, environments, classes), and their margins."""

    counts: Floats
    rows: Floats
    columns: Floats

    @classmethod
    def of(cls, counts: Floats) -> Tables:
        return cls(counts, counts.sum(axis=2), counts.sum(axis=1))

    @property
    def expected(self) -> Floats:
        """Return the expectation of the counts given the margins."""
        return np.asarray(self.rows[:, :, None] * self.columns[:, None, :] / self.rows.sum(axis=1)[:, None, None])


def chi_squared_moments(tables: Tables) -> tuple[float, float]:
    r"""Return mean and variance of Pearson's :math:`X^2`, summed over strata, given all margins (Haldane 1940).

    Examples
    --------
    >>> chi_squared_moments(Tables.of(np.array([[[1.0, 1.0], [1.0, 1.0]]])))  # 1/6: both in the diagonal, X² = 4, or off it
    (1.333..., 3.555...)
    """
    n = tables.rows.sum(axis=1)
    parts = []
    for margin in (tables.rows, tables.columns):
        size = (margin > 0).sum(axis=1)
        inverse = np.divide(1.0, margin, where=margin > 0, out=np.zeros_like(margin)).sum(axis=1)
        # With two records both parts are 0, so that the divisor does not matter.
        parts.append((size, (size - 1) * (n - size) / (n - 1), (n * inverse - size**2) / np.maximum(n - 2, 1)))
    (r, v, w), (c, v2, w2) = parts
    mean = n / (n - 1) * (r - 1) * (c - 1)
    variance = np.where(n > 3, 2 * n / np.maximum(n - 3, 1) * (v - w) * (v2 - w2), 0) + n**2 / (n - 1) * w * w2
    return float(mean.sum()), float(variance.sum())


def draw_tables(tables: Tables, draws: int, rng: np.random.Generator) -> Floats:
    """Draw tables with these margins, (draws, strata, environments, classes), as by permutation within strata.

    Examples
    --------
    >>> given = Tables.of(np.array([[[3.0, 1.0], [0.0, 2.0]]]))
    >>> drawn = draw_tables(given, 5, np.random.default_rng(0))
    >>> bool((drawn.sum(axis=3) == given.rows).all() and (drawn.sum(axis=2) == given.columns).all())
    True
    """
    strata, environments = tables.rows.shape
    classes = tables.columns.shape[1]
    drawn = np.empty((draws, strata, environments, classes), np.int64)
    left = np.tile(tables.columns.astype(np.int64), (draws, 1, 1))
    for e in range(environments - 1):
        wanted = np.tile(tables.rows[:, e].astype(np.int64), (draws, 1))
        others = left.sum(axis=2)
        for y in range(classes - 1):
            others -= left[:, :, y]
            drawn[:, :, e, y] = taken = rng.hypergeometric(left[:, :, y], others, wanted)
            wanted -= taken
        drawn[:, :, e, -1] = wanted
        left -= drawn[:, :, e]
    drawn[:, :, -1] = left
    return drawn.astype(np.float64)


@dataclass(frozen=True, eq=False)
class CountTest:
    """Tests independence of Y and E given the configuration of X_S by counts; see the module.

    Parameters
    ----------
    features
        Codes of the columns, (distinct records, columns), with ``levels`` of each column.
    label, environment
        Codes, with numbers ``classes`` and ``environments``.
    weights
        Number of records per row.
    level
        Level of the tests, which determines how many tables are drawn.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> environment, cause = rng.integers(2, size=(2, 4000))
    >>> cause = np.where(environment == 1, cause, 0)
    >>> test = CountTest.of(cause[:, None], cause ^ (rng.random(4000) < 0.2), environment, level=0.05)
    >>> test(()).p_value < 1e-9, test((0,)).p_value > 0.05
    (True, True)
    """

    features: Integers
    label: Integers
    environment: Integers
    weights: Floats
    levels: tuple[int, ...]
    classes: int
    environments: int
    level: float
    seed: int

    @classmethod
    def of(
        cls, features: NDArray[np.integer], label: NDArray[np.integer], environment: NDArray[np.integer], *,
        level: float, seed: int = 0,
    ) -> CountTest:  # fmt: skip
        """Count equal records once, for all sets."""
        table = np.column_stack([features, label, environment]).astype(np.int64)
        sizes = (table.max(axis=0) + 1).tolist()
        _, first, counts = np.unique(_numbers(table, sizes)[0], return_index=True, return_counts=True)
        kept = np.asfortranarray(table[first])
        return cls(
            kept[:, :-2], kept[:, -2], kept[:, -1], counts.astype(np.float64),
            tuple(sizes[:-2]), sizes[-2], sizes[-1], level, seed,
        )  # fmt: skip

    def __call__(self, columns: Sequence[int]) -> SetOutcome:
        chosen = list(columns)
        number, span = _numbers(self.features[:, chosen], [self.levels[column] for column in chosen])
        strata, stratum = _dense(number, span)
        by_class = self._count(stratum, self.label, strata, self.classes)
        by_environment = self._count(stratum, self.environment, strata, self.environments)
        total = by_class.sum(axis=1)
        fit = float(special.xlogy(by_class, by_class).sum() - special.xlogy(total, total).sum())
        bic = -2 * fit + (self.classes - 1) * strata * math.log(self.weights.sum())
        # A stratum with one environment or one class has no information: its margins determine its table.
        useful = ((by_class > 0).sum(axis=1) > 1) & ((by_environment > 0).sum(axis=1) > 1)
        if not useful.any():
            return SetOutcome(1.0, bic)
        rows = np.flatnonzero(useful[stratum])
        order = rows[np.argsort(stratum[rows], kind="stable")]
        place = np.cumsum(useful) - 1
        return SetOutcome(self._p_value(order, place[stratum[order]], np.random.default_rng([self.seed, *chosen])), bic)

    def _count(self, stratum: Integers, codes: Integers, strata: int, size: int) -> Floats:
        return _weighed(stratum * size + codes, self.weights, (strata, size))

    def _blocks(self, order: Integers, stratum: Integers, draws: int) -> Iterator[Tables]:
        """Yield tables of the strata, as many at a time as fit into memory ``draws`` times."""
        cells = self.environments * self.classes
        step = max(1, CELLS // (cells * draws))
        for start in range(0, int(stratum[-1]) + 1, step):
            inside = slice(*np.searchsorted(stratum, [start, start + step]))
            size = int(stratum[inside][-1]) + 1 - start
            rows = order[inside]
            place = ((stratum[inside] - start) * self.environments + self.environment[rows]) * self.classes
            shape = (size, self.environments, self.classes)
            yield Tables.of(_weighed(place + self.label[rows], self.weights[rows], shape))

    def _p_value(self, order: Integers, stratum: Integers, rng: np.random.Generator) -> float:
        freedom = mean = variance = pearson = 0.0
        least = math.inf
        width = (self.environments - 1) * (self.classes - 1)
        difference, covariance = np.zeros(width), np.zeros((width, width))
        for tables in self._blocks(order, stratum, 1):
            expected = tables.expected
            least = min(least, float(expected[expected > 0].min()))
            freedom += float((((tables.rows > 0).sum(1) - 1) * ((tables.columns > 0).sum(1) - 1)).sum())
            squares, sums = _statistics(tables.counts[None], expected)
            moments = chi_squared_moments(tables)
            pearson, mean, variance = pearson + float(squares[0]), mean + moments[0], variance + moments[1]
            difference, covariance = difference + sums[0], covariance + _covariance(tables)
        inverse, rank = pseudo_inverse(covariance)
        common = float(difference @ inverse @ difference)
        if least >= EXPECTED_COUNT:
            return both(float(special.chdtrc(freedom, pearson)), float(special.chdtrc(max(rank, 1), common)))
        above = pearson - mean
        cantelli = variance / (variance + above**2) if above > 0 else 1.0
        markov = rank / common if common > rank else 1.0
        if (bound := both(cantelli, markov)) <= self.level / 20:
            return bound
        return self._permuted(order, stratum, np.array([pearson, common]), inverse, rng)

    def _permuted(
        self, order: Integers, stratum: Integers, observed: Floats, inverse: Floats, rng: np.random.Generator
    ) -> float:
        """Return p-values of both statistics by drawing, until both were reached `EXCEEDANCES` times or all draws are done."""
        # With this number of draws, an early stop implies a p-value above the level.
        most = math.ceil(2 * EXCEEDANCES / self.level) - 1
        reached = np.zeros((2, 0), bool)
        slack = 1e-9 * (1 + observed)  # sums in another order differ by rounding; a tie counts as reached
        while reached.shape[1] < most and (reached.sum(axis=1) < EXCEEDANCES).any():
            draws = min(max(2 * EXCEEDANCES, reached.shape[1]), most - reached.shape[1])
            pearson, sums = np.zeros(draws), np.zeros((draws, len(inverse)))
            for tables in self._blocks(order, stratum, draws):
                squares, differences = _statistics(draw_tables(tables, draws, rng), tables.expected)
                pearson, sums = pearson + squares, sums + differences
            drawn = np.stack([pearson, np.einsum("di,ij,dj->d", sums, inverse, sums)])
            reached = np.concatenate([reached, drawn >= (observed - slack)[:, None]], axis=1)
        return both(*(sequential_p_value(row, most) for row in reached))


def sequential_p_value(reached: NDArray[np.bool_], most: int) -> float:
    """Return the exact p-value of draws that stop at the h-th exceedance: h/l after l draws, otherwise (g + 1)/(most + 1).

    Source: Besag and Clifford 1991, section 3.

    Examples
    --------
    >>> sequential_p_value(np.tile([True, False], 20), most=399), sequential_p_value(np.zeros(399, bool), most=399)
    (0.526..., 0.0025)
    """
    count = np.cumsum(reached)
    if len(count) and count[-1] >= EXCEEDANCES:
        return EXCEEDANCES / (int(np.searchsorted(count, EXCEEDANCES)) + 1)
    return (int(count[-1]) + 1) / (most + 1)


def _statistics(counts: Floats, expected: Floats) -> tuple[Floats, Floats]:
    """Return Pearson's statistic and the sums of the differences, one for each leading index of the counts."""
    difference = counts - expected
    inverse = np.divide(1.0, expected, where=expected > 0, out=np.zeros_like(expected))
    squares = np.einsum("dsey,dsey,sey->d", difference, difference, inverse)
    return squares, difference[:, :, :-1, :-1].sum(axis=1).reshape(len(counts), -1)


def _covariance(tables: Tables) -> Floats:
    """Return the covariance of the summed counts, without the last environment and class, given the margins."""
    n = tables.rows.sum(axis=1)
    spreads = []
    for margin in (tables.rows[:, :-1], tables.columns[:, :-1]):
        share = margin / n[:, None]
        spreads.append(np.einsum("si,ij->sij", share, np.eye(share.shape[1])) - share[:, :, None] * share[:, None, :])
    first, second = spreads
    width = first.shape[1] * second.shape[1]
    flat = (first * (n**2 / (n - 1))[:, None, None]).reshape(len(n), -1).T @ second.reshape(len(n), -1)
    sizes = (first.shape[1], first.shape[1], second.shape[1], second.shape[1])
    return np.asarray(flat.reshape(sizes).transpose(0, 2, 1, 3).reshape(width, width))


def _numbers(table: Integers, sizes: Sequence[int]) -> tuple[Integers, int]:
    """Return one whole number per row, equal for equal rows only, and the number of possible values."""
    number, span = np.zeros(len(table), np.int64), 1
    for column, size in enumerate(sizes):
        if span * size > 2**62:
            span, number = _dense(number, span)
        number = number * size + table[:, column]
        span *= size
    return number, span


def _weighed(places: Integers, weights: Floats, shape: tuple[int, ...]) -> Floats:
    """Sum the weights at each position of an array."""
    return np.asarray(np.bincount(places, weights, math.prod(shape)), dtype=np.float64).reshape(shape)


def _dense(number: Integers, span: int) -> tuple[int, Integers]:
    """Return the number of different values, and the rank of each value among them."""
    if span <= 4 * len(number):
        there = np.bincount(number, minlength=span) > 0
        return int(there.sum()), (np.cumsum(there) - 1)[number]
    distinct, ranks = np.unique(number, return_inverse=True)
    return len(distinct), ranks.astype(np.int64)
