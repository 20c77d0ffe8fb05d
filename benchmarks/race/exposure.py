"""Rank correlation of the audit's exposure with the true vulnerability of each member.

The true vulnerability of a record is the AUC of its own likelihood in 32 models that were trained with it against 32 that were not.
The models are trained on 32 random halves of members and held-out records and on the other halves, so that all have the target's size.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from benchmarks.measure import Line
from benchmarks.race.targets import SEED, TARGETS, Side, Target, audit, fit
from leakscope.core.threads import one_thread

PAIRS = 32


def run(full: bool) -> Iterator[Line]:
    for name, target in TARGETS.items():
        if target.judged is None:
            continue
        size = target.size if full else target.judged
        train, holdout = target.split(size=size)
        found, _ = audit(target.learner, train, holdout)
        exposure = found.records["score"].to_numpy()
        truth = true_vulnerability(target, train, holdout)
        detail = f"[{size:,} + {size:,} records; {found.verdict.kind}; mean vulnerability {truth.mean():.3f}]"
        value = float(spearmanr(exposure, truth)[0])
        yield Line(f"{name}: rank correlation of exposure", value, target.correlation, "", detail, at_least=True)


def true_vulnerability(target: Target, train: Side, holdout: Side) -> Any:
    """AUC of each member's own likelihood; ties count one half."""
    X, y = (np.concatenate(parts) for parts in zip(train, holdout, strict=True))
    n, rng = len(train[0]), np.random.default_rng([SEED, 1])
    inside, outside = (np.empty((PAIRS, n)) for _ in range(2))
    for pair in range(PAIRS):
        order = rng.permutation(len(X))
        first = np.isin(np.arange(n), order[:n])
        one, other = (_fit_of(target, (X[half], y[half]), train) for half in (order[:n], order[n:]))
        inside[pair], outside[pair] = np.where(first, one, other), np.where(first, other, one)
    above = [(inside > row) + (inside == row) / 2 for row in outside]
    return np.mean(above, axis=(0, 1))


def _fit_of(target: Target, half: Side, asked: Side) -> Any:
    """How well a model trained on the half fits the records: the likelihood of the true label, or minus the error."""
    model, (X, y) = fit(target.learner, half), asked
    with one_thread():
        if target.task == "regression":
            return -np.abs(model.predict(X) - y)
        likelihood = np.zeros((len(X), int(y.max()) + 1))
        likelihood[:, model.classes_] = model.predict_proba(X)
        return likelihood[np.arange(len(X)), y]
