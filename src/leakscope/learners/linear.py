"""Base class of the linear learners, conversion of records and labels, and checks for a unique solution."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leakscope.core.arrays import Floats, Indices
from leakscope.core.checks import check_count, check_number
from leakscope.core.errors import InputError
from leakscope.core.threads import one_thread
from leakscope.data.records import as_matrix, bad_values, list_names, read_features, read_labels

INTERCEPT = "the intercept"
LARGEST = 1e100  # squares of larger values overflow float64
DEPENDENT = 1e-10  # smallest singular value of a unique solution, with columns of length 1
BLOCK = 2**20  # numbers per block

#: Function from training sets (k, n) of one size to parameters (k, p) and whether each is the unique minimum.
Solver = Callable[[Indices], tuple[Floats, NDArray[np.bool_]]]


@dataclass(frozen=True)
class Linear(ABC):
    """A linear learner with a quadratic penalty; the model is the array of its parameters, the intercept last."""

    l2: float = 0.0
    intercept: bool = True
    columns: tuple[str, ...] = field(default=(), repr=False, kw_only=True)

    #: Why a training set may have no unique solution.
    why_not_unique: ClassVar[str] = "their columns are linearly dependent"

    def __post_init__(self) -> None:
        check_settings(self.l2, self.intercept)

    @abstractmethod
    def solver(self, X: Floats, y: NDArray[Any]) -> Solver:
        """Return the solver for training sets of these records."""

    def check(self, X: Floats, y: NDArray[Any], size: int) -> None:
        """Refuse a ``size`` at which no training set has a unique solution.

        Examples
        --------
        >>> from leakscope.learners import Ridge
        >>> learner, X, y = Ridge().prepare([[3.0, 1.0], [4.0, 2.0]], [1.0, 0.0])
        >>> learner.check(X, y, size=2)
        Traceback (most recent call last):
        leakscope.core.errors.InputError: 2 records do not determine 3 parameters: set l2 > 0, use fewer columns or components,
        or use larger training sets
        """
        check_size(size, len(y))
        if self.l2 == 0:
            check_unique(X, self.columns, self.intercept, size)

    def fit(self, X: Floats, y: NDArray[Any], rng: np.random.Generator) -> Floats:
        """Train on one set; ``rng`` is not used."""
        return self.fit_many(X, y, [np.arange(len(y))], [rng])[0]

    def fit_many(
        self, X: Floats, y: NDArray[Any], indices: Sequence[Indices], rngs: Sequence[np.random.Generator]
    ) -> list[Floats]:
        """Train on many sets, given as positions of records.

        Examples
        --------
        >>> from leakscope.learners import Logistic, Ridge
        >>> learner, X, y = Ridge(intercept=False).prepare([[1.0], [2.0], [4.0]], [1.0, 4.0, 4.0])
        >>> learner.fit_many(X, y, [np.array([0, 1]), np.array([2])], [])
        [array([1.8]), array([1.])]
        >>> learner, X, y = Logistic(intercept=False).prepare([[1.0], [1.0], [1.0], [-1.0]], [1, 1, 0, 1])
        >>> (theta,) = learner.fit_many(X, y, [np.array([0, 1, 2])], [])  # two of three are 1: log-odds log 2
        >>> np.exp(theta).round(12)
        array([2.])
        """
        del rngs
        models: list[Floats] = [np.empty(0)] * len(indices)
        unique = np.zeros(len(indices), dtype=bool)
        with one_thread():
            solve = self.solver(X, y)
            for places in same_sizes(indices, X.shape[1]):
                solved, unique[places] = solve(np.stack([indices[place] for place in places]))
                for place, theta in zip(places, solved, strict=True):
                    models[place] = theta
        if not unique.all():
            raise no_solution(int((~unique).sum()), len(indices), self.why_not_unique, self.l2)
        return models

    def parameters(self, model: Floats) -> Floats:
        """Return the coefficients in the order of the columns, then the intercept."""
        return model

    def from_parameters(self, theta: Any) -> Floats:
        """Return the model with these parameters."""
        return np.array(theta, dtype=np.float64)

    def outputs(self, model: Floats, X: Floats) -> Floats:
        """Return predicted values, or log-odds of the second class against the first, (rows, 1)."""
        return (X @ model)[:, None]


def same_sizes(indices: Sequence[Indices], count: int) -> Iterator[list[int]]:
    """Yield positions of training sets of one size, in groups that bound the memory."""
    sizes = [len(drawn) for drawn in indices]
    for size in sorted(set(sizes)):
        places = [place for place, other in enumerate(sizes) if other == size]
        step = max(1, BLOCK // max(1, size * count))
        yield from (places[start : start + step] for start in range(0, len(places), step))


def check_settings(l2: Any, intercept: Any) -> None:
    """Refuse a negative or non-numeric penalty, and an intercept that is not a boolean."""
    check_number("l2", l2, least=0)
    if not isinstance(intercept, bool | np.bool_):
        raise InputError(f"intercept must be True or False, not {intercept!r}")


def read_records(X: Any, y: Any, what: str) -> tuple[Floats, NDArray[Any], tuple[str, ...]]:
    """Return features as finite float64 (n, p), one label per record, and the names of the columns."""
    features, labels = read_features(X, "the data"), read_labels(y, "the data")
    if features.ndim != 2:
        raise InputError(f"the features have shape {features.shape}: {what} needs a table, one row per record")
    if len(features) != len(labels):
        raise InputError(f"X has {len(features)} records and y has {len(labels)} labels: pass one label per record")
    if not len(labels) or not features.shape[1]:
        raise InputError(
            f"the data have {len(features)} records of {features.shape[1]} columns: {what} needs at least one of each"
        )
    columns = list(features.columns) if isinstance(features, pd.DataFrame) else list(range(features.shape[1]))
    table = as_matrix(features)
    if table.dtype.kind not in "biuf":
        kinds = dict(zip(columns, features.dtypes, strict=True)) if isinstance(features, pd.DataFrame) else {}
        text = [name for name, kind in kinds.items() if not pd.api.types.is_numeric_dtype(kind)]
        where = f"columns {list_names(text)}" if text else f"an array of {table.dtype}"
        raise InputError(f"{what} takes numbers, but {where} contain other values: encode them as numbers first")
    for bad in bad_values(table):
        names = [columns[position] for position in bad.columns]
        raise InputError(f"{what} can't take {bad.kind} values, as in columns {list_names(names)}: fill or drop them")
    values = np.array(table, dtype=np.float64, order="C")
    if np.abs(values).max() > LARGEST:
        raise InputError(f"the features reach {np.abs(values).max():.1g}: rescale them")
    return values, labels, tuple(map(str, columns))


def read_values(labels: NDArray[Any], what: str) -> Floats:
    """Convert the labels of a regression to float64."""
    if labels.dtype.kind not in "biuf":
        raise InputError(f"the labels are not numbers: {what} needs numbers")
    values = labels.astype(np.float64)
    if np.abs(values).max() > LARGEST:
        raise InputError(f"the labels reach {np.abs(values).max():.1g}: rescale them")
    return values


def read_classes(labels: NDArray[Any]) -> tuple[NDArray[Any], Indices]:
    """Return the classes in ascending order, at least two, and the position of each label among them."""
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise InputError("all records have the same label: pass records of two classes")
    return classes, codes.astype(np.intp)


def with_ones(X: Floats, intercept: bool) -> Floats:
    """Append the column of ones whose coefficient is the intercept."""
    return np.hstack([X, np.ones((len(X), 1))]) if intercept else X


def check_size(size: int, records: int) -> None:
    """Refuse an empty training set and one with more records than there are."""
    check_count("the size of a training set", size, most=records)


def check_unique(X: Floats, columns: tuple[str, ...], intercept: bool, size: int, weight: str = "l2") -> None:
    """Refuse, for a ``weight`` of 0, sizes and columns for which no training set has a unique solution."""
    count = X.shape[1]
    remedy = f"set {weight} > 0, use fewer columns or components"
    if size < count:
        raise InputError(f"{size} records do not determine {count} parameters: {remedy}, or use larger training sets")
    names = [*(columns or range(count - intercept)), *([INTERCEPT] if intercept else [])]
    if len(dependent := _dependent(X, intercept)):
        raise InputError(
            f"columns {list_names([names[column] for column in dependent])} are linear combinations of "
            f"the others, so no solution is unique without a penalty: {remedy}"
        )


def _dependent(X: Floats, intercept: bool) -> NDArray[np.intp]:
    """Return a minimal set of columns that are linear combinations of the others."""
    from scipy.linalg import qr

    lengths = np.sqrt((X**2).sum(axis=0))
    scaled = X / np.where(lengths > 0, lengths, 1.0)
    if intercept:
        scaled[:, -1] *= 2  # pivoted first, so that a constant column is reported and not the intercept
    triangle, order = qr(np.linalg.qr(scaled, mode="r"), mode="r", pivoting=True)
    pivots = np.zeros(X.shape[1])
    pivots[: min(triangle.shape)] = np.abs(np.diag(triangle))
    return np.sort(np.asarray(order[pivots < DEPENDENT], dtype=np.intp))


def no_solution(bad: int, total: int, why: str, l2: float) -> InputError:
    """Return the error for training sets without a unique solution."""
    remedy = "use l2 > 0" if l2 == 0 else f"raise l2, which is {l2:g}"
    return InputError(f"{bad} of {total} training sets have no unique solution ({why}): {remedy}, or use larger sets")
