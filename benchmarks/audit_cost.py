"""Cost of an audit: against predicting every record once, and the share of the checks of the holdout and the predictions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib import import_module
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import leakscope as ls
from benchmarks.measure import Line, ratio

#: Near copies, repeated queries and the digest of the model.
CHECKS = (
    "leakscope.evaluation.prepare.near_copies",
    "leakscope.studies.audit.average_random_answers",
    "leakscope.studies.audit.answers_by_batch",
    "leakscope.studies.audit.model_fingerprint",
)


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
    """CPU time of the checks of the holdout and the predictions over that of the rest of the same audit.

    Both are measured in one run: two audits with and without checks differ by more than the checks take.
    """
    train, holdout = (X[:5000], y[:5000]), (X[-5000:], y[-5000:])
    fitted = clone(model).fit(*train)
    ls.audit(fitted, train, holdout, workers=1)  # imports
    shares, details = [], []
    for _ in range(5):
        inside = _Timer()
        with ExitStack() as stack:
            for name in CHECKS:
                module, _, function = name.rpartition(".")
                stack.enter_context(patch(name, inside.timed(getattr(import_module(module), function))))
            start = time.process_time()
            ls.audit(fitted, train, holdout, workers=1)
            rest = time.process_time() - start - inside.seconds
        shares.append(inside.seconds / rest)
        details.append(f"[{inside.seconds:.3f} s of checks, {rest:.3f} s of the rest]")
    middle = int(np.argsort(shares)[len(shares) // 2])
    return Line(f"checks of an audit, against the rest of it ({what})", shares[middle], 0.05, detail=details[middle])


class _Timer:
    """CPU seconds spent in functions."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            start = time.process_time()
            found = function(*arguments, **options)
            self.seconds += time.process_time() - start
            return found

        return call
