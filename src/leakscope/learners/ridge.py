r"""Ridge regression, by the hundred thousand.

The model minimises :math:`\lambda\theta^\top\theta + \tfrac1n\sum (y - x^\top\theta)^2` over a training set of n
records [farokhi2020, Eq. 1], which is a matter of linear algebra: `leakscope.learners.least_squares`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from leakscope.core.arrays import Floats
from leakscope.learners.least_squares import SwapSolver, solve_sets
from leakscope.learners.linear import Linear, Solver, read_records, read_values, with_ones
from leakscope.models.model import Task


@dataclass(frozen=True)
class Ridge(Linear):
    r"""Least squares with a quadratic penalty: :math:`\lambda\theta^\top\theta + \tfrac1n\sum(y - x^\top\theta)^2`.

    The model is the array of its parameters, the intercept last.

    Parameters
    ----------
    l2
        The weight λ of the penalty, from 0 on [farokhi2020, Eq. 1].
    intercept
        Whether there is a constant term. It is penalised like the others, so that a large λ leaves nothing.
    columns
        Names of the columns; `prepare` fills them in.

    Examples
    --------
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 3.0, 5.0])
    >>> learner, X, y = Ridge().prepare(X, y)
    >>> learner.fit(X, y, np.random.default_rng()).round(6)
    array([2., 1.])
    """

    task: ClassVar[Task] = "regression"
    chunk: ClassVar[int] = 256

    @property
    def name(self) -> str:
        """What the learner is called in a report."""
        return "ridge regression" if self.l2 else "linear regression"

    def prepare(self, X: Any, y: Any) -> tuple[Ridge, Floats, Floats]:
        """Records as float64, with a column of ones for the intercept, and labels as float64.

        Examples
        --------
        >>> Ridge(l2=0.1).prepare([[3.0], [4.0]], [True, False])[1:]
        (array([[3., 1.], [4., 1.]]), array([1., 0.]))
        """
        features, labels, columns = read_records(X, y, self.name)
        values = read_values(labels, self.name)
        return replace(self, columns=columns), with_ones(features, self.intercept), values

    def solver(self, X: Floats, y: Floats) -> Solver:
        """What solves training sets of these records."""
        return partial(solve_sets, np.column_stack([X, y]), l2=self.l2)

    def fit_swaps(
        self, X: Floats, y: Floats, sets: NDArray[Any], spare: NDArray[Any]
    ) -> Callable[[Any], tuple[Floats, Floats]]:
        """Prepare all training sets that differ from those given in one record.

        Parameters
        ----------
        X, y
            All records, as `prepare` gives them.
        sets
            Training sets (D, n): positions of records, in random order.
        spare
            For each set, a record outside of it, (D,).

        Returns
        -------
        Callable
            A function of the positions of R different records that gives two arrays (R, D, p): the parameters with each
            record and without it. Where record i is not in set d, "with" is the set with its last record replaced by i;
            where it is, "without" is the set with i replaced by its spare record; otherwise both are the set itself.
            The arrays may be read-only.

        Examples
        --------
        >>> learner, X, y = Ridge(intercept=False).prepare(np.ones((4, 1)), [0.0, 1.0, 2.0, 9.0])
        >>> swapped = learner.fit_swaps(X, y, np.array([[0, 1]]), np.array([2]))
        >>> np.hstack(swapped([0, 3]))[:, :, 0]  # the mean of records 0 and 1, or 1 and 2; of 0 and 3, or 0 and 1
        array([[0.5, 1.5], [4.5, 0.5]])
        """
        return SwapSolver(np.column_stack([X, y]), sets, spare, self.l2).models

    def losses(self, model: Floats, X: Floats, y: Floats) -> Floats:
        """Squared error of each record."""
        errors: Floats = y - X @ model
        return errors**2
