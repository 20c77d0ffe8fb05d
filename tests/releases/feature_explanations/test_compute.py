"""Feature explanations of any model: pipelines, scikit-learn's networks, post-processing, and errors."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from networks import Written
from scipy import sparse
from scipy.sparse import issparse
from sklearn import ensemble, neighbors, svm
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from leakscope.core.errors import InputError
from leakscope.models.adapters import estimator_model, function_model
from leakscope.models.model import Model, align
from leakscope.releases.feature_explanations import METHODS, explain, explain_model, parse, refusal
from leakscope.releases.feature_explanations.compute import process
from leakscope.releases.release import find_release

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 4))
TWO = (X[:, 0] - X[:, 1] + RNG.normal(size=50) > 0).astype(int)
THREE = np.argsort(np.argsort(X[:, 0] + RNG.normal(size=50))) // 17
KEYS = np.zeros(1, np.uint64)
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # short trainings will do


def differences(probability: Any, rows: Any, step: float = 1e-5) -> Any:
    """Central differences of a function of records, by each column."""
    moves = step * np.eye(rows.shape[1])
    return np.column_stack([(probability(rows + move) - probability(rows - move)) / (2 * step) for move in moves])


# --- scikit-learn's networks ---


@pytest.mark.parametrize("activation", ["identity", "logistic", "tanh", "relu"])
@pytest.mark.parametrize("labels", [TWO, THREE], ids=["two", "three"])
def test_networks_of_scikit_learn_against_finite_differences(activation: Any, labels: Any) -> None:
    estimator = MLPClassifier((6, 5), activation=activation, max_iter=30, random_state=0, solver="sgd").fit(X, labels)
    code, rows = estimator.predict_proba(X).argmax(axis=1), np.arange(len(X))
    expected = differences(lambda moved: estimator.predict_proba(moved)[rows, code], X)
    np.testing.assert_allclose(explain(estimator, X), expected, rtol=0, atol=1e-8)
    complete = explain(estimator, X, "integrated_gradients").sum(axis=1)
    change = estimator.predict_proba(X)[rows, code] - estimator.predict_proba(np.zeros((1, 4)))[0, code]
    np.testing.assert_allclose(complete, change, rtol=0, atol=1e-3)


@pytest.mark.parametrize("activation", ["identity", "logistic", "tanh", "relu"])
def test_regressions_of_scikit_learn_against_finite_differences(activation: Any) -> None:
    estimator = MLPRegressor(hidden_layer_sizes=(6,), activation=activation, max_iter=30, random_state=0)
    estimator.fit(X, X[:, 0] - X[:, 1] ** 2)
    np.testing.assert_allclose(explain(estimator, X), differences(estimator.predict, X), rtol=0, atol=1e-8)


def test_networks_that_give_something_else_are_refused() -> None:
    with pytest.raises(InputError):
        explain(MLPRegressor(hidden_layer_sizes=(3,), max_iter=2).fit(X, X[:, :2]), X)
    exponential = MLPRegressor(hidden_layer_sizes=(3,), max_iter=2, loss="poisson").fit(X, np.abs(X[:, 0]))
    with pytest.raises(InputError, match=r"exp.*squared_error"):
        explain(exponential, X)


# --- pipelines ---


def test_columns_of_a_pipeline_are_those_of_its_last_step() -> None:
    pipeline = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, TWO)
    scaled = pipeline[0].transform(X)
    for method in METHODS:
        np.testing.assert_array_equal(explain(pipeline, X, method), explain(pipeline[-1], scaled, method))
    frame = pd.DataFrame(X, columns=list("abcd"))
    named = make_pipeline(StandardScaler(), LogisticRegression()).fit(frame, TWO)
    expected = explain(named, frame)
    np.testing.assert_allclose(expected, explain(pipeline, X), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(explain(named, frame[list("dcba")]), expected)
    np.testing.assert_array_equal(explain(named, X), expected)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_pipeline_that_encodes_text(sparse: bool) -> None:
    people = pd.DataFrame({"age": X[:, 0], "city": RNG.choice(["Rome", "Lima", "Oslo"], 50), "income": X[:, 1]})
    encode = ColumnTransformer(
        [("city", OneHotEncoder(sparse_output=sparse), ["city"])],
        remainder=StandardScaler(),
        sparse_threshold=1.0 if sparse else 0.0,
    )
    pipeline = make_pipeline(encode, LogisticRegression()).fit(people, TWO)
    columns = pipeline[0].transform(people)
    assert issparse(columns) == sparse
    found = explain(pipeline, people)
    assert found.shape == (50, 5)
    dense = columns.toarray() if sparse else columns
    code, rows = pipeline.predict_proba(people).argmax(axis=1), np.arange(50)
    expected = differences(lambda moved: pipeline[-1].predict_proba(moved)[rows, code], dense)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)


def test_a_model_in_the_order_of_other_classes() -> None:
    """Explanations are of the predicted class, in whatever column it stands."""
    model = estimator_model(LogisticRegression().fit(X, THREE))
    aligned = align(model, np.array([2, 1, 0]))
    assert aligned.predict is not model.predict
    for method in METHODS:
        np.testing.assert_array_equal(explain_model(aligned, X, parse(method)), explain_model(model, X, parse(method)))


def test_records_of_the_caller_are_left_alone() -> None:
    network = MLPClassifier((5,), solver="lbfgs", max_iter=500, random_state=0).fit(X, TWO)
    rows = X.copy()
    rows.flags.writeable = False
    for model in (LogisticRegression().fit(X, TWO), network):
        for method in METHODS:
            explain(model, rows, f"{method}:noise=0.1:top=2:normalised:digits=1")
    np.testing.assert_array_equal(rows, X)


# --- what is done to the values ---


def test_values_are_released_in_turn_by_hand() -> None:
    """Noise, then the norm, then the largest, then rounding."""
    found = np.array([[3.0, -1.0, 0.0, 4.0]])
    assert process(found, parse("gradient:normalised"), KEYS).tolist() == [[0.375, -0.125, 0, 0.5]]
    assert process(found, parse("gradient:top=2"), KEYS).tolist() == [[3, 0, 0, 4]]
    assert process(found, parse("gradient:normalised:top=1:decimals=0"), KEYS).tolist() == [[0, 0, 0, 0]]
    assert process(found, parse("gradient:normalised:top=1:digits=1"), KEYS).tolist() == [[0, 0, 0, 0.5]]
    assert process(np.zeros((1, 3)), parse("gradient:normalised:digits=2"), KEYS).tolist() == [[0, 0, 0]]
    assert process(found, parse("gradient:top=99"), KEYS).tolist() == found.tolist()


def test_no_more_than_the_chosen_number_of_values_is_released() -> None:
    tied = np.array([[1.0, -1.0, 1.0, 1.0, 0.5], [2.0, 2.0, 2.0, 2.0, 3.0]])
    for top in (1, 2, 3):
        kept = process(tied, parse(f"gradient:top={top}"), np.zeros(2, np.uint64))
        assert (np.count_nonzero(kept, axis=1) == top).all()
        assert ((kept == 0) | (kept == tied)).all()
    assert process(tied, parse("gradient:top=1"), np.zeros(2, np.uint64))[1].tolist() == [0, 0, 0, 0, 3]


@pytest.mark.parametrize("digits", [1, 2, 5])
def test_significant_digits_are_those_of_python(digits: int) -> None:
    values = np.concatenate([RNG.normal(size=200) * 10.0 ** RNG.integers(-8, 8, 200), [0.0, -0.0, 1.0, 99.5, -0.095]])
    found = process(values[None], parse(f"gradient:digits={digits}"), KEYS)[0]
    expected = np.array([float(f"{value:.{digits - 1}e}") for value in values])
    # a value half-way between two may go either way
    np.testing.assert_allclose(found, expected, rtol=10.0 ** (1 - digits))
    assert (np.abs(found / np.where(expected == 0, 1, expected) - (expected != 0)) < 1e-12).mean() > 0.98


def test_decimal_places_are_those_of_numpy_without_a_negative_zero() -> None:
    values = RNG.normal(size=(3, 50))
    found = process(values, parse("gradient:decimals=1"), np.zeros(3, np.uint64))
    np.testing.assert_array_equal(found, np.round(values, 1))
    assert not np.signbit(found[found == 0]).any()


def test_form_and_precision_of_the_values_are_kept() -> None:
    images = RNG.normal(size=(6, 2, 3, 3)).astype(np.float32)
    for setting in ("noise=0.1", "normalised", "top=3", "digits=2", "decimals=3"):
        found = process(images, parse(f"gradient:{setting}"), np.arange(6, dtype=np.uint64))
        assert (found.shape, found.dtype) == (images.shape, np.float32)


# --- refusals ---


@pytest.mark.parametrize(
    "estimator",
    [
        ensemble.RandomForestClassifier(3),
        ensemble.HistGradientBoostingClassifier(max_iter=3),
        neighbors.KNeighborsClassifier(3),
        svm.SVC(),
        make_pipeline(StandardScaler(), ensemble.RandomForestClassifier(3)),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_models_without_gradients_are_refused_with_what_works(estimator: Any) -> None:
    estimator.fit(X, TWO)
    with pytest.raises(InputError, match=f"{type(estimator).__name__}.*torch.*MLP") as refused:
        explain(estimator, X)
    assert refusal(estimator_model(estimator), parse("gradient")) == str(refused.value)
    assert find_release("gradient").refuse(estimator_model(estimator)) == str(refused.value)


def test_functions_are_refused() -> None:
    def guess(rows: Any) -> Any:
        return np.full((len(rows), 2), 0.5)

    with pytest.raises(InputError, match="torch"):
        explain(guess, X)
    called = function_model(guess, "classification", np.arange(2), "probabilities")
    by_hand = Model("mine", "classification", np.arange(2), True, guess)
    for model, method in ((called, "lrp"), (by_hand, "gradient")):
        assert model.name in str(refusal(model, parse(method)))


def test_onnx_is_refused(tmp_path: Any) -> None:
    skl2onnx = pytest.importorskip("skl2onnx")
    from leakscope.models.files import load_model

    estimator = LogisticRegression().fit(X, TWO)
    file = tmp_path / "model.onnx"
    file.write_bytes(skl2onnx.to_onnx(estimator, X[:1].astype(np.float32)).SerializeToString())
    with pytest.raises(InputError, match="OnnxModel"):
        explain(load_model(file), X)


@pytest.mark.parametrize(
    ("rows", "named"),
    [
        (X[:, :3], r"\b4\b.*\b3\b"),
        (X[:0], "^X"),
        (np.full((2, 4), np.nan), "^gradient.*LogisticRegression"),
        (np.array([["a", "b", "c", "d"]]), "LogisticRegression.*<U1"),
    ],
)
def test_records_that_can_not_be_explained(rows: Any, named: str) -> None:
    with pytest.raises(InputError, match=named):
        explain(LogisticRegression().fit(X, TWO), rows)


def test_a_model_that_is_not_fitted() -> None:
    with pytest.raises(InputError, match=r"LogisticRegression.*fit"):
        explain(LogisticRegression(), X)


@pytest.mark.parametrize("method", ["gradient", "integrated_gradients", "smoothgrad", "lrp", "deeplift"])
def test_a_network_that_answers_at_random_is_refused(method):
    torch.manual_seed(0)
    layers = {"first": torch.nn.Linear(6, 8), "second": torch.nn.Linear(8, 3)}
    restless = Written(lambda net, x: net.second(torch.dropout(torch.relu(net.first(x)), 0.5, True)), **layers)
    with pytest.raises(InputError, match="dropout"):
        explain(restless, np.ones((4, 6), np.float32), method, outputs="logits")


def test_of_one_number_it_must_be_said_what_it_is():
    network = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Tanh(), torch.nn.Linear(5, 1)).double()
    X = np.random.default_rng(0).normal(size=(3, 4))
    with pytest.raises(InputError, match=r'outputs="logits".*task="regression"'):
        explain(network, X)
    x = torch.from_numpy(X).requires_grad_()
    (slope,) = torch.autograd.grad(network(x).sum(), x)
    np.testing.assert_allclose(explain(network, X, task="regression"), slope.numpy(), rtol=1e-12)
    p = torch.sigmoid(network(x).detach()).numpy()
    likelier = np.where(p > 0.5, 1, -1) * p * (1 - p)
    np.testing.assert_allclose(explain(network, X, outputs="logits"), likelier * slope.numpy(), rtol=1e-10)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"outputs": "foo"}, "outputs='foo'"),
        ({"task": "sorting"}, "task='sorting'"),
        ({"how": None}, "^how.*None"),
        ({"how": 3}, "^how.*3"),
    ],
)
def test_wrong_options_are_refused_in_one_sentence(options, named):
    network = torch.nn.Sequential(torch.nn.Linear(2, 2))
    with pytest.raises(InputError, match=named):
        explain(network, np.ones((3, 2), np.float32), **options)


def test_a_linear_model_takes_no_outputs():
    model = LogisticRegression().fit(np.arange(8.0).reshape(4, 2), [0, 1, 0, 1])
    with pytest.raises(InputError, match=r"outputs=.*task="):
        explain(model, np.ones((1, 2)), outputs="logits")
    with pytest.raises(InputError, match=r"LogisticRegression.*ValueError"):
        explain(model, [[1.0], [1.0, 2.0]])


def test_a_network_in_bfloat16_is_told_to_be_converted():
    network = torch.nn.Sequential(torch.nn.Linear(2, 2)).bfloat16()
    with pytest.raises(InputError, match="bfloat16"):
        explain(network, np.ones((3, 2), np.float32), outputs="logits")


def test_values_that_overflow_are_never_handed_out():
    network = torch.nn.Sequential(torch.nn.Linear(2, 2, bias=False))
    network[0].weight.data = torch.tensor([[1e10, 0.0], [0.0, 1.0]])
    with pytest.raises(InputError, match="gradient_x_input:output=logit"):
        explain(network, np.full((3, 2), 1e30, np.float32), "gradient_x_input:output=logit", outputs="logits")


def test_models_inside_searches_and_pipelines_are_found():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) * [1, 10, 100]
    y = (X[:, 0] + rng.normal(size=60) > 0).astype(int)
    inner = make_pipeline(StandardScaler(), LogisticRegression())
    search = GridSearchCV(inner, {"logisticregression__C": [0.1, 1.0]}, cv=2).fit(X, y)
    best = search.best_estimator_
    np.testing.assert_array_equal(explain(search, X), explain(best, X))
    nested = make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), LogisticRegression())).fit(X, y)
    scaled = StandardScaler().fit_transform(X)
    np.testing.assert_allclose(explain(nested, X), explain(nested[-1][-1], nested[-1][0].transform(scaled)))
    logistic = LogisticRegression(max_iter=2000).fit(X, y)
    np.testing.assert_array_equal(explain(logistic, sparse.csr_matrix(X)), explain(logistic, X))
