r"""LiRA, the likelihood-ratio attack per record, online and offline (Carlini et al. 2022, Algorithm 1).

Reference models (shadow models in the paper) are trained as the target was, on random halves of all records. The values of φ
(`references.phi_of`) under the models that had the record are modelled as Gaussian with mean :math:`\mu_{in}`, those under the
others with mean :math:`\mu_{out}`.

- *Online*: the score of the record at the φ that the target shows is

  .. math:: Λ = \ln N(φ;\, \mu_{in}, σ_{in}) - \ln N(φ;\, \mu_{out}, σ_{out}), \qquad \text{"member" where } Λ > 0.

- *Offline*: only the models that did not have the record are used. The score is the one-sided tail :math:`Λ = 1 -
  \Pr[N(\mu_{out}, σ_{out}) > φ]`, which ranks as :math:`(φ - \mu_{out})/σ_{out}` does. That ratio is the score here,
  since the tail is rounded to 1 far out. The threshold is the best one on the known records.

Easy and hard records have their own means, which a threshold on the loss ignores. The deviations are pooled over all records if
there are few models, and each record has its own from 32 models on each side (64 in all), as Carlini et al. advise. They treat
classification only; a regression uses the φ of `references`.
"""

from __future__ import annotations

import numpy as np

from leakscope.attacks.protocol import Attack, Evidence, Known, Scores
from leakscope.attacks.references import (
    DEVIATION_IN,
    DEVIATION_OUT,
    MEAN_IN,
    MEAN_OUT,
    REFERENCES,
    at_best_threshold,
    loss_release,
    phi_of_loss,
    references_in,
)
from leakscope.core.arrays import Floats
from leakscope.models.model import Task

SOURCE = "Carlini et al. 2022, Algorithm 1"
NAME = "likelihood ratio per record (LiRA)"
OFFLINE = "tail of models without the record (offline LiRA)"


def lira(task: Task = "classification", *, online: bool = True) -> Attack:
    """Return LiRA on ``log_loss``, or on ``squared_error`` of a regression, with ``references``.

    Parameters
    ----------
    task
        ``"classification"`` or ``"regression"``.
    online
        Whether reference models that had the record are used.

    Examples
    --------
    >>> lira("classification").releases
    ('log_loss', 'references')
    """

    def guess(evidence: Evidence, rng: np.random.Generator) -> Scores:  # noqa: ARG001
        if not online:
            return at_best_threshold(evidence, lambda seen: _tail(seen, task))
        ratio = log_density_ratio(evidence, task)
        return Scores(ratio, (ratio > 0).astype(np.float64))

    source = SOURCE if online else "Carlini et al. 2022, offline variant"
    return Attack(NAME if online else OFFLINE, loss_release(task), source, guess, fixed_scale=True, second=REFERENCES)


def log_density_ratio(seen: Evidence | Known, task: Task) -> Floats:
    """Return Λ of each record, online."""
    return log_gaussian_ratio(phi_of_loss(seen.observed[:, 0], task), references_in(seen, NAME))


def log_gaussian_ratio(phi: Floats, references: Floats) -> Floats:
    """Return Λ from φ of the target and the first four columns of the statistics.

    Examples
    --------
    >>> log_gaussian_ratio(np.array([1.0, 0.0]), np.array([[1.0, 0.0, 1.0, 1.0]] * 2))
    array([ 0.5, -0.5])
    """
    # In place: for a million records, each new array costs as much as the arithmetic.
    deviation_in, deviation_out = (np.maximum(references[:, at], 1e-12) for at in (DEVIATION_IN, DEVIATION_OUT))
    ratio, far_in = phi - references[:, MEAN_OUT], phi - references[:, MEAN_IN]
    for far, deviation in ((ratio, deviation_out), (far_in, deviation_in)):
        far /= deviation
        far *= far
    ratio -= far_in
    ratio /= 2
    deviation_out /= deviation_in
    ratio += np.log(deviation_out, out=deviation_out)
    return np.asarray(ratio)


def _tail(seen: Evidence | Known, task: Task) -> Floats:
    phi, references = phi_of_loss(seen.observed[:, 0], task), references_in(seen, OFFLINE)
    return np.asarray((phi - references[:, MEAN_OUT]) / np.maximum(references[:, DEVIATION_OUT], 1e-12))
