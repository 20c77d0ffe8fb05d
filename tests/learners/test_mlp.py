"""Stacked networks equal those of a plain torch loop and do not depend on the stack; learning and refusals."""

import re
import subprocess
import sys
from itertools import chain, islice, pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest

from leakscope.core.errors import InputError, MissingExtraError, TrainingError
from leakscope.core.threads import one_thread
from leakscope.learners import mlp
from leakscope.learners.mlp import MLP
from leakscope.worlds.training import TrainingSets, leave_one_out, retrain

torch = pytest.importorskip("torch")

RECORDS = 60
TASKS = {"regression": 0, "two classes": 2, "four classes": 4}


def problem(task: str, columns: int = 5, **settings: Any) -> tuple[MLP, Any, Any]:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(RECORDS, columns))
    signal = np.sin(X @ rng.normal(size=columns)) + rng.normal(0, 0.1, RECORDS)
    if task == "regression":
        return MLP(**settings).prepare(X, signal)
    ranks = np.argsort(np.argsort(signal)) * TASKS[task] // RECORDS
    return MLP(task="classification", **settings).prepare(X, ranks)


def generator(number: int) -> np.random.Generator:
    return np.random.default_rng([3, number])


def training_sets(count: int, size: int = 25) -> list[Any]:
    return [np.sort(np.random.default_rng([5, k]).choice(RECORDS, size, replace=False)) for k in range(count)]


def module(learner: MLP, model: Any, columns: int, dtype: Any = torch.float32) -> Any:
    """The network of a model, as a torch user would write it."""
    activation = {"tanh": torch.nn.Tanh, "relu": torch.nn.ReLU}[learner.activation]
    widths = [columns, *learner.widths, 1 if learner.classes is None else learner.classes - 1]
    linear = [torch.nn.Linear(*pair) for pair in pairwise(widths)]
    layers = list(chain.from_iterable((layer, activation()) for layer in linear))[:-1]
    place = 0
    for layer in linear:
        inputs, outputs = layer.in_features, layer.out_features
        for parameter, shape in ((layer.weight, (inputs, outputs)), (layer.bias, (outputs,))):
            values = model[place : (place := place + parameter.numel())].reshape(shape).T
            parameter.data = torch.from_numpy(values.copy())
    assert place == len(model)
    return torch.nn.Sequential(*layers).to(dtype)


def flat(network: Any) -> Any:
    arrays = [parameter.detach().double().numpy() for parameter in network.parameters()]
    return np.concatenate([array.T.ravel() for array in arrays])


def literal(learner: MLP, X: Any, y: Any, indices: Any, rng: np.random.Generator, dtype: Any) -> Any:
    """The usual loop: one module, torch.optim, autograd; the penalty's gradient 2λθ is its weight decay."""
    start = mlp._start(learner._shapes(X.shape[1]), rng)
    network = module(learner, start, X.shape[1], dtype)
    settings = {"lr": learner.rate, "weight_decay": 2 * learner.l2, "eps": 1e-8}
    kind = {"adam": torch.optim.Adam, "adagrad": torch.optim.Adagrad}[learner.optimizer]
    optimizer = kind(network.parameters(), **settings)
    batches = chain.from_iterable(mlp._batches(indices, learner.batch, rng))
    records = torch.from_numpy(X).to(dtype)
    for rows in islice(batches, learner.steps):
        outputs = network(records[rows])
        if learner.task == "regression":
            loss = torch.nn.functional.mse_loss(outputs[:, 0], torch.from_numpy(y[rows]).to(dtype))
        else:
            log_odds = torch.cat([torch.zeros(len(rows), 1, dtype=dtype), outputs], 1)
            loss = torch.nn.functional.cross_entropy(log_odds, torch.from_numpy(y[rows]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return flat(network)


def same_bits(models: Any, others: Any) -> bool:
    return [model.tobytes() for model in models] == [model.tobytes() for model in others]


# --- comparison with a plain torch loop ---


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("l2", [0.0, 0.01])
@pytest.mark.parametrize(
    ("settings", "scale"), [({"widths": (20, 20, 20)}, 1), ({"widths": (20, 20), "rate": 0.01, "optimizer": "adagrad"}, 10)]
)  # fmt: skip
def test_stack_trains_the_networks_of_a_literal_loop(
    task: str, activation: Any, l2: float, settings: dict[str, Any], scale: float
) -> None:
    learner, X, y = problem(task, activation=activation, l2=l2, steps=70, batch=8, **settings)
    sets = training_sets(2)
    stacked = learner.fit_many(X, y, sets, [generator(k) for k in range(2)])
    for number, drawn in enumerate(sets):
        ours, start = learner.parameters(stacked[number]), mlp._start(learner._shapes(5), generator(number))
        assert np.abs(ours - start).max() > 0.03
        with one_thread():
            theirs = literal(learner, X, y, drawn, generator(number), torch.float64)
        # A step rounds a float32 weight by 2^-24 of it at most. Adam divides a gradient by its own size, so that for the
        # few that nearly cancel their rounding counts too: up to a hundredth of one step of 1e-3. The first step of
        # Adagrad is the rate times the sign of the gradient: one that rounding makes of a zero moves a weight by 0.01.
        # None is so small here; the others round as with Adam, times ten for the rate.
        apart = np.abs(ours - theirs)
        assert apart.max() < scale * 1e-5
        assert np.quantile(apart, 0.99) < scale * learner.steps * 2.0**-24 * np.abs(ours).max()


def test_network_of_the_paper_after_all_steps() -> None:
    learner, X, y = problem("regression")
    drawn = training_sets(1)[0]
    ours = learner.parameters(learner.fit(X[drawn], y[drawn], generator(0)))
    with one_thread():
        theirs = literal(learner, X, y, drawn, generator(0), torch.float32)
    assert ours.shape == (6 * 50 + 4 * 51 * 50 + 51,)
    assert np.abs(ours - theirs).max() < 1e-5


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_outputs_and_losses_are_those_of_the_torch_module(task: str, activation: Any) -> None:
    learner, X, y = problem(task, widths=(9, 4), activation=activation, steps=20)
    model = learner.fit(X, y, generator(0))
    with torch.no_grad():
        outputs = module(learner, model, 5, torch.float64)(torch.from_numpy(X))
    np.testing.assert_allclose(learner.outputs(model, X), outputs.numpy(), rtol=0, atol=1e-13)
    if task == "regression":
        losses = torch.square(outputs[:, 0] - torch.from_numpy(y))
    else:
        log_odds = torch.nn.functional.pad(outputs, (1, 0))
        losses = torch.nn.functional.cross_entropy(log_odds, torch.from_numpy(y), reduction="none")
    np.testing.assert_allclose(learner.losses(model, X, y), losses.numpy(), rtol=1e-12, atol=1e-13)


# --- start and order ---


def test_weights_and_biases_start_uniform_as_in_torch() -> None:
    for inputs, outputs in ((4, 3_000), (100, 100)):
        start = mlp._start([(inputs, outputs)], generator(0)) * np.sqrt(inputs)
        assert np.abs(start).max() <= 1 + 1e-6
        # uniform on ±1: mean 0 and variance 1/3, with standard errors √(1/3n) and √(4/45n)
        assert abs(start.mean()) < 4 * np.sqrt(1 / 3 / start.size)
        assert abs(start.var() - 1 / 3) < 4 * np.sqrt(4 / 45 / start.size)
        theirs = torch.nn.Linear(inputs, outputs)
        for parameter in (theirs.weight, theirs.bias):
            assert float(parameter.detach().abs().max()) * np.sqrt(inputs) == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize(("size", "batch"), [(25, 8), (7, 7), (5, 32), (200, 3), (1, 1)])
def test_batches_are_cut_from_one_random_order_after_the_other(size: int, batch: int) -> None:
    drawn = np.arange(size) + 100
    batches = list(islice(chain.from_iterable(mlp._batches(drawn, batch, generator(0))), 3 * mlp.BLOCK))
    assert {len(rows) for rows in batches} == {min(size, batch)}
    stream = np.concatenate(batches)
    orders = stream[: len(stream) // size * size].reshape(-1, size)
    assert (np.sort(orders, axis=1) == drawn).all()
    rng = generator(0)
    assert all((order == rng.permutation(drawn)).all() for order in orders)


# --- dependence on data and generator only ---

SHAPES = [
    {"widths": (50, 50, 50, 50, 50), "steps": 10},
    {"widths": (13, 7), "batch": 5, "steps": 30, "l2": 0.1},
    {"widths": (13, 7), "batch": 5, "steps": 30, "l2": 0.1, "optimizer": "adagrad"},
    {"widths": (3,), "batch": 7, "steps": 30, "activation": "relu"},
    {"widths": (), "batch": 1, "steps": 30},
]


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("settings", SHAPES)
def test_bits_do_not_depend_on_the_neighbours_in_the_stack(task: str, settings: dict[str, Any]) -> None:
    learner, X, y = problem(task, **settings)
    sets = training_sets(17)

    def stack(numbers: Any) -> Any:
        return learner.fit_many(X, y, [sets[k] for k in numbers], [generator(k) for k in numbers])

    reference = stack(range(17))
    for size in (1, 2, 3, 5, 8, 16):
        assert same_bits(stack(range(size)), reference[:size])
        assert same_bits(stack(range(17 - size, 17)), reference[17 - size :])
    assert same_bits(stack(range(16, -1, -1)), reference[::-1])
    assert same_bits([learner.fit(X[sets[4]], y[sets[4]], generator(4))], [reference[4]])


def test_training_sets_of_different_sizes_in_one_call() -> None:
    learner, X, y = problem("regression", widths=(6,), steps=20)
    sets = [np.arange(size) for size in (9, 40, 9, 1, 40)]
    models = learner.fit_many(X, y, sets, [generator(k) for k in range(5)])
    alone = [learner.fit(X[drawn], y[drawn], generator(k)) for k, drawn in enumerate(sets)]
    assert same_bits(models, alone)


def half(number: int) -> Any:
    """29 or 30 of 59 records."""
    return np.flatnonzero(np.random.default_rng(number).permutation(RECORDS - 1) < 29 + number % 2)


def test_bits_do_not_depend_on_chunks_workers_and_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    learner, X, y = problem("regression", widths=(8, 8), steps=10)
    halves = TrainingSets(RECORDS - 1, 40, half)

    def run(workers: int) -> list[Any]:
        seen = retrain(learner, X[:-1], y[:-1], halves, weights, seed=1, workers=workers)
        return [observed["weights"] for observed in seen]

    reference = run(workers=2)
    for chunk in (2, 3, 16):
        monkeypatch.setattr(mlp, "STACK", chunk)
        assert learner.chunk == chunk
        assert same_bits(run(workers=1), reference)
    rngs = [np.random.default_rng(child) for child in np.random.SeedSequence(1).spawn(40)]
    direct = learner.fit_many(X, y, [halves.indices(number) for number in range(40)], rngs)  # with the caller's threads
    assert same_bits(direct, reference)


def weights(model: Any, number: int, indices: Any) -> dict[str, Any]:  # noqa: ARG001
    return {"weights": model}


def test_records_and_labels_of_the_caller_are_left_alone() -> None:
    learner, X, y = problem("regression", widths=(4,), steps=5)
    kept = X.copy(), y.copy()
    X.flags.writeable = y.flags.writeable = False
    learner.fit_many(X, y, training_sets(2), [generator(0), generator(1)])
    assert (kept[0] == X).all()
    assert (kept[1] == y).all()


# --- what is learned ---


@pytest.mark.parametrize("task", TASKS)
def test_without_hidden_layers_the_minimum_of_the_objective_is_found(task: str) -> None:
    """At the minimum of λθᵀθ + mean loss its gradient, written down here by hand, is 0."""
    learner, X, y = problem(task, columns=3, widths=(), l2=0.1, batch=RECORDS, steps=2_000, rate=0.003)
    theta = learner.parameters(learner.fit(X, y, generator(0))).reshape(4, -1)
    ones = np.column_stack([X, np.ones(RECORDS)])
    if task == "regression":
        by_output = 2 * (ones @ theta - y[:, None])
    else:
        powers = np.exp(np.column_stack([np.zeros(RECORDS), ones @ theta]))
        by_output = (powers / powers.sum(axis=1, keepdims=True) - np.eye(learner.classes)[y])[:, 1:]
    gradient = ones.T @ by_output / RECORDS + 2 * learner.l2 * theta
    # float32 settles where a step is lost in rounding: far below the gradient at the start, which is of order 1
    assert np.abs(gradient).max() < 1e-4


# --- the interface ---


def test_parameters_round_trip_without_rounding() -> None:
    learner, X, y = problem("four classes", widths=(6, 5), steps=5)
    model = learner.fit(X, y, generator(0))
    theta = learner.parameters(model)
    assert model.dtype == np.float32
    assert theta.dtype == np.float64
    assert (learner.outputs(learner.from_parameters(theta), X) == learner.outputs(model, X)).all()
    noisy = theta + np.random.default_rng(0).normal(size=theta.shape)
    assert (learner.parameters(learner.from_parameters(noisy)) == noisy).all()
    with pytest.raises(InputError, match=rf"\({len(theta)},\).*\(3,\)"):
        learner.from_parameters(np.zeros(3))
    with pytest.raises(InputError, match=r"\b4\b"):
        learner.outputs(model, X[:, :4])


def test_prepare_gives_arrays_and_knows_the_data() -> None:
    frame = pd.DataFrame({"age": [31, 40, 22], "smokes": [True, False, True]})
    learner, X, y = MLP(task="classification", widths=[4]).prepare(frame, pd.Series(["no", "yes", "maybe"]))
    assert (learner.inputs, learner.classes, learner.name) == (2, 3, "tanh network 4")
    assert X.dtype == np.float64
    assert y.tolist() == [1, 2, 0]
    again, _, values = MLP().prepare(frame, [1, 2, 3])
    assert (again.classes, values.dtype) == (None, np.float64)


def test_large_networks_come_in_small_stacks() -> None:
    assert MLP().chunk == MLP(inputs=5).chunk == 16
    assert MLP(widths=(1024, 1024), inputs=600).chunk == 2
    assert 2 < MLP(widths=(512, 512), inputs=600).chunk < 16


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"widths": 50}, "widths"),
        ({"widths": "50"}, "widths"),
        ({"widths": (50, 0)}, "widths"),
        ({"widths": (5.0,)}, "widths"),
        ({"activation": "gelu"}, "activation.*'tanh'.*'relu'"),
        ({"task": "ranking"}, "task"),
        ({"optimizer": "sgd"}, "optimizer.*'adam'.*'adagrad'.*'sgd'"),
        ({"steps": 0}, "steps"),
        ({"batch": 2.5}, "batch"),
        ({"l2": -0.1}, "l2"),
        ({"l2": float("nan")}, "l2"),
        ({"rate": 0}, "rate"),
        ({"rate": "fast"}, "rate"),
    ],
)
def test_settings_are_refused_by_name(settings: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError, match=named):
        MLP(**settings)


@pytest.mark.parametrize(
    ("X", "y", "task", "named"),
    [
        ([[1.0], [2e30]], [0, 1], "regression", r"features.*2e\+30"),
        ([[1.0], [2.0]], [0, 1e30], "regression", r"labels.*1e\+30"),
        (pd.DataFrame({"city": ["Rome", "Lima"]}), [0, 1], "regression", "'city'"),
        ([[1.0], [2.0]], ["no", "yes"], "regression", "labels"),
        ([[1.0], [2.0]], ["no", "no"], "classification", "label"),
    ],
)
def test_data_are_refused_by_name(X: Any, y: Any, task: Any, named: str) -> None:
    with pytest.raises(InputError, match=named):
        MLP(task=task).prepare(X, y)


def test_sizes_that_no_training_set_has() -> None:
    learner, X, y = problem("regression", widths=(3,), steps=2)
    learner.check(X, y, RECORDS)
    learner.check(X, y, 1)
    for size in (0, RECORDS + 1, 2.5):
        with pytest.raises(InputError, match=re.escape(str(size))):
            learner.check(X, y, size)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="1"):
        learner.fit(X[:0], y[:0], generator(0))


def test_a_classifier_that_was_not_prepared() -> None:
    with pytest.raises(InputError, match="prepare"):
        MLP(task="classification").fit(np.zeros((2, 1)), np.array([0, 1]), generator(0))


def test_networks_that_diverge_are_counted() -> None:
    learner, X, y = problem("regression", widths=(4, 4), activation="relu", rate=1e30, steps=20)
    with pytest.raises(InputError, match=r"3.*3.*rate"):
        learner.fit_many(X, y, training_sets(3), [generator(k) for k in range(3)])
    with pytest.raises(TrainingError, match=r"\b0\b.*\b15\b.*\b16\b.*\b16\b"):
        retrain(learner, X, y, leave_one_out(RECORDS), weights, seed=0, workers=1)


def test_torch_is_imported_for_training_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"leakscope\[torch\]"):
        MLP().prepare([[1.0], [2.0]], [0.0, 1.0])
    lines = "import sys; from leakscope.learners import MLP; MLP(); sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", lines], check=True)
