"""Zarifzadeh et al. 2024: the likelihood under the target against that under reference models, where both are known."""

import math

import numpy as np
import pytest
from samples import ask_known
from scipy.stats import norm

from leakscope.attacks import references as references_module
from leakscope.attacks import rmia
from leakscope.attacks.references import (
    DEVIATION_IN,
    LOG_MEAN_LIKELIHOOD,
    VARIANCE,
    likelihood_of,
    reference_statistics,
)
from leakscope.core.errors import InputError


def ratio_of(loss, references, task="classification", attack=None):
    return ask_known(attack or rmia(task), np.asarray(loss, float)[:, None], second=references)


def binary(likelihood):
    """Answers about records of label 1, from its likelihood."""
    return np.stack([1 - likelihood, likelihood], axis=-1)


def test_the_score_is_the_log_of_a_literal_ratio():
    rng = np.random.default_rng(0)
    answers, y = rng.dirichlet(np.ones(3), (6, 50)), rng.integers(0, 3, 50)
    inside = np.arange(6)[:, None] % 2 == rng.integers(0, 2, 50)
    references = reference_statistics(answers, y, inside, "classification")
    target = likelihood_of(rng.dirichlet(np.ones(3), 50), y)
    expected = [math.log(p / np.mean([model[i, y[i]] for model in answers])) for i, p in enumerate(target)]
    np.testing.assert_allclose(ratio_of(-np.log(target), references).score, expected, rtol=1e-9)


def test_a_regression_has_a_gaussian_likelihood():
    rng = np.random.default_rng(0)
    answers, y = rng.normal(size=(4, 300)), rng.normal(size=300)
    inside = np.arange(4)[:, None] % 2 == rng.integers(0, 2, 300)
    references = reference_statistics(answers, y, inside, "regression")
    variance = np.mean([(answers[k, i] - y[i]) ** 2 for k in range(4) for i in range(300) if not inside[k, i]])
    assert references[:, VARIANCE] == pytest.approx(variance)
    target, sigma = rng.normal(size=300), math.sqrt(variance)
    expected = np.log(norm.pdf(y, target, sigma) / norm.pdf(y, answers, sigma).mean(axis=0))
    np.testing.assert_allclose(ratio_of((target - y) ** 2, references, "regression").score, expected, rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-40, 1.0, 1e40])
def test_the_scale_of_the_labels_of_a_regression_changes_nothing(scale):
    rng = np.random.default_rng(0)
    answers, y, target = rng.normal(size=(4, 100)), rng.normal(size=100), rng.normal(size=100)
    inside = np.arange(4)[:, None] % 2 == rng.integers(0, 2, 100)
    plain = ratio_of((target - y) ** 2, reference_statistics(answers, y, inside, "regression"), "regression").score
    table = reference_statistics(answers * scale, y * scale, inside, "regression")
    np.testing.assert_allclose(ratio_of(((target - y) * scale) ** 2, table, "regression").score, plain, rtol=1e-9)


def test_certain_answers_give_finite_scores():
    inside = np.random.default_rng(0).random((4, 40)) < 0.5
    references = reference_statistics(binary(inside.astype(float)), np.ones(40, int), inside, "classification")
    loss = -np.log(np.maximum(np.repeat([1.0, 0.0], 20), np.finfo(float).eps))
    assert np.isfinite(ratio_of(loss, references).score).all()
    assert np.isfinite(references).all()
    assert (references[:, DEVIATION_IN] > 0).all()
    assert references[:, LOG_MEAN_LIKELIHOOD].max() <= 0


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_blocks_of_records_make_no_difference(task, monkeypatch):
    rng = np.random.default_rng(5)
    regression = task == "regression"
    answers = rng.normal(size=(4, 70)) if regression else rng.dirichlet(np.ones(2), (4, 70))
    y = rng.normal(size=70) if regression else np.ones(70, int)
    inside = rng.random((4, 70)) < 0.5
    whole = reference_statistics(answers, y, inside, task)
    monkeypatch.setattr(references_module, "CELLS", 30)
    np.testing.assert_array_equal(reference_statistics(answers, y, inside, task), whole)


# --- offline ---


@pytest.mark.parametrize("models", [1, 4])
@pytest.mark.parametrize("a", [0.0, 0.3, 1.0])
def test_offline_the_models_without_the_record_stand_in_for_all(models, a):
    """With a = 0.3 the ratio is p / (0.65 p_out + 0.35), also for a single reference model."""
    rng = np.random.default_rng(2)
    p, inside = rng.uniform(0.05, 1.0, (models, 60)), rng.random((models, 60)) < 0.5
    inside[0, 0], target = False, rng.uniform(0.05, 1.0, 60)
    table = reference_statistics(binary(p), np.ones(60, int), inside, "classification")
    found = ratio_of(-np.log(target), table, attack=rmia(online=False, a=a)).score
    for i in range(60):
        out = [p[k, i] for k in range(models) if not inside[k, i]] or list(p[:, i])
        assert found[i] == pytest.approx(math.log(target[i] / (((1 + a) * np.mean(out) + 1 - a) / 2)), rel=1e-9)


def test_offline_for_a_regression():
    rng = np.random.default_rng(3)
    answers, y, target = rng.normal(size=(4, 80)), rng.normal(size=80), rng.normal(size=80)
    inside = np.arange(4)[:, None] % 2 == rng.integers(0, 2, 80)
    table = reference_statistics(answers, y, inside, "regression")
    likelihood = np.exp(-((answers - y) ** 2) / (2 * table[:, VARIANCE]))
    out = np.where(inside, 0, likelihood).sum(axis=0) / 2
    expected = -((target - y) ** 2) / (2 * table[:, VARIANCE]) - np.log(0.65 * out + 0.35)
    found = ratio_of((target - y) ** 2, table, attack=rmia("regression", online=False)).score
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_is_between_zero_and_one():
    with pytest.raises(InputError, match=r"1\.5"):
        rmia(online=False, a=1.5)


@pytest.mark.parametrize(
    ("models", "inside", "names"),
    [
        (2, np.ones((2, 3), bool), None),
        (2, np.zeros((0, 3), bool), None),
        (3, np.eye(2, 3, dtype=bool), r"\(2, 3\)"),
        (2, np.eye(2, 4, dtype=bool), r"\(2, 4\)"),
    ],
)
def test_wrong_references_are_refused(models, inside, names):
    with pytest.raises(InputError, match=names):
        reference_statistics(np.full((models, 3, 2), 0.5), np.ones(3, int), inside, "classification")
