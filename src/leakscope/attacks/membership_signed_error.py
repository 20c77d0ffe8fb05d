r"""Likelihood ratio of the signed error of a regression, with few reference models.

Training on a record pulls the prediction f(x) towards the record's value y. The error :math:`e = f(x) - y` keeps the side from which
it comes, which a loss does not: an error of the other sign than under the reference models is no sign of membership. With the means and deviations
of `references.tied_errors`, the score is

.. math:: Λ = \ln N(e;\, q\mu, \sigma_{in}) - \ln N(e;\, \mu, \sigma_{out}), \qquad \text{"member" where } Λ > 0.

This is LiRA (Carlini et al. 2022, Algorithm 1) on the prediction instead of a transformed loss. LiRA estimates two means per record, each from
half of the models. Here one factor q, shared by all records, ties the two, so that four models suffice (``docs/race.md`` has the figures).
"""

from __future__ import annotations

import numpy as np

from leakscope.attacks.membership_lira import log_gaussian_ratio
from leakscope.attacks.protocol import Attack, Evidence, Scores
from leakscope.attacks.references import ERRORS, REFERENCES, references_in

SOURCE = "Leakscope; after Carlini et al. 2022, Algorithm 1"
NAME = "likelihood ratio of the signed error"


def signed_error() -> Attack:
    """Return the attack on ``predictions`` of a regression with ``references``; it needs the true values.

    Examples
    --------
    >>> signed_error().releases
    ('predictions', 'references')
    """

    def guess(evidence: Evidence, rng: np.random.Generator) -> Scores:  # noqa: ARG001
        assert evidence.labels is not None
        error = evidence.observed[:, 0] - evidence.labels
        ratio = log_gaussian_ratio(error, references_in(evidence, NAME)[:, ERRORS])
        return Scores(ratio, (ratio > 0).astype(np.float64))

    return Attack(NAME, "predictions", SOURCE, guess, uses_labels=True, fixed_scale=True, second=REFERENCES)
