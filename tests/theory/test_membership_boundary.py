"""The distance to the decision boundary, against that of a linear classifier, and the attack on it."""

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsClassifier

import leakscope as ls
from leakscope.attacks import boundary
from leakscope.core.errors import InputError
from leakscope.models.target import Model
from leakscope.releases import boundary_distance as distances
from leakscope.releases.boundary_distance import FARTHEST, QUERIES, boundary_distance
from leakscope.releases.release import RELEASES

RELEASE = RELEASES["boundary_distance"]


def linear(features, n=400, seed=0):
    """Records with columns of unit deviation, a linear classifier of them, and their distances to its boundary."""
    rng = np.random.default_rng(seed)
    X, w, b = rng.normal(size=(n, features)), rng.normal(size=features), 0.3
    X /= X.std(axis=0)

    def predict(X):
        return np.eye(2)[(np.asarray(X) @ w + b > 0).astype(int)]

    model = Model("linear", "classification", np.arange(2), False, predict)
    return model, X, predict(X).argmax(axis=1), np.abs(X @ w + b) / np.linalg.norm(w)


@pytest.mark.parametrize(("features", "excess"), [(1, 0.002), (2, 0.02), (3, 0.03), (5, 0.05)])
def test_for_a_linear_classifier_it_is_the_distance_to_the_plane(features, excess):
    """Never below it, and above by what bisection (2^-8 of a segment) and 35 directions in each of four rounds leave."""
    model, X, y, true = linear(features)
    ratio = RELEASE(model, X, y)[:, 0] / true
    assert ratio.min() > 1 - 1e-9
    assert ratio.mean() < 1 + excess


def test_more_questions_come_nearer():
    model, X, y, true = linear(10)
    excess = [float(np.mean(boundary_distance(model, X, y, y, queries=queries) / true)) for queries in (80, 200, 1000)]
    assert excess[0] > excess[1] > excess[2]
    assert excess[2] < 1.05


@pytest.mark.parametrize("queries", [80, QUERIES])
def test_the_questions_are_bounded(queries):
    model, X, y, _ = linear(3, n=50)
    asked = []

    def predict(X):
        asked.append(len(X))
        return model.predict(X)

    boundary_distance(Model("counted", "classification", np.arange(2), False, predict), X, y, y, queries=queries)
    assert sum(asked) <= queries * len(X)


def test_a_record_gets_the_same_distance_wherever_it_stands(monkeypatch):
    model, X, y, _ = linear(4)
    order = np.random.default_rng(1).permutation(len(X))
    here = RELEASE(model, X, y)[:, 0]
    np.testing.assert_allclose(RELEASE(model, X[order], y[order])[:, 0], here[order], rtol=1e-9)
    monkeypatch.setattr(distances, "CELLS", 2000)
    np.testing.assert_allclose(RELEASE(model, X, y)[:, 0], here, rtol=1e-9)


def test_wrong_labels_have_no_distance_and_a_constant_model_the_farthest():
    model, X, y, _ = linear(4)
    np.testing.assert_array_equal(RELEASE(model, X, 1 - y), 0)
    same = Model("same", "classification", np.arange(2), False, lambda X: np.tile([1.0, 0.0], (len(X), 1)))
    np.testing.assert_allclose(RELEASE(same, X, np.zeros(len(X), int)), FARTHEST * math.sqrt(4))


def test_units_of_columns_do_not_count():
    model, X, y, _ = linear(3)
    scale = np.array([1024.0, 1.0, 2.0**-7])
    scaled = Model("scaled", "classification", np.arange(2), False, lambda X: model.predict(np.asarray(X) / scale))
    # Random vectors depend on the record's values, which have changed.
    np.testing.assert_allclose(RELEASE(scaled, X * scale, y), RELEASE(model, X, y), rtol=0.3)


def test_tables_and_images_are_asked_about_as_they_are():
    model, X, y, _ = linear(4, n=60)
    plain = RELEASE(model, X, y)
    table = pd.DataFrame(X, columns=list("abcd"))
    np.testing.assert_allclose(RELEASE(model, table, y), plain, rtol=1e-9)
    square = Model("square", "classification", np.arange(2), False, lambda X: model.predict(X.reshape(len(X), 4)))
    np.testing.assert_allclose(RELEASE(square, X.reshape(60, 2, 2), y), plain, rtol=1e-9)


@pytest.mark.parametrize("X", [pd.DataFrame({"job": ["cook", "judge"]}), np.array([[1.0], [np.nan]])])
def test_other_features_are_refused(X):
    model = Model("any", "classification", np.arange(2), False, lambda X: np.eye(2)[np.zeros(len(X), int)])
    with pytest.raises(InputError, match="boundary_distance"):
        RELEASE(model, X, np.zeros(2, int))


def test_too_few_questions_are_refused():
    model, X, y, _ = linear(2, n=20)
    with pytest.raises(InputError, match=r"\b10\b"):
        boundary_distance(model, X, y, y, queries=10)


def test_an_audit_runs_it_by_name():
    """Random labels that the nearest neighbour memorises: members are correct, non-members in half of the cases."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 3)), rng.integers(0, 2, 400)
    model = KNeighborsClassifier(1).fit(X[:200], y[:200])
    found = ls.audit(model, (X[:200], y[:200]), (X[200:], y[200:]), attacks=[boundary()], retrain=False)
    assert found.strongest.auc.low > 0.6
    assert found.strongest.release == "boundary_distance"
