"""Early stopping: so many steps and no more, with closed forms where each step is known."""

import warnings

import numpy as np
import pytest
from lightgbm import LGBMRegressor
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from xgboost import XGBRegressor

from leakscope.defenses import EarlyStopping, apply
from leakscope.models.encoding import last_step
from leakscope.models.target import make_target

rng = np.random.default_rng(8)
X = rng.normal(size=(80, 4)) * [1, 10, 1, 1]
y = (X[:, 0] + rng.normal(size=80) > 0).astype(int)


def target_of(estimator):
    return make_target(estimator.fit(X, y), (X, y), (X + 0.01, y))


@pytest.mark.parametrize(
    "estimator",
    [
        GradientBoostingRegressor(learning_rate=0.5, max_depth=1),
        HistGradientBoostingRegressor(learning_rate=0.5, min_samples_leaf=1),
        LGBMRegressor(learning_rate=0.5, num_leaves=2, min_child_samples=1, verbose=-1, n_jobs=1),
        XGBRegressor(learning_rate=0.5, max_depth=1, reg_lambda=0, n_jobs=1),
    ],
    ids=["exact", "histograms", "lightgbm", "xgboost"],
)
def test_each_round_of_boosting_halves_what_is_left(estimator):
    """One column of two values, learning rate 1/2: after m rounds the rest is (1/2)^m of what it was."""
    group = np.repeat([[0.0], [1.0]], 40, axis=0)
    values = np.where(group[:, 0] == 1, 3.0, -1.0)
    target = make_target(estimator.fit(group, values), (group, values), (group, values))
    for rounds in (1, 3):
        answers = apply(EarlyStopping(), target, rounds).model.predict(group)
        assert np.allclose(answers, 1 + (values - 1) * (1 - 0.5**rounds), atol=1e-5)


@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(max_iter=1000),
        LinearSVC(max_iter=10000, random_state=0),
        SGDClassifier(loss="log_loss", tol=None, max_iter=50),
        MLPClassifier((5,), max_iter=50, tol=0, n_iter_no_change=100),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_training_stops_after_so_many_steps(estimator):
    target = target_of(make_pipeline(StandardScaler(), estimator))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stopped = apply(EarlyStopping(), target, 2)
    assert np.max(last_step(stopped).n_iter_) == 2 < np.max(last_step(target).n_iter_)


def test_a_model_with_fewer_steps_is_left_as_it_is_and_that_is_said():
    target = target_of(LogisticRegression(max_iter=50))
    assert "50" in EarlyStopping().defend(target, 50).notes[0]
    assert len(EarlyStopping().defend(target, 49).notes) == 1
    assert np.array_equal(apply(EarlyStopping(), target, 60).model.predict(X), target.model.predict(X))
    boosted = XGBRegressor(max_depth=1, n_jobs=1).fit(X, X[:, 0])
    target = make_target(boosted, (X, X[:, 0]), (X, X[:, 0]))
    assert "100" in EarlyStopping().defend(target, 100).notes[0]


def test_a_model_without_steps_is_refused():
    assert "RandomForestClassifier" in EarlyStopping().refuse(target_of(RandomForestClassifier(5)))
