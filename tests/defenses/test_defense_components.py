"""Components: literal principal components, rotations that change nothing, and pipelines of any kind."""

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMRegressor
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction import FeatureHasher
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from leakscope.defenses import Components, apply
from leakscope.models.encoding import MOST_COLUMNS
from leakscope.models.target import make_target

rng = np.random.default_rng(8)
X = rng.normal(size=(90, 4)) @ rng.normal(size=(4, 4))
y = X @ [1.0, -1.0, 0.5, 0.0] + rng.normal(size=90)
TABLE = pd.DataFrame(
    {"age": X[:, 0], "job": np.array(["cook", "judge", "nurse"])[rng.integers(0, 3, 90)], "pay": X[:, 1]}
)
LABELS = np.where(y > 0, "yes", "no")


def target_of(estimator):
    return make_target(estimator.fit(X, y), (X, y), (X[:9], y[:9]))


def literal(X, y, k):
    """Least squares on the k first eigenvectors of the covariance."""
    centred = X - X.mean(axis=0)
    vectors = np.linalg.eigh(centred.T @ centred)[1][:, ::-1][:, :k]
    scores = centred @ vectors
    slope = np.linalg.lstsq(scores, y - y.mean(), rcond=None)[0]
    return lambda other: (other - X.mean(axis=0)) @ vectors @ slope + y.mean()


@pytest.mark.parametrize(("setting", "k"), [(1, 1), (3, 3), (0.5, 2), (0.25, 1)])
def test_components_are_the_literal_ones_of_each_training_set(setting, k):
    learner = Components().defend(target_of(LinearRegression()), setting).learner
    for rows in (slice(None), slice(0, None, 2)):
        model = learner.fit(X[rows], y[rows], np.random.default_rng(0))
        assert np.allclose(model.predict(X), literal(X[rows], y[rows], k)(X))


def test_all_components_are_a_rotation_that_least_squares_does_not_see():
    """Nor does ridge, whose penalty is the same in every direction."""
    for estimator in (LinearRegression(), Ridge(5.0)):
        target = target_of(estimator)
        assert np.allclose(apply(Components(), target, 4).model.predict(X), target.model.predict(X))


@pytest.mark.parametrize("nested", [False, True])
def test_components_stand_before_the_last_step_of_a_pipeline(nested):
    encode = make_column_transformer((StandardScaler(), ["age", "pay"]), (OneHotEncoder(), ["job"]), sparse_threshold=1)
    last = make_pipeline("passthrough", LogisticRegression()) if nested else LogisticRegression()
    pipeline = make_pipeline(encode, last).fit(TABLE, LABELS)
    target = make_target(pipeline, (TABLE, LABELS), (TABLE[:50], LABELS[:50]))
    assert Components([2, 0.5]).refuse(target) is None
    learner = Components().defend(target, 2).learner
    fitted = learner.fit(TABLE[::2], target.members.y[::2], np.random.default_rng(0)).predict.estimator
    inner = fitted[-1] if nested else fitted
    assert inner[-1].n_features_in_ == 2
    assert len(pipeline.steps) == 2  # the audited model is left alone


def test_what_is_not_numbers_or_too_wide_is_refused():
    assert "5" in Components([0.5, 5]).refuse(target_of(Ridge()))  # of 4 columns
    pair, fit = (X, y), lambda X, y, rng: LinearRegression().fit(X, y)
    assert Components().refuse(make_target(Ridge().fit(X, y), pair, pair, fit=fit)) is not None
    wide = make_pipeline(FunctionTransformer(_words), FeatureHasher(MOST_COLUMNS + 1, input_type="string"), Ridge())
    target = make_target(wide.fit(TABLE, y), (TABLE, y), (TABLE, y))
    assert str(MOST_COLUMNS + 1) in Components().refuse(target)
    bare = make_pipeline(Ridge()).fit(TABLE[["age", "pay"]], y)
    assert Components().refuse(make_target(bare, (TABLE[["age", "pay"]], y), (TABLE[["age", "pay"]], y))) is None
    table = TABLE.astype({"job": "category"})
    trees = LGBMRegressor(n_estimators=2, verbose=-1, n_jobs=1).fit(table, y)
    assert Components().refuse(make_target(trees, (table, y), (table, y))) is not None


def _words(table):
    return [[word] for word in table["job"]]
