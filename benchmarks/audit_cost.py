"""An audit without retraining against predicting the training and held-out records once: 50,000 x 100, random forest."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.ensemble import RandomForestClassifier

import leakscope as ls
from benchmarks.measure import Line, ratio


def run() -> Iterator[Line]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50_000, 100))
    y = (X[:, :5].sum(axis=1) + rng.normal(0, 2, len(X)) > 0).astype(int)
    half = len(X) // 2
    forest = RandomForestClassifier(100, random_state=0, n_jobs=2).fit(X[:half], y[:half])
    forest.set_params(n_jobs=1)
    train, holdout = (X[:half], y[:half]), (X[half:], y[half:])

    def predict() -> None:
        forest.predict_proba(train[0])
        forest.predict_proba(holdout[0])

    def audit() -> None:
        ls.audit(forest, train, holdout, retrain=False)

    audit()  # imports
    value, detail = ratio(audit, predict)
    yield Line("audit without retraining, against predicting once", value, 3.0, detail=detail)
