"""Dropout: an unbiased mask on hidden units, the network of the audited model, and nothing else changed."""

import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.compose import make_column_transformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from leakscope.core.errors import InputError, MissingExtraError
from leakscope.defenses import Dropout, apply
from leakscope.defenses.dropout import Architecture, DropoutOutputs, build, train
from leakscope.models.target import make_target

rng = np.random.default_rng(8)
X = rng.normal(size=(60, 4))
y = rng.integers(0, 3, 60)
NETWORK = Architecture((6,), "tanh", penalty=0.0, learning_rate=0.01, batch=20, passes=30, rate=0.5)
MANY = {"max_iter": 150, "n_iter_no_change": 1000, "learning_rate_init": 0.02}


@pytest.fixture(scope="module")
def target():
    with pytest.warns(ConvergenceWarning):
        estimator = make_pipeline(StandardScaler(), MLPClassifier((40,), **MANY, random_state=0)).fit(X, y)
    return make_target(estimator, (X, y), (X + 0.5, y))


def test_the_mean_over_masks_is_the_answer_with_all_units_on():
    """With one hidden layer exactly so: what follows the mask is linear (Srivastava et al. 2014, section 4)."""
    torch.manual_seed(0)
    module, records = build(NETWORK, 4, 2), torch.from_numpy(X[:5]).float()
    with torch.no_grad():
        draws = np.stack([module.train()(records).numpy() for _ in range(4000)])
        whole = module.eval()(records).numpy()
    error = draws.std(axis=0) / np.sqrt(4000)
    assert (np.abs(draws.mean(axis=0) - whole) < 4.5 * error).all()
    assert error.min() > 0


@pytest.mark.parametrize("activation", ["relu", "tanh", "logistic", "identity"])
def test_answers_without_torch_are_those_of_the_module(activation):
    network = Architecture((6, 3), activation, 0.0, 0.01, 20, 3, 0.3)
    torch.manual_seed(1)
    module = build(network, 4, 3).eval()
    linear = [part for part in module if isinstance(part, torch.nn.Linear)]
    layers = [(part.weight.detach().numpy().T, part.bias.detach().numpy()) for part in linear]
    with torch.no_grad():
        expected = torch.softmax(module(torch.from_numpy(X).float()), dim=1).numpy()
    assert np.allclose(DropoutOutputs(lambda X: X, layers, activation, True)(X), expected, atol=1e-6)


def test_a_linear_network_without_dropout_finds_least_squares_and_its_penalty_is_scikit_learns():
    """Without a hidden layer the minimum of ½ mean squared error + α/(2b) ‖w‖² is known."""
    values, alpha = X @ [1.0, 2.0, -1.0, 0.5] + 3, 15.0
    network = Architecture((), "identity", alpha, learning_rate=0.05, batch=60, passes=600, rate=0.0)
    ((weights, bias),) = train(network, X, values, 1, False, np.random.default_rng(0))
    centred = X - X.mean(axis=0)
    slope = np.linalg.solve(centred.T @ centred + alpha * np.eye(4), centred.T @ (values - values.mean()))
    assert np.allclose(weights[:, 0], slope, atol=1e-3)
    assert bias[0] == pytest.approx(values.mean() - X.mean(axis=0) @ slope, abs=1e-3)


def test_random_labels_are_learned_by_heart_the_less_the_more_is_dropped(target):
    def loss(rate):
        answers = apply(Dropout(), target, rate).model.predict(X)
        return -np.log(answers[np.arange(60), y]).mean()

    losses = [loss(rate) for rate in (0, 0.5, 0.9)]
    assert losses[0] < 0.5 < np.log(3)  # without dropout much of the 60 random labels is known
    assert losses[0] < losses[1] < losses[2]


def test_the_settings_of_the_audited_network_are_taken_over(target):
    network = Dropout().defend(target, 0.5).learner.fit.network
    assert network == Architecture((40,), "relu", 1e-4, 0.02, 200, 150, 0.5)


def test_a_class_that_is_missing_keeps_its_column(target):
    some = y < 2
    answers = Dropout().defend(target, 0.2).learner.fit(X[some], y[some], np.random.default_rng(1)).predict(X)
    assert answers.shape == (60, 3)
    assert answers[:, 2].mean() < 0.1
    assert np.allclose(answers.sum(axis=1), 1)


def test_regressions_and_tables_in_pipelines():
    table = pd.DataFrame({"age": X[:, 0], "job": np.where(X[:, 1] > 0, "cook", "judge")})
    values = X[:, 0] * 2 + (X[:, 1] > 0)
    encode = make_column_transformer((StandardScaler(), ["age"]), (OneHotEncoder(), ["job"]))
    network = MLPRegressor(hidden_layer_sizes=(20,), learning_rate_init=0.02, max_iter=2000, random_state=0)
    pair = (table, values)
    target = make_target(make_pipeline(encode, network).fit(*pair), pair, pair)
    model = Dropout().defend(target, 0.1).learner.fit(table[::2], values[::2], np.random.default_rng(0))
    error = np.mean((model.predict(table[1::2]) - values[1::2]) ** 2)
    assert error < 0.5 * values.var()


def test_what_has_no_hidden_units_is_refused(target):
    def reason(estimator, y=X[:, 0]):
        return Dropout().refuse(make_target(estimator.fit(X, y), (X, y), (X, y)))

    assert Dropout().refuse(target) is None
    assert "LogisticRegression" in reason(LogisticRegression(), y)
    assert reason(MLPRegressor(hidden_layer_sizes=(), solver="lbfgs", max_iter=500)) is not None
    counts = MLPRegressor("poisson", hidden_layer_sizes=(3,), solver="lbfgs", max_iter=5000)
    assert "Poisson" in reason(counts, np.exp(X[:, 0]))
    alone = make_target(lambda X: np.full((len(X), 3), 1 / 3), (X, y), (X, y))
    assert alone.model.name in Dropout().refuse(alone)


def test_without_torch_the_extra_is_named(target, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"dropout.*leakscope\[torch\]"):
        Dropout().defend(target, 0.5)


def test_a_training_that_diverges_says_so():
    network = replace(NETWORK, activation="identity", learning_rate=1e30)
    with pytest.raises(InputError, match="learning_rate_init"):
        train(network, X, X[:, 0], 1, False, np.random.default_rng(0))
