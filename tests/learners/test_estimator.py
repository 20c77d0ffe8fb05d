"""Any scikit-learn estimator as a learner gives what scikit-learn gives; and every way to name a learner."""

import pickle
import subprocess
import sys
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.linear_model import Ridge as PeerRidge
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from leakscope.core.errors import InputError
from leakscope.learners import Estimator, Learner, Logistic, Ridge, as_learner
from leakscope.worlds.training import random_sets, retrain


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def universe(classes: int = 0) -> tuple[Any, Any]:
    rng = generator()
    X = rng.normal(size=(90, 3))
    return X, np.arange(90) % classes if classes else X[:, 0] + rng.normal(size=90)


def test_a_regressor() -> None:
    X, y = universe()
    learner, table, values = Estimator(PeerRidge(alpha=2.0)).prepare(X, y)
    model = learner.fit(table[:50], values[:50], generator())
    peer = PeerRidge(alpha=2.0).fit(X[:50], y[:50])
    assert learner.task == "regression"
    assert np.array_equal(learner.parameters(model), [*peer.coef_, peer.intercept_])
    assert np.array_equal(learner.outputs(model, table), peer.predict(X)[:, None])
    assert np.array_equal(learner.losses(model, table, values), (y - peer.predict(X)) ** 2)


def test_ridge_agrees_with_the_learner_of_that_name() -> None:
    X, y = universe()
    ours, table, values = Ridge(0.1, intercept=False).prepare(X, y)
    theirs, _, _ = Estimator(PeerRidge(alpha=0.1 * 40, fit_intercept=False)).prepare(X, y)
    found = theirs.parameters(theirs.fit(X[:40], y[:40], generator()))  # no intercept, no parameter for it
    assert np.abs(found - ours.fit(table[:40], values[:40], generator())).max() < 1e-12


def test_a_classifier_gives_log_odds_against_the_first_class() -> None:
    X, y = universe(classes=3)
    labels = np.array(["a", "b", "c"])[y]
    learner, table, codes = Estimator(LogisticRegression()).prepare(X, labels)
    model = learner.fit(table, codes, generator())
    peer = LogisticRegression().fit(X, labels)
    scores = peer.decision_function(X)
    assert np.array_equal(codes, y)
    assert np.abs(learner.outputs(model, table) - (scores[:, 1:] - scores[:, :1])).max() < 1e-9
    assert np.abs(learner.losses(model, table, codes) + peer.predict_log_proba(X)[np.arange(90), y]).max() < 1e-9
    assert np.array_equal(learner.parameters(model), [*peer.coef_.ravel(), *peer.intercept_])


def test_probabilities_of_0_keep_the_log_odds_finite() -> None:
    X, y = universe(classes=3)
    learner, table, codes = Estimator(DecisionTreeClassifier()).prepare(X, y)
    model = learner.fit(table, codes, generator())
    edge = -np.log(1e-12)
    assert np.array_equal(np.unique(learner.outputs(model, table).round(9)), np.round([-edge, 0.0, edge], 9))
    assert learner.losses(model, table, codes).max() == 0
    assert learner.losses(model, table, (codes + 1) % 3) == pytest.approx(edge)
    with pytest.raises(InputError, match=r'DecisionTreeClassifier.*coef_.*space="function"'):
        learner.parameters(model)


def test_a_class_that_a_training_set_lacks() -> None:
    X, y = universe(classes=3)
    learner, table, codes = Estimator(LogisticRegression()).prepare(X, y)
    some = codes != 1
    model = learner.fit(table[some], codes[some], generator())
    peer = LogisticRegression().fit(X[some], y[some])
    log_odds = learner.outputs(model, table)
    assert log_odds.shape == (90, 2)
    assert np.abs(log_odds[:, 1] - peer.decision_function(X)).max() < 1e-9
    assert np.abs(log_odds[:, 0] - (np.log(1e-12) - peer.predict_log_proba(X)[:, 0])).max() < 1e-9
    with pytest.raises(InputError, match=r'3.*LogisticRegression.*space="function"'):
        learner.parameters(model)
    with pytest.raises(InputError, match=r"LogisticRegression.*30.*ValueError"):
        learner.fit(table[codes == 0], codes[codes == 0], generator())


def test_a_classifier_without_probabilities_gives_its_decision_function() -> None:
    X, y = universe(classes=2)
    learner, table, codes = Estimator(LinearSVC()).prepare(X, y)
    model = learner.fit(table, codes, generator())
    margin = learner.outputs(model, table)[:, 0]
    assert np.array_equal(margin > 0, model.predict(table)[:, 1] == 1)
    assert (
        np.abs(learner.losses(model, table, codes) - np.log1p(np.exp(np.where(y == 1, -margin, margin)))).max() < 1e-12
    )
    X, y = universe(classes=3)
    learner, table, codes = Estimator(RidgeClassifier()).prepare(X, y)
    with pytest.raises(InputError, match=r"RidgeClassifier.*predict_proba"):
        learner.outputs(learner.fit(table, codes, generator()), table)


def test_a_pipeline_on_a_table_with_text() -> None:
    X, y = universe(classes=2)
    frame = pd.DataFrame({"age": X[:, 0], "job": np.array(["cook", "clerk", "judge"])[np.arange(90) // 2 % 3]})
    encode = make_column_transformer((OneHotEncoder(), ["job"]), remainder=StandardScaler())
    pipeline = make_pipeline(encode, LogisticRegression())
    learner, table, codes = Estimator(pipeline).prepare(frame, y)
    assert table is frame
    model = learner.fit(table, codes, generator())
    peer = pipeline.fit(frame, y)
    assert learner.name == "Pipeline with LogisticRegression"
    assert np.array_equal(learner.parameters(model), [*peer[-1].coef_[0], *peer[-1].intercept_])
    assert np.abs(learner.outputs(model, table)[:, 0] - peer.decision_function(frame)).max() < 1e-9
    outer = make_pipeline("passthrough", pipeline)
    assert len(Estimator(outer).prepare(frame, y)[0].parameters(model)) == 5


def test_all_chance_comes_from_the_generator() -> None:
    X, y = universe()
    learner, table, values = Estimator(RandomForestRegressor(5)).prepare(X, y)
    one, same, other = (learner.outputs(learner.fit(table, values, generator(seed)), table) for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_what_can_not_be_a_learner_is_refused_by_name() -> None:
    X, y = universe(classes=2)
    nested = make_pipeline(FrozenEstimator(StandardScaler().fit(X)), GaussianNB())
    for thing in (KMeans(), StandardScaler(), nested, FrozenEstimator(GaussianNB().fit(X, y))):
        with pytest.raises(InputError, match=type(thing).__name__):
            Estimator(thing).prepare(X, y)
    for wrong in (LogisticRegression, 3, "ridge"):
        with pytest.raises(InputError, match="Estimator"):
            Estimator(wrong)
    learner = Estimator(GaussianNB())
    for features, labels, named in [(X, y[:5], r"90.*5"), (X, np.zeros(90), "label"), (X[:0], y[:0], None)]:
        with pytest.raises(InputError, match=named):
            learner.prepare(features, labels)
    with pytest.raises(InputError, match="LinearRegression"):
        Estimator(LinearRegression()).prepare(X, ["a"] * 90)
    with pytest.raises(InputError, match="91"):
        learner.check(X, y, 91)


def test_every_way_to_name_a_learner() -> None:
    tree = DecisionTreeRegressor()
    assert as_learner("ridge", l2=0.5, intercept=False) == Ridge(0.5, intercept=False)
    assert as_learner("Logistic", l2=0.5) == Logistic(0.5)
    assert as_learner(tree) == Estimator(tree)
    ridge = Ridge(0.1)
    assert as_learner(ridge) is ridge
    for learner in (ridge, Logistic(), Estimator(tree)):
        assert isinstance(learner, Learner)
        assert pickle.loads(pickle.dumps(learner)).name == learner.name
    for thing, settings, named in [
        ("lasso", {}, "'lasso'.*'ridge'.*'logistic'.*'mlp'"),
        (3, {}, r"\bint\b"),
        (None, {}, "NoneType"),
        (Ridge, {}, r"\bRidge\(\)"),
        (SVC, {}, r"\bSVC\(\)"),
        (ridge, {"l2": 1.0}, "l2"),
        (tree, {"l2": 1.0}, "DecisionTreeRegressor.*l2"),
        ("ridge", {"lambda_": 1.0}, "Ridge.*'lambda_'.*l2.*intercept"),
        ("ridge", {"columns": ()}, "Ridge.*'columns'.*l2.*intercept"),
        ("ridge", {"l2": -1}, "l2"),
    ]:
        with pytest.raises(InputError, match=named):
            as_learner(thing, **settings)


RETRAINED = {"ridge": (Ridge(0.01), 0), "logistic": (Logistic(0.1), 2), "estimator": (Estimator(LinearRegression()), 0)}


@pytest.mark.parametrize("name", RETRAINED)
def test_retrain_gives_the_models_of_single_fits(name: str) -> None:
    plain, classes = RETRAINED[name]
    learner, X, y = plain.prepare(*universe(classes))
    sets = random_sets(90, 45, 6, seed=0)
    for number, theta in enumerate(retrain(learner, X, y, sets, partial(observe, learner), seed=0, workers=1)):
        drawn = sets.indices(number)
        alone = learner.parameters(learner.fit(X[drawn], y[drawn], generator()))
        np.testing.assert_array_equal(theta["parameters"], alone)


def observe(learner: Learner, model: Any, number: int, indices: Any) -> dict[str, Any]:  # noqa: ARG001
    return {"parameters": learner.parameters(model)}


def test_torch_is_imported_for_networks_only() -> None:
    code = (
        "import sys; from leakscope.learners import Ridge, Logistic, as_learner; "
        "as_learner('ridge').prepare([[1.0], [2.0]], [0.0, 1.0]); assert not {'torch', 'sklearn'} & {*sys.modules}"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
