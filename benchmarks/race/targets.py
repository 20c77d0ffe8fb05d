"""The models that are raced: a learner, its records, one random split, and what the audit has to reach on it."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.datasets import load_diabetes, load_digits
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

import leakscope as ls
from leakscope.core.threads import one_thread
from leakscope.evaluation.results import Audit, Risk

SEED = 1
Side = tuple[Any, Any]


@dataclass(frozen=True)
class Target:
    """A learner, its records, and what the audit has to reach.

    Parameters
    ----------
    size
        Number of members, and of held-out records.
    auc, tpr
        Goals for the largest AUC and TPR at 1 % FPR; None for no goal.
    cost
        Whether the CPU time of the audit has a goal.
    judged, correlation
        Size for the measurement of exposure, and the goal for its rank correlation with the true vulnerability.
    """

    learner: Any
    records: Callable[[], tuple[Any, Any]]
    size: int
    auc: float | None = None
    tpr: float | None = None
    cost: bool = False
    judged: int | None = None
    correlation: float = 0.0

    @property
    def task(self) -> Any:
        return "regression" if is_regressor(self.learner) else "classification"

    def split(self, seed: int = SEED, size: int | None = None) -> tuple[Side, Side]:
        """Members and held-out records of one random split."""
        X, y = self.records()
        order, n = np.random.default_rng(seed).permutation(len(X)), size or self.size
        train, holdout = ((X[rows], y[rows]) for rows in (order[:n], order[n : 2 * n]))
        return train, holdout


@cache
def adult() -> tuple[Any, Any]:
    data = ls.datasets.load("adult", preparation="one-hot")
    return data.X.to_numpy(), np.asarray(data.y)


def age() -> tuple[Any, Any]:
    X, _ = adult()
    return X[:, 1:], 17 + 73 * X[:, 0]


@cache
def location() -> tuple[Any, Any]:
    data = ls.datasets.load("location30")
    return np.asarray(data.X, np.float64), np.asarray(data.y)


@cache
def cifar() -> tuple[Any, Any]:
    """The 50 first principal components of the images, and their 20 superclasses."""
    data = ls.datasets.load("cifar100_20k")
    pixels = np.asarray(data.X, np.float32).reshape(len(data.X), -1) / 255
    components = PCA(50, whiten=True, svd_solver="randomized", random_state=0).fit_transform(pixels)
    return components.astype(np.float64), np.unique(data.groups["superclass"], return_inverse=True)[1]


def digits() -> tuple[Any, Any]:
    X, y = load_digits(return_X_y=True)
    return X / 16, y


def diabetes() -> tuple[Any, Any]:
    return load_diabetes(return_X_y=True)


FOREST, LOGISTIC = RandomForestClassifier(100, random_state=0), LogisticRegression(max_iter=500)
BOOSTING = HistGradientBoostingClassifier(early_stopping=True, random_state=0)
VALUES = RandomForestRegressor(100, random_state=0)
TARGETS = {
    "Adult forest": Target(FOREST, adult, 5000, 0.86, 0.22, cost=True, judged=2000, correlation=0.8),
    "Adult HistGB": Target(BOOSTING, adult, 5000, 0.59, cost=True, judged=2000, correlation=0.65),
    "Adult logistic": Target(LOGISTIC, adult, 1000, 0.56, judged=1000),
    "Adult logistic 5,000": Target(LOGISTIC, adult, 5000, cost=True),
    "location30 MLP": Target(
        MLPClassifier((128,), max_iter=100, random_state=0), location, 2505, 0.92, 0.33, judged=1000, correlation=0.7
    ),
    "digits MLP": Target(MLPClassifier((64,), alpha=10, max_iter=100, random_state=0), digits, 898, judged=898),
    "CIFAR-100 MLP": Target(MLPClassifier((64,), alpha=1, max_iter=10, random_state=0), cifar, 2500, judged=1000),
    "diabetes forest": Target(VALUES, diabetes, 221, 0.90, judged=221),
    "age forest": Target(VALUES, age, 1000, 0.90, judged=1000, correlation=0.65),
}


def fit(learner: Any, side: Side) -> Any:
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # networks that stop before they converge
        return clone(learner).fit(*side)


def audit(learner: Any, train: Side, holdout: Side, **settings: Any) -> tuple[Audit, float]:
    """The audit of the learner trained on ``train``, and its CPU seconds without that training."""
    model = fit(learner, train)
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        found = ls.audit(model, train, holdout, workers=1, **({"seed": SEED} | settings))
        return found, time.process_time() - start


@cache
def default_audit(name: str) -> tuple[Audit, float]:
    """The default audit of a target, for all parts of the race."""
    return audit(TARGETS[name].learner, *TARGETS[name].split())


def largest(found: Audit) -> Risk:
    """The attack with the largest AUC."""
    return max(found.risks, key=lambda risk: risk.auc.value)


def risk_of(found: Audit, short: str) -> Risk:
    """The risk of the attack whose name ends in a short name, such as RMIA."""
    return next(risk for risk in found.risks if risk.attack.endswith(f"({short})"))
