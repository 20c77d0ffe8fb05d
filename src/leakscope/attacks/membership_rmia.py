r"""RMIA, the robust membership inference attack (Zarifzadeh, Liu and Shokri 2024, section 3, online).

The score of a record is the likelihood of its true label under the target over the mean likelihood under reference models, half of
which had the record:

.. math:: r(x) = \frac{p_{target}(y \mid x)}{\frac1K \sum_k p_k(y \mid x)}, \qquad \text{"member" where } r > 1.

The paper compares :math:`r(x)` with :math:`r(z)` of population records z and calls the share of z with :math:`r(x) \ge \gamma\, r(z)`
the score. That share rises with :math:`r(x)`, so both rank records alike. A record that is easy for every model has a large
denominator, so that the score measures what this training added. Few reference models suffice: the denominator is a mean, and no
variance is estimated.
"""

from __future__ import annotations

import numpy as np

from leakscope.attacks.references import LOG_MEAN_LIKELIHOOD, REFERENCES, VARIANCE, references_in
from leakscope.evidence import Attack, Evidence, Guesses
from leakscope.models import Task

SOURCE = "Zarifzadeh et al. 2024, section 3"
NAME = "likelihood against reference models (RMIA)"


def rmia(task: Task = "classification") -> Attack:
    """The attack on ``log_loss``, or on ``squared_error`` of a regression, with ``references``.

    Examples
    --------
    >>> rmia("regression").releases
    ('squared_error', 'references')
    """
    release = "squared_error" if task == "regression" else "log_loss"

    def guess(evidence: Evidence, rng: np.random.Generator) -> Guesses:  # noqa: ARG001
        references, loss = references_in(evidence, NAME), evidence.observed[:, 0]
        log_likelihood = -loss / (2 * references[:, VARIANCE]) if task == "regression" else -loss
        ratio = np.asarray(log_likelihood - references[:, LOG_MEAN_LIKELIHOOD])
        return Guesses(ratio, (ratio > 0).astype(np.float64))

    return Attack(NAME, release, SOURCE, guess, fixed_scale=True, beside=REFERENCES)
