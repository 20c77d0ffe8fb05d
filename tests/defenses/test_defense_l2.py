"""l2: the λ of [farokhi2020, Eq. 1] means the same in every estimator that has such a penalty."""

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMRegressor
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier, SGDClassifier, SGDRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR
from xgboost import XGBRegressor

from leakscope.defenses import L2, apply
from leakscope.defenses.l2 import LEAVES, PENALTIES, penalty_parameters
from leakscope.models.encoding import last_step
from leakscope.models.target import make_target

rng = np.random.default_rng(8)
N = 120
X = rng.normal(size=(N, 3))
SCORE = X @ [1.0, -0.5, 0.0] + 0.3
VALUES = SCORE + rng.normal(size=N)
LABELS = (VALUES > 0).astype(int)


def target_of(estimator, y):
    return make_target(estimator.fit(X, y), (X, y), (X + 0.01, y))


def parameters(target):
    last = last_step(target)
    return np.ravel(last.coef_), np.ravel(last.intercept_)


def log_loss(scores):
    return np.logaddexp(0, -(2 * LABELS - 1) * scores)


def hinge(scores):
    return np.maximum(0, 1 - (2 * LABELS - 1) * scores)


EXACT = {"tol": 1e-9, "max_iter": 100_000}
LINEAR = [
    (LogisticRegression(**EXACT), LABELS, log_loss),
    (LinearSVC(loss="hinge", fit_intercept=False, **EXACT), LABELS, hinge),
    (LinearSVC(fit_intercept=False, **EXACT), LABELS, lambda scores: hinge(scores) ** 2),
    (SVC(kernel="linear", tol=1e-9), LABELS, hinge),
    (LinearSVR(fit_intercept=False, epsilon=0.1, **EXACT), VALUES, lambda s: np.maximum(0, np.abs(VALUES - s) - 0.1)),
    (SVR(kernel="linear", epsilon=0.1, tol=1e-9), VALUES, lambda s: np.maximum(0, np.abs(VALUES - s) - 0.1)),
    (Ridge(), VALUES, lambda scores: (VALUES - scores) ** 2),
    (RidgeClassifier(), LABELS, lambda scores: (2 * LABELS - 1 - scores) ** 2),
    (SGDClassifier(loss="log_loss", tol=None, max_iter=1000, average=True), LABELS, log_loss),
    (SGDRegressor(tol=None, max_iter=500, average=True), VALUES, lambda scores: (VALUES - scores) ** 2),
]


@pytest.mark.parametrize(("estimator", "y", "loss"), LINEAR, ids=[str(case[0])[:20] for case in LINEAR])
def test_the_objective_of_a_weight_is_least_for_the_model_trained_with_it(estimator, y, loss):
    target, weight = target_of(estimator, y), 0.1

    def objective(trained_with):
        coefficients, intercept = parameters(apply(L2(), target, trained_with))
        return weight * coefficients @ coefficients + loss(X @ coefficients + intercept).mean()

    assert objective(weight) < min(objective(weight / 1.5), objective(weight * 1.5))


@pytest.mark.parametrize("rows", [np.arange(N), np.arange(0, N, 2)])
def test_the_gradient_of_logistic_regression_vanishes_on_all_records_and_on_half(rows):
    target, weight = target_of(LogisticRegression(**EXACT), LABELS), 0.02
    learner = L2().defend(target, weight).learner
    model = learner.fit(X[rows], LABELS[rows], np.random.default_rng(0))
    coefficients = model.predict.estimator.coef_[0]
    slack = model.predict(X[rows])[:, 1] - LABELS[rows]
    assert np.abs(2 * weight * coefficients + X[rows].T @ slack / len(rows)).max() < 1e-6
    assert abs(slack.mean()) < 1e-6  # the intercept is not penalised


@pytest.mark.parametrize(
    "estimator", [Ridge(), MLPRegressor(hidden_layer_sizes=(), solver="lbfgs", max_iter=5000, tol=1e-12)]
)
def test_least_squares_has_its_closed_form(estimator):
    weight, centred = 0.3, X - X.mean(axis=0)
    closed = np.linalg.solve(centred.T @ centred + weight * N * np.eye(3), centred.T @ (VALUES - VALUES.mean()))
    expected = centred @ closed + VALUES.mean()
    assert np.allclose(apply(L2(), target_of(estimator, VALUES), weight).model.predict(X), expected, atol=2e-4)


@pytest.mark.parametrize(
    "estimator",
    [
        HistGradientBoostingRegressor(learning_rate=1, max_iter=1, max_leaf_nodes=2, min_samples_leaf=1),
        LGBMRegressor(n_estimators=1, learning_rate=1, num_leaves=2, min_child_samples=1, verbose=-1, n_jobs=1),
        XGBRegressor(n_estimators=1, learning_rate=1, max_depth=1, n_jobs=1),
    ],
    ids=["histograms", "lightgbm", "xgboost"],
)
def test_a_leaf_has_its_closed_form(estimator):
    """The minimum over v of λv² + (1/n) Σ over the leaf of (r - v)² is Σr / (n_leaf + λn)."""
    group, weight = np.repeat([[0.0], [1.0]], [20, 60], axis=0), 0.5
    y = np.where(group[:, 0] == 1, 3.0, 1.0) + np.tile([-0.1, 0.1], 40)
    target = make_target(estimator.fit(group, y), (group, y), (group, y))
    rest = np.array([y[:20].sum() - 20 * y.mean(), y[20:].sum() - 60 * y.mean()])
    expected = y.mean() + rest / (np.array([20, 60]) + weight * 80)
    assert LEAVES in L2().defend(target, weight).notes
    assert np.allclose(apply(L2(), target, weight).model.predict(group[[0, -1]]), expected, atol=1e-5)


def test_networks_count_by_batches():
    assert penalty_parameters(MLPClassifier(), 0.1, 1000) == {"alpha": pytest.approx(2 * 0.1 * 200)}
    assert penalty_parameters(MLPClassifier(), 0.1, 50) == {"alpha": pytest.approx(2 * 0.1 * 50)}
    assert penalty_parameters(MLPRegressor(solver="lbfgs"), 0.1, 1000) == {"alpha": pytest.approx(0.1 * 1000)}


@pytest.mark.parametrize(
    "estimator", [LogisticRegression(), LogisticRegression(l1_ratio=1.0, solver="saga", max_iter=5000)]
)
def test_parameters_shrink_as_the_weight_grows(estimator):
    target = target_of(estimator, LABELS)
    norms = [np.linalg.norm(parameters(apply(L2(), target, weight))[0]) for weight in (0.001, 0.01, 0.1, 1.0)]
    assert (np.diff(norms) < 0).all()
    assert norms[-1] > 0  # an l1 penalty would have left nothing


def test_the_last_step_of_nested_pipelines_of_tables_is_penalised():
    table = pd.DataFrame({"age": X[:, 0], "job": np.where(X[:, 1] > 0, "cook", "judge")})
    y = np.where(LABELS, "yes", "no")
    encode = make_column_transformer((StandardScaler(), ["age"]), (OneHotEncoder(), ["job"]))
    pipeline = make_pipeline(encode, make_pipeline(StandardScaler(with_mean=False), LogisticRegression())).fit(table, y)
    target = make_target(pipeline, (table, y), (table.iloc[:50], y[:50]))
    learner = L2().defend(target, 0.05).learner
    found = learner.fit(table.iloc[:60], target.members.y[:60], np.random.default_rng(0))
    assert pytest.approx(1 / (2 * 0.05 * 60)) == found.predict.estimator[-1][-1].C
    assert pipeline[-1][-1].C == 1.0


def test_what_can_not_be_penalised_is_refused_by_name():
    assert L2().refuse(target_of(LogisticRegression(), LABELS)) is None
    reason = L2().refuse(target_of(GaussianNB(), LABELS))
    assert all(name in reason for name in ("GaussianNB", *PENALTIES))
    search = GridSearchCV(LogisticRegression(), {"C": [1.0]}, cv=2)
    assert "best_estimator_" in L2().refuse(target_of(search, LABELS))
    pair, fit = (X, LABELS), lambda X, y, rng: LogisticRegression().fit(X, y)
    assert L2().refuse(make_target(LogisticRegression().fit(X, LABELS), pair, pair, fit=fit)) is not None
