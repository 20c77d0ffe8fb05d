"""Exact leave-one-out logistic regression against a loop of scikit-learn refits, and its memory on wide data."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from statistics import median

import numpy as np
from scipy.special import expit

from benchmarks.measure import Line, seconds
from leakscope.data.datasets import load
from leakscope.releases.record_explanations import leave_one_out

REFITS = 20  # of the loop, which takes the same time for each record
WIDE = ((1800, 2048), (1600, 3072))
MEMORY = """
import resource, sys, time
import numpy as np
from leakscope.releases.record_explanations import leave_one_out
n, d = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(0)
X = rng.random((n, d))
y = (X - 0.5) @ rng.normal(size=d) + rng.normal(size=n) > 0
start = time.perf_counter()
loo = leave_one_out(X, y.astype(int))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, time.perf_counter() - start, loo.gradient_norm)
"""


def adult() -> tuple[np.ndarray, np.ndarray]:
    data = load("adult", preparation="one-hot")
    drawn = np.random.default_rng(0).permutation(len(data))[:2000]
    return data.X.to_numpy(np.float64)[drawn], data.y[drawn]


def refit(X: np.ndarray, y: np.ndarray, penalty: float, removed: int) -> float:
    """The length of the gradient that a refit ends with, its solver's own tolerance set so that it is below 1e-8."""
    from sklearn.linear_model import LogisticRegression

    rest = np.arange(len(y)) != removed
    found = LogisticRegression(C=1 / penalty, tol=1e-8 / len(rest), solver="newton-cholesky", max_iter=1000)
    found.fit(X[rest], y[rest])
    residual = expit(found.decision_function(X[rest])) - y[rest]
    return float(np.hypot(np.linalg.norm(X[rest].T @ residual + penalty * found.coef_[0]), residual.sum()))


def run() -> Iterator[Line]:
    X, y = adult()
    for penalty in (1.0, 0.01):
        largest = max(refit(X, y, penalty, removed) for removed in range(REFITS))
        ours = [seconds(lambda penalty=penalty: leave_one_out(X, y, penalty)) for _ in range(5)]
        theirs = [seconds(lambda penalty=penalty, r=r: refit(X, y, penalty, r)) for r in range(REFITS)]
        yield Line(
            f"leaving each of 2,000 records of Adult (104 columns) out of a logistic regression, penalty = {penalty:g}, against a "
            "loop of scikit-learn's newton-cholesky",
            len(y) * median(theirs) / median(ours),
            60.0,
            detail=f"[{median(ours):.2f} s against {len(y) * median(theirs):.0f} s; gradients below "
            f"{leave_one_out(X, y, penalty).gradient_norm:.0e} and {largest:.0e}]",
            at_least=True,
        )
    for n, d in WIDE:
        command = [sys.executable, "-c", MEMORY, str(n), str(d)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        memory, took, norm = map(float, done.stdout.split())
        yield Line(
            f"peak memory of leaving each of {n:,} records of {d:,} columns out",
            memory,
            8.0,
            "GB",
            detail=f"[{took:.1f} s, gradients below {norm:.0e}]",
        )
