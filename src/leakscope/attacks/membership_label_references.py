r"""Label only, with reference models: is the target right about a record that other models are wrong about?

The target releases its predicted label alone. The attacker trains reference models of his own, half of them with the record, and
sees their probabilities. With :math:`\bar p` the mean likelihood of the true label under them,

.. math:: s(x) = 1[\hat y(x) = y] - \bar p(x).

A right answer about a record that is hard for the reference models is evidence of membership; a wrong answer about an easy one is
evidence against it. Without reference models it is the attack that calls every rightly labelled record a member (Yeom et al. 2018,
Adversary 1). The calibration by reference models is that of Watson et al. 2022, applied to the 0-1 loss. "Member" is said from the
threshold on that is best on the known records.
"""

from __future__ import annotations

import numpy as np

from leakscope.attacks.protocol import Attack, Evidence, Guesses, Known
from leakscope.attacks.references import LOG_MEAN_LIKELIHOOD, REFERENCES, at_best_threshold, references_in
from leakscope.core.arrays import Floats

SOURCE = "Watson et al. 2022, on the 0-1 loss"
NAME = "label against reference models"


def label_references() -> Attack:
    """The attack on ``labels`` with ``references``; it needs the true labels.

    Examples
    --------
    >>> label_references().releases
    ('labels', 'references')
    """

    def guess(evidence: Evidence, rng: np.random.Generator) -> Guesses:  # noqa: ARG001
        return at_best_threshold(evidence, right_beyond_references)

    return Attack(NAME, "labels", SOURCE, guess, uses_labels=True, fixed_scale=True, second=REFERENCES)


def right_beyond_references(seen: Evidence | Known) -> Floats:
    """The score of each record."""
    right = (seen.observed[:, 0] == seen.labels).astype(np.float64)
    return np.asarray(right - np.exp(references_in(seen, NAME)[:, LOG_MEAN_LIKELIHOOD]))
