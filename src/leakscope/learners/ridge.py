r"""Ridge regression, by the hundred thousand.

The model minimises :math:`\lambda\theta^\top\theta + \tfrac1n\sum (y - x^\top\theta)^2` over a training set of n
records [farokhi2020, Eq. 1], which is a matter of linear algebra: `leakscope.learners.least_squares`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from leakscope.core.arrays import Floats, Indices
from leakscope.learners.least_squares import Swaps, check_solved, solve_sets
from leakscope.learners.linear import check_settings, check_size, check_unique, read_records, read_values, with_ones
from leakscope.models import Task


@dataclass(frozen=True)
class Ridge:
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

    l2: float = 0.0
    intercept: bool = True
    columns: tuple[str, ...] = field(default=(), repr=False, kw_only=True)

    task: ClassVar[Task] = "regression"
    chunk: ClassVar[int] = 256

    def __post_init__(self) -> None:
        check_settings(self.l2, self.intercept)

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
        return (
            replace(self, columns=columns),
            with_ones(features, self.intercept),
            read_values(labels, self.name),
        )

    def check(self, X: Floats, y: Floats, size: int) -> None:
        """Refuse training sets of ``size`` if they can't have a unique solution whatever is drawn.

        Examples
        --------
        >>> learner, X, y = Ridge().prepare([[3.0, 1.0], [4.0, 2.0]], [1.0, 0.0])
        >>> learner.check(X, y, size=2)
        Traceback (most recent call last):
        leakscope.errors.InputError: 2 records can't settle 3 parameters without a penalty: set l2 > 0, drop columns or
        take fewer components, or make training sets larger.
        """
        check_size(size, len(y))
        if self.l2 == 0:
            check_unique(X, self.columns, self.intercept, size)

    def fit(self, X: Floats, y: Floats, rng: np.random.Generator) -> Floats:
        """Solve for one training set; nothing is drawn from ``rng``."""
        return self.fit_many(X, y, [np.arange(len(y))], [rng])[0]

    def fit_many(
        self, X: Floats, y: Floats, indices: Sequence[Indices], rngs: Sequence[np.random.Generator]
    ) -> list[Floats]:
        """Solve for many training sets, given by the positions of their records.

        Examples
        --------
        >>> learner, X, y = Ridge(intercept=False).prepare([[1.0], [2.0], [4.0]], [1.0, 4.0, 4.0])
        >>> learner.fit_many(X, y, [np.array([0, 1]), np.array([2])], [])
        [array([1.8]), array([1.])]
        """
        del rngs
        records = np.column_stack([X, y])
        models: list[Floats] = [np.empty(0)] * len(indices)
        sizes = np.array([len(drawn) for drawn in indices], dtype=np.intp)
        bad = 0
        for size in np.unique(sizes):
            places = np.flatnonzero(sizes == size)
            solved, unique = solve_sets(records, np.stack([indices[int(place)] for place in places]), self.l2)
            bad += int((~unique).sum())
            for place, theta in zip(places, solved, strict=True):
                models[place] = theta
        check_solved(bad, len(indices), self.l2)
        return models

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
        return Swaps(np.column_stack([X, y]), sets, spare, self.l2).models

    def parameters(self, model: Floats) -> Floats:
        """Give the coefficients in the order of the columns, then the intercept."""
        return model

    def from_parameters(self, theta: Any) -> Floats:
        """Give the model with these parameters."""
        return np.array(theta, dtype=np.float64)

    def outputs(self, model: Floats, X: Floats) -> Floats:
        """Predicted values, (rows, 1)."""
        return (X @ model)[:, None]

    def losses(self, model: Floats, X: Floats, y: Floats) -> Floats:
        """Squared error of each record."""
        errors: Floats = y - X @ model
        return errors**2
