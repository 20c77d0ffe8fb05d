r"""Label-only attack with reference models: the target is correct on a record on which other models are wrong.

The target releases its predicted label alone. The attacker trains reference models, half of them with the record, and reads
their probabilities. With :math:`\bar p` the mean likelihood of the true label under them,

.. math:: s(x) = 1[\hat y(x) = y] - \bar p(x).

A correct label of a record that is hard for the reference models is evidence of membership; a wrong label of an easy one is
evidence against it. Without reference models, this is the attack that classifies every correctly labelled record as a member
(Yeom et al. 2018, Adversary 1). The calibration by reference models is that of Watson et al. 2022, applied to the 0-1 loss. The
threshold is the best one on the known records.
"""

from __future__ import annotations

import numpy as np

from leakscope.attacks.protocol import Attack, Evidence, Known, Scores
from leakscope.attacks.references import LOG_MEAN_LIKELIHOOD, REFERENCES, at_best_threshold, references_in
from leakscope.core.arrays import Floats

SOURCE = "Watson et al. 2022, on the 0-1 loss"
NAME = "label against reference models"


def label_references() -> Attack:
    """Return the attack on ``labels`` with ``references``; it needs the true labels.

    Examples
    --------
    >>> label_references().releases
    ('labels', 'references')
    """

    def guess(evidence: Evidence, rng: np.random.Generator) -> Scores:  # noqa: ARG001
        return at_best_threshold(evidence, right_beyond_references)

    return Attack(NAME, "labels", SOURCE, guess, uses_labels=True, fixed_scale=True, second=REFERENCES)


def right_beyond_references(seen: Evidence | Known) -> Floats:
    """Return the score of each record."""
    right = (seen.observed[:, 0] == seen.labels).astype(np.float64)
    return np.asarray(right - np.exp(references_in(seen, NAME)[:, LOG_MEAN_LIKELIHOOD]))
