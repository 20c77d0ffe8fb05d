"""The contract of releases, and each release against its definition, record by record."""

import math

import numpy as np
import pytest

from leakscope.core.errors import InputError
from leakscope.models.adapters import estimator_model
from leakscope.models.target import Model, Records
from leakscope.releases.feature_explanations import METHODS, FeatureExplanation, explain
from leakscope.releases.release import RELEASES, find_release, observe


def classifier(gives_probabilities=True):
    def predict(X):
        raw = np.exp(np.column_stack([X[:, 0], X[:, 1], -X[:, 0]]))
        return raw / raw.sum(axis=1, keepdims=True)

    return Model("three classes", "classification", np.arange(3), gives_probabilities, predict)


REGRESSOR = Model("sum", "regression", None, True, lambda X: X.sum(axis=1))
X = np.random.default_rng(0).normal(size=(50, 2))
CODES = np.random.default_rng(1).integers(0, 3, 50)
VALUES = np.random.default_rng(2).normal(size=50)


def literal(name, p, y):
    """The definition for one record: p are its probabilities, or its predicted value."""
    match name:
        case "labels":
            return [float(max(range(3), key=lambda c: p[c]))]
        case "probabilities":
            return list(p)
        case "log_loss":
            return [-math.log(p[y])]
        case "likelihood_loss":
            return [1 - p[y]]
        case "squared_error":
            return [sum((p[c] - (c == y)) ** 2 for c in range(3))]
    raise AssertionError(name)


#: These query other points than the record itself: `tests/test_attack_label_only.py` and `test_membership_boundary.py` define them.
OF_OTHER_POINTS = ("label_stability", "boundary_distance")
OF_ANSWERS = [
    name for name, release in RELEASES.items() if "classification" in release.tasks and name not in OF_OTHER_POINTS
]


@pytest.mark.parametrize("name", OF_ANSWERS)
def test_releases_of_classifiers_follow_their_definition(name):
    model = classifier()
    p = model.predict(X)
    expected = [literal(name, p[i], CODES[i]) for i in range(50)]
    np.testing.assert_allclose(RELEASES[name](model, X, CODES), expected, rtol=1e-12, atol=1e-15)


def test_releases_of_regression_follow_their_definition():
    np.testing.assert_allclose(RELEASES["predictions"](REGRESSOR, X, VALUES)[:, 0], [a + b for a, b in X])
    expected = [(y - a - b) ** 2 for (a, b), y in zip(X, VALUES, strict=True)]
    np.testing.assert_allclose(RELEASES["squared_error"](REGRESSOR, X, VALUES)[:, 0], expected)


def test_a_probability_of_zero_gives_a_large_and_finite_loss():
    model = Model("sure", "classification", np.arange(2), True, lambda X: np.tile([1.0, 0.0], (len(X), 1)))
    assert RELEASES["log_loss"](model, X, np.ones(50, int)).max() == pytest.approx(-math.log(2.220446e-16), rel=1e-6)


@pytest.mark.parametrize("name", list(RELEASES))
def test_releases_say_which_models_can_give_them(name):
    release = RELEASES[name]
    for model in (classifier(), REGRESSOR):
        assert (release.refuse(model) is None) == (model.task in release.tasks)
    labels_only = release.refuse(classifier(gives_probabilities=False))
    if name in ("labels", *OF_OTHER_POINTS):
        assert labels_only is None
    elif "classification" in release.tasks:
        assert "labels" in labels_only


def test_the_model_is_asked_once_per_record_in_blocks_whatever_is_released():
    sizes = []

    def predict(X):
        sizes.append(len(X))
        return np.full((len(X), 2), 0.5)

    n = 150_000
    records = Records(np.zeros((n, 1)), np.zeros(n, np.int64), np.arange(n), {})
    model = Model("counting", "classification", np.arange(2), True, predict)
    seen = observe(model, records, ["labels", "probabilities", "log_loss"])
    assert sum(sizes) == n
    assert max(sizes) <= 65_536
    assert {name: values.shape for name, values in seen.items()} == {
        "labels": (n, 1), "probabilities": (n, 2), "log_loss": (n, 1)
    }  # fmt: skip


def test_blocks_make_no_difference():
    n = 70_000
    big = np.random.default_rng(3).normal(size=(n, 2))
    codes = np.random.default_rng(4).integers(0, 3, n)
    seen = observe(classifier(), Records(big, codes, np.arange(n), {}), ["likelihood_loss"])["likelihood_loss"]
    np.testing.assert_array_equal(seen, RELEASES["likelihood_loss"](classifier(), big, codes))


# --- feature explanations ---


def linear(task="classification"):
    from sklearn.linear_model import LinearRegression, LogisticRegression

    if task == "regression":
        return LinearRegression().fit(X, VALUES)
    return LogisticRegression().fit(X, CODES)


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("method", METHODS)
def test_an_explanation_is_a_release_under_its_name(method, task):
    name = FeatureExplanation(method, top=1).name
    release, estimator = find_release(name), linear(task)
    assert release.name == name
    assert release.refuse(estimator_model(estimator)) is None
    np.testing.assert_array_equal(release(estimator_model(estimator), X, CODES), explain(estimator, X, name))


def test_a_name_is_written_in_one_way_only():
    assert find_release("smoothgrad:samples=10:sigma=0.50").name == "smoothgrad:sigma=0.5:samples=10"
    assert find_release("gradient:normalised=True:noise=0").name == "gradient:normalised"


def test_explanations_beside_predictions_in_any_order_of_the_records():
    model, names = (
        estimator_model(linear()),
        ["probabilities", "gradient", "smoothgrad:samples=3", "gradient:noise=0.1"],
    )
    seen = observe(model, Records(X, CODES, np.arange(50), {}), names)
    assert {name: part.shape for name, part in seen.items()} == {
        "probabilities": (50, 3), "gradient": (50, 2), "smoothgrad:samples=3": (50, 2), "gradient:noise=0.1": (50, 2)
    }  # fmt: skip
    order = np.random.default_rng(5).permutation(50)
    again = observe(model, Records(X[order], CODES[order], order, {}), names)
    for name in names:
        np.testing.assert_allclose(again[name], seen[name][order], rtol=0, atol=1e-14)


def test_explanations_of_images_are_one_row_each():
    torch = pytest.importorskip("torch")
    from leakscope.models.adapters import function_model

    images = np.random.default_rng(6).normal(size=(7, 1, 3, 2))
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(6, 3))
    model = function_model(module, "classification", np.arange(3), "logits")
    seen = observe(model, Records(images, CODES[:7], np.arange(7), {}), ["gradient"])["gradient"]
    assert (seen.shape, seen.dtype) == ((7, 6), np.float32)
    np.testing.assert_array_equal(seen, explain(module, images, outputs="logits").reshape(7, 6))


def test_models_that_can_not_be_explained_say_why():
    assert find_release("gradient").refuse(classifier())
    assert find_release("gradient").refuse(_scores())
    assert find_release("gradient:output=logit").refuse(_scores()) is None


def _scores():
    from sklearn.svm import LinearSVC

    return estimator_model(LinearSVC().fit(X, CODES))


def test_a_name_that_no_release_has():
    with pytest.raises(InputError, match=r"'saliency'.*labels.*gradient.*deeplift$"):
        find_release("saliency")
