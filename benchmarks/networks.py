"""Networks of five layers of fifty neurons, trained a stack at a time, against one after the other; one thread for all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, islice, pairwise
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.measure import Line, seconds
from leakscope.learners import mlp
from leakscope.workers import one_thread
from leakscope.worlds import random_sets, retrain

RECORDS, SIZE, COLUMNS, STEPS = 1_000, 100, 5, 100
STACKED, LOOP, MANY = 96, 4, 192  # networks that we train, that the loops train, and that two workers share


def universe() -> tuple[mlp.MLP, Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(RECORDS, COLUMNS))
    return mlp.MLP(steps=STEPS).prepare(X, np.sin(X.sum(axis=1)))


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
    learner, X, y = universe()
    with one_thread():
        models, _, lean_models = (way(learner, X, y) for way in (stacks, usual_loop, lean_loop))
        times = best_times(*(partial(way, learner, X, y) for way in (stacks, usual_loop, lean_loop)))
    ours, usual, lean = 1e6 * times / (STACKED, LOOP, LOOP) / STEPS
    what = f"training {STACKED} networks of 5 x 50 neurons, per network, against"
    for theirs, goal, name in ((usual, 8.0, "a loop over a DataLoader"), (lean, 4.0, "a lean loop with fused Adam")):
        detail = f"[{ours:.0f} µs against {theirs:.0f} µs a step, one thread each]"
        yield Line(f"{what} {name}", theirs / ours, goal, detail=detail, at_least=True)
    apart = max(np.abs(mine - other).max() for mine, other in zip(models, lean_models, strict=False))
    yield Line(
        f"largest difference of a weight from that of the lean loop after {STEPS} steps", 1e6 * apart, 10.0, "1e-6"
    )

    def work(workers: int) -> None:
        retrain(learner, X, y, random_sets(RECORDS, SIZE, MANY, seed=0), observe, seed=0, workers=workers)

    work(2)  # starts the processes
    one, two = best_times(partial(work, 1), partial(work, 2))
    detail = f"[{one:.2f} s against {two:.2f} s]"
    yield Line(f"training {MANY} of them with one worker, against two", one / two, 1.5, detail=detail, at_least=True)


def best_times(*ways: Callable[[], Any]) -> np.ndarray:
    """Run all in turn and take the shortest time of each: a busy machine only makes them longer."""
    return np.min([[seconds(way) for way in ways] for _ in range(5)], axis=0)
