r"""RMIA, the robust membership inference attack (Zarifzadeh, Liu and Shokri 2024, section 3; offline in the appendix).

The score of a record is the likelihood of its true label under the target over the mean likelihood under reference models:

.. math:: r(x) = \frac{p_{target}(y \mid x)}{p(y \mid x)}, \qquad \text{"member" where } r > 1.

- *Online*: half of the K reference models had the record, and :math:`p = \frac1K \sum_k p_k`.
- *Offline*: only models that did not have the record are used. Their mean :math:`p_{out}` is too small, and :math:`p =
  \frac12\bigl((1+a)\,p_{out} + 1 - a\bigr)` replaces the mean over both kinds. The offline attack needs no training on the judged
  records, and one reference model suffices. With a = 0.3 it is :math:`p_{target}/(0.65\,p_{out} + 0.35)`.

The paper compares :math:`r(x)` with :math:`r(z)` of population records z and calls the share of z with :math:`r(x) \ge \gamma\,
r(z)` the score. That share rises with :math:`r(x)`, so both give the same ranking. A record that is easy for every model has a
large denominator, so that the score measures the effect of this training. Few reference models suffice: the denominator is a
mean, and no variance is estimated. For a regression p is the likelihood of a Gaussian error (`references`).
"""

from __future__ import annotations

import numpy as np

from leakscope.attacks.protocol import Attack, Evidence, Known, Scores
from leakscope.attacks.references import (
    LOG_MEAN_LIKELIHOOD,
    LOG_MEAN_OUT,
    REFERENCES,
    log_likelihood_of_loss,
    loss_release,
    references_in,
)
from leakscope.core.arrays import Floats
from leakscope.core.checks import check_number
from leakscope.models.model import Task

SOURCE = "Zarifzadeh et al. 2024, section 3"
NAME = "likelihood against reference models (RMIA)"
OFFLINE = "likelihood against models without the record (offline RMIA)"


def rmia(task: Task = "classification", *, online: bool = True, a: float = 0.3) -> Attack:
    """Return RMIA on ``log_loss``, or on ``squared_error`` of a regression, with ``references``.

    Parameters
    ----------
    task
        ``"classification"`` or ``"regression"``.
    online
        Whether reference models that had the record are used.
    a
        Offline: how far models without the record are taken as they are, from 0 (not at all) to 1.

    Examples
    --------
    >>> rmia("regression").releases
    ('squared_error', 'references')
    """
    check_number("a", a, 0, 1)
    name = NAME if online else OFFLINE

    def guess(evidence: Evidence, rng: np.random.Generator) -> Scores:  # noqa: ARG001
        ratio = log_ratio(evidence, task) if online else _offline(evidence, task, a)
        return Scores(ratio, (ratio > 0).astype(np.float64))

    source = SOURCE if online else "Zarifzadeh et al. 2024, appendix (offline)"
    return Attack(name, loss_release(task), source, guess, fixed_scale=True, second=REFERENCES)


def log_ratio(seen: Evidence | Known, task: Task) -> Floats:
    """Return the logarithm of r, online."""
    references = references_in(seen, NAME)
    likelihood = log_likelihood_of_loss(seen.observed[:, 0], references, task)
    return np.asarray(likelihood - references[:, LOG_MEAN_LIKELIHOOD])


def _offline(seen: Evidence | Known, task: Task, a: float) -> Floats:
    references = references_in(seen, OFFLINE)
    likelihood = log_likelihood_of_loss(seen.observed[:, 0], references, task)
    # The logarithm is taken of a number above zero also for a = 1 and a likelihood that underflows.
    mean = np.maximum(((1 + a) * np.exp(references[:, LOG_MEAN_OUT]) + 1 - a) / 2, np.finfo(np.float64).tiny)
    return np.asarray(likelihood - np.log(mean))
