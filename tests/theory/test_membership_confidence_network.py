"""The 5-5 network on confidences: it reaches the best attack on them, and does not exceed chance without a signal."""

from __future__ import annotations

import numpy as np
import pytest

from leakscope.attacks import confidence_network
from leakscope.attacks.protocol import Evidence, Known
from leakscope.core.errors import InputError
from leakscope.learners import MLP

N = 3000  # known records, and as many that are asked about
MEMBER = np.arange(N) % 2 == 0
ERROR = np.sqrt(0.25 / N)  # of an accuracy

#: Confidence in class 1 to its probability for members and for non-members.
WORLDS = {
    "rising": ([0.2, 0.5, 0.9], [0.2, 0.3, 0.5], [0.5, 0.3, 0.2]),
    "members at the ends": ([0.05, 0.5, 0.95], [0.4, 0.2, 0.4], [0.2, 0.6, 0.2]),
    "nothing": ([0.2, 0.5, 0.9], [0.3, 0.3, 0.4], [0.3, 0.3, 0.4]),
}


def total_variation(world):
    _, inside, outside = WORLDS[world]
    return 0.5 * float(np.abs(np.subtract(inside, outside)).sum())


def drawn(world, rng):
    values, inside, outside = WORLDS[world]
    p = np.where(MEMBER, rng.choice(values, N, p=inside), rng.choice(values, N, p=outside))
    return np.column_stack([1 - p, p])


def evidence_of(world, seed):
    rng = np.random.default_rng(seed)
    return Evidence(drawn(world, rng), None, Known(drawn(world, rng), None, MEMBER))


@pytest.mark.parametrize("world", WORLDS)
def test_it_reaches_the_accuracy_of_the_best_attack(world):
    """The best attack compares the two probabilities of a confidence: accuracy 1/2 + TV/2."""
    best = 0.5 + total_variation(world) / 2
    found = confidence_network().guess(evidence_of(world, 1), np.random.default_rng(2)).says_member
    assert np.mean(found == MEMBER) == pytest.approx(best, abs=4 * ERROR)


def test_of_several_starts_the_one_with_the_smallest_loss_attacks():
    """A literal loop: one network after the other, and the best on the known records answers."""
    evidence, rng = evidence_of("rising", 3), np.random.default_rng(4)
    attack = confidence_network(steps=150, starts=3)
    score = attack.guess(evidence, np.random.default_rng(4)).score
    known = evidence.known
    learner, X, y = MLP((5, 5), "relu", steps=150, batch=128, rate=1e-3, task="classification").prepare(
        known.observed, known.member
    )
    networks = [learner.fit(X, y, child) for child in rng.spawn(3)]
    losses = [learner.losses(network, X, y).mean() for network in networks]
    assert len(set(losses)) == 3
    np.testing.assert_array_equal(score, learner.outputs(networks[int(np.argmin(losses))], evidence.observed)[:, 0])


@pytest.mark.parametrize("sort", [False, True])
def test_several_at_once_are_one_after_the_other(sort):
    """To the last bit, with known records of different number."""
    attack = confidence_network(steps=60, starts=2, sort=sort)
    known = evidence_of("rising", 10).known
    fewer = Known(known.observed[:500], None, known.member[:500])
    evidences = [evidence_of("rising", 11), Evidence(evidence_of("nothing", 12).observed[:50], None, fewer)]
    rng = np.random.default_rng(13)
    one_by_one = [attack.guess(evidence, rng) for evidence in evidences]
    for one, other in zip(one_by_one, attack.guess_all(evidences, np.random.default_rng(13)), strict=True):
        np.testing.assert_array_equal(one.score, other.score)
        np.testing.assert_array_equal(one.says_member, other.says_member)


def test_it_reads_probabilities_and_needs_no_labels():
    attack = confidence_network(widths=(3, 3))
    assert (attack.name, attack.releases, attack.uses_labels) == (
        "network 3-3 on confidences", ("probabilities",), False,
    )  # fmt: skip
    with pytest.raises(InputError, match="'log_loss'"):
        confidence_network("log_loss")
