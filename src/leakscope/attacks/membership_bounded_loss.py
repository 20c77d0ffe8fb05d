r"""The bounded-loss attack: "member" with probability :math:`1 - L/B` (tople2020, Def. 7; Yeom et al. 2018, Adversary 1).

Its advantage is the generalisation gap in units of the bound, :math:`(E_{out}[L] - E_{in}[L])/B` (tople2020, proof of
Theorem 5). On ``labels`` the loss is 0 or 1 and :math:`B = 1`: every correctly labelled record is classified as a member.
"""

from __future__ import annotations

import numpy as np

from leakscope.attacks.protocol import Attack, Evidence, Scores
from leakscope.core.arrays import Floats, Labels
from leakscope.releases.release import LOSSES

#: Losses with a bound of their own; for any other, B is the largest loss that the attacker knows of.
BOUNDS = {"labels": 1.0, "likelihood_loss": 1.0}


def bounded_loss(release: str) -> Attack:
    """Return the attack on a loss, or on predicted labels.

    Examples
    --------
    >>> bounded_loss("labels").uses_labels
    True
    """

    def loss(observed: Floats, labels: Labels | None) -> Floats:
        return (observed[:, 0] != labels).astype(np.float64) if release == "labels" else observed[:, 0]

    def guess(evidence: Evidence, rng: np.random.Generator) -> Scores:  # noqa: ARG001
        bound = BOUNDS.get(release) or float(loss(evidence.known.observed, evidence.known.labels).max()) or 1.0
        losses = loss(evidence.observed, evidence.labels)
        # The bound depends on the known records; the loss, which ranks as the probability does, doesn't.
        return Scores(-losses, 1 - np.clip(losses / bound, 0, 1))

    attack = Attack("bounded loss", release, "tople2020, Def. 7", guess, release == "labels", fixed_scale=True)
    return attack.reads("labels", *LOSSES)
