r"""Residual attack: reference models of another kind, for targets that can't be retrained.

Models of another kind do not answer as the target would, so that the ratio of RMIA would compare two kinds of models. But they
show how hard a record is, with and without training on it. The attack predicts the target's log-likelihood from that and scores
the residual:

.. math:: s(x) = \ln p_{target}(y \mid x) - \hat m(\mu_{in}, \mu_{out}, \ln \bar p, y), \qquad \text{"member" where } s > 0,

with :math:`\mu_{in}` and :math:`\mu_{out}` the means of φ under references with and without the record and :math:`\ln \bar p` the
logarithm of their mean likelihood (`references`). The prediction :math:`\hat m` is fitted by boosted trees on other records, members and
non-members, without their membership. It is the difficulty calibration of Watson et al. (2022) with a fitted difficulty.
"""

from __future__ import annotations

import numpy as np

from leakscope.attacks.protocol import Attack, Evidence, Scores
from leakscope.attacks.references import (
    LOG_MEAN_LIKELIHOOD,
    MEAN_IN,
    MEAN_OUT,
    OTHER_REFERENCES,
    loss_release,
    references_in,
)
from leakscope.core.arrays import Floats, Labels
from leakscope.models.model import Task

SOURCE = "Watson et al. 2022, with a fitted difficulty"
NAME = "residual against models of another kind"
#: Lower limit of likelihoods: a few probabilities of zero would dominate the fit.
SMALLEST_LIKELIHOOD = 0.01


def residual(task: Task = "classification") -> Attack:
    """Return the residual attack on ``log_loss``, or on ``squared_error`` of a regression, with ``other references``.

    Examples
    --------
    >>> residual().releases
    ('log_loss', 'other references')
    """

    def guess(evidence: Evidence, rng: np.random.Generator) -> Scores:
        from sklearn.ensemble import HistGradientBoostingRegressor

        known = evidence.known
        shown = references_in(evidence, NAME), known.second
        assert shown[1] is not None
        difficulty = HistGradientBoostingRegressor(
            max_iter=60, max_leaf_nodes=15, early_stopping=False, random_state=int(rng.integers(2**31))
        )
        fits = _fit_of(known.observed, task)
        unit = float(fits.std()) or 1.0
        # In units of their deviation and rounded: the unit of the labels must not choose between equally good splits.
        difficulty.fit(_features(shown[1], known.labels, task, unit), np.round(fits / unit, 9))
        expected = difficulty.predict(_features(shown[0], evidence.labels, task, unit))
        score = np.round(_fit_of(evidence.observed, task) / unit, 9) - expected
        return Scores(score, (score > 0).astype(np.float64))

    return Attack(
        NAME, loss_release(task), SOURCE, guess, uses_labels=task == "classification", second=OTHER_REFERENCES
    )


def _fit_of(observed: Floats, task: Task) -> Floats:
    loss = observed[:, 0]
    return np.asarray(-(loss**0.25) if task == "regression" else np.maximum(-loss, np.log(SMALLEST_LIKELIHOOD)))


def _features(references: Floats, labels: Labels | None, task: Task, unit: float) -> Floats:
    units = (unit, unit, 1.0) if task == "regression" else (1.0, 1.0, 1.0)
    columns = np.round(references[:, [MEAN_IN, MEAN_OUT, LOG_MEAN_LIKELIHOOD]] / units, 9)
    # A regression's labels are values: with them the trees could fit the target's answers instead of its difficulty.
    return columns if labels is None else np.column_stack([columns, labels])
