r"""Reconstruction by zeroing fitted influences, for any model [shokri2019, end of section 5].

Algorithm 1 needs logistic regression. Here the influence of a record r on a point y is only assumed to be smooth. The
corresponding change of the logit, to first order

.. math:: v_r(y) = \frac{f_r(y) - f(y)}{f(y)(1 - f(y))} \approx a_r + g_r^\top y ,

is fitted by ridge regression over all answers that showed the record so far. No query is spent on gradients: finite
differences cost one query per feature for each step and show nothing new. A query is a random point y moved by the
damped Gauss-Newton step (of least norm) towards the points at which the records that dominate the answers have no
influence,

.. math:: y \leftarrow y - J^\top (J J^\top + \mu \mathbb 1)^{-1} v(y), \qquad J_r = g_r ,

within the ranges of the features. The number of dominant records that are zeroed is random for each query, and some
queries are not moved, so that little is lost against uniform sampling if the model is far from affine. The attack gains
if few records dominate, as with many features and a regularised model; with few features, uniform points show the same
records.

The signs of the influences are used, as released: of the loss of the predicted class [shokri2019, Eq. 4]. The opposite
sign for all works as well.
"""

from __future__ import annotations

import numpy as np

from leakscope.core.arrays import Floats
from leakscope.core.checks import check_number
from leakscope.core.errors import InputError
from leakscope.releases.oracle import BudgetSpent, Collector, Oracle, OracleAnswer, Prior, Reconstruction, Recovered
from leakscope.releases.record_explanations.explanation import Loss

FIRST = 50  # uniform queries at the start
BATCH = 20  # queries between two fits
UNMOVED = 0.2  # share of queries that stay uniform
RIDGE = 1e-2  # of the regression, with features scaled to length 1
DAMPING = 1e-3  # of a step, in units of the mean squared gradient
GROWTH = 1.1  # growth of a record's points after which it is fitted again
IDLE = 100  # consecutive batches without a new record before an attack without a budget ends


def zero_found_influences(*, margin: float = 0.0) -> Reconstruction:
    """Return the attack that queries where the records that dominate the answers should have no influence.

    Parameters
    ----------
    margin
        How far outside the ranges of the features to query, in units of these ranges.

    Examples
    --------
    >>> from leakscope.releases.record_explanations import RecordExplanation, leave_one_out
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.random((60, 20)), rng.integers(0, 2, 60)
    >>> oracle = Oracle.of(leave_one_out(X, y), X, y, RecordExplanation(k=1), budget=300)
    >>> found = zero_found_influences().run(oracle, Prior.box(20), rng)
    >>> found.queries, found.notes["why"], len(found) > 20
    (300, 'the budget is spent', True)
    """
    check_number("margin", margin, least=0)

    def run(oracle: Oracle, prior: Prior, rng: np.random.Generator) -> Recovered:
        found = Collector(oracle)
        why = f"{IDLE} batches in a row showed nothing new"
        answers = _FittedInfluences(prior)
        points, idle = prior.uniform(FIRST, rng), 0
        try:
            while idle < IDLE:
                before = len(found)
                answers.note(points, found.query(points), oracle.loss)
                idle = 0 if len(found) > before else idle + 1
                points = answers.next_points(margin, rng)
        except BudgetSpent:
            why = BudgetSpent.why
        return found.recovered(why=why)

    return Reconstruction("zero found influences", "shokri2019, end of section 5", run, uses_influences=True)


class _FittedInfluences:
    """All answers so far, with features scaled to [-1/2, 1/2], and each record's fitted influence."""

    def __init__(self, prior: Prior) -> None:
        self.low, self.width = prior.low, prior.high - prior.low
        self.scale = np.where(self.width > 0, self.width, 1.0)  # of a feature with one value only
        self.points = np.empty((0, len(prior.low)))
        self.records: dict[int, tuple[list[int], list[float]]] = {}  # where each record showed, and its change there
        self.fits: dict[int, tuple[int, Floats]] = {}  # the last fit of each record, and how many points it had

    def note(self, points: Floats, answer: OracleAnswer, loss: Loss) -> None:
        if answer.influences is None:
            raise InputError("zeroing influences needs the influences, and the oracle hides them: use another attack")
        predictions = answer.predictions
        second = predictions >= 0.5
        if loss == "log":  # the probability of the predicted class is exp(-I) times what it was
            with np.errstate(over="ignore"):  # noise can give impossible values; such answers are left out below
                own = np.where(second, predictions, 1 - predictions)[:, None] * np.expm1(-answer.influences)
        else:
            own = -answer.influences
        changes = own * (np.where(second, 1.0, -1.0) / np.maximum(predictions * (1 - predictions), 1e-6))[:, None]
        start = len(self.points)
        self.points = np.concatenate([self.points, (points - self.low) / self.scale - 0.5])
        for point, row in enumerate(answer.records):
            for record, change in zip(row, changes[point], strict=True):
                if record >= 0 and np.isfinite(change):
                    where, values = self.records.setdefault(int(record), ([], []))
                    where.append(start + point)
                    values.append(float(change))

    def next_points(self, margin: float, rng: np.random.Generator) -> Floats:
        """Random points, most of them moved to where the dominant records should have no influence."""
        features = self.points.shape[1]
        here = rng.uniform(-0.5 - margin, 0.5 + margin, (BATCH, features))
        dominant = sorted(self.records, key=lambda record: -len(self.records[record][0]))[: max(1, features // 2)]
        stay = rng.random(BATCH) < UNMOVED
        counts = rng.integers(1, len(dominant) + 1, BATCH) if dominant else np.zeros(BATCH, np.intp)
        fits = np.array([self._fit(record) for record in dominant]).reshape(-1, features + 1)
        for point in np.flatnonzero(~stay & (counts > 0)):
            constant, J = fits[: counts[point], 0], fits[: counts[point], 1:]
            gram = J @ J.T
            damping = DAMPING * float(np.trace(gram)) / len(gram) + np.finfo(float).tiny
            step = J.T @ np.linalg.solve(gram + damping * np.eye(len(gram)), constant + J @ here[point])
            here[point] = np.clip(here[point] - step, -0.5 - margin, 0.5 + margin)
        return np.asarray(self.low + (here + 0.5) * self.width)

    def _fit(self, record: int) -> Floats:
        """Constant and gradient of a record's change, by ridge regression; refitted when it has been shown a tenth more often."""
        where, values = self.records[record]
        count, fit = self.fits.get(record, (0, np.empty(0)))
        if len(where) > GROWTH * count:
            A = np.column_stack([np.ones(len(where)), self.points[where]])
            fit = _ridge(A, np.array(values))
            self.fits[record] = len(where), fit
        return fit


def _ridge(A: Floats, values: Floats) -> Floats:
    """The solution of the smaller of two equal systems: one for each unknown, or one for each point."""
    if len(A) < A.shape[1]:
        return np.asarray(A.T @ np.linalg.solve(A @ A.T + RIDGE * np.eye(len(A)), values))
    return np.asarray(np.linalg.solve(A.T @ A + RIDGE * np.eye(A.shape[1]), A.T @ values))
