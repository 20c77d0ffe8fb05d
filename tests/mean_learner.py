# ruff: noqa: ARG002  # a learner's methods take what the interface gives them
"""A learner whose models have a known law."""

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Mean:
    """Predicts the mean label of its training set, whatever the record, plus a random number of this spread."""

    name = "mean"
    task = "regression"
    chunk = 1000
    spread: float = 0.0

    def prepare(self, X: Any, y: Any) -> Any:
        return self, X, y

    def check(self, X: Any, y: Any, size: int) -> None:
        pass

    def fit(self, X: Any, y: Any, rng: np.random.Generator) -> Any:
        return np.array([y.mean() + (self.spread * rng.normal() if self.spread else 0.0)])

    def fit_many(self, X: Any, y: Any, indices: Any, rngs: Any) -> Any:
        return [self.fit(X[drawn], y[drawn], rng) for drawn, rng in zip(indices, rngs, strict=True)]

    def parameters(self, model: Any) -> Any:
        return model

    def from_parameters(self, theta: Any) -> Any:
        return theta

    def outputs(self, model: Any, X: Any) -> Any:
        return np.full((len(X), 1), model[0])

    def losses(self, model: Any, X: Any, y: Any) -> Any:
        return (y - model[0]) ** 2
