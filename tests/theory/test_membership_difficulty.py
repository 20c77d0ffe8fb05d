"""Watson et al. 2022: the loss less its mean under models without the record, where both are known."""

import math

import numpy as np
import pytest
from samples import ask_known
from scipy.stats import norm

from leakscope.attacks import difficulty_calibration, loss_threshold
from leakscope.attacks.references import reference_statistics
from leakscope.evaluation.risk import score

N = 4000
#: Four standard errors of an AUC of N members and N others: its variance is at most 1/4 over the smaller number.
ERROR = 4 * math.sqrt(0.25 / N)


def scores_of(attack, loss, references):
    return ask_known(attack, loss[:, None], second=references).score


@pytest.mark.parametrize("models", [2, 16])
def test_the_auc_is_that_of_the_noise_of_target_and_references(models):
    """Losses are d + N(0, s²), those of members smaller by s: AUC Φ(1 / √(2 (1 + 1/K))) with K models without the record."""
    rng = np.random.default_rng(models)
    difficulty, member, noise = rng.uniform(1.5, 3, 2 * N), np.repeat([True, False], N), 0.2
    loss = difficulty - noise * member + noise * rng.normal(size=2 * N)
    # K models without each record, and K with it, which do not count.
    inside = np.repeat([[False], [True]], models, axis=0) & np.ones(2 * N, bool)
    p = np.exp(-(difficulty + noise * rng.normal(size=(2 * models, 2 * N))))
    references = reference_statistics(np.stack([1 - p, p], axis=-1), np.ones(2 * N, int), inside, "classification")
    found = score(scores_of(difficulty_calibration(), loss, references), member).auc.value
    assert found == pytest.approx(norm.cdf(1 / math.sqrt(2 * (1 + 1 / models))), abs=ERROR)
    blind = score(scores_of(loss_threshold("log_loss"), loss, references), member).auc.value
    assert blind < found - 2 * ERROR


def test_the_score_against_a_literal_loop():
    rng = np.random.default_rng(0)
    answers, y, target = rng.normal(size=(4, 50)), rng.normal(size=50), rng.normal(size=50)
    inside = np.arange(4)[:, None] % 2 == rng.integers(0, 2, 50)
    references = reference_statistics(answers, y, inside, "regression")
    found = scores_of(difficulty_calibration("regression"), (target - y) ** 2, references)
    expected = [
        np.mean([(answers[k, i] - y[i]) ** 2 for k in range(4) if not inside[k, i]]) - (target[i] - y[i]) ** 2
        for i in range(50)
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
