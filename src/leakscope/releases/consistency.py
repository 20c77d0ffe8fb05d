r"""Consistency of a model's answers to repeated, single and batched queries of the same record.

An audit queries each record once, in large batches. It would underestimate the risk of a model that adds fresh noise to
each answer, or that answers single records differently from large batches.

- *Random answers* are averaged over ``repeats`` queries, for the audited model and for every retrained model. The mean
  of :math:`R` answers with noise of standard deviation :math:`\sigma` still has noise :math:`\sigma/\sqrt R`, and an
  attacker may query more often. "Not detected" is therefore ruled out unless the remaining noise hardly changes the
  order of the records, on which attacks depend.
- *Answers that depend on the batch* rule out "not detected".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakscope.core.arrays import Floats
from leakscope.core.checks import check_count
from leakscope.core.result import Caveat
from leakscope.data.fingerprints import fingerprint
from leakscope.data.records import Records, stack_rows, take_rows
from leakscope.models.model import Model
from leakscope.models.predicting import predict_in_blocks
from leakscope.models.target import Target

#: Records of each side that are queried twice.
ASKED = 64
#: Sizes of the batches of each side that are queried again; the largest first, since some models refuse single records.
BATCHES = (50, 7, 1, 1)
#: Answers averaged if a model is random and the caller does not state a number.
REPEATS = 16
#: Largest rounding error of a probability; of a predicted value in units of the labels' spread.
TOLERANCE = 1e-4
#: Rounding error of a network in single precision, relative to the value.
ROUNDING = 1e-6
#: Rank correlation between two means of answers from which on "not detected" is allowed.
SAME_ORDER = 0.99


@dataclass(frozen=True)
class Consistency:
    """Result of repeated queries.

    Parameters
    ----------
    repeats
        Answers that are averaged for each record; None for a deterministic model.
    noise
        Standard deviation of the averaged answers.
    same_order
        Rank correlation, over records, between two such averages.
    """

    repeats: int | None = None
    noise: float = 0.0
    same_order: float = 1.0

    @property
    def warnings(self) -> tuple[Caveat, ...]:
        """State that the answers are random, if they are."""
        if self.repeats is None:
            return ()
        return (Caveat("random_answers", {"repeats": self.repeats}),)

    @property
    def obstacles(self) -> tuple[Caveat, ...]:
        """State why "not detected" is ruled out, if it is."""
        if self.repeats is None or self.same_order >= SAME_ORDER:
            return ()
        return (Caveat("noisy_answers", {"repeats": self.repeats, "rank_correlation": round(self.same_order, 4)}),)


def average_random_answers(target: Target, repeats: int | None, seed: int) -> tuple[Target, Consistency]:
    """Query some records twice; if the answers differ, average ``repeats`` (by default `REPEATS`) answers from then on.

    Examples
    --------
    >>> from leakscope.models.target import make_target
    >>> from leakscope.toys import lookup
    >>> toy = lookup(n=50)
    >>> average_random_answers(make_target(toy.model, toy.train, toy.holdout), None, seed=0)[1].repeats is None
    True
    """
    if repeats is not None:
        check_count("repeats", repeats)
    asked = _some_records(target, np.random.default_rng([seed, ASKED]))
    first, second = (_ask(target.model, asked) for _ in range(2))
    if not (np.abs(first - second) > _tolerance(target.model, first, target.members.y)).any():
        return target, Consistency()
    times = REPEATS if repeats is None else int(repeats)
    model, learner = _average(target.model, times), target.learner
    if learner is not None:
        learner = replace(learner, fit=_AveragedFit(learner.fit, times), key=fingerprint(learner.key, times))
    first, second = (_ask(model, asked) for _ in range(2))
    noise = float(np.sqrt(((first - second) ** 2).mean() / 2))
    found = Consistency(times, noise, _rank_correlation(first, second))
    return replace(target, model=model, learner=learner), found


def answers_by_batch(
    model: Model, asked: Sequence[tuple[Records, Floats]], consistency: Consistency, seed: int
) -> tuple[Caveat, ...]:
    """Compare answers in large batches with those on single records and in a small batch; an obstacle if they differ.

    ``asked`` holds records and the answers to all of them, one row each.
    """
    rng = np.random.default_rng([seed, len(BATCHES)])
    for records, answers in asked:
        # The largest of some hundred differences of averaged answers lies within ten standard deviations.
        tolerance = _tolerance(model, answers, records.y) + 10 * consistency.noise
        for size in BATCHES:
            rows = rng.choice(len(records), min(size, len(records)), replace=False)
            again = _ask(model, take_rows(records.X, rows)).reshape(len(rows), -1)
            if (np.abs(again - answers[rows]) > tolerance[rows]).any():
                return (Caveat("answers_depend_on_batch"),)
    return ()


@dataclass(frozen=True)
class Averaged:
    """Mean of several answers of a model."""

    predict: Callable[[Any], NDArray[np.float64]]
    repeats: int

    def __call__(self, X: Any) -> NDArray[np.float64]:
        total = self.predict(X)
        for _ in range(self.repeats - 1):
            total = total + self.predict(X)
        return total / self.repeats


@dataclass(frozen=True)
class _AveragedFit:
    """Train a model and average its answers."""

    fit: Callable[..., Model]
    repeats: int

    def __call__(self, X: Any, y: NDArray[Any], rng: np.random.Generator, **weights: Any) -> Model:
        return _average(self.fit(X, y, rng, **weights), self.repeats)


def _average(model: Model, repeats: int) -> Model:
    """Average the answers; the mean of random labels is their shares, which are probabilities."""
    if repeats == 1:
        return model
    return replace(model, predict=Averaged(model.predict, repeats), gives_probabilities=True)


def _ask(model: Model, X: Any) -> Floats:
    return np.concatenate([answers for _, answers in predict_in_blocks(model, X)])


def _some_records(target: Target, rng: np.random.Generator) -> Any:
    """Some members and some non-members, one below the other."""
    first, second = (
        take_rows(side.X, rng.choice(len(side), min(ASKED, len(side)), replace=False))
        for side in (target.members, target.nonmembers)
    )
    return stack_rows(first, second)


def _tolerance(model: Model, answers: Floats, labels: NDArray[Any]) -> Floats:
    """Largest difference from each answer that may be a rounding error.

    Predicted values are measured by the labels: a model could make the spread of its own answers arbitrarily large.
    """
    if model.task == "classification":
        return np.full(answers.shape, TOLERANCE)
    spread = float(np.subtract(*np.quantile(labels, [0.75, 0.25]))) or float(labels.std()) or 1.0
    return TOLERANCE * spread + ROUNDING * np.abs(answers)


def _rank_correlation(first: Floats, second: Floats) -> float:
    """Smallest Spearman correlation of a column of answers; columns that do not vary do not count."""
    from scipy.stats import rankdata

    columns = zip(first.reshape(len(first), -1).T, second.reshape(len(second), -1).T, strict=True)
    varying = [(one, other) for one, other in columns if np.ptp(one) > 0 and np.ptp(other) > 0]
    return min((float(np.corrcoef(rankdata(one), rankdata(other))[0, 1]) for one, other in varying), default=1.0)
