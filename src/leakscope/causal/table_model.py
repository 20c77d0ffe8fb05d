r"""The causal model of discrete variables: the maximum-likelihood table of Y given its parents [tople2020, section 4.1].

.. math:: \hat P(y \mid x_C) = N(x_C, y)\,/\,N(x_C),

counted over the training set. A configuration :math:`x_C` that no training record has gets the shares of Y in the whole
training set; `CausalTable.unseen` identifies such records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leakscope.causal.counting import count_table
from leakscope.causal.network import LARGEST_TABLE, configurations
from leakscope.core.arrays import Floats, Indices
from leakscope.core.errors import InputError
from leakscope.learners.linear import check_size

FLOOR = 1e-12  # smallest probability, which keeps log-odds within ±27.7


class LabelTable(NamedTuple):
    """Probabilities of the classes by configuration of the columns, and the number of training records of each."""

    probabilities: Floats
    records: NDArray[np.int64]


@dataclass(frozen=True)
class CausalTable:
    """Learner of the table of the label given some columns of codes; see `leakscope.learners`.

    Parameters
    ----------
    columns
        Positions of its columns, the parents of the label; none for the shares of the classes.
    levels
        Number of levels of every column; by default `prepare` sets the largest code plus one.
    classes
        Number of classes; `prepare` sets it.

    Examples
    --------
    >>> codes, y = np.array([[0], [0], [0], [1]]), np.array(["a", "a", "b", "b"])
    >>> learner, X, labels = CausalTable((0,)).prepare(codes, y)
    >>> model = learner.fit(X, labels, np.random.default_rng(0))
    >>> learner.probabilities(model, X).round(2).tolist()
    [[0.67, 0.33], [0.67, 0.33], [0.67, 0.33], [0.0, 1.0]]
    """

    columns: tuple[int, ...]
    levels: tuple[int, ...] | None = None
    classes: int | None = field(default=None, repr=False)
    task: Literal["classification"] = field(default="classification", repr=False)
    name: ClassVar[str] = "causal table"

    def __post_init__(self) -> None:
        columns = tuple(map(int, self.columns))
        if len(set(columns)) < len(columns) or any(column < 0 for column in columns):
            raise InputError(f"columns must be different positions from 0, not {self.columns!r}")
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "levels", None if self.levels is None else tuple(map(int, self.levels)))

    def prepare(self, X: Any, y: Any) -> tuple[CausalTable, NDArray[Any], Indices]:
        """Return codes unchanged, and labels as positions in the sorted classes."""
        codes, labels = np.asarray(X), np.asarray(y)
        if codes.ndim != 2 or codes.dtype.kind not in "iu" or (codes.size and codes.min() < 0):
            raise InputError("X must hold codes: whole numbers from 0, one row per record")
        if len(codes) != len(labels):
            raise InputError(f"X has {len(codes)} records and y has {len(labels)} labels: pass one label per record")
        if max(self.columns, default=-1) >= codes.shape[1]:
            raise InputError(f"X has {codes.shape[1]} columns and no column {max(self.columns)}: correct columns")
        found = tuple(int(top) + 1 for top in codes.max(axis=0, initial=0))
        levels = found if self.levels is None else self.levels
        if len(levels) != len(found) or any(count > known for count, known in zip(found, levels, strict=True)):
            raise InputError("levels must have one number per column of X, larger than its codes")
        if np.prod([float(levels[column]) for column in self.columns]) > LARGEST_TABLE:
            raise InputError(
                f"columns {self.columns!r} have more than {LARGEST_TABLE:,} configurations: use fewer columns"
            )
        classes, positions = np.unique(labels, return_inverse=True)
        if len(classes) < 2:
            raise InputError("y has one class: pass two or more")
        return replace(self, levels=levels, classes=len(classes)), codes, positions.astype(np.intp)

    def check(self, X: NDArray[Any], y: NDArray[Any], size: int) -> None:  # noqa: ARG002
        """Raise an error for a size that no training set of these records has."""
        check_size(size, len(X))

    def fit(self, X: NDArray[Any], y: Indices, rng: np.random.Generator) -> LabelTable:  # noqa: ARG002
        """Count one training set."""
        levels, classes = self._known()
        together = np.column_stack([X[:, list(self.columns)], y])
        sizes = [*(levels[column] for column in self.columns), classes]
        counts = count_table(together, len(sizes) - 1, range(len(sizes) - 1), sizes)
        totals = counts.sum(axis=1)
        shares = counts.sum(axis=0) / max(len(X), 1)
        return LabelTable(np.where(totals[:, None] > 0, counts / np.maximum(totals, 1)[:, None], shares), totals)

    def fit_many(
        self, X: NDArray[Any], y: Indices, indices: Sequence[Indices], rngs: Sequence[np.random.Generator]
    ) -> list[LabelTable]:
        """Count each of the training sets."""
        return [self.fit(X[rows], y[rows], rng) for rows, rng in zip(indices, rngs, strict=True)]

    def parameters(self, model: LabelTable) -> Floats:
        """Return the probabilities of all classes but the first, row by row."""
        return model.probabilities[:, 1:].ravel()

    def probabilities(self, model: LabelTable, X: NDArray[Any]) -> Floats:
        """Return the probabilities of the classes, (rows, classes)."""
        return np.take(model.probabilities, self._configurations(X), axis=0)

    def outputs(self, model: LabelTable, X: NDArray[Any]) -> Floats:
        """Return the log-odds of each class but the first against the first, with probabilities of at least 1e-12."""
        logs = np.log(np.maximum(model.probabilities, FLOOR))
        return np.take(logs[:, 1:] - logs[:, :1], self._configurations(X), axis=0)

    def losses(self, model: LabelTable, X: NDArray[Any], y: Indices) -> Floats:
        """Return the log-loss of each record, with probabilities of at least 1e-12."""
        return np.asarray(-np.log(np.maximum(model.probabilities, FLOOR)[self._configurations(X), y]))

    def unseen(self, model: LabelTable, X: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether no training record has the configuration of a record."""
        return np.take(model.records == 0, self._configurations(X))

    def _known(self) -> tuple[tuple[int, ...], int]:
        if self.levels is None or self.classes is None:
            raise InputError("levels is not set: use the learner that prepare(X, y) returns")
        return self.levels, self.classes

    def _configurations(self, X: NDArray[Any]) -> Indices:
        levels, _ = self._known()
        return configurations(X, self.columns, [levels[column] for column in self.columns])
