"""Boosted trees on prediction and explanation: the explanation adds as much as theory states."""

import numpy as np
import pytest
from samples import ask_known, cross_judge, scaled_explanations
from scipy.special import betainc, expit, ndtr

from leakscope.attacks import learned_explanation, learned_prediction
from leakscope.attacks.membership_explanation_learned import (
    ExplanationFeatures,
    PredictionFeatures,
    PrincipalComponents,
)
from leakscope.attacks.protocol import Evidence, Known
from leakscope.core.errors import InputError
from leakscope.core.intervals import auc as auc_interval
from leakscope.core.intervals import paired_auc_difference

N = 2000  # members, and as many non-members
ERROR = np.sqrt(1 / (6 * N))  # of an AUC, at most
SLACK = 0.03  # what trees lose to the best attack
ALONE = learned_explanation("gradient", second=None, true_label=False)
MEMBER = np.repeat([True, False], N)


def confident(rng):
    """Probabilities of two classes, the log-odds of class 0 being N(2, 1) for members and N(1, 1) for non-members."""
    p = expit(rng.normal(1.0 * MEMBER + 1.0, 1.0))
    return np.column_stack([p, 1 - p])


def test_alone_it_comes_close_to_the_best_attack_on_scaled_gaussians_and_not_above():
    """No attack passes P(χ²_d < r²·χ²_d'), the AUC of the 2-norm, an F distribution with (d, d) degrees at r²."""
    rng = np.random.default_rng(0)
    d, ratio = 20, 1.2
    best = betainc(d / 2, d / 2, ratio**2 / (1 + ratio**2))
    found = cross_judge(ALONE, scaled_explanations(MEMBER, d, ratio, rng), MEMBER).ranking.auc
    assert best - SLACK - 3 * ERROR < found < best + 3 * ERROR


def test_nothing_is_left_of_that_world_once_it_is_normalised():
    rng = np.random.default_rng(1)
    observed = scaled_explanations(MEMBER, 20, 2.0, rng).astype(np.float32)
    observed /= np.abs(observed).sum(axis=1, keepdims=True)
    found = auc_interval(cross_judge(ALONE, observed, MEMBER).ranking, 0.999)
    assert found.low <= 0.5 <= found.high


def test_a_direction_is_found_that_the_norm_does_not_see():
    """Members and non-members lean apart in one of fifty features, by four standard deviations: Φ(4/√2) = 0.998 unnormalised."""
    rng = np.random.default_rng(2)
    observed = rng.normal(size=(2 * N, 50))
    observed[:, 0] += np.where(MEMBER, 2.0, -2.0)
    observed /= np.abs(observed).sum(axis=1, keepdims=True)
    assert cross_judge(ALONE, observed, MEMBER).ranking.auc > 0.95


def test_what_follows_from_the_prediction_adds_nothing():
    """The gradient of a logistic model, p(1 - p)·w, is a function of the prediction."""
    rng = np.random.default_rng(3)
    p = confident(rng)
    explanation = p.prod(axis=1, keepdims=True) * np.linspace(-1, 1, 7)
    without = cross_judge(learned_prediction(), p, MEMBER)
    together = cross_judge(learned_explanation("gradient"), explanation, MEMBER, second=p)
    added = paired_auc_difference(together.scores, without.scores)(0.99)
    assert added.low <= 0 <= added.high
    assert abs(added.value) < 0.01


def test_what_is_independent_of_the_prediction_adds_what_it_holds():
    """Log-odds and log-norm both a standard deviation apart: Φ(1/√2) = 0.760 alone, Φ(1) = 0.841 together."""
    rng = np.random.default_rng(5)
    p = confident(rng)
    size = np.exp(rng.normal(-1.0 * MEMBER, 1.0))
    explanation = size[:, None] * np.linspace(-1, 1, 7)
    without = cross_judge(learned_prediction(), p, MEMBER)
    together = cross_judge(learned_explanation("gradient"), explanation, MEMBER, second=p)
    added = paired_auc_difference(together.scores, without.scores)(0.999)
    assert ndtr(1 / np.sqrt(2)) - SLACK - 3 * ERROR < without.ranking.auc < ndtr(1 / np.sqrt(2)) + 3 * ERROR
    assert ndtr(1) - SLACK - 3 * ERROR < together.ranking.auc < ndtr(1) + 3 * ERROR
    assert added.low <= ndtr(1) - ndtr(1 / np.sqrt(2)) <= added.high
    assert added.low > 0


def test_of_a_regression_model_it_sees_the_squared_error_if_it_knows_the_label():
    """Residuals N(0, 1) for members and N(0, 2²) for non-members: AUC 2/π·arctan 2; without labels there is nothing."""
    rng = np.random.default_rng(8)
    value = rng.normal(size=2 * N)
    labels = value + rng.normal(size=2 * N) * np.where(MEMBER, 1.0, 2.0)
    explanation = np.tile(np.linspace(-1, 1, 7), (2 * N, 1))
    best = 2 / np.pi * np.arctan(2)
    for attack, observed, second in (
        (learned_prediction("predictions"), value[:, None], None),
        (learned_explanation("gradient", second="predictions"), explanation, value[:, None]),
    ):
        found = cross_judge(attack, observed, MEMBER, labels=labels, second=second).ranking.auc
        assert best - SLACK - 3 * ERROR < found < best + 3 * ERROR
    blind = cross_judge(learned_prediction("predictions", true_label=False), value[:, None], MEMBER, labels=labels)
    found = auc_interval(blind.ranking, 0.999)
    assert found.low <= 0.5 <= found.high


def test_of_a_label_it_sees_whether_it_is_right():
    """Right for 9 of 10 members and 6 of 10 non-members: AUC 1/2 + (0.9 - 0.6)/2."""
    rng = np.random.default_rng(9)
    labels = rng.integers(0, 3, 2 * N)
    right = rng.random(2 * N) < np.where(MEMBER, 0.9, 0.6)
    predicted = np.where(right, labels, (labels + 1) % 3)[:, None].astype(float)
    found = cross_judge(learned_prediction("labels"), predicted, MEMBER, labels=labels).ranking.auc
    assert abs(found - 0.65) < SLACK + 3 * ERROR


def test_the_prediction_tells_which_class_comes_second():
    """The second class of members is the next, of non-members the one after: sorted probabilities are the same for all."""
    rng = np.random.default_rng(10)
    first = rng.integers(0, 3, 2 * N)
    second = (first + np.where(MEMBER, 1, 2)) % 3
    p = np.full((2 * N, 3), 0.1)
    p[np.arange(2 * N), first], p[np.arange(2 * N), second] = 0.6, 0.3
    assert cross_judge(learned_prediction(true_label=False), p, MEMBER).ranking.auc > 0.99


def test_with_the_explanation_it_sees_every_feature_that_it_sees_without():
    """The features of both attacks, literally, as they reach the trees."""
    rng = np.random.default_rng(11)
    p, explanation, labels = confident(rng), scaled_explanations(MEMBER, 6, 2.0, rng), rng.integers(0, 2, 2 * N)
    seen = []

    class Trees:
        def __init__(self, **settings):
            seen.append(settings)

        def fit(self, X, member):  # noqa: ARG002
            seen.append(X)

        def decision_function(self, X):
            return np.zeros(len(X))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sklearn.ensemble.HistGradientBoostingClassifier", Trees)
        learned_prediction().guess(Evidence(p, labels, Known(p, labels, MEMBER)), rng)
        evidence = Evidence(explanation, labels, Known(explanation, labels, MEMBER, p), p)
        learned_explanation("gradient").guess(evidence, rng)
    assert seen[0] == seen[2]
    np.testing.assert_array_equal(seen[3][:, : seen[1].shape[1]], seen[1])
    assert seen[3].shape[1] > seen[1].shape[1]


def test_features_of_an_explanation_by_hand_and_in_blocks():
    rng = np.random.default_rng(12)
    known = np.vstack([rng.normal(size=(40, 5)), np.zeros((1, 5))])
    features = ExplanationFeatures.fit(known)
    some = np.array([[2.0, -1.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0, 0.0]])
    expected = [
        [np.log(4), 2.0, -0.5 * np.log(0.5) - 0.5 * np.log(0.25), 0.4, 0.5, 0.5, -0.25],
        [np.log(np.finfo(np.float32).tiny), 0, 0, 1, 0, 0, 0],
    ]
    np.testing.assert_allclose(features(some)[:, :7], expected, atol=1e-5)
    whole = features(known)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("leakscope.attacks.membership_explanation_learned.BLOCK", 35)
        np.testing.assert_allclose(features(known), whole, rtol=1e-12, atol=1e-14)


def test_components_are_those_of_the_covariance_matrix():
    rng = np.random.default_rng(13)
    rows = rng.normal(size=(300, 8)) * np.arange(1, 9)
    components = PrincipalComponents.fit(rows, 3)
    values, vectors = np.linalg.eigh(np.cov(rows.T))
    overlap = np.abs(components.directions.T @ vectors[:, ::-1][:, :3])
    np.testing.assert_allclose(overlap, np.eye(3), atol=1e-6)
    np.testing.assert_allclose(np.var(components(rows), axis=0, ddof=1), values[::-1][:3], rtol=1e-9)


def test_explanations_that_are_all_alike_or_have_one_feature_are_no_trouble():
    rng = np.random.default_rng(14)
    for observed in (
        np.zeros((2 * N, 3)),
        np.ones((2 * N, 1)),
        scaled_explanations(MEMBER, 1, 2.0, rng).astype(np.float32),
    ):
        assert np.isfinite(cross_judge(ALONE, observed, MEMBER).attack_scores.score).all()
    assert PredictionFeatures.fit("probabilities", np.full((5, 2), 0.5))(np.eye(2), None).shape == (2, 4)


def test_what_it_can_not_read_is_refused():
    with pytest.raises(InputError, match="'log_loss'"):
        learned_explanation("gradient", second="log_loss")
    with pytest.raises(InputError, match="'labels'"):
        learned_explanation("labels")
    with pytest.raises(InputError, match="'gradient'"):
        learned_prediction("gradient")
    with pytest.raises(InputError, match="second"):
        ask_known(learned_explanation("gradient", true_label=False), np.eye(4))
