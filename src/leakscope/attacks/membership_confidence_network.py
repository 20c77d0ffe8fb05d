"""The attack network of [tople2020, section 4.1]: two layers of five neurons on the model's confidences.

ReLU, Adam with step 0.001, 5,000 steps on the log-loss; the input is the vector of probabilities as it stands, without the
record's label (after Salem et al. 2019). The paper does not state the batch: it is 128 here. So small a network often starts
with neurons that are never active and then learns nothing, so several are trained at once and the one with the smallest loss
on the known records attacks.
"""

from __future__ import annotations

import numpy as np

from leakscope.attacks.membership_learned import thin
from leakscope.evidence import Attack, Evidence, Guesses

BATCH, RATE = 128, 1e-3


def confidence_network(
    release: str = "probabilities", *, widths: tuple[int, ...] = (5, 5), steps: int = 5000, starts: int = 4
) -> Attack:
    """A small network on the probabilities [tople2020, section 4.1; 3-3 for Table 3]. Needs torch.

    Parameters
    ----------
    widths, steps
        Neurons of the hidden layers, and steps of training.
    starts
        How many networks are trained, of which the best on the known records is kept.

    Examples
    --------
    >>> confidence_network().name
    'network 5-5 on confidences'
    """

    def guess(evidence: Evidence, rng: np.random.Generator) -> Guesses:
        from leakscope.learners import MLP

        known = thin(evidence.known, rng)
        learner, X, y = MLP(
            widths=widths, activation="relu", steps=steps, batch=BATCH, rate=RATE, task="classification"
        ).prepare(known.observed, known.member)
        networks = learner.fit_many(X, y, [np.arange(len(X))] * starts, rng.spawn(starts))
        losses = [float(learner.losses(network, X, y).mean()) for network in networks]
        score = learner.outputs(networks[int(np.argmin(losses))], evidence.observed)[:, 0]
        return Guesses(score, (score > 0).astype(np.float64))

    name = f"network {'-'.join(map(str, widths))} on confidences"
    return Attack(name, release, "tople2020, section 4.1; Salem et al. 2019", guess).reads("probabilities")
