"""Closed forms of linear models equal the explanations of the same network, and finite differences."""

import sys
from typing import Any

import numpy as np
import pytest
from sklearn import linear_model
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.svm import LinearSVC

from leakscope.core.errors import InputError
from leakscope.models.adapters import estimator_model, function_model
from leakscope.releases.feature_explanations import METHODS, explain, explain_model, parse
from leakscope.releases.feature_explanations.linear import linear_view, quadrature

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
TWO = (X[:, 0] - X[:, 1] + RNG.normal(size=60) > 0).astype(int)
THREE = np.argsort(np.argsort(X[:, 0] + RNG.normal(size=60))) // 20
VALUE = X @ [1.0, -2.0, 0.0, 0.5] + RNG.normal(size=60)
MODELS: dict[str, Any] = {
    "two classes": linear_model.LogisticRegression(C=3).fit(X, TWO),
    "three classes": linear_model.LogisticRegression(C=3).fit(X, THREE),
    "regression": linear_model.Ridge().fit(X, VALUE),
}
SETTINGS = {
    "gradient": "gradient",
    "gradient_x_input": "gradient_x_input",
    "integrated_gradients": "integrated_gradients:baseline=0.3:steps=30",
    "smoothgrad": "smoothgrad:sigma=0",
    "lrp": "lrp:epsilon=0.01",
    "deeplift": "deeplift:baseline=-0.2",
}


def twin(estimator: Any) -> Any:
    """The same model as a torch module."""
    torch = pytest.importorskip("torch")
    weights = np.atleast_2d(estimator.coef_)
    module = torch.nn.Sequential(torch.nn.Linear(weights.shape[1], len(weights), dtype=torch.float64))
    module[0].weight.data = torch.from_numpy(weights.copy())
    module[0].bias.data = torch.from_numpy(np.array(estimator.intercept_, np.float64).reshape(-1))
    classes = getattr(estimator, "classes_", None)
    return function_model(module, "regression" if classes is None else "classification", classes, "logits")


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("output", ["", ":output=logit"])
def test_closed_form_is_the_explanation_of_the_same_network(name: str, method: str, output: str) -> None:
    how = parse(SETTINGS[method] + output)
    ours = explain_model(estimator_model(MODELS[name]), X, how)
    # integrated gradients of the sigmoid are exact here, and by 30 points of quadrature there
    np.testing.assert_allclose(ours, explain_model(twin(MODELS[name]), X, how), rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    "estimator",
    [
        linear_model.LogisticRegression(),
        linear_model.LogisticRegressionCV(
            Cs=2, cv=2, l1_ratios=(0.0,), scoring="neg_log_loss", use_legacy_attributes=False
        ),
        LinearDiscriminantAnalysis(),
        linear_model.SGDClassifier(loss="log_loss", alpha=0.1, random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.parametrize("labels", [TWO, THREE], ids=["two", "three"])
def test_gradient_is_the_finite_difference_of_the_released_probability(estimator: Any, labels: Any) -> None:
    estimator.fit(X, labels)
    if isinstance(estimator, linear_model.SGDClassifier) and labels is THREE:
        with pytest.raises(InputError, match="SGDClassifier"):  # one model per class, not a softmax
            explain(estimator, X)
        return
    ours, code, step = explain(estimator, X), estimator.predict_proba(X).argmax(axis=1), 1e-5
    rows = np.arange(len(X))
    for column in range(4):
        up, down = (estimator.predict_proba(X + sign * step * np.eye(4)[column])[rows, code] for sign in (1, -1))
        np.testing.assert_allclose(ours[:, column], (up - down) / (2 * step), rtol=0, atol=1e-8)


def test_integrated_gradients_where_the_score_does_not_move() -> None:
    """Along w·(x − b) = 0 the slope is constant: the quotient of the closed form is 0/0."""
    estimator = MODELS["two classes"]
    direction = np.array([estimator.coef_[0, 1], -estimator.coef_[0, 0], 0.0, 0.0])
    ours = explain(estimator, direction[None], "integrated_gradients")
    gradient = explain(estimator, np.zeros((1, 4)) + direction)
    np.testing.assert_allclose(ours, gradient * direction, rtol=0, atol=1e-12)
    np.testing.assert_allclose(ours.sum(), 0, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["two classes", "three classes"])
def test_integrated_gradients_get_the_steps_that_they_need(name: str) -> None:
    """The probability of large records turns over within a small part of the path."""
    estimator, far = MODELS[name], 200 * X
    ours = explain(estimator, far, "integrated_gradients:steps=2")
    at_end, at_start = estimator.predict_proba(far), estimator.predict_proba(np.zeros((1, 4)))
    code = at_end.argmax(axis=1)
    change = at_end[np.arange(len(X)), code] - at_start[0, code]
    np.testing.assert_allclose(ours.sum(axis=1), change, rtol=1e-3)
    if name == "three classes":
        with pytest.raises(InputError, match=r"6000.*output=logit"):
            explain(estimator, 1e9 * X[:3], "integrated_gradients:steps=6000")


@pytest.mark.parametrize(
    "estimator",
    [LinearSVC(), linear_model.RidgeClassifier(), linear_model.Perceptron(), linear_model.SGDClassifier()],
    ids=lambda estimator: type(estimator).__name__,
)
def test_models_of_scores_are_explained_by_their_score(estimator: Any) -> None:
    estimator.fit(X, TWO)
    sign = np.where(estimator.decision_function(X) > 0, 1, -1)[:, None]
    np.testing.assert_allclose(explain(estimator, X, "gradient:output=logit"), sign * estimator.coef_)
    with pytest.raises(InputError, match=r"gradient:output=logit$"):
        explain(estimator, X)
    estimator.fit(X, THREE)
    code = estimator.decision_function(X).argmax(axis=1)
    np.testing.assert_allclose(explain(estimator, X, "gradient:output=logit"), estimator.coef_[code])


def test_one_logistic_model_per_class_is_not_taken_for_a_softmax() -> None:
    """Older versions of scikit-learn have such models; a fitted one is imitated here."""
    estimator = linear_model.LogisticRegression().fit(X, THREE)
    assert linear_view(estimator) is not None
    estimator.multi_class = "ovr"
    assert linear_view(estimator) is None
    estimator.multi_class, estimator.solver = "auto", "liblinear"
    assert linear_view(estimator) is None


def test_sparse_weights() -> None:
    dense = linear_model.SGDClassifier(loss="log_loss", random_state=0).fit(X, TWO)
    expected = explain(dense, X)
    np.testing.assert_array_equal(explain(dense.sparsify(), X), expected)


def test_another_package_s_estimator_is_not_taken_for_scikit_learn_s() -> None:
    class Mine(linear_model.LogisticRegression):
        def predict_proba(self, X):
            return np.full((len(X), 2), 0.5)

    assert linear_view(Mine().fit(X, TWO)) is None
    assert linear_view(linear_model.Ridge().fit(X, np.column_stack([VALUE, VALUE]))) is None


@pytest.mark.parametrize("steps", [2, 5, 50, 128, 129, 1000])
def test_quadrature_is_exact_for_polynomials(steps: int) -> None:
    nodes, weights = quadrature(steps)
    assert steps <= len(nodes) < 1.01 * steps + 1
    for power in range(2 * min(steps, 64)):
        assert weights @ nodes**power == pytest.approx(1 / (power + 1), rel=1e-12)


def test_torch_is_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    for method in METHODS:
        assert explain(MODELS["three classes"], X, method).shape == X.shape
