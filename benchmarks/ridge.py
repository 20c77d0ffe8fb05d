"""Training with and without each record, all at once, against a loop of scikit-learn fits."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from statistics import median

import numpy as np

from benchmarks.measure import Line, seconds
from leakscope.learners import Ridge

UNIVERSE, DRAWS, RECORDS, LOOP = 48_842, 2_000, 200, 200
SHAPES = ((5, 10), (5, 100), (14, 100), (14, 1000))
MEMORY = """
import resource
from benchmarks.ridge import swap_all
swap_all(14, 1000)()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
"""


def universe(columns: int, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """As many records as Adult has, training sets of one size, and a spare record for each."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(UNIVERSE, columns)), rng.normal(size=UNIVERSE)
    drawn = np.array([rng.choice(UNIVERSE, size + 1, replace=False) for _ in range(DRAWS)])
    return X, y, drawn[:, :size].copy(), drawn[:, size].copy()


def swap_all(columns: int, size: int):
    X, y, sets, spare = universe(columns, size)
    learner, X, y = Ridge(intercept=False).prepare(X, y)
    return lambda: learner.fit_swaps(X, y, sets, spare)(np.arange(RECORDS))


def loop(columns: int, size: int):
    from sklearn.linear_model import LinearRegression
    from sklearn.linear_model import Ridge as Peer

    X, y, sets, _ = universe(columns, size)

    def run(make):
        for drawn in sets[:LOOP]:
            make().fit(X[drawn], y[drawn])

    return lambda: run(lambda: LinearRegression(fit_intercept=False)), lambda: run(lambda: Peer(fit_intercept=False))


def run() -> Iterator[Line]:
    for columns, size in SHAPES:
        ours = swap_all(columns, size)
        least_squares, ridge = loop(columns, size)
        ours(), least_squares(), ridge()
        times = np.array([[seconds(ours), seconds(least_squares), seconds(ridge)] for _ in range(5)])
        # Each set with each record in place of its last; the sets themselves are not counted.
        mine = median(times[:, 0]) / (RECORDS * DRAWS)
        theirs = min(median(times[:, 1]), median(times[:, 2])) / LOOP  # the quicker of the two
        yield Line(
            f"training {RECORDS * DRAWS:,} linear models of {columns} columns on {size} records each, "
            "against the quicker of scikit-learn's LinearRegression and Ridge in a loop",
            theirs / mine,
            1000.0,
            detail=f"[{1e6 * mine:.2f} µs against {1e6 * theirs:.0f} µs a model]",
            at_least=True,
        )
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    yield Line("peak memory of the process that trains the last of these", float(done.stdout), 1.0, "GB")
