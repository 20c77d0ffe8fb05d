"""Cost of an audit: against predicting every record once, and against an audit without the checks of holdout and answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import leakscope as ls
from benchmarks.measure import Line, ratio
from leakscope.consistency import Consistency


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
    yield _checks("forest, 100 columns", forest, X, y)
    yield _checks("logistic regression, 100 columns", LogisticRegression(), X, y)
    yield _checks("logistic regression, 10 columns", LogisticRegression(), X[:, :10], y)


def _checks(what: str, model: Any, X: NDArray[np.float64], y: NDArray[np.int64]) -> Line:
    """Time of a default audit against one without near copies, repeated queries and the digest of the model."""
    train, holdout = (X[:5000], y[:5000]), (X[-5000:], y[-5000:])
    fitted = clone(model).fit(*train)

    def audit() -> None:
        ls.audit(fitted, train, holdout, workers=1)

    def unchecked() -> None:
        with (
            patch("leakscope.evaluation.overlap.near_copies", lambda *arguments: None),
            patch("leakscope.auditing.average_random_answers", lambda target, *options: (target, Consistency())),
            patch("leakscope.auditing.answers_by_batch", lambda *arguments: ()),
            patch("leakscope.auditing.model_fingerprint", lambda *arguments: {}),
        ):
            audit()

    audit()  # imports
    value, detail = ratio(audit, unchecked, rounds=7)
    return Line(f"audit with all checks, against one without ({what})", value, 1.05, detail=detail)
