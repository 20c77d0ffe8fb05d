r"""Distance to the decision boundary, estimated from predicted labels alone.

A model that was trained on a record tends to keep its label further around it (Choquette-Choo et al. 2021; Li and Zhang 2021). The
distance is approached from outside as in HopSkipJump (Chen, Jordan and Wainwright 2020), with a fixed number of queries per record:

1. Start at the nearest of up to 256 other records with another predicted label, and bisect the segment to it.
2. In each of four rounds, with z the nearest point found on the boundary and d its distance to x: query points :math:`z
   + 0.1\,d\,u_b` for random unit vectors :math:`u_b`, whose labels estimate the direction :math:`v \propto \sum_b (s_b
   - \bar s)\,u_b` across the boundary (:math:`s_b = 1` where the label differs from that of x, else −1); move along v
   by at most :math:`d/\sqrt{r}` in round r; bisect the segment from x.

Every point that is kept has another label than x, so that the distance is an upper bound on the true one. For a linear classifier it
approaches :math:`|w \cdot x + b| / \lVert w \rVert`. Columns are measured in units of their deviation, rounded to a power of two: members
and non-members are queried separately, and units that differ by chance would distinguish them. A record with a wrong label has the distance
0. A record for which no other label is known has the distance `FARTHEST` for each column.

The random vectors depend on the record's own values alone, so that every model is queried with the same draws for a record.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri

from leakscope.core.arrays import Floats, Indices
from leakscope.core.errors import InputError
from leakscope.core.keyed_random import uniforms
from leakscope.data.containers import is_sparse
from leakscope.data.fingerprints import row_hashes
from leakscope.models.model import Model
from leakscope.models.predicting import predict_in_blocks

#: Labels of points, (n, features) in units of the columns' deviations.
Ask = Callable[[Floats], Indices]

#: Queries per record.
QUERIES = 200
FEWEST_QUERIES = 80
ROUNDS = 4
#: Queries of the first bisection, of each later one, and step sizes that are tried in a round.
FIRST, LATER, STEPS = 12, 8, 4
#: Radius around the boundary at which labels are queried, in units of the distance.
RADIUS = 0.1
#: Records among which the start is searched.
POOL = 256
FARTHEST = 10.0
#: Numbers of points that are held at a time.
CELLS = 1 << 21


def boundary_distance(
    model: Model, X: Any, y: NDArray[Any], predicted: NDArray[Any], *, queries: int = QUERIES
) -> Floats:
    """Return the distance of each record, with at most ``queries`` each; ``predicted`` are the records' labels.

    Examples
    --------
    >>> def predict(X):
    ...     return np.eye(2)[(X[:, 0] > 0).astype(int)]
    >>> model = Model("sign", "classification", np.arange(2), False, predict)
    >>> X = np.array([[1.0, 0.0], [-1.0, 0.5], [0.5, -0.5]])
    >>> boundary_distance(model, X, np.array([1, 0, 1]), np.array([1, 0, 1])).round(2)
    array([1.01, 1.01, 0.51])
    """
    if queries < FEWEST_QUERIES:
        least = f"at least {FEWEST_QUERIES} per record for the distance to the boundary"
        raise InputError(f"queries must be {least}, not {queries}")
    values, units = _numbers(X)
    points, keys = values / units, row_hashes(X)
    distance = np.zeros(len(points))
    right = np.flatnonzero(predicted == y)
    directions = (queries - FIRST) // ROUNDS - LATER - STEPS
    step = max(1, CELLS // (directions * max(1, points.shape[1])))

    def ask(asked: Floats) -> Indices:
        table = _like(X, asked * units)
        parts = [part.argmax(axis=1) for _, part in predict_in_blocks(model, table, where="points near the boundary")]
        return np.concatenate(parts)

    starts = _starts(points, predicted, keys)
    for first in range(0, len(right), step):
        rows = right[first : first + step]
        search = _Search(points[rows], predicted[rows], keys[rows], directions, ask)
        distance[rows] = search.run(starts(rows))
    return distance


def _numbers(X: Any) -> tuple[Floats, Floats]:
    """Records as rows of finite numbers, and the unit of each column."""
    table = X.to_numpy(dtype=object) if isinstance(X, pd.DataFrame) else X.toarray() if is_sparse(X) else np.asarray(X)
    try:
        values = table.reshape(len(table), -1).astype(np.float64)
    except (TypeError, ValueError):
        values = np.full((1, 1), np.nan)
    if not np.isfinite(values).all():
        what = "the distance to the boundary needs numeric features without missing values"
        raise InputError(f"{what}: leave boundary_distance out")
    deviation = values.std(axis=0)
    return values, np.asarray(2.0 ** np.round(np.log2(np.where(deviation > 0, deviation, 1.0))))


def _like(X: Any, values: Floats) -> Any:
    """The values as the kind of table that X is; whole numbers become numbers with a fraction."""
    if isinstance(X, pd.DataFrame):
        return pd.DataFrame(values, columns=X.columns)
    if is_sparse(X):
        return type(X)(values)
    shaped = values.reshape(-1, *X.shape[1:])
    return shaped.astype(X.dtype) if X.dtype.kind == "f" else shaped


def _starts(points: Floats, predicted: NDArray[Any], keys: NDArray[np.uint64]) -> Callable[[Indices], Floats]:
    """Function that gives records the nearest point of another label among a sample, or a row of nan."""
    order = np.argsort(keys, kind="stable")
    pool = order[np.unique(np.linspace(0, len(order) - 1, POOL).astype(np.intp))]

    def start(rows: Indices) -> Floats:
        squares = (points[rows] ** 2).sum(axis=1)[:, None] + (points[pool] ** 2).sum(axis=1)
        far = squares - 2 * points[rows] @ points[pool].T
        far[predicted[rows][:, None] == predicted[pool]] = np.inf
        nearest = far.argmin(axis=1)
        found = np.isfinite(far[np.arange(len(rows)), nearest])
        return np.where(found[:, None], points[pool[nearest]], np.nan)

    return start


@dataclass(frozen=True, eq=False)
class _Search:
    """Some records, and the queries of points around them."""

    points: Floats
    labels: NDArray[Any]
    keys: NDArray[np.uint64]
    directions: int
    ask: Ask

    def run(self, start: Floats) -> Floats:
        found = np.isfinite(start).all(axis=1)
        distance = np.full(len(start), FARTHEST * np.sqrt(self.points.shape[1]))
        if not found.any():
            return distance
        part = _Search(self.points[found], self.labels[found], self.keys[found], self.directions, self.ask)
        nearest = part._bisect(start[found], FIRST)
        for number in range(1, ROUNDS + 1):
            moved = part._bisect(part._step(nearest, number), LATER)
            closer = part._far(moved) < part._far(nearest)
            nearest = np.where(closer[:, None], moved, nearest)
        distance[found] = part._far(nearest)
        return distance

    def _far(self, at: Floats) -> Floats:
        return np.asarray(np.linalg.norm(at - self.points, axis=1))

    def _other(self, asked: Floats) -> NDArray[np.bool_]:
        """Whether points (records, points, features) have another label than their record."""
        labels = self.ask(asked.reshape(-1, asked.shape[2])).reshape(asked.shape[:2])
        return np.asarray(labels != self.labels[:, None])

    def _bisect(self, outer: Floats, steps: int) -> Floats:
        """The point nearest to the record on the segment to ``outer``, with another label, up to 2^-steps of it."""
        low, high = np.zeros(len(outer)), np.ones(len(outer))
        for _ in range(steps):
            middle = (low + high) / 2
            asked = self.points + middle[:, None] * (outer - self.points)
            other = self._other(asked[:, None])[:, 0]
            low, high = np.where(other, low, middle), np.where(other, middle, high)
        return np.asarray(self.points + high[:, None] * (outer - self.points))

    def _step(self, nearest: Floats, number: int) -> Floats:
        """Move from the boundary away from the record, towards the other label."""
        size, width = self._far(nearest), nearest.shape[1]
        normals = ndtri(uniforms(self.keys, self.directions * width, seed=number))
        vectors = normals.reshape(len(nearest), self.directions, width)
        vectors /= np.linalg.norm(vectors, axis=2, keepdims=True)
        sign = 2.0 * self._other(nearest[:, None] + RADIUS * size[:, None, None] * vectors) - 1
        # If all labels are equal, their mean has no direction: use the sum of the vectors.
        centred = np.where(np.ptp(sign, axis=1, keepdims=True) > 0, sign - sign.mean(axis=1, keepdims=True), sign)
        across = np.einsum("nb,nbf->nf", centred, vectors)
        across /= np.maximum(np.linalg.norm(across, axis=1, keepdims=True), np.finfo(np.float64).tiny)
        lengths = 0.5 ** np.arange(STEPS) / np.sqrt(number)
        tried = nearest[:, None] + size[:, None, None] * lengths[:, None] * across[:, None]
        other = self._other(tried)
        best, moved = tried[np.arange(len(tried)), other.argmax(axis=1)], np.asarray(other.any(axis=1))
        return np.where(moved[:, None], best, nearest)
