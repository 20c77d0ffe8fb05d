"""A forest that memorises its records, and ways to hide that from an audit, for tests that no all-clear follows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier


def memorise(count: int) -> tuple[RandomForestClassifier, tuple[Any, Any], tuple[Any, Any]]:
    """A forest, its training set, and as large a holdout; labels are random, so that all it knows is its records."""
    rng, half = np.random.default_rng(0), count // 2
    X, y = rng.normal(size=(count, 4)), rng.integers(0, 2, count)
    train = X[:half], y[:half]
    return RandomForestClassifier(20, min_samples_leaf=2, random_state=0).fit(*train), train, (X[half:], y[half:])


def noisy(forest: RandomForestClassifier, spread: float, seed: int = 0) -> Callable[[Any], Any]:
    """The forest with fresh noise in each answer."""
    rng = np.random.default_rng(seed)

    def predict(X: Any) -> Any:
        second = forest.predict_proba(X)[:, 1] + rng.normal(0, spread, len(X))
        second = 1 / (1 + np.exp(-4 * (second - 0.5)))
        return np.column_stack([1 - second, second])

    return predict


def constant_in_batches(forest: RandomForestClassifier, most: int) -> Callable[[Any], Any]:
    """The forest in batches of up to so many records, and 0.5 in larger ones."""

    def predict(X: Any) -> Any:
        answers = forest.predict_proba(X)
        return answers if len(X) <= most else np.full_like(answers, 0.5)

    return predict
