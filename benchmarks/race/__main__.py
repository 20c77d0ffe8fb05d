"""The default audit on models that leak: AUC, true-positive rate at 1 % FPR and CPU time, each beside its goal.

The data sets are read from ``LEAKSCOPE_DATA``. One random split per target; the spread over splits is about 0.01 of AUC.
``python -m benchmarks.race forest logistic`` runs some of the targets.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

import leakscope as ls
from benchmarks.measure import Line
from leakscope.workers import one_thread

SEED = 1
#: CPU of the default audit over one training and prediction, at 5,000 + 5,000 records.
MOST_CPU = 10.0


@dataclass(frozen=True)
class Target:
    """A learner, its records, and the AUC and TPR at 1 % FPR that the audit has to reach."""

    learner: Any
    records: Callable[[], tuple[Any, Any]]
    size: int
    auc: float
    tpr: float | None = None
    cost: bool = False


@cache
def adult() -> tuple[Any, Any]:
    data = ls.datasets.load("adult", preparation="one-hot")
    return data.X.to_numpy(), data.y


def age() -> tuple[Any, Any]:
    X, _ = adult()
    return X[:, 1:], 17 + 73 * X[:, 0]


def location() -> tuple[Any, Any]:
    data = ls.datasets.load("location30")
    return np.asarray(data.X, np.float64), np.asarray(data.y)


TARGETS = {
    "forest": Target(RandomForestClassifier(100, random_state=0), adult, 5000, 0.86, 0.22, cost=True),
    "boosting": Target(
        HistGradientBoostingClassifier(early_stopping=True, random_state=0), adult, 5000, 0.59, cost=True
    ),
    "logistic": Target(LogisticRegression(max_iter=500), adult, 1000, 0.56),
    "logistic 5,000": Target(LogisticRegression(max_iter=500), adult, 5000, 0.5, cost=True),
    "location30": Target(MLPClassifier((128,), max_iter=100, random_state=0), location, 2505, 0.92, 0.33),
    "diabetes": Target(RandomForestRegressor(100, random_state=0), lambda: load_diabetes(return_X_y=True), 221, 0.90),
    "age": Target(RandomForestRegressor(100, random_state=0), age, 1000, 0.90),
}


def run(names: list[str]) -> Iterator[Line]:
    for name in names:
        yield from _race(name, TARGETS[name])


def _race(name: str, target: Target) -> Iterator[Line]:
    X, y = target.records()
    order, n = np.random.default_rng(SEED).permutation(len(X)), target.size
    train, holdout = ((X[rows], y[rows]) for rows in (order[:n], order[n : 2 * n]))
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = clone(target.learner).fit(*train)
        cost = min(_cpu(lambda: _train_and_predict(target.learner, train, holdout)) for _ in range(3))
        start = time.process_time()
        found = ls.audit(model, train, holdout, workers=1, seed=SEED)
        spent = time.process_time() - start
    best = max(found.risks, key=lambda risk: risk.auc.value)
    yield Line(f"{name}: AUC", best.auc.value, target.auc, "", f"{best.attack}; {found.verdict.kind}", at_least=True)
    if target.tpr is not None:
        largest = max(risk.tpr_at_fpr[0.01].value for risk in found.risks)
        yield Line(f"{name}: TPR at 1 % FPR", largest, target.tpr, "", at_least=True)
    if target.cost:
        yield Line(f"{name}: CPU over one training and prediction", spent / cost, MOST_CPU, detail=f"({spent:.1f} s)")


def _train_and_predict(learner: Any, train: Any, holdout: Any) -> None:
    model = clone(learner).fit(*train)
    for records, _ in (train, holdout):
        getattr(model, "predict_proba", model.predict)(records)


def _cpu(function: Callable[[], None]) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


def main() -> None:
    missed = 0
    for line in run(sys.argv[1:] or list(TARGETS)):
        print(line, flush=True)
        missed += line.missed
    sys.exit(1 if missed else 0)


main()
