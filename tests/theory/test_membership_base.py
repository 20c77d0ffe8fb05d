"""Lassila et al. 2025: the tempered loss under the target against that under reference models, against its definition."""

import math

import numpy as np
from samples import ask_known
from scipy.special import log_softmax, logsumexp

from leakscope.attacks import base
from leakscope.attacks.references import CLIP, VARIANCE, reference_statistics


def score_of(loss, references, task="classification"):
    return ask_known(base(task), np.asarray(loss, float)[:, None], second=references)


def test_for_two_classes_it_is_the_definition_from_logits():
    """S = log softmax(z/2)_y - log mean over the models of softmax(z_k/2)_y."""
    rng = np.random.default_rng(0)
    logits, target = rng.normal(size=(6, 100, 2)), rng.normal(size=(100, 2))
    y, inside = rng.integers(0, 2, 100), np.arange(6)[:, None] % 2 == rng.integers(0, 2, 100)
    references = reference_statistics(np.exp(log_softmax(logits, axis=2)), y, inside, "classification")
    rows = np.arange(100)
    shadows = np.array([log_softmax(part / 2, axis=1)[rows, y] for part in logits])
    expected = log_softmax(target / 2, axis=1)[rows, y] - (logsumexp(shadows, axis=0) - math.log(6))
    guesses = score_of(-log_softmax(target, axis=1)[rows, y], references)
    np.testing.assert_allclose(guesses.score, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(guesses.says_member == 1, expected > 0)


def test_a_regression_has_a_laplace_error_of_the_same_variance_at_temperature_two():
    rng = np.random.default_rng(1)
    answers, y, target = rng.normal(size=(4, 90)), rng.normal(size=90), rng.normal(size=90)
    inside = np.arange(4)[:, None] % 2 == rng.integers(0, 2, 90)
    references = reference_statistics(answers, y, inside, "regression")
    scale = math.sqrt(references[0, VARIANCE] / 2)
    logs = -np.abs(answers - y) / (2 * scale)
    expected = -np.abs(target - y) / (2 * scale) - np.log(np.exp(logs).mean(axis=0))
    found = score_of((target - y) ** 2, references, "regression").score
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_certain_answers_are_held_within_the_limits():
    inside = np.random.default_rng(0).random((4, 40)) < 0.5
    certain = np.stack([1.0 - inside, inside], axis=-1)
    references = reference_statistics(certain, np.ones(40, int), inside, "classification")
    scores = score_of(np.repeat([0.0, 36.0], 20), references).score
    largest = math.sqrt((1 - CLIP) / CLIP)
    assert np.abs(scores).max() <= math.log(largest * 2)
