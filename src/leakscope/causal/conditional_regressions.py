r"""Invariance tests by linear and logistic regression, for numeric Y or X; see `conditional_tests` for the hypothesis.

``LinearTest`` (Y a number). Assumes :math:`Y = a + X_S b + \varepsilon` with noise of any distribution, independent of :math:`X_S`.
Coefficients: the F test of Chow (1960) of one regression against one for each environment [Peters et al. 2016, Method I].
Noise: the test of Brown and Forsythe (1974) on the residuals of the pooled regression, each divided by the root of one minus its
leverage; it keeps its level for noise that is not normal. Bonferroni over the two.

``LogisticTest`` (Y a class, X numbers or mixed). Assumes log-odds that are linear in :math:`X_S`. Rao's score test against
separate coefficients for each environment: with the scores :math:`U_e` and informations :math:`I_e` of the environments at
the pooled fit,

.. math:: T = \sum_e U_e^\top I_e^+ U_e - U^\top I^+ U, \qquad U = \sum_e U_e,\; I = \sum_e I_e,

is chi squared with :math:`\sum_e \operatorname{rank} I_e - \operatorname{rank} I` degrees of freedom. The first entry of
:math:`U_e` is the sum of the residuals in e, the others are the interactions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, special

from leakscope.causal.conditional_tests import Integers, SetOutcome, both, pseudo_inverse
from leakscope.core.arrays import Floats

ROWS = 2**15  # rows of a design that are processed at once
PENALTY = 1e-2  # precision of a normal prior on coefficients, which keeps them finite if classes are separable


@dataclass(frozen=True, eq=False)
class Regressors:
    """Regressors of all columns, a constant first, with rows sorted by environment.

    Parameters
    ----------
    matrix
        (records, 1 + widths); columns centred and scaled.
    places
        Positions in ``matrix`` of the regressors of each column.
    slices
        Rows of each environment.
    order
        Original position of each row.
    """

    matrix: Floats
    places: tuple[Integers, ...]
    slices: tuple[slice, ...]
    order: Integers

    @classmethod
    def of(cls, blocks: Sequence[Floats], environment: NDArray[np.integer]) -> Regressors:
        """Make the design from the regressors of each column, (records, width) each."""
        order = np.argsort(environment, kind="stable")
        widths = [1, *(block.shape[1] for block in blocks)]
        ends = np.cumsum(widths)
        matrix = np.ones((len(order), int(ends[-1])))
        for block, end in zip(blocks, ends[1:], strict=True):
            spread = block.std(axis=0)
            scaled = (block - block.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
            matrix[:, end - block.shape[1] : end] = scaled[order]
        places = tuple(np.arange(start, end) for start, end in pairwise(ends))
        edges = np.concatenate([[0], np.cumsum(np.bincount(environment))])
        return cls(matrix, places, tuple(slice(*pair) for pair in pairwise(edges)), order)

    def columns(self, chosen: Sequence[int]) -> Integers:
        """Return the positions of the constant and of the regressors of these columns."""
        return np.concatenate([np.zeros(1, np.int64), *(self.places[column] for column in chosen)])

    def blocks(self, rows: slice, columns: Integers) -> Iterator[tuple[slice, Floats]]:
        """Yield some columns of an environment, a block of rows at a time."""
        for start in range(rows.start, rows.stop, ROWS):
            part = slice(start, min(start + ROWS, rows.stop))
            yield part, self.matrix[part][:, columns]


@dataclass(frozen=True, eq=False)
class LinearTest:
    """Tests equal coefficients and noise in all environments for a linear regression of Y on X_S; see the module.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> environment = np.repeat([0, 1], 500)
    >>> cause = rng.normal(environment, 1.0)
    >>> label = 2 * cause + rng.normal(size=1000)
    >>> test = LinearTest.of([cause[:, None]], label, environment)
    >>> test(()).p_value < 1e-9, test((0,)).p_value > 0.05
    (True, True)
    """

    design: Regressors
    label: Floats
    grams: Floats

    @classmethod
    def of(cls, blocks: Sequence[Floats], label: Floats, environment: NDArray[np.integer]) -> LinearTest:
        """Compute the Gram matrices of regressors and label, one per environment, for all sets."""
        design = Regressors.of(blocks, environment)
        scaled = ((label - label.mean()) / label.std())[design.order]
        tables = (np.column_stack([design.matrix[rows], scaled[rows]]) for rows in design.slices)
        return cls(design, scaled, np.stack([table.T @ table for table in tables]))

    def __call__(self, columns: Sequence[int]) -> SetOutcome:
        chosen = self.design.columns(columns)
        n, environments = len(self.label), len(self.design.slices)
        pooled, coefficients, inverse, rank = self._regress(self.grams.sum(axis=0), chosen)
        parts = [self._regress(gram, chosen) for gram in self.grams]
        bic = n * math.log(max(pooled, 1e-12 * n) / n) + rank * math.log(n)
        if pooled <= 1e-9 * n:  # Y is the same function of X_S in every environment
            return SetOutcome(1.0, bic)
        apart, ranks = sum(part[0] for part in parts), sum(part[3] for part in parts)
        freedom = ranks - rank
        ratio = max(pooled - apart, 0.0) / max(apart, 1e-12 * n) * (n - ranks) / max(freedom, 1)
        chow = float(special.fdtrc(freedom, n - ranks, ratio)) if freedom else 1.0
        deviations = [self._deviations(rows, chosen, coefficients, inverse) for rows in self.design.slices]
        means = np.array([part.mean() for part in deviations])
        sizes = np.array([len(part) for part in deviations])
        within = float(sum(((part - mean) ** 2).sum() for part, mean in zip(deviations, means, strict=True)))
        between = float(sizes @ (means - sizes @ means / n) ** 2)
        spread = between / max(within, 1e-300) * (n - environments) / (environments - 1)
        return SetOutcome(both(chow, float(special.fdtrc(environments - 1, n - environments, spread))), bic)

    def _regress(self, gram: Floats, chosen: Integers) -> tuple[float, Floats, Floats, int]:
        """Return the sum of squared residuals, the coefficients, the inverse of the Gram matrix, and its rank."""
        inverse, rank = pseudo_inverse(gram[np.ix_(chosen, chosen)])
        coefficients = inverse @ gram[chosen, -1]
        vector = np.zeros(len(gram))
        vector[chosen], vector[-1] = -coefficients, 1.0
        return max(float(vector @ gram @ vector), 0.0), coefficients, inverse, rank

    def _deviations(self, rows: slice, chosen: Integers, coefficients: Floats, inverse: Floats) -> Floats:
        """Return absolute deviations of an environment's residuals, scaled to equal variance, from their median."""
        residuals = np.empty(rows.stop - rows.start)
        for part, block in self.design.blocks(rows, chosen):
            leverage = np.einsum("ij,ij->i", block @ inverse, block)
            residual = self.label[part] - block @ coefficients
            residuals[part.start - rows.start : part.stop - rows.start] = residual / np.sqrt(
                np.maximum(1 - leverage, 1e-6)
            )
        return np.asarray(np.abs(residuals - np.median(residuals)))


@dataclass(frozen=True, eq=False)
class LogisticTest:
    """Tests equal coefficients in all environments for a (multinomial) logistic regression of Y on X_S; see the module.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> environment = np.repeat([0, 1], 1000)
    >>> cause = rng.normal(environment, 1.0)
    >>> label = (cause + rng.logistic(size=2000) > 0).astype(int)
    >>> test = LogisticTest.of([cause[:, None]], label, environment)
    >>> test(()).p_value < 1e-9, test((0,)).p_value > 0.05
    (True, True)
    """

    design: Regressors
    label: Integers
    classes: int

    @classmethod
    def of(cls, blocks: Sequence[Floats], label: NDArray[np.integer], environment: NDArray[np.integer]) -> LogisticTest:
        """Make the test for class codes from 0, all of which occur."""
        design = Regressors.of(blocks, environment)
        return cls(design, label[design.order].astype(np.int64), int(label.max()) + 1)

    def __call__(self, columns: Sequence[int]) -> SetOutcome:
        chosen = self.design.columns(columns)
        fit, scores, informations = self._fit(chosen)
        inverse, rank = pseudo_inverse(informations.sum(axis=0))
        total = scores.sum(axis=0)
        statistic, freedom = -float(total @ inverse @ total), -rank
        for score, information in zip(scores, informations, strict=True):
            inverse, own = pseudo_inverse(information)
            statistic, freedom = statistic + float(score @ inverse @ score), freedom + own
        p_value = float(special.chdtrc(freedom, max(statistic, 0.0))) if freedom > 0 else 1.0
        return SetOutcome(p_value, -2 * fit + rank * math.log(len(self.label)))

    def _fit(self, chosen: Integers) -> tuple[float, Floats, Floats]:
        """Fit the pooled model by Newton's method; return log-likelihood, and scores and informations by environment."""
        width = len(chosen) * (self.classes - 1)
        theta, step, best = np.zeros(width), np.zeros(width), -math.inf
        prior = PENALTY * np.eye(width)
        for _ in range(100):
            fit, scores, informations = self._at(theta + step, chosen)
            value = fit - PENALTY * float((theta + step) @ (theta + step)) / 2
            if value < best - 1e-9 * abs(best):
                step = step / 2
                continue
            theta, best = theta + step, value
            gradient = scores.sum(axis=0) - PENALTY * theta
            step = linalg.solve(informations.sum(axis=0) + prior, gradient, assume_a="pos")
            if float(gradient @ step) < 1e-5:  # bounds the change of the statistic by the next step
                break
        return fit, scores, informations

    def _at(self, theta: Floats, chosen: Integers) -> tuple[float, Floats, Floats]:
        """Return log-likelihood, scores (environments, width) and informations at these coefficients."""
        p, others = len(chosen), self.classes - 1
        weights = theta.reshape(others, p)
        fit = 0.0
        scores = np.zeros((len(self.design.slices), others, p))
        informations = np.zeros((len(self.design.slices), others, p, others, p))
        for e, rows in enumerate(self.design.slices):
            for part, block in self.design.blocks(rows, chosen):
                # Classes go first: sums over a short last axis are slow.
                odds = np.zeros((self.classes, len(block)))
                odds[1:] = weights @ block.T
                odds -= odds.max(axis=0)
                chance = np.exp(odds)
                total = chance.sum(axis=0)
                chance /= total
                label = self.label[part]
                fit += float((odds[label, np.arange(len(block))] - np.log(total)).sum())
                scores[e] += ((np.arange(1, self.classes)[:, None] == label) - chance[1:]) @ block
                for j in range(others):
                    for k in range(j, others):
                        weight = chance[j + 1] * ((j == k) - chance[k + 1])
                        gram = (block * weight[:, None]).T @ block
                        informations[e, j, :, k] += gram
                        if k > j:
                            informations[e, k, :, j] += gram
        size = p * others
        return fit, scores.reshape(-1, size), informations.reshape(-1, size, size)
