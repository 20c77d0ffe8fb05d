"""Learned attacks: they find known signals, do not exceed chance without one, and respect theoretical limits."""

import numpy as np
import pytest
from samples import draw
from scipy.special import expit, ndtr

from leakscope.attacks import learned
from leakscope.attacks.protocol import Evidence, Known
from leakscope.core.intervals import auc as auc_interval
from leakscope.core.ranking import Ranking, Scale, split
from leakscope.evaluation.crossfit import cross_guess, scale_of

CLASSIFIERS = ("logistic regression", "tree", "network")


def auc(guesses, member):
    return Ranking.of(split(guesses.score, member)).auc


def two_samples(make, rng, n=4000):
    """Evidence from make(member, rng) -> observed; half known, half asked about."""
    member = np.arange(2 * n) % 4 < 2
    observed = make(member, rng)
    known = np.arange(2 * n) % 2 == 0
    labels = np.zeros(2 * n, dtype=int)
    return (
        Evidence(observed[~known], labels[~known], Known(observed[known], labels[known], member[known])),
        member[~known],
    )


def shifted_confidences(member, rng):
    p = expit(rng.normal(1.0 * member + 1.0, 1.0))
    return np.column_stack([p, 1 - p])


@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_it_comes_close_to_the_best_attack_on_normal_log_odds_and_not_above(classifier):
    """Log-odds N(2, 1) against N(1, 1): looking at the likelihood no attack passes AUC Φ(1/√2) = 0.760."""
    rng = np.random.default_rng(0)
    evidence, member = two_samples(shifted_confidences, rng)
    found = auc(learned("probabilities", "label and confidences", classifier).guess(evidence, rng), member)
    best, error = ndtr(1 / np.sqrt(2)), np.sqrt(1 / (6 * 2000))
    assert best - 0.03 - 3 * error < found < best + 3 * error


def test_on_confidences_it_does_not_see_which_class_they_belong_to():
    rng = np.random.default_rng(2)
    evidence, _ = two_samples(shifted_confidences, rng)
    swapped = Evidence(evidence.observed[:, ::-1], None, evidence.known)
    attack = learned("probabilities", "confidences", "tree")
    one, other = (attack.guess(e, np.random.default_rng(3)).score for e in (evidence, swapped))
    np.testing.assert_array_equal(one, other)


def test_a_tree_on_the_loss_finds_members_in_the_middle():
    """Members with a loss between 1 and 2, non-members below and above: no threshold separates them, a tree does."""
    rng = np.random.default_rng(4)

    def make(member, rng):
        return np.where(member, rng.uniform(1, 2, len(member)), rng.choice([0.5, 2.5], len(member)))[:, None]

    evidence, member = two_samples(make, rng)
    assert auc(learned("log_loss", "loss", "tree").guess(evidence, rng), member) > 0.99


def test_many_known_records_are_thinned_at_random():
    rng = np.random.default_rng(5)
    evidence, member = two_samples(shifted_confidences, rng, n=30_000)
    assert auc(learned("probabilities", "label and confidences", "tree").guess(evidence, rng), member) > 0.72


def test_halves_that_are_fitted_on_each_other_err_together_and_the_interval_allows_for_it():
    """Without a signal, a chance agreement of one half with the other is one of the other with the first."""
    rng = np.random.default_rng(6)
    attack = learned("log_loss", "loss", "logistic regression")
    pairs, held, naive = [], [], []
    for _ in range(400):
        sample = draw(100, 100, rng)
        loss = rng.exponential(size=(200, 1))
        guesses, _ = cross_guess(attack, loss, np.zeros(200), sample.member, sample.half, rng)
        scale = scale_of(attack, sample.half)
        ranking = Ranking.of(split(guesses.score, sample.member, scale))
        pairs.append([part.auc for part in ranking.strata])
        careless = Ranking.of(split(guesses.score, sample.member, Scale(scale.stratum, scale.stratum)))
        for seen, into in ((ranking, held), (careless, naive)):
            estimate = auc_interval(seen)
            into.append(estimate.low <= 0.5 <= estimate.high)
    error = np.sqrt(0.95 * 0.05 / 400)
    assert abs(np.mean(pairs) - 0.5) < 4 * np.mean(pairs, axis=1).std() / np.sqrt(400)
    assert np.corrcoef(np.transpose(pairs))[0, 1] > 0.4
    assert np.mean(held) >= 0.95 - 4 * error
    assert np.mean(naive) < 0.95 - 4 * error
