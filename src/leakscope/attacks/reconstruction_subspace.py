r"""Reconstruction by subspace reduction: query where all records found so far have no influence [shokri2019, Algorithm
1, Theorem 5.1].

For logistic regression :math:`f(y) = \sigma(w^\top y + b)` and :math:`f_x`, trained without record x, the influence
:math:`|I| = |f_x(y) - f(y)|` and the prediction give, up to one sign,

.. math:: u_x(y) = \mathrm{logit}\bigl(f(y) \pm |I|\bigr) - \mathrm{logit} f(y) = (w_x - w)^\top y + b_x - b ,

an affine function of y. In an affine subspace of dimension m, a point that reveals x and m nearby points that reveal x
too determine it, and :math:`u_x = 0` is an affine subspace of dimension m - 1 in which x has no influence, so that
other records are shown. Each round removes one dimension (with k > 1 up to k, since one set of points serves all
records shown).

Extensions and differences from the paper:

- The correct sign is the one for which :math:`u_x` is affine, which further points decide. A sign that changes between
  two points fails this check too; closer points are then used.
- The points of a round give the model's own weights as well, so that no queries are spent on these alone. They keep
  predictions away from 0 and 1, where a logit loses its digits.
- Line 19 asks whether \|I\| is the same at all points; as printed it uses directions instead of points. Here a record
  can't be zeroed if the set :math:`u_x = 0` is too far away, which includes a constant :math:`u_x`.
- An attacker with few queries leaves only some features free: M of them cost about M²/2k queries and yield M records.
  With more features than records, slightly more free features than records suffice.

Rounding influences helps only with very few digits: on 2,000 records of Adult, three significant digits do as well as
sixteen, and two do not; on 300 images with k = 5, four digits give 90 % of the records, and ten all. In float64 the limit
is a record's own prediction of 0 or 1 to the last digit, which occurs far outside of the ranges.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logit

from leakscope.core.arrays import Floats
from leakscope.core.checks import check_count
from leakscope.core.errors import InputError
from leakscope.releases.oracle import BudgetSpent, Collector, Oracle, Prior, Reconstruction, Recovered
from leakscope.releases.record_explanations.explanation import Loss

MODERATE = 2.0  # largest logit: digits are lost where predictions are close to 0 or 1
CHECKS = 3  # points of a round that decide the sign
HALVINGS = 20  # of the distance to the points of a round
PATIENCE = 4  # tries for a record other than the first
ATTEMPTS = 5  # each with closer points
BENT = 0.05  # largest relative deviation of u from an affine function before closer points are tried
REACH = 1000.0  # largest distance from the ranges, in diagonals of these
FLOOR = 1e-13  # smaller influences are rounding errors
TRIES = 8  # consecutive rounds without a result before the attack ends


@dataclass(frozen=True)
class Affine:
    """The function value + gradient·t of the coordinates t of a `Flat`; ``error`` is the size of the gradient's error."""

    value: float
    gradient: Floats
    error: float = 0.0

    def at(self, coordinates: Floats) -> float:
        """Return the value at these coordinates."""
        return self.value + float(self.gradient @ coordinates)


@dataclass
class Flat:
    """An affine subspace, centre + coordinates @ basis with orthonormal rows of the basis, and the model's logit on it."""

    centre: Floats
    basis: Floats
    logit: Affine | None = None

    def __len__(self) -> int:
        return len(self.basis)

    def coordinates(self, points: Floats) -> Floats:
        """Return the coordinates of the nearest points of the subspace."""
        return np.asarray((points - self.centre) @ self.basis.T)

    def points(self, coordinates: Floats) -> Floats:
        """Return the points at these coordinates."""
        return np.asarray(self.centre + coordinates @ self.basis)

    def cut(self, function: Affine, others: list[Affine]) -> list[Affine]:
        """Restrict the subspace to the zeros of the function; return the others in the new coordinates."""
        length = float(np.linalg.norm(function.gradient))
        direction = function.gradient / length
        shift = -function.value / length
        mirror = direction.copy()  # Householder: turns the direction into the first axis, which is then left out
        mirror[0] += np.copysign(1.0, direction[0])
        scaled = mirror * (2.0 / float(mirror @ mirror))
        self.centre = self.centre + shift * (direction @ self.basis)
        self.basis = self.basis[1:] - np.outer(mirror[1:], scaled @ self.basis)

        def restrict(other: Affine) -> Affine:
            gradient = other.gradient[1:] - mirror[1:] * float(scaled @ other.gradient)
            return Affine(other.value + shift * float(other.gradient @ direction), gradient, other.error)

        self.logit = restrict(self.logit) if self.logit is not None else None
        return [restrict(other) for other in others]


def subspace_reduction(*, dimensions: int | None = None) -> Reconstruction:
    """Return the attack that recovers records where those found have no influence [shokri2019, Algorithm 1].

    Parameters
    ----------
    dimensions
        How many features, drawn at random, are free; the others keep a random value. By default all, or as many as the
        budget allows.

    Examples
    --------
    >>> from leakscope.releases.record_explanations import RecordExplanation, leave_one_out
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.random((40, 6)), rng.integers(0, 2, 40)
    >>> oracle = Oracle.of(leave_one_out(X, y), X, y, RecordExplanation(k=1))
    >>> found = subspace_reduction().run(oracle, Prior.box(6), rng)
    >>> found.notes["zeroed"], len(found) > 6
    (6, True)
    """
    check_dimensions(dimensions)

    def run(oracle: Oracle, prior: Prior, rng: np.random.Generator) -> Recovered:
        found = Collector(oracle)
        descent = Descent(found, prior, rng, dimensions=dimensions)
        try:
            while descent.why is None:
                descent.round()
        except BudgetSpent:
            descent.why = BudgetSpent.why
        return found.recovered(**descent.notes())

    return Reconstruction("subspace reduction", "shokri2019, Algorithm 1", run, uses_influences=True)


def check_dimensions(dimensions: int | None) -> None:
    """Refuse a number of dimensions that no subspace can have."""
    if dimensions is not None:
        check_count("dimensions", dimensions)


class Descent:
    """One run of Algorithm 1, round by round, until `why` says why it ended."""

    def __init__(
        self, found: Collector, prior: Prior, rng: np.random.Generator, *, dimensions: int | None = None
    ) -> None:
        self.found, self.prior, self.rng = found, prior, rng
        features, k, budget = found.oracle.features, found.oracle.k, found.oracle.remaining
        if dimensions is None:
            dimensions = features if 2 * k * budget >= features**2 else max(1, int(np.sqrt(2 * k * budget)))
        self.flat = _first_flat(prior, min(dimensions, features), rng)
        self.reach = REACH * (float(np.linalg.norm(prior.high - prior.low)) or 1.0)
        self.step = float(np.mean(prior.high - prior.low)) or 1.0
        self.zeroed: set[int] = set()  # records whose influence was made zero
        self.hopeless: set[int] = set()  # those whose influence is zero nowhere in the subspace, or too far away
        self.rounds = self.fruitless = 0
        self.why: str | None = None

    def notes(self) -> dict[str, object]:
        """Return notes on the run; ``zeroed`` counts the records whose influence is assumed to be zero."""
        return {"why": self.why, "rounds": self.rounds, "zeroed": len(self.zeroed), "dimension": len(self.flat)}

    def round(self) -> None:
        """Query a point, learn the influences of the records that it shows, and move to where these are zero."""
        self.rounds += 1
        before = len(self.flat)
        here = self.sample() if self.flat.logit is not None else self._first_point()
        answer = self.found.query(self.flat.points(here)[None])
        if answer.influences is None:
            raise InputError("subspace reduction needs the influences, and the oracle hides them: use another attack")
        if not before:
            self.why = "every dimension is used up"
            return
        shown = zip(answer.records[0].tolist(), np.abs(answer.influences[0]).tolist(), strict=True)
        sizes = {record: size for record, size in shown if size > FLOOR and record not in self.hopeless}
        if sizes:
            nearby = _LookAround(self.found, self.flat, here, float(answer.predictions[0]), sizes, self.rng)
            learned = nearby.learn(self.step)
            self.flat.logit = nearby.logit or self.flat.logit
            self._zero(learned)
        self.fruitless = 0 if len(self.flat) < before else self.fruitless + 1
        if self.fruitless >= TRIES:
            self.why = f"{TRIES} rounds in a row showed no record whose influence can be made zero"

    def sample(self) -> Floats:
        """Draw the coordinates of a random point of the ranges, moved into the subspace and to a moderate logit."""
        here = self.flat.coordinates(self.prior.uniform(1, self.rng)[0])
        model = self.flat.logit
        if model is None or not len(self.flat) or (abs(model.at(here)) <= MODERATE and not self.fruitless):
            return here
        # Far away, records change the logit so much that their own predictions, not this one, are close to 0 or 1.
        bound = MODERATE * 2.0 ** min(self.fruitless, 4)
        excess = model.at(here) - self.rng.uniform(-bound, bound)
        length = float(np.linalg.norm(model.gradient))
        return here - excess / length**2 * model.gradient if abs(excess) <= self.reach * length else here

    def _first_point(self) -> Floats:
        """Coordinates of the one of some random points whose prediction is the farthest from 0 and 1."""
        here = self.flat.coordinates(self.prior.uniform(TRIES, self.rng))
        predictions = self.found.query(self.flat.points(here)).predictions
        return np.asarray(here[np.argmin(np.abs(np.where(np.isnan(predictions), np.inf, predictions) - 0.5))])

    def _zero(self, learned: dict[int, Affine]) -> None:
        records, functions = list(learned), list(learned.values())
        while records and len(self.flat):
            record, function = records.pop(0), functions.pop(0)
            length = float(np.linalg.norm(function.gradient))
            # [shokri2019, Algorithm 1, line 19]: a constant influence can't be made zero
            if length > function.error and abs(function.value) <= self.reach * length:
                functions = self.flat.cut(function, functions)
                self.zeroed.add(record)
            else:
                self.hopeless.add(record)


def _first_flat(prior: Prior, dimensions: int, rng: np.random.Generator) -> Flat:
    """Some features free, the others held at random values; all free, about the middle of the ranges."""
    features = len(prior.low)
    if dimensions == features:
        return Flat((prior.low + prior.high) / 2, np.eye(features))
    free = np.sort(rng.choice(features, dimensions, replace=False))
    return Flat(prior.uniform(1, rng)[0], np.eye(features)[free])


class _LookAround:
    """The affine functions u of the records that a point shows, from nearby points that show them too."""

    def __init__(
        self,
        found: Collector,
        flat: Flat,
        here: Floats,
        prediction: float,
        sizes: dict[int, float],
        rng: np.random.Generator,
    ) -> None:
        self.found, self.here, self.prediction, self.sizes = found, here, prediction, sizes
        self.loss = found.oracle.loss
        self.centre = flat.points(here)
        checks = rng.normal(size=(CHECKS, len(flat)))
        self.checks = checks * (np.array([1.0, -1.0, 0.5]) / np.linalg.norm(checks, axis=1))[:, None]
        self.directions = np.concatenate([flat.basis, self.checks @ flat.basis])
        self.logit: Affine | None = None

    def learn(self, step: float) -> dict[int, Affine]:
        """Learn the functions of as many records as possible, the most influential record first."""
        learned: dict[int, Affine] = {}
        if not 0 < self.prediction < 1:
            return learned
        wanted = list(self.sizes)
        for _ in range(ATTEMPTS):
            seen = self._ask(wanted, step)
            for record in wanted:
                if record in seen and (function := self._fit(self.sizes[record], seen[record])) is not None:
                    learned[record] = function
            wanted = [record for record in wanted if record in seen and record not in learned]
            if not wanted:
                break
            step /= 8.0
        return {record: learned[record] for record in self.sizes if record in learned}

    def _ask(self, wanted: list[int], step: float) -> dict[int, Floats]:
        """For each record the steps, predictions and sizes (3, directions) at nearby points that show it too."""
        count = len(self.directions)
        seen = {record: np.full((3, count), np.nan) for record in wanted}
        steps = np.full(count, step)
        missing = np.arange(count)
        for tries in range(2 * HALVINGS):
            answer = self.found.query(self.centre + steps[missing, None] * self.directions[missing])
            assert answer.influences is not None
            inside = (answer.predictions > 0) & (answer.predictions < 1)
            for record, table in seen.items():
                shows = (answer.records == record) & (np.abs(answer.influences) > FLOOR) & inside[:, None]
                new = np.flatnonzero(shows.any(axis=1) & np.isnan(table[0, missing]))
                place = shows[new].argmax(axis=1)
                sizes = np.abs(answer.influences[new, place])
                table[:, missing[new]] = steps[missing[new]], answer.predictions[new], sizes
            if tries >= PATIENCE:  # only the first is always waited for
                seen = {r: table for r, table in seen.items() if r == wanted[0] or not np.isnan(table[0]).any()}
            missing = np.flatnonzero(np.isnan([table[0] for table in seen.values()]).any(axis=0))
            if not len(missing):
                break
            # A record that is no longer shown on one side may be shown on the other.
            steps[missing] *= -1.0 if tries % 2 == 0 else -0.5
        return {record: table for record, table in seen.items() if not np.isnan(table).any()}

    def _fit(self, size: float, seen: Floats) -> Affine | None:
        """The affine function through the points, with the sign that fits the check points better."""
        steps, predictions, sizes = seen
        if self.logit is None:
            gradient = ((logit(predictions) - logit(self.prediction)) / steps)[:-CHECKS]
            self.logit = Affine(float(logit(self.prediction) - gradient @ self.here), gradient)
        best, least = None, BENT
        for sign in (1.0, -1.0):
            here = float(_logit_change(np.array(self.prediction), np.array(sign * size), self.loss))
            there = _logit_change(predictions, sign * sizes, self.loss)
            if not (np.isfinite(here) and here and np.isfinite(there).all()):
                continue  # a probability outside of 0 to 1: the other sign
            slopes = (there - here) / steps
            gradient, misses = slopes[:-CHECKS], np.abs(slopes[-CHECKS:] - self.checks @ slopes[:-CHECKS])
            bend = float(np.max(np.abs(misses * steps[-CHECKS:]))) / abs(here)
            if bend < least:
                error = 3 * np.sqrt(len(gradient)) * max(float(misses.max()), 1e-15)
                best, least = Affine(float(here - gradient @ self.here), gradient, error), bend
        return best


def _logit_change(predictions: Floats, changes: Floats, loss: Loss) -> Floats:
    """Logit f_x - logit f, from f and the signed size of the influence."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        if loss == "log":  # of the predicted class
            second = predictions >= 0.5
            changes = np.where(second, predictions * np.expm1(changes), (predictions - 1) * np.expm1(-changes))
        return np.asarray(np.log1p(changes / predictions) - np.log1p(-changes / (1 - predictions)))
