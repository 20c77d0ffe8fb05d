"""Yeom et al. 2018: threshold attacks on errors of a known distribution."""

import math

import numpy as np
import pytest

from leakscope.attacks import likelihood_ratio, loss_threshold
from leakscope.attacks.protocol import Evidence, Known

N = 200_000


def evidence_of(errors_in, errors_out, release):
    """Half of the records are known, the other half asked about; returns the truth and the evidence."""
    observed = np.concatenate([errors_in, errors_out])[:, None]
    observed = observed**2 if release == "squared_error" else np.abs(observed)
    member = np.repeat([True, False], [len(errors_in), len(errors_out)])
    known = np.arange(len(member)) % 2 == 0
    return Evidence(observed[~known], None, Known(observed[known], None, member[known])), member[~known]


def advantage(guesses, member):
    return guesses.says_member[member].mean() - guesses.says_member[~member].mean()


@pytest.mark.parametrize("ratio", [1.2, 2.0, 5.0])
@pytest.mark.parametrize("release", ["squared_error", "likelihood_loss"])
def test_theorem_3_gives_the_advantage_of_the_likelihood_ratio(ratio, release):
    rng = np.random.default_rng(0)
    evidence, member = evidence_of(rng.normal(0, 1, N), rng.normal(0, ratio, N), release)
    guesses = likelihood_ratio(release).guess(evidence, rng)
    u = math.sqrt(math.log(ratio) / (ratio**2 - 1))
    # [Yeom et al. 2018, Theorem 3]; the tolerance is four standard errors of a difference of two shares of N/2 each.
    assert advantage(guesses, member) == pytest.approx(math.erf(ratio * u) - math.erf(u), abs=4 * math.sqrt(1 / N))


def test_the_likelihood_ratio_follows_the_data_when_members_have_the_larger_errors():
    rng = np.random.default_rng(2)
    evidence, member = evidence_of(rng.normal(0, 3, 2000), rng.normal(0, 1, 2000), "squared_error")
    guesses = likelihood_ratio("squared_error").guess(evidence, rng)
    assert advantage(guesses, member) > 0.3
    assert guesses.score[member].mean() > guesses.score[~member].mean()


def test_members_without_any_error_are_called_members():
    rng = np.random.default_rng(3)
    evidence, member = evidence_of(np.zeros(100), rng.normal(0, 1, 100), "squared_error")
    assert advantage(likelihood_ratio("squared_error").guess(evidence, rng), member) == 1.0


def test_the_loss_threshold_is_the_mean_loss_of_the_known_members():
    observed = np.array([[0.9], [1.0], [1.1]])
    known = Known(np.array([[0.5], [1.5], [99.0]]), None, np.array([True, True, False]))
    guesses = loss_threshold("log_loss").guess(Evidence(observed, None, known), np.random.default_rng(0))
    assert guesses.says_member.tolist() == [1.0, 1.0, 0.0]
    assert guesses.score.tolist() == [-0.9, -1.0, -1.1]
