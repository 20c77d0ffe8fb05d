r"""Toy models and data with leakage known in closed form, for tests, docs and ``leakscope selfcheck``.

=================== ===================================================================================================
constant            the same output for every record: AUC 1/2, no leakage
lookup              memorises its training records: AUC 1; retrained on others it does not recognise them
randomized response confident outputs for members, and with probability :math:`1/(1+e^\varepsilon)` for non-members
                    instead: AUC :math:`\tfrac12 + \tfrac12\tanh(\varepsilon/2)`, advantage :math:`\tanh(\varepsilon/2)`
gaussian mean       predicts the mean of the :math:`n` training values of a cell; errors have variance
                    :math:`\sigma^2(1 - 1/n)` for members and :math:`\sigma^2(1 + 1/n)` for non-members, so that with
                    :math:`r^2 = (n+1)/(n-1)` the AUC is :math:`\tfrac2\pi\arctan r` (Yeom et al. 2018, Theorem 3)
population mean     the model is the mean of :math:`n` of :math:`N` numbers: `population_mean` returns its leakage
never trained       an accurate model that was not trained on the "members": AUC 1/2
=================== ===================================================================================================
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakscope.core.arrays import Floats
from leakscope.models.target import Model

Pair = tuple[NDArray[Any], NDArray[Any]]


@dataclass(frozen=True)
class Toy:
    """A model with its members and non-members, and the true values of an audit.

    ``auc`` and ``advantage`` map (release, attack) to the true value; ``verdict`` is the kind of verdict.
    """

    name: str
    model: Any
    train: Pair
    holdout: Pair
    verdict: str
    auc: dict[tuple[str, str], float]
    advantage: dict[tuple[str, str], float] = field(default_factory=dict)
    fit: Callable[[Any, Any, np.random.Generator], Any] | None = None


THRESHOLD = ("log_loss", "loss threshold")
BOUNDED = ("likelihood_loss", "bounded loss")
LABELS = ("labels", "bounded loss")


def constant_model(classes: int = 2) -> Model:
    """Return a model that predicts the same probabilities for every record.

    Examples
    --------
    >>> constant_model(4).predict(np.zeros((1, 3)))
    array([[0.25, 0.25, 0.25, 0.25]])
    """
    return Model(
        "constant", "classification", np.arange(classes), True, lambda X: np.full((len(X), classes), 1 / classes)
    )


def lookup_model(X: NDArray[Any], y: NDArray[Any], sure: float = 1.0, unsure: float = 0.5) -> Model:
    """Return a model with probability ``sure`` for the label of each record in X, and ``unsure`` for class 1 of others.

    Examples
    --------
    >>> model = lookup_model(np.array([[7.0]]), np.array([1]))
    >>> model.predict(np.array([[7.0], [8.0]]))
    array([[0. , 1. ], [0.5, 0.5]])
    """
    remembered = {row.tobytes(): int(label) for row, label in zip(_rows(X), y, strict=True)}

    def predict(X: NDArray[Any]) -> Floats:
        labels = [remembered.get(row.tobytes(), -1) for row in _rows(X)]
        second = np.array([unsure if label < 0 else (sure if label else 1 - sure) for label in labels])
        return np.column_stack([1 - second, second])

    return Model("lookup table", "classification", np.arange(2), True, predict)


def _rows(X: NDArray[Any]) -> Floats:
    return np.ascontiguousarray(X, dtype=np.float64)


def _people(n: int, rng: np.random.Generator) -> tuple[Pair, Pair]:
    """Draw two sets of n records from one distribution: three numbers and an independent fair bit."""
    X, y = rng.normal(size=(2 * n, 3)), rng.integers(0, 2, 2 * n)
    return (X[:n], y[:n]), (X[n:], y[n:])


def constant(n: int = 2000, seed: int = 0) -> Toy:
    train, holdout = _people(n, np.random.default_rng(seed))
    exact = {THRESHOLD: 0.5, BOUNDED: 0.5}
    return Toy(
        "constant", constant_model(), train, holdout, "not_detected", exact, dict.fromkeys(exact, 0.0),
        fit=lambda X, y, rng: constant_model(),
    )  # fmt: skip


def lookup(n: int = 2000, seed: int = 0) -> Toy:
    train, holdout = _people(n, np.random.default_rng(seed))
    # Correct for every member and for half of the non-members; loss 0 against ln 2; likelihood 1 against 1/2.
    auc = {THRESHOLD: 1.0, BOUNDED: 1.0, LABELS: 0.75}
    advantage = {THRESHOLD: 1.0, BOUNDED: 0.5, LABELS: 0.5}
    return Toy(
        "lookup", lookup_model(*train), train, holdout, "leaks", auc, advantage,
        fit=lambda X, y, rng: lookup_model(X, y),
    )  # fmt: skip


def randomized_response(n: int = 2000, epsilon: float = 1.0, seed: int = 0) -> Toy:
    rng = np.random.default_rng(seed)
    train, holdout = _people(n, rng)
    X, y = np.concatenate([train[0], holdout[0]]), np.concatenate([train[1], holdout[1]])
    flip = rng.random(2 * n) < 1 / (1 + math.exp(epsilon))
    says_member = np.repeat([True, False], n) ^ flip
    # Every prediction is correct: with high confidence for records reported as members, with low confidence otherwise.
    sure = lookup_model(X[says_member], y[says_member], sure=0.9)
    unsure = lookup_model(X[~says_member], y[~says_member], sure=0.6)

    def predict(X: NDArray[Any]) -> Floats:
        first, second = sure.predict(X), unsure.predict(X)
        return np.where((first == 0.5).all(axis=1, keepdims=True), second, first)

    model = Model("randomized response", "classification", np.arange(2), True, predict)
    edge = math.tanh(epsilon / 2)
    return Toy(
        "randomized response", model, train, holdout, "leaks", {THRESHOLD: 0.5 + edge / 2, BOUNDED: 0.5 + edge / 2}
    )


def gaussian_mean(cells: int = 2000, size: int = 2, seed: int = 0) -> Toy:
    """Return one member and one non-member per cell, so that records are independent; each mean is of ``size`` values."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(cells, size))
    means = values.mean(axis=1)
    cell = np.arange(cells, dtype=np.float64)[:, None]
    model = Model("gaussian mean", "regression", None, True, lambda X: means[np.asarray(X)[:, 0].astype(int)])
    ratio = math.sqrt((size + 1) / (size - 1))
    u = math.sqrt(math.log(ratio) / (ratio**2 - 1))
    threshold, likelihood = ("squared_error", "loss threshold"), ("squared_error", "likelihood ratio")
    auc = 2 / math.pi * math.atan(ratio)
    return Toy(
        "gaussian mean", model, (cell, values[:, 0]), (cell, rng.normal(size=cells)), "leaks",
        {threshold: auc, likelihood: auc},
        {
            likelihood: math.erf(ratio * u) - math.erf(u),
            # P(error² <= σ_S²) for members minus the same for non-members.
            threshold: math.erf(1 / math.sqrt(2)) - math.erf(1 / (ratio * math.sqrt(2))),
        },
    )  # fmt: skip


@dataclass(frozen=True)
class Population:
    """Numbers of which a model is the mean of ``size``, and for each the divergence of its two distributions, in nats."""

    X: Floats
    y: Floats
    size: int
    divergence: Floats


def population_mean(records: int = 300, size: int = 40, seed: int = 0) -> Population:
    r"""Return the leakage of the mean of n out of N numbers, drawn without replacement.

    With :math:`\mu` the mean and :math:`S^2` the variance (divisor :math:`N-2`) of all numbers but :math:`y_i`, the mean of
    n numbers has mean :math:`\mu + (y_i-\mu)/n` and variance :math:`\tfrac{n-1}{n^2}S^2(1-\tfrac{n-1}{N-1})` with
    :math:`y_i`, and mean :math:`\mu` and variance :math:`\tfrac1nS^2(1-\tfrac n{N-1})` without it; both distributions are
    nearly Gaussian.

    Examples
    --------
    >>> population = population_mean(records=300, size=40)
    >>> bool((population.divergence > 0).all()), population.X.shape
    (True, (300, 1))
    """
    values = np.random.default_rng(seed).normal(size=records)
    others = (values.sum() - values) / (records - 1)
    spread = (np.sum(values**2) - values**2 - (records - 1) * others**2) / (records - 2)
    inside = (size - 1) / size**2 * spread * (1 - (size - 1) / (records - 1))
    outside = spread / size * (1 - size / (records - 1))
    moved = ((values - others) / size) ** 2
    divergence = 0.5 * (inside / outside + outside / inside - 2 + moved / inside + moved / outside)
    return Population(np.ones((records, 1)), values, size, divergence)


def never_trained(n: int = 2000, seed: int = 0) -> Toy:
    """Return the optimal model, which was not trained on any of the records."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * n, 1))
    sure = 1 / (1 + np.exp(-2 * X[:, 0]))
    y = (rng.random(2 * n) < sure).astype(int)

    def predict(X: NDArray[Any]) -> Floats:
        second = 1 / (1 + np.exp(-2 * np.asarray(X)[:, 0]))
        return np.column_stack([1 - second, second])

    model = Model("never trained", "classification", np.arange(2), True, predict)
    keys = (THRESHOLD, BOUNDED, LABELS)
    return Toy(
        "never trained", model, (X[:n], y[:n]), (X[n:], y[n:]), "not_detected",
        dict.fromkeys(keys, 0.5), dict.fromkeys(keys, 0.0),
    )  # fmt: skip


TOYS: tuple[Callable[..., Toy], ...] = (constant, lookup, randomized_response, gaussian_mean, never_trained)
