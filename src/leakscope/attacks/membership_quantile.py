r"""Attack by quantile regression: the rank of a record's φ among similar non-members (after Bertran et al. 2023).

Bertran et al. regress the score of non-members on the records' features x and classify a record as a member if its score exceeds
the predicted quantile at level 1 − α; in their Gaussian form the quantile is :math:`\mu(x) + z_{1-α}\,σ(x)`, and records rank by

.. math:: s(x) = \frac{φ(x) - \mu(x)}{σ(x)}.

An attack in Leakscope reads releases and labels, never features. The regression here therefore conditions on c(x) = (mean φ
and log mean likelihood under reference models without the record; for classes also the label) in place of x. It is not the
method of the paper, which needs no reference models, but has the same form: boosted trees for :math:`\mu(c)`, fitted on the
known non-members, and boosted trees for the mean absolute deviation :math:`σ(c)` from it. The threshold is the best on the
known records.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from leakscope.attacks.membership_learned import smallest_leaf, thin
from leakscope.attacks.protocol import Attack, Evidence, Known, Scores
from leakscope.attacks.references import (
    LOG_MEAN_OUT,
    MEAN_OUT,
    REFERENCES,
    at_best_threshold,
    loss_release,
    phi_of_loss,
    references_in,
)
from leakscope.core.arrays import Floats
from leakscope.core.threads import one_thread
from leakscope.models.model import Task

SOURCE = "after Bertran et al. 2023, conditioned on reference models"
NAME = "quantile regression"
TREES, LEAVES, RATE = 100, 4, 0.05
#: Lower limit of the deviation, as a part of its mean, so that a few exact answers don't dominate.
SMALLEST = 0.05


def quantile_regression(task: Task = "classification") -> Attack:
    """Return the quantile attack on ``log_loss``, or on ``squared_error`` of a regression, with ``references``.

    Examples
    --------
    >>> quantile_regression().uses_labels, quantile_regression("regression").uses_labels
    (True, False)
    """

    def guess(evidence: Evidence, rng: np.random.Generator) -> Scores:
        references_in(evidence, NAME)
        known = thin(evidence.known, rng)
        outside = ~known.member
        condition, phi = _condition(known)[outside], phi_of_loss(known.observed[outside, 0], task)
        with one_thread():  # sums in another order are rounded differently
            mean = _trees(len(phi)).fit(condition, phi)
            distance = np.abs(phi - mean.predict(condition))
            deviation = _trees(len(phi)).fit(condition, distance)
            least = SMALLEST * float(distance.mean()) + np.finfo(np.float64).eps

            def score(seen: Evidence | Known) -> Floats:
                at, own = _condition(seen), phi_of_loss(seen.observed[:, 0], task)
                return np.asarray((own - mean.predict(at)) / np.maximum(deviation.predict(at), least))

            return at_best_threshold(evidence, score)

    return Attack(NAME, loss_release(task), SOURCE, guess, uses_labels=task == "classification", second=REFERENCES)


def _condition(seen: Evidence | Known) -> Floats:
    columns = [references_in(seen, NAME)[:, [MEAN_OUT, LOG_MEAN_OUT]]]
    if seen.labels is not None:
        columns.append(np.asarray(seen.labels, dtype=np.float64)[:, None])
    return np.hstack(columns)


def _trees(records: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(
        learning_rate=RATE,
        max_iter=TREES,
        max_leaf_nodes=LEAVES,
        min_samples_leaf=smallest_leaf(records),
        early_stopping=False,
        random_state=0,
    )
