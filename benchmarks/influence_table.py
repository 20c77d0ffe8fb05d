"""What an approximation of leave-one-out costs: the table of the documentation.

    LEAKSCOPE_DATA=... python -m benchmarks.influence_table

Each line compares approximate influences (loss 1 − likelihood) with exact ones at points that were not trained on: the
share of the true five most influential records that are found, the share of points whose first is right, and the rank
correlation over all records; each in the mean over points, with its 95 % interval.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from leakscope.core.threads import one_thread
from leakscope.data import datasets
from leakscope.learners import MLP
from leakscope.releases.record_explanations import LeaveOneOut, influences, leave_one_out
from leakscope.releases.record_explanations.approximate import first_order, one_step
from leakscope.releases.record_explanations.functions import influence_functions
from leakscope.releases.record_explanations.rank_agreement import agreement
from leakscope.releases.record_explanations.retrained import Retrained, retrain_without_each

RECORDS, POINTS = 2000, 500
PIXEL_RECORDS, PIXEL_REFITS = 1600, 10
NETWORK_RECORDS, NETWORK_POINTS, NUMBERS = 150, 500, 6
NETWORKS = ((0.03, 1000), (0.01, 1500), (0.003, 1500))  # λ, and steps of Adam


def adult() -> tuple[Any, Any]:
    """All records of Adult in one-hot columns, in random order."""
    data = datasets.load("adult", preparation="one-hot")
    order = np.random.default_rng(0).permutation(len(data.y))
    return np.asarray(data.X, dtype=np.float64)[order], np.asarray(data.y)[order]


def pixels() -> tuple[Any, Any]:
    """Fish against large carnivores, in random order."""
    data = datasets.load("cifar100_20k")
    kind = np.asarray(data.groups["superclass"])
    chosen = np.flatnonzero(np.isin(kind, ("fish", "large_carnivores")))
    chosen = chosen[np.random.default_rng(0).permutation(len(chosen))]
    images = np.asarray(data.X)[chosen].reshape(len(chosen), -1)
    return images / 255.0, (kind[chosen] == "fish").astype(int)


def refit(exact: LeaveOneOut, X: Any, y: Any, penalty: float, removed: Any) -> LeaveOneOut:
    """scikit-learn at its default settings, once with all records and once without each of those removed."""
    from sklearn.linear_model import LogisticRegression

    def fit(rows: Any) -> Any:
        return LogisticRegression(C=1 / penalty).fit(X[rows], y[rows])

    with warnings.catch_warnings(), one_thread():
        warnings.simplefilter("ignore")  # that it stopped before it converged is what is measured
        full = fit(np.arange(len(y)))
        models = [fit(np.delete(np.arange(len(y)), record)) for record in removed]
    return replace(
        exact,
        coef=np.array([model.coef_[0] for model in models]),
        intercept=np.array([model.intercept_[0] for model in models]),
        coef_full=full.coef_[0],
        intercept_full=float(full.intercept_[0]),
        gradient_norm=np.nan,
        _first=np.arange(len(models)),
    )


def line(data: str, penalty: float, method: str, found: Any, true: Any) -> str:
    a = agreement(found, true)
    return f"| {data} | {penalty:g} | {method} | {a.top} | {a.first} | {a.rank_correlation} |"


def logistic(data: str, X: Any, y: Any, points: Any, penalty: float, refits: bool) -> Iterator[str]:
    exact = leave_one_out(X, y, penalty)
    # All methods judge a point by the class that the exact model predicts.
    labels = (exact.probabilities(points) >= 0.5).astype(int)
    true = influences(exact, points, labels)
    methods = [("first order (influence function)", first_order), ("one corrected step", one_step)]
    if refits:
        methods.append(
            ("scikit-learn refits, default tolerance", lambda *_: refit(exact, X, y, penalty, np.arange(len(y))))
        )
    for name, method in methods:
        yield line(data, penalty, name, influences(method(X, y, penalty), points, labels), true)
    if not refits:
        some = influences(refit(exact, X, y, penalty, np.arange(PIXEL_REFITS)), points, labels)
        error = np.median(np.abs(some - true[:, :PIXEL_REFITS]) / np.abs(true[:, :PIXEL_REFITS]))
        yield (
            f"| {data} | {penalty:g} | scikit-learn refits, default tolerance | not run for all; the influence "
            f"of {PIXEL_REFITS} records is off by {100 * error:.0f} % in the median | | |"
        )


def as_module(models: Retrained, widths: list[int]) -> Any:
    """The network of all records as a torch module."""
    import torch

    theta = torch.tensor(np.asarray(models.full, np.float64))
    layers: list[Any] = []
    for inputs, outputs in pairwise(widths):
        layer = torch.nn.Linear(inputs, outputs).double()
        weights, bias, theta = theta.split([inputs * outputs, outputs, len(theta) - (inputs + 1) * outputs])
        with torch.no_grad():
            layer.weight.copy_(weights.view(inputs, outputs).T)
            layer.bias.copy_(bias)
        layers += [layer, torch.nn.Tanh()]
    return torch.nn.Sequential(*layers[:-1])


def network(X: Any, y: Any, points: Any, l2: float, steps: int) -> Iterator[str]:
    import torch

    penalty = 2 * len(y) * l2  # of the sum of the losses
    data = f"Adult, {len(y)} × {X.shape[1]}, network of 10 neurons"
    learner = MLP(widths=(10,), l2=l2, steps=steps, batch=len(y), rate=0.003, task="classification")
    models = retrain_without_each(learner, X, y)
    labels = (models.probabilities(points) >= 0.5).astype(int)
    true = influences(models, points, labels)
    for curvature, damping in (("hessian", 0.0), ("hessian", 1.0), ("gauss-newton", 0.0)):
        name = f"influence function, {'Gauss-Newton' if curvature == 'gauss-newton' else f'damping {damping:g}'}"
        try:
            found = influence_functions(
                as_module(models, [X.shape[1], 10, 1]),
                lambda out, label: torch.nn.functional.binary_cross_entropy_with_logits(out[:, 0], label.double()),
                X,
                y,
                points,
                labels,
                penalty=penalty,
                damping=damping,
                curvature=curvature,  # type: ignore[arg-type]
                point_loss=lambda out, label: torch.sigmoid(out[:, 0] * (1 - 2 * label)),
            )
        except ValueError as error:
            yield f"| {data} | {penalty:g} | {name} | {error} | | |"
            continue
        found -= found.mean(axis=1, keepdims=True)  # the learner averages its loss
        yield line(data, penalty, name, found, true)


def table() -> Iterator[str]:
    yield "| data | penalty | method | true top 5 found | first is right | rank correlation |"
    yield "|---|---|---|---|---|---|"
    X, y = adult()
    for penalty in (1.0, 0.01):
        points = X[RECORDS : RECORDS + POINTS]
        yield from logistic(
            f"Adult, {RECORDS:,} × {X.shape[1]}", X[:RECORDS], y[:RECORDS], points, penalty, refits=True
        )
    numbers = [column for column in range(X.shape[1]) if len(np.unique(X[:RECORDS, column])) > 2][:NUMBERS]
    Z = (X[:, numbers] - X[:, numbers].mean(axis=0)) / X[:, numbers].std(axis=0)
    for l2, steps in NETWORKS:
        points = Z[NETWORK_RECORDS : NETWORK_RECORDS + NETWORK_POINTS]
        yield from network(Z[:NETWORK_RECORDS], y[:NETWORK_RECORDS], points, l2, steps)
    X, y = pixels()
    seen = PIXEL_RECORDS
    data = f"CIFAR-100, {seen:,} × {X.shape[1]:,}"
    yield from logistic(data, X[:seen], y[:seen], X[seen:], 1.0, refits=False)


if __name__ == "__main__":
    for text in table():
        print(text, flush=True)
