"""The attack network of [tople2020, section 4.1]: two layers of five neurons on the model's confidences.

ReLU, Adam with step 0.001, 5,000 steps on the log-loss; the input is the vector of probabilities, without the record's label
(after Salem et al. 2019). The paper does not state the batch size; it is 128 here. Such a small network often starts with
neurons that are never active and then learns nothing. Several are therefore trained, and the one with the smallest loss on
the known records is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from leakscope.attacks.membership_learned import thin
from leakscope.attacks.protocol import Attack, Evidence, Scores
from leakscope.core.arrays import Floats

BATCH, RATE = 128, 1e-3


def confidence_network(
    release: str = "probabilities",
    *,
    widths: tuple[int, ...] = (5, 5),
    steps: int = 5000,
    starts: int = 4,
    sort: bool = False,
) -> Attack:
    """Return a small network on the probabilities [tople2020, section 4.1; 3-3 for Table 3]. Needs torch.

    Parameters
    ----------
    widths, steps
        Neurons of the hidden layers, and steps of training.
    starts
        How many networks are trained; the best one on the known records is kept.
    sort
        Whether the probabilities are sorted in descending order, as in Salem et al. 2019.

    Examples
    --------
    >>> confidence_network().name
    'network 5-5 on confidences'
    """

    def shown(observed: Floats) -> Floats:
        return -np.sort(-observed, axis=1) if sort else observed

    def guess(evidence: Evidence, rng: np.random.Generator) -> Scores:
        return guess_many([evidence], rng)[0]

    def guess_many(evidences: Sequence[Evidence], rng: np.random.Generator) -> list[Scores]:
        from leakscope.learners import MLP

        knowns, rngs = [], []
        for evidence in evidences:
            knowns.append(thin(evidence.known, rng))
            rngs += rng.spawn(starts)
        learner, X, y = MLP(
            widths=widths, activation="relu", steps=steps, batch=BATCH, rate=RATE, task="classification"
        ).prepare(
            np.concatenate([shown(known.observed) for known in knowns]),
            np.concatenate([known.member for known in knowns]),
        )
        bounds = np.cumsum([0, *(len(known.member) for known in knowns)])
        rows = [np.arange(start, end) for start, end in pairwise(bounds)]
        networks = learner.fit_many(X, y, [part for part in rows for _ in range(starts)], rngs)
        answers = []
        for number, (evidence, part) in enumerate(zip(evidences, rows, strict=True)):
            own = networks[number * starts : (number + 1) * starts]
            losses = [float(learner.losses(network, X[part], y[part]).mean()) for network in own]
            score = learner.outputs(own[int(np.argmin(losses))], shown(evidence.observed))[:, 0]
            answers.append(Scores(score, (score > 0).astype(np.float64)))
        return answers

    name = f"network {'-'.join(map(str, widths))} on {'sorted ' if sort else ''}confidences"
    return Attack(name, release, "tople2020, section 4.1; Salem et al. 2019", guess, guess_many=guess_many).reads(
        "probabilities"
    )
