"""A classifier on target and references, with Gaussian scores, where the best attack is known."""

import math

import numpy as np
import pytest
from samples import cross_judge
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from leakscope.attacks import learned_references, lira, rmia
from leakscope.attacks.logistic import LogisticClassifier
from leakscope.attacks.membership_learned_references import STRENGTH
from leakscope.attacks.references import combine
from leakscope.core.errors import InputError

N = 4000
#: Four standard errors of an AUC of N members and N non-members: its variance is at most 1/4 over the smaller number.
ERROR = 4 * math.sqrt(0.25 / N)


def world(models=4):
    """Difficulty d is N(0, 1), φ is N(d + 1, 1) with the record and N(d, 1) without it; within the limits of φ."""
    rng = np.random.default_rng(0)
    member = np.repeat([True, False], N)
    difficulty = rng.normal(size=2 * N)
    first = np.array([rng.permutation(2 * N) < N for _ in range(models // 2)])
    inside = np.concatenate([first, ~first])
    phi = difficulty + inside + rng.normal(size=(models, 2 * N))
    table = combine(1 / (1 + np.exp(-phi)), inside, "classification")
    loss = np.logaddexp(0, -(difficulty + member + rng.normal(size=2 * N)))[:, None]
    return loss, member, table


def auc_of(attack):
    loss, member, table = world()
    return cross_judge(attack, loss, member, second=table).ranking.auc


@pytest.mark.parametrize("classifier", ["logistic regression", "boosted trees"])
def test_it_reaches_the_best_attack_on_target_and_means(classifier):
    """Given the two means of two φ each, d has variance 1/5 and φ of the target 6/5: the best AUC is Φ(1 / √(2 · 6/5))."""
    best = norm.cdf(1 / math.sqrt(2.4))
    found = auc_of(learned_references(classifier=classifier))
    # Limits of φ and fitted weights cost a little.
    assert best - ERROR - 0.01 < found < best + ERROR
    # On the same records, so that most of the error is common to both.
    assert all(found > auc_of(fixed) + 0.005 for fixed in (rmia(), lira()))


def test_products_of_features_are_used_only_where_they_predict():
    """Membership depends on the product of two features alone, or on a single feature alone."""
    from leakscope.attacks.membership_learned_references import _fit_logistic

    rng = np.random.default_rng(0)
    features = rng.normal(size=(2000, 3))
    noise = rng.logistic(size=2000)
    assert _fit_logistic(features, features[:, 0] * features[:, 1] + noise > 0).degree == 2
    assert _fit_logistic(features, features[:, 0] + noise > 0).degree == 1


def test_few_known_records_are_enough():
    rows = np.r_[:4, N : N + 4]
    loss, member, table = (part[rows] for part in world())
    assert np.isfinite(cross_judge(learned_references(), loss, member, second=table).attack_scores.score).all()


def test_a_classifier_that_there_is_not():
    with pytest.raises(InputError, match="'forest'"):
        learned_references(classifier="forest")


@pytest.mark.parametrize("n", [60, 1000])
@pytest.mark.parametrize("degree", [1, 2])
def test_the_fit_is_that_of_scikit_learn(n, degree):
    """The same minimum: scikit-learn's gradient is at most 1e-8, and the penalty bounds the curvature from below."""
    rng = np.random.default_rng(n)
    features = rng.normal(size=(n, 6)) * [1, 2, 3, 0.1, 1, 1]
    member = rng.random(n) < 1 / (1 + np.exp(-2 * features[:, 0]))
    products = [PolynomialFeatures(2, include_bias=False), StandardScaler()] if degree == 2 else []
    slow = LogisticRegression(C=STRENGTH[degree], max_iter=100_000, tol=1e-8)
    pipeline = make_pipeline(StandardScaler(), *products, slow).fit(features, member)
    fast = LogisticClassifier.fit(features, member, STRENGTH[degree], degree=degree)
    np.testing.assert_allclose(
        fast.decision_function(features), pipeline.decision_function(features), rtol=0, atol=1e-5
    )


@pytest.mark.parametrize("degree", [1, 2])
def test_the_loss_of_unseen_records_is_that_of_a_loop_over_the_parts(degree):
    """Gradient and curvature of all records but one part, written out for each part."""
    rng = np.random.default_rng(degree)
    features, part = rng.normal(size=(300, 4)), rng.permutation(np.arange(300) % 5)
    member = rng.random(300) < 1 / (1 + np.exp(-2 * features[:, 0]))
    model = LogisticClassifier.fit(features, member, 0.5, degree=degree)
    design, slow = model.design(features).T, 0.0
    for number in range(5):
        known, asked = part != number, part == number
        p = 1 / (1 + np.exp(-design[known] @ model.weights))
        slope = design[known].T @ (p - member[known]) + model.penalty * model.weights
        curvature = (design[known] * (p * (1 - p))[:, None]).T @ design[known] + np.diag(model.penalty)
        weights = model.weights - np.linalg.solve(curvature, slope)
        slow += np.logaddexp(0, np.where(member[asked], -1, 1) * (design[asked] @ weights)).sum()
    assert model.loss_unseen(features, member, part) == pytest.approx(slow, rel=1e-10)
