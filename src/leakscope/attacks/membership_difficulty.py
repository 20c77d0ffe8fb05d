r"""Difficulty calibration: the loss of a record less its mean loss under models without it (Watson et al. 2022).

.. math:: s(x) = \frac1{|OUT|} \sum_{k \in OUT} \ell_k(x) - \ell_{target}(x).

A hard record has a large loss under every model that was not trained on it. The score is how much smaller the target's loss is. The
loss is the log-loss with the probability held above 0.01 (forests answer 0), or the squared error of a regression. The threshold is
the best one on the known records, since the paper does not state one.
"""

from __future__ import annotations

import numpy as np

from leakscope.attacks.protocol import Attack, Evidence, Known, Scores
from leakscope.attacks.references import (
    MEAN_LOSS_OUT,
    REFERENCES,
    at_best_threshold,
    bounded_log_loss,
    loss_release,
    references_in,
)
from leakscope.core.arrays import Floats
from leakscope.models.model import Task

SOURCE = "Watson et al. 2022"
NAME = "loss calibrated by difficulty"


def difficulty_calibration(task: Task = "classification") -> Attack:
    """Return the calibrated attack on ``log_loss``, or on ``squared_error`` of a regression, with ``references``.

    Examples
    --------
    >>> difficulty_calibration().releases
    ('log_loss', 'references')
    """

    def score(seen: Evidence | Known) -> Floats:
        loss = seen.observed[:, 0]
        own = loss if task == "regression" else bounded_log_loss(loss)
        return np.asarray(references_in(seen, NAME)[:, MEAN_LOSS_OUT] - own)

    def guess(evidence: Evidence, rng: np.random.Generator) -> Scores:  # noqa: ARG001
        return at_best_threshold(evidence, score)

    return Attack(NAME, loss_release(task), SOURCE, guess, fixed_scale=True, second=REFERENCES)
