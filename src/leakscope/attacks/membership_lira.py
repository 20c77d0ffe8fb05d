r"""LiRA, the likelihood ratio of each record (Carlini et al. 2022, Algorithm 1, online).

Reference models (shadow models in the paper) are trained as the target was, on random halves of all records. The values of φ
(`references.phi_of`) under the models that had the record are taken for Gaussian with mean :math:`\mu_{in}`, those under the others
with mean :math:`\mu_{out}`, and the score of the record is

.. math:: Λ = \ln N(φ;\, \mu_{in}, σ_{in}) - \ln N(φ;\, \mu_{out}, σ_{out}), \qquad \text{"member" where } Λ > 0,

at the φ that the target shows. Easy and hard records have means of their own, which a threshold on the loss can't know. The
deviations are pooled over all records, as Carlini et al. advise for few models. They treat classes only; a regression uses the φ of
`references`.
"""

from __future__ import annotations

import numpy as np

from leakscope.attacks.references import (
    DEVIATION_IN,
    DEVIATION_OUT,
    MEAN_IN,
    MEAN_OUT,
    REFERENCES,
    phi_of_loss,
    references_in,
)
from leakscope.evidence import Attack, Evidence, Floats, Guesses
from leakscope.models import Task

SOURCE = "Carlini et al. 2022, Algorithm 1"
NAME = "likelihood ratio per record (LiRA)"


def lira(task: Task = "classification") -> Attack:
    """The attack on ``log_loss``, or on ``squared_error`` of a regression, with ``references``.

    Examples
    --------
    >>> lira("classification").releases
    ('log_loss', 'references')
    """
    release = "squared_error" if task == "regression" else "log_loss"

    def guess(evidence: Evidence, rng: np.random.Generator) -> Guesses:  # noqa: ARG001
        ratio = _log_ratio(phi_of_loss(evidence.observed[:, 0], task), references_in(evidence, NAME))
        return Guesses(ratio, (ratio > 0).astype(np.float64))

    return Attack(NAME, release, SOURCE, guess, fixed_scale=True, beside=REFERENCES)


def _log_ratio(phi: Floats, references: Floats) -> Floats:
    deviation_in, deviation_out = (np.maximum(references[:, at], 1e-12) for at in (DEVIATION_IN, DEVIATION_OUT))
    far_in = (phi - references[:, MEAN_IN]) / deviation_in
    far_out = (phi - references[:, MEAN_OUT]) / deviation_out
    return np.asarray((far_out**2 - far_in**2) / 2 + np.log(deviation_out / deviation_in))
