"""Leave-one-out by retraining: the exact solution if there is one, otherwise literal training."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from leakscope.core.errors import InputError
from leakscope.learners import MLP, Logistic
from leakscope.releases.oracle import Oracle
from leakscope.releases.record_explanations import RecordExplanation, influences, leave_one_out
from leakscope.releases.record_explanations.functions import influence_functions
from leakscope.releases.record_explanations.rank_agreement import agreement
from leakscope.releases.record_explanations.retrained import retrain_without_each
from leakscope.worlds import training

torch = pytest.importorskip("torch")
from leakscope.releases.feature_explanations.scikit_networks import module_of  # noqa: E402


def records(n: int = 40, d: int = 4, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] * X[:, 1] + X[:, 2] + rng.logistic(size=n) / 2 > 0).astype(int)


def small_network(steps: int = 20, l2: float = 0.0, rate: float = 0.01) -> MLP:
    return MLP(widths=(5,), steps=steps, batch=40, rate=rate, l2=l2, task="classification")


def stream(seed: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0,)))


def test_retrained_logistic_regression_is_the_exact_solution() -> None:
    X, y = records()
    points, _ = records(30, seed=1)
    learner = LogisticRegression(C=1.0, solver="newton-cholesky", tol=1e-12, max_iter=1000)
    found, exact = retrain_without_each(learner, X, y), leave_one_out(X, y, penalty=1.0)
    np.testing.assert_allclose(found.probabilities(points), exact.probabilities(points), atol=1e-9)
    np.testing.assert_allclose(found.probabilities_without(points), exact.probabilities_without(points), atol=1e-9)


def test_every_network_is_trained_with_the_same_stream() -> None:
    X, y = records()
    points, _ = records(10, seed=1)
    found = retrain_without_each(small_network(), X, y, seed=3)
    learner, table, labels = small_network().prepare(X, y)
    full = learner.fit(table, labels, stream(3))
    assert (found.probabilities(points) == expit(learner.outputs(full, points)[:, 0])).all()
    for record in (0, 17, 39):
        model = learner.fit(np.delete(table, record, axis=0), np.delete(labels, record), stream(3))
        expected = expit(learner.outputs(model, points)[:, 0])
        assert (found.probabilities_without(points)[:, record] == expected).all()


def test_a_learner_that_appends_a_column_gets_it_for_points_too() -> None:
    X, y = records()
    learner, table, labels = Logistic(l2=0.1).prepare(X, y)
    found = retrain_without_each(Logistic(l2=0.1), X, y)
    expected = expit(learner.outputs(learner.fit(table[1:], labels[1:], stream(0)), table)[:, 0])
    np.testing.assert_allclose(found.probabilities_without(X)[:, 0], expected, atol=1e-12)
    assert len(found.probabilities(X[:0])) == 0


def test_models_without_parameters_of_text_labels_in_a_frame() -> None:
    X, y = records()
    frame, names = pd.DataFrame(X, columns=list("abcd")), np.where(y == 1, "yes", "no")
    found = retrain_without_each(DecisionTreeClassifier(max_depth=2, random_state=0), frame, names)
    assert found.classes == ("no", "yes")
    again = retrain_without_each(DecisionTreeClassifier(max_depth=2, random_state=0), X, y)
    assert (found.probabilities_without(X) == again.probabilities_without(X)).all()


def test_equal_records_tie_to_the_last_bit() -> None:
    X, y = records()
    X[30], y[30] = X[4], y[4]
    found = retrain_without_each(small_network(), X, y)
    assert len(found) == 40
    assert len(found.models) == 39
    values = influences(found, X)
    assert (values[:, 30] == values[:, 4]).all()


def test_it_explains_and_answers_queries() -> None:
    X, y = records()
    found = retrain_without_each(small_network(), X, y)
    explanation = RecordExplanation(k=3).explain(found, X)
    oracle = Oracle.of(found, X, y, RecordExplanation(k=3), budget=40)
    assert (oracle.query(X).records == explanation.records).all()


def test_influence_functions_of_a_heavily_penalised_network_are_near() -> None:
    # With λθᵀθ added to the mean loss, the sum of losses has the penalty 2nλ/2·|θ|², and each row is less its mean.
    X, y = records()
    points, labels = records(30, seed=1)
    models = retrain_without_each(small_network(steps=600, l2=0.05), X, y)
    exact = influences(models, points, labels)
    found = influence_functions(
        module_of(models.learner, np.asarray(models.full, np.float64))[:-1],  # without the constant of the first class
        lambda outputs, targets: torch.nn.functional.binary_cross_entropy_with_logits(outputs[:, 0], targets.double()),
        X, y, points, labels, penalty=2 * 40 * 0.05,
        point_loss=lambda outputs, targets: torch.sigmoid(outputs[:, 0] * (1 - 2 * targets)),
    )  # fmt: skip
    centred = found - found.mean(axis=1, keepdims=True)
    assert agreement(centred, exact).rank_correlation.low > 0.95
    assert np.abs(centred - exact).mean() < 0.5 * np.abs(found - exact).mean()


@pytest.mark.parametrize(
    ("learner", "y", "named"),
    [
        (MLP(), [0, 1] * 20, "^tanh.*classifier"),
        ("ridge", [0, 1] * 20, "^linear.*classifier"),
        (small_network(), [0, 1, 2, 1] * 10, "labels.*3"),
        (small_network(), [1] + [0] * 39, r"\b0\b"),  # the only record of its class
        ("forest", [0, 1] * 20, "'forest'"),
        (small_network(), [0, 1], r"\b40\b.*\b2\b"),
    ],
)
def test_what_can_not_be_trained_is_refused(learner: Any, y: Any, named: str) -> None:
    with pytest.raises(InputError, match=named):
        retrain_without_each(learner, records()[0], y)


def test_points_of_another_width_are_refused() -> None:
    found = retrain_without_each(Logistic(l2=0.1), *records())
    with pytest.raises(InputError, match="points"):
        found.probabilities_without(np.zeros((2, 3)))


@pytest.mark.parametrize("learner", [Logistic(l2=0.1), small_network()])
def test_workers_and_a_cache_do_not_change_a_model(learner: Any, tmp_path: Any, monkeypatch: Any) -> None:
    X, y = records()
    points, _ = records(10, seed=1)
    alone = retrain_without_each(learner, X, y, workers=1, cache=tmp_path).probabilities_without(points)
    monkeypatch.setattr(training, "run_tasks", lambda _, tasks, *__: iter(tasks))
    again = retrain_without_each(learner, X, y, workers=2, cache=tmp_path)  # a task that is left would fail to unpack
    assert (again.probabilities_without(points) == alone).all()


def test_a_cache_is_for_models_that_are_parameters(tmp_path: Any) -> None:
    with pytest.raises(InputError, match="cache"):
        retrain_without_each(DecisionTreeClassifier(), *records(), cache=tmp_path)
