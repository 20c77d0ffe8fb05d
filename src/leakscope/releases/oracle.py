"""Oracles that answer queries with record explanations, and the types of reconstruction attacks.

An `Oracle` answers a query with a prediction and the training records that explain it. It counts queries and keeps
nothing else. A reconstruction attack gets an oracle, prior knowledge (`Prior`) and a random generator. It returns the
records that it `Recovered`, each with the number of the query that revealed it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from leakscope.core.arrays import Floats, Indices
from leakscope.core.checks import check_count, check_number, check_seed
from leakscope.core.errors import InputError
from leakscope.releases.record_explanations.explanation import LeftOut, Loss, RecordExplanation, read_points

MOST_DIGITS = 17  # that float64 holds
MOST_NOISE = 1e6  # an influence is at most 1, or some tens for the log-loss
SMALLEST = 1e-280
REFUSED = -1  # record number of a refused query


@dataclass(frozen=True, eq=False)
class OracleAnswer:
    """Answers of an oracle to queries, one row per point.

    Parameters
    ----------
    predictions
        Probability of the second class; not a number where the query was refused.
    records
        The revealed records (points, k) by their ids, most influential first; -1 where the query was refused.
    influences
        Their influences (points, k), or None if they are hidden.
    shown, rows, labels
        The records revealed in this answer, each once: their ids in rising order, features and labels.
    """

    predictions: Floats
    records: Indices
    influences: Floats | None
    shown: Indices
    rows: Floats
    labels: NDArray[Any]

    def __len__(self) -> int:
        return len(self.predictions)


class BudgetSpent(Exception):  # noqa: N818, the regular end of an attack, not an error
    """The oracle answers no more queries."""

    why = "the budget is spent"


class Oracle:
    """Answers queries and counts them.

    Parameters
    ----------
    answer
        Function from points (m, features) to an `OracleAnswer`.
    features
        Number of features of a point.
    k
        How many records an explanation shows.
    budget
        Largest number of points that it answers; None for no limit.
    loss
        Loss whose change is the influence.

    Examples
    --------
    >>> from leakscope.releases.record_explanations import RecordExplanation, leave_one_out
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 1, 0, 1])
    >>> oracle = Oracle.of(leave_one_out(X, y), X, y, RecordExplanation(k=1), budget=3)
    >>> answer = oracle.query(np.array([[3.0], [2.5]]))
    >>> answer.records.ravel(), answer.shown, answer.rows.ravel(), oracle.queries, oracle.remaining
    (array([3, 3]), array([3]), array([3.]), 2, 1)
    >>> oracle.query(np.zeros((2, 1)))
    Traceback (most recent call last):
    leakscope.releases.oracle.BudgetSpent: 2 more queries were asked of an oracle that answers 1 more
    """

    def __init__(
        self,
        answer: Callable[[Floats], OracleAnswer],
        features: int,
        k: int,
        budget: int | None = None,
        loss: Loss = "likelihood",
    ) -> None:
        if budget is not None:
            check_count("budget", budget)
        if loss not in ("likelihood", "log"):
            raise InputError(f"loss must be 'likelihood' or 'log', not {loss!r}")
        self._answer = answer
        self.features = features
        self.k = k
        self.budget = budget
        self.loss = loss
        self.queries = 0

    @property
    def remaining(self) -> float:
        """How many more points will be answered; infinite without a budget."""
        return np.inf if self.budget is None else self.budget - self.queries

    def query(self, points: Floats) -> OracleAnswer:
        """Answer one query for each point, or none if the budget doesn't allow all."""
        points = read_points(points)
        if points.shape[1] != self.features:
            raise InputError(f"points has {points.shape[1]} columns: pass a table of {self.features} columns")
        if len(points) > self.remaining:
            raise BudgetSpent(f"{len(points)} more queries were asked of an oracle that answers {self.remaining} more")
        self.queries += len(points)
        return self._answer(points)

    @classmethod
    def of(
        cls,
        models: LeftOut,
        X: Any,
        y: Any,
        explanation: RecordExplanation,
        *,
        budget: int | None = None,
        values: bool = True,
        digits: int | None = None,
        decimals: int | None = None,
        noise: float = 0.0,
        refuse: Callable[[Floats], NDArray[np.bool_]] | None = None,
        seed: int = 0,
    ) -> Self:
        """Build an oracle from the model of all records and those without each; ids are positions of training records.

        Parameters
        ----------
        models, X, y
            The models, and the records and labels that they were trained on.
        values
            Whether influences are shown.
        digits
            Significant digits to which influences are rounded.
        decimals
            Decimals to which predictions are rounded.
        noise
            Standard deviation of Gaussian noise that is drawn for every influence before the records are ranked.
        refuse
            Function that says which points are refused; a refused query counts.
        """
        X, y = read_points(X, "training records"), np.asarray(y)
        if not len(X) == len(y) == len(models):
            raise InputError(
                f"the models leave out {len(models)} records, and there are {len(X)} rows and {len(y)} labels: "
                "pass the records that they were trained on"
            )
        check_rounding(digits, decimals, noise)
        check_seed(seed)
        rng = np.random.default_rng(seed)

        def answer(points: Floats) -> OracleAnswer:
            found = explanation.explain(models, points, noise=noise, rng=rng)
            predictions, records, sizes = found.probabilities, found.records, found.influences
            if decimals is not None:
                predictions = np.round(predictions, decimals)
            if digits is not None:
                sizes = round_digits(sizes, digits)
            if refuse is not None:
                refused = refuse(points)
                predictions = np.where(refused, np.nan, predictions)
                records = np.where(refused[:, None], REFUSED, records)
                sizes = np.where(refused[:, None], np.nan, sizes)
            shown = np.unique(records[records != REFUSED])
            return OracleAnswer(predictions, records, sizes if values else None, shown, X[shown], y[shown])

        return cls(answer, X.shape[1], explanation.k, budget, explanation.loss)


def check_rounding(digits: Any, decimals: Any, noise: Any) -> None:
    """Check the rounding and the noise of a release."""
    for number, name, least in ((digits, "digits", 1), (decimals, "decimals", 0)):
        if number is not None:
            check_count(name, number, least, MOST_DIGITS)
    check_number("noise", noise, 0, MOST_NOISE)


def round_digits(values: Floats, digits: int) -> Floats:
    """Round to a number of significant decimal digits.

    Examples
    --------
    >>> round_digits(np.array([0.0, 0.0123456, -987.6]), 2)
    array([ 0.0e+00,  1.2e-02, -9.9e+02])
    """
    small = np.abs(values) < SMALLEST  # below the precision of float64; scaling them would overflow
    safe = np.where(small, 1.0, np.abs(values))
    scale = 10.0 ** (digits - 1 - np.floor(np.log10(safe)))
    return np.asarray(np.where(small, values, np.round(values * scale) / scale))


@dataclass(frozen=True, eq=False)
class Prior:
    """What an attacker knows before the first query.

    Parameters
    ----------
    low, high
        The range of each feature.
    records
        Non-members from the population of the training records; None if the attacker has none. An attack uses them
        whole (known distribution) or column by column (known marginals).
    """

    low: Floats
    high: Floats
    records: Floats | None = None

    @classmethod
    def box(cls, features: int, low: float = 0.0, high: float = 1.0) -> Prior:
        """Return a prior with the same range for every feature and no records."""
        return cls(np.full(features, low), np.full(features, high))

    def uniform(self, count: int, rng: np.random.Generator) -> Floats:
        """Draw points uniformly within the ranges."""
        return np.asarray(rng.uniform(self.low, self.high, (count, len(self.low))))


@dataclass(frozen=True, eq=False)
class Recovered:
    """The training records that an attack recovered, in the order of recovery.

    Parameters
    ----------
    records, rows, labels
        Their ids, features and labels.
    at
        The number of the query, from 1, that revealed each.
    queries
        How many queries were spent.
    notes
        Further facts about the run, such as why it stopped.
    """

    records: Indices
    rows: Floats
    labels: NDArray[Any]
    at: Indices
    queries: int
    notes: dict[str, Any]

    def __len__(self) -> int:
        return len(self.records)

    def after(self, queries: Any) -> Indices:
        """Return the number of records recovered after each of these numbers of queries.

        Examples
        --------
        >>> fell = np.array([1, 1, 4])
        >>> Recovered(np.arange(3), np.zeros((3, 1)), np.zeros(3), fell, 9, {}).after([0, 1, 3, 4, 9])
        array([0, 2, 2, 3, 3])
        """
        return np.searchsorted(self.at, np.asarray(queries), side="right").astype(np.intp)


class Collector:
    """Passes queries to an oracle and collects each record when it is first shown.

    ``query`` raises `BudgetSpent` if the oracle can't answer all points, after querying those that it can. An attack
    catches it once, at its end.
    """

    def __init__(self, oracle: Oracle) -> None:
        self.oracle = oracle
        self.start = oracle.queries
        self.records: list[int] = []
        self.at: list[int] = []
        self.place: dict[int, int] = {}  # id to the order of recovery
        self._rows: list[Floats] = []
        self._labels: list[Any] = []

    def __len__(self) -> int:
        return len(self.records)

    def row(self, record: int) -> Floats:
        """Return the features of a recovered record."""
        return self._rows[self.place[record]]

    def query(self, points: Floats) -> OracleAnswer:
        """Query the oracle and collect new records."""
        points = np.atleast_2d(points)
        if len(points) > self.oracle.remaining:
            allowed = int(self.oracle.remaining)
            if allowed:
                self._note(self.oracle.query(points[:allowed]))
            raise BudgetSpent
        answer = self.oracle.query(points)
        self._note(answer)
        return answer

    def _note(self, answer: OracleAnswer) -> None:
        new = [int(record) for record in answer.shown if int(record) not in self.place]
        if not new:
            return
        before = self.oracle.queries - self.start - len(answer)
        flat = answer.records.ravel()
        ids, first = np.unique(flat, return_index=True)
        falls = {int(record): int(place) for record, place in zip(ids, first, strict=True)}
        where = {int(record): place for place, record in enumerate(answer.shown)}
        for record in sorted(new, key=falls.__getitem__):
            self.place[record] = len(self.records)
            self.records.append(record)
            self.at.append(before + falls[record] // answer.records.shape[1] + 1)
            self._rows.append(answer.rows[where[record]])
            self._labels.append(answer.labels[where[record]])

    def recovered(self, **notes: Any) -> Recovered:
        """Return all records recovered so far."""
        rows = np.array(self._rows) if self._rows else np.empty((0, self.oracle.features))
        return Recovered(
            np.array(self.records, dtype=np.intp),
            rows,
            np.array(self._labels),
            np.array(self.at, dtype=np.intp),
            self.oracle.queries - self.start,
            notes,
        )


@dataclass(frozen=True)
class Reconstruction:
    """A reconstruction attack: it maps an oracle and prior knowledge to recovered training records.

    Parameters
    ----------
    name, source
        Name, and where it was published, with the number of the statement.
    run
        ``run(oracle, prior, rng) -> Recovered``.
    uses_influences, uses_records
        Whether the oracle must show influences, and whether the attacker must have own records.
    """

    name: str
    source: str
    run: Callable[[Oracle, Prior, np.random.Generator], Recovered]
    uses_influences: bool = False
    uses_records: bool = False

    def refuse(self, values: bool, prior: Prior) -> str | None:
        """Return why the attack can't run, or None if it can."""
        if self.uses_influences and not values:
            return "it needs the influences, and these are kept back"
        if self.uses_records and prior.records is None:
            return "it needs records drawn like the training records"
        return None
