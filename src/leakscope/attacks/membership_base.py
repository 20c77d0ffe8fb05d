r"""BASE, the Bayes-optimal attack with one loss per model (Lassila, Östman, Ngo and Graell i Amat 2025).

With :math:`\ell` the loss of the record under a model, the score is

.. math:: s(x) = -\ell_{target}(x) - \ln\frac1K \sum_k e^{-\ell_k(x)}, \qquad \text{"member" where } s > 0.

If the loss is the log-loss, this is the logarithm of RMIA's ratio. The loss is taken at temperature 2, the default of the
implementation in LeakPro: confident answers then have less weight. Here the references hold the likelihood of the true label
only, so that the temperature is that of the true label against all others, with the likelihood held within [0.01, 0.99]
(`references.log_tempered`). For two classes that is the definition up to these limits. For more classes LeakPro applies the
temperature to all classes; on location30 (30 classes, four reference models) that has an AUC of 0.94 and this form 0.93.

For a regression the loss is the absolute error over the deviation, at temperature 2: a Laplace error, where RMIA has a Gaussian one.
With four reference models its AUC is 0.014 (diabetes, forest) and 0.017 (Adult age, forest) above that of RMIA.
"""

from __future__ import annotations

import numpy as np

from leakscope.attacks.protocol import Attack, Evidence, Known, Scores
from leakscope.attacks.references import (
    LOG_MEAN_TEMPERED,
    REFERENCES,
    log_likelihood_of_loss,
    log_tempered,
    loss_release,
    references_in,
)
from leakscope.core.arrays import Floats
from leakscope.models.model import Task

SOURCE = "Lassila et al. 2025"
NAME = "tempered loss against reference models (BASE)"


def base(task: Task = "classification") -> Attack:
    """Return the BASE attack on ``log_loss``, or on ``squared_error`` of a regression, with ``references``.

    Examples
    --------
    >>> base().releases
    ('log_loss', 'references')
    """

    def guess(evidence: Evidence, rng: np.random.Generator) -> Scores:  # noqa: ARG001
        score = tempered_ratio(evidence, task)
        return Scores(score, (score > 0).astype(np.float64))

    return Attack(NAME, loss_release(task), SOURCE, guess, fixed_scale=True, second=REFERENCES)


def tempered_ratio(seen: Evidence | Known, task: Task) -> Floats:
    """Return the score s of each record."""
    references = references_in(seen, NAME)
    likelihood = log_likelihood_of_loss(seen.observed[:, 0], references, task)
    return np.asarray(log_tempered(likelihood, task) - references[:, LOG_MEAN_TEMPERED])
