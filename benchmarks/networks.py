"""Networks trained a stack at a time, on one thread: small ones against one after the other, large ones against the rate
of matrix products that the machine reaches.

A step of a network with P weights, P₁ of them in its first layer, on a batch of B takes 2B(3P - P₁) multiplications and
additions in matrix products: to the outputs, to the gradient, and back to every layer but the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, islice, pairwise
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.measure import Line, seconds
from leakscope.core.threads import one_thread
from leakscope.learners import mlp
from leakscope.worlds.training import random_sets, retrain

RECORDS, SIZE, COLUMNS, STEPS = 1_000, 100, 5, 100
STACKED, LOOP, MANY = 96, 4, 192  # networks that we train, that the loops train, and that two workers share


#: Hidden layers, with what is asked for against a loop over a DataLoader and against a lean loop.
SMALL = {(50, 50, 50, 50, 50): (8.0, 4.0), (50, 50): (16.0, 10.0)}
#: Columns, hidden layers and classes, with the share of the rate of large matrix products that is asked for: the less, the
#: more of the work is not in products. Of 128-512-128 a third of the time goes to Adam, tanh and softmax.
LARGE = {(600, 1024, 512, 256, 100): 0.6, (128, 512, 128): 0.4}
BATCH, SQUARE = 64, 1024


def universe(widths: tuple[int, ...]) -> tuple[mlp.MLP, Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(RECORDS, COLUMNS))
    return mlp.MLP(widths, steps=STEPS).prepare(X, np.sin(X.sum(axis=1)))


def training_set(number: int) -> tuple[Any, np.random.Generator]:
    """Records of one network, and the generator of its start and batches."""
    drawn = np.random.default_rng([0, number]).choice(RECORDS, SIZE, replace=False)
    return drawn, np.random.default_rng([1, number])


def stacks(learner: mlp.MLP, X: Any, y: Any) -> list[Any]:
    """Ours: as many at a time as `retrain` would give."""
    models = []
    for first in range(0, STACKED, learner.chunk):
        chosen = [training_set(number) for number in range(first, min(STACKED, first + learner.chunk))]
        models += learner.fit_many(X, y, [drawn for drawn, _ in chosen], [rng for _, rng in chosen])
    return models


def network(widths: tuple[int, ...]) -> Any:
    layers = [(torch.nn.Linear(*pair), torch.nn.Tanh()) for pair in pairwise([COLUMNS, *widths, 1])]
    return torch.nn.Sequential(*list(chain.from_iterable(layers))[:-1])


def usual_loop(learner: mlp.MLP, X: Any, y: Any) -> None:
    """What a user writes: a shuffling DataLoader, a module, Adam."""
    loss = torch.nn.MSELoss()
    for number in range(LOOP):
        drawn, _ = training_set(number)
        data = TensorDataset(torch.tensor(X[drawn], dtype=torch.float32), torch.tensor(y[drawn, None]).float())
        loader = DataLoader(data, batch_size=learner.batch, shuffle=True)
        module = network(learner.widths)
        optimizer = torch.optim.Adam(module.parameters(), lr=learner.rate)
        for records, labels in islice(chain.from_iterable(iter(lambda loader=loader: loader, None)), STEPS):
            optimizer.zero_grad()
            loss(module(records), labels).backward()
            optimizer.step()


def lean_loop(learner: mlp.MLP, X: Any, y: Any) -> list[Any]:
    """The quickest plain loop: batches are slices of gathered tensors, Adam is fused. Start and batches are ours."""
    records, labels = torch.from_numpy(X).float(), torch.from_numpy(y[:, None]).float()
    trained = []
    for number in range(LOOP):
        drawn, rng = training_set(number)
        module = network(learner.widths)
        start = mlp._layers(mlp._start(learner._shapes(COLUMNS), rng), learner._shapes(COLUMNS))
        for layer, (weights, bias) in zip(module[::2], start, strict=True):
            layer.weight.data, layer.bias.data = torch.from_numpy(weights.T.copy()), torch.from_numpy(bias.copy())
        rows = torch.from_numpy(np.concatenate(list(islice(mlp._batches(drawn, learner.batch, rng), 2))))
        batches, targets = records[rows], labels[rows]
        optimizer = torch.optim.Adam(module.parameters(), lr=learner.rate, fused=True)
        for step in range(STEPS):
            optimizer.zero_grad()
            (module(batches[step]) - targets[step]).square().mean().backward()
            optimizer.step()
        arrays = [parameter.detach().numpy() for parameter in module.parameters()]
        trained.append(np.concatenate([array.T.ravel() for array in arrays]))
    return trained


def observe(model: Any, world: int, indices: Any) -> dict[str, Any]:  # noqa: ARG001
    return {"first": model[:1]}


def run() -> Iterator[Line]:
    for widths, goals in SMALL.items():
        yield from against_loops(widths, goals)
    for widths, goal in LARGE.items():
        yield product_rate(widths, goal)
    learner, X, y = universe(next(iter(SMALL)))

    def work(workers: int) -> None:
        retrain(learner, X, y, random_sets(RECORDS, SIZE, MANY, seed=0), observe, seed=0, workers=workers)

    work(2)  # starts the processes
    one, two = best_times(partial(work, 1), partial(work, 2))
    detail = f"[{one:.2f} s against {two:.2f} s]"
    yield Line(
        f"training {MANY} networks of 5 x 50 neurons with one worker, against two",
        one / two,
        1.5,
        detail=detail,
        at_least=True,
    )


def against_loops(widths: tuple[int, ...], goals: tuple[float, float]) -> Iterator[Line]:
    learner, X, y = universe(widths)
    with one_thread():
        models, _, lean_models = (way(learner, X, y) for way in (stacks, usual_loop, lean_loop))
        times = best_times(*(partial(way, learner, X, y) for way in (stacks, usual_loop, lean_loop)))
    ours, *theirs = 1e6 * times / (STACKED, LOOP, LOOP) / STEPS
    what = f"training {STACKED} networks of {len(widths)} x {widths[0]} neurons, per network, against"
    for other, goal, name in zip(
        theirs, goals, ("a loop over a DataLoader", "a lean loop with fused Adam"), strict=True
    ):
        detail = f"[{ours:.0f} µs against {other:.0f} µs a step, one thread each]"
        yield Line(f"{what} {name}", other / ours, goal, detail=detail, at_least=True)
    apart = max(np.abs(mine - other).max() for mine, other in zip(models, lean_models, strict=False))
    yield Line(
        f"largest difference of a weight from that of the lean loop after {STEPS} steps", 1e6 * apart, 10.0, "1e-6"
    )


def product_rate(widths: tuple[int, ...], goal: float) -> Line:
    """Operations in matrix products of a training per second, as a share of those of two large matrices."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(RECORDS, widths[0])), np.arange(RECORDS) % widths[-1]

    def training(steps: int) -> Callable[[], Any]:
        learner, records, labels = mlp.MLP(widths[1:-1], steps=steps, batch=BATCH, task="classification").prepare(X, y)
        sets, rngs = zip(*map(training_set, range(learner.chunk)), strict=True)
        return lambda: learner.fit_many(records, labels, list(sets), list(rngs))

    chunk = mlp.MLP(widths[1:-1], task="classification").prepare(X, y)[0].chunk
    weights = [inputs * outputs for inputs, outputs in pairwise(widths)]
    operations = 2 * BATCH * (3 * sum(weights) - weights[0]) * chunk
    matrix = torch.randn(SQUARE, SQUARE)
    with one_thread():
        # runs of similar length: on a busy machine the shorter one would find the quieter moment
        long, short, products = best_times(training(21), training(1), lambda: [matrix @ matrix for _ in range(20)])
    ours, peak = operations * 20 / (long - short) / 1e9, 20 * 2 * SQUARE**3 / products / 1e9
    name = "-".join(map(str, widths))
    detail = f"[{ours:.0f} of {peak:.0f} GF/s, {chunk} at a time, batches of {BATCH}]"
    return Line(
        f"products in the training of {name}, as a share of the rate of a large one",
        ours / peak,
        goal,
        "",
        detail,
        True,
    )


def best_times(*ways: Callable[[], Any]) -> np.ndarray:
    """Run all in turn and take the shortest time of each: a busy machine only makes them longer."""
    return np.min([[seconds(way) for way in ways] for _ in range(5)], axis=0)
