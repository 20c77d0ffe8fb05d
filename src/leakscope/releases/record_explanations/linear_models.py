"""Linear models of all records and without each: the result of exact leave-one-out for any task."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import Any, TypeVar, cast

import numpy as np

from leakscope.core.arrays import Floats, Indices
from leakscope.core.errors import InputError

Train = TypeVar("Train", bound=Callable[..., Any])


@dataclass(frozen=True, eq=False)
class LinearModels:
    """The model of all records, and for each record the model trained without it.

    Parameters
    ----------
    coef, intercept
        Weights (n, d) and constants (n,): row i was trained without record i.
    coef_full, intercept_full
        Weights (d,) and constant of the model of all records.
    """

    coef: Floats
    intercept: Floats
    coef_full: Floats
    intercept_full: float
    #: For each record the first that equals it; empty if all differ.
    _first: Indices = field(default_factory=lambda: np.empty(0, np.intp), repr=False, kw_only=True)

    def __len__(self) -> int:
        return len(self.coef)

    def values(self, points: Any) -> Floats:
        """Return the linear function (points,) of the model of all records."""
        return np.asarray(read_columns(points, self.coef.shape[1]) @ self.coef_full + self.intercept_full)

    def values_without(self, points: Any) -> Floats:
        """Return the linear functions (points, n): column i of the model trained without record i.

        Equal records have equal columns to the last bit, so that ties between them stay ties.
        """
        coef, intercept, place = self._distinct
        found = read_columns(points, self.coef.shape[1]) @ coef.T
        found += intercept
        return np.asarray(found if place is None else found[:, place])

    @cached_property
    def _distinct(self) -> tuple[Floats, Floats, Indices | None]:
        """Models of different records, and for each record the position of its model; None if all records differ."""
        distinct, place = np.unique(self._first, return_inverse=True)
        if len(distinct) in (0, len(self)):
            return self.coef, self.intercept, None
        return self.coef[distinct], self.intercept[distinct], place.astype(np.intp)


def read_columns(points: Any, columns: int) -> Floats:
    """Read points as a table with this number of columns."""
    table = np.asarray(points, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] != columns:
        raise InputError(f"points has the shape {table.shape}: pass a table of {columns} columns")
    return table


def formerly_l2(train: Train) -> Train:
    """Accept the former name of ``penalty``. The ``l2`` of learners is a weight in the mean loss, and this one in the sum."""

    @wraps(train)
    def call(*data: Any, **options: Any) -> Any:
        if "l2" in options:
            how = f"write {train.__name__}(…, penalty=…)"
            warnings.warn(f"{how}: the next version takes no other form", FutureWarning, stacklevel=2)
            options["penalty"] = options.pop("l2")
        return train(*data, **options)

    return cast("Train", call)
