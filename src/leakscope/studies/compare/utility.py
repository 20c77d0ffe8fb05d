r"""Utility of a version on held-out records, and its change from the model as it is.

=================== ====================================================================================================
accuracy            share of held-out records whose most probable class is the true one
log-loss            mean of :math:`-\ln p_y`, probabilities held above 2.2e-16: large for confident errors
calibration error   how far the probability of the class that is named lies from how often it is right: with b = 1 … 10 bins of
                    equally many records, residuals :math:`r_i` = probability - 1[right], their means :math:`\bar r_b` and
                    deviations :math:`s_b`, the root of :math:`\sum_b \frac{n_b}{n}(\bar r_b^2 - s_b^2/n_b)`, which is right on
                    average where the plain mean of squares would be too large by chance (Kumar, Liang and Ma 2019, section 5)
mean squared error  of a regression, in squared units of the label
=================== ====================================================================================================

Changes are paired: both versions are queried with the same records. The intervals of all changes of one comparison are simultaneous (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from leakscope.core import intervals
from leakscope.core.arrays import Floats
from leakscope.core.estimate import Estimate
from leakscope.data.small_groups import NOT_SHOWN
from leakscope.releases.release import SMALLEST_PROBABILITY
from leakscope.studies.compare.result import Better, GroupUtility, MetricChange

BINS = 10
NO_CHANGE = Estimate(0.0, 0.0, 0.0, 1.0, "exact", method="the same by construction")
BETTER: dict[str, Better] = {
    "accuracy": "more",
    "log-loss": "less",
    "calibration error": "less",
    "mean squared error": "less",
}


@dataclass(frozen=True, eq=False)
class Quality:
    """Answers of one version on the held-out records, and the true labels."""

    answers: Floats
    labels: NDArray[Any]
    task: Literal["classification", "regression"]

    @cached_property
    def per_record(self) -> dict[str, Floats]:
        """Each metric that is a mean over records, at each record."""
        if self.task == "regression":
            return {"mean squared error": (self.answers - self.labels) ** 2}
        likelihood = np.take_along_axis(self.answers, self.labels[:, None].astype(np.intp), axis=1)[:, 0]
        return {"accuracy": self._right, "log-loss": -np.log(np.maximum(likelihood, SMALLEST_PROBABILITY))}

    @cached_property
    def _right(self) -> Floats:
        return np.asarray(self.answers.argmax(axis=1) == self.labels, dtype=np.float64)

    @property
    def compared(self) -> tuple[Floats, ...]:
        """The metrics that versions are compared by, at each record and so that more is better."""
        return tuple(values if BETTER[name] == "more" else -1.0 * values for name, values in self.per_record.items())

    def measure(self, confidence: float) -> dict[str, Estimate]:
        """Every metric with its interval."""
        found = {name: _mean(name, values, confidence) for name, values in self.per_record.items()}
        if self.task == "classification":
            found["calibration error"] = calibration_error(self.answers.max(axis=1), self._right, confidence)
        return found


def _mean(name: str, values: Floats, confidence: float) -> Estimate:
    if name == "accuracy":
        return intervals.proportion(int(values.sum()), len(values), confidence)
    found = intervals.mean(values, confidence)
    return replace(found, low=max(0.0, found.low))


def calibration_error(said: Floats, right: Floats, confidence: float = 0.95) -> Estimate:
    """How far the predicted probabilities are from the observed frequencies; see the module.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> said = rng.uniform(0.5, 1.0, 20_000)
    >>> honest = calibration_error(said, (rng.random(20_000) < said).astype(float))
    >>> honest.low, honest.high < 0.02
    (0.0, True)
    >>> calibration_error(said, (rng.random(20_000) < said - 0.2).astype(float))
    0.197 [0.190, 0.204]
    """
    residual = (said - right)[np.argsort(said, kind="stable")]
    square, variance = 0.0, 0.0
    for part in np.array_split(residual, min(BINS, max(1, len(residual) // 2))):
        share, mean = len(part) / len(residual), float(part.mean())
        error = float(part.var(ddof=1)) / len(part) if len(part) > 1 else 0.0
        square += share * (mean**2 - error)
        variance += share**2 * (4 * mean**2 * error + 2 * error**2)
    half = intervals.normal_quantile(confidence) * float(np.sqrt(variance))
    value, low, high = (float(np.sqrt(max(0.0, end))) for end in (square, square - half, square + half))
    return Estimate(
        value, low, min(1.0, max(high, value)), confidence, n=len(said), method="debiased bins, delta method"
    )


def utility_changes(
    ours: Quality, theirs: Quality, confidence: float, together: float, *, same: bool = False, same_labels: bool = False
) -> dict[str, MetricChange]:
    """Every metric of ours, and its change from theirs; ``together`` is the confidence of the intervals of all changes.

    ``same`` says that the answers are the same by construction, ``same_labels`` that the predicted classes are: what can't
    change changes by exactly 0.
    """
    own, other, careful = ours.measure(confidence), theirs.measure(together), ours.measure(together)
    found = {}
    for name, value in own.items():
        if same or (same_labels and name == "accuracy"):
            change = NO_CHANGE
        elif name == "accuracy":
            change = change_of_shares(ours.per_record[name] - theirs.per_record[name], together)
        elif name in ours.per_record:
            change = intervals.mean(ours.per_record[name] - theirs.per_record[name], together)
        else:
            change = intervals.difference(careful[name], other[name])
        found[name] = MetricChange(name, BETTER[name], value, change)
    return found


def change_of_shares(change: Floats, confidence: float) -> Estimate:
    """Mean of changes of -1, 0 and 1, such as those of right answers.

    Student's interval, held at least as wide as the difference of the exact intervals of the two shares: where few records
    change, or none, their variance says little of what was not seen.

    Examples
    --------
    >>> change_of_shares(np.zeros(100), 0.95)
    0.00 [−0.04, 0.04]
    """
    n = len(change)
    gained, lost = (intervals.proportion(int((change == sign).sum()), n, confidence) for sign in (1, -1))
    exact, found = intervals.difference(gained, lost), intervals.mean(change, confidence)
    low, high = max(-1.0, min(exact.low, found.low)), min(1.0, max(exact.high, found.high))
    return replace(found, low=low, high=high, method="paired, Student and Clopper-Pearson")


def faithfulness_changes(
    ours: Mapping[str, Floats], theirs: Mapping[str, Floats], confidence: float, together: float
) -> tuple[MetricChange, ...]:
    """How faithful each explanation of ours is, and its change from the one in the same place of theirs."""
    found = []
    for (name, own), other in zip(ours.items(), theirs.values(), strict=True):
        change = NO_CHANGE if own is other else intervals.mean(own - other, together)
        found.append(MetricChange(f"faithfulness of {name}", "more", intervals.mean(own, confidence), change))
    return tuple(found)


def utility_by_group(
    ours: Quality,
    theirs: Quality,
    groups: Mapping[str, NDArray[Any]],
    confidence: float,
    together: float,
    exposed: Mapping[tuple[str, str], Estimate],
    *,
    same: bool = False,
) -> tuple[GroupUtility, ...]:
    """The first metric and its change in every group; the intervals of all groups and versions are simultaneous.

    ``same`` says that it can't change, by construction.
    """
    name = next(iter(ours.per_record))
    own, other = ours.per_record[name], theirs.per_record[name]
    found = []
    for column, levels in groups.items():
        for level in sorted(set(levels.tolist()) - {NOT_SHOWN}):
            rows = levels == level
            value = _mean(name, own[rows], confidence)
            measure = change_of_shares if name == "accuracy" else intervals.mean
            change = NO_CHANGE if same else measure((own - other)[rows], together)
            auc, records = exposed.get((column, level)), int(rows.sum())
            found.append(GroupUtility(column, level, records, name, BETTER[name], value, change, auc))
    return tuple(found)
