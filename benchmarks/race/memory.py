"""Peak memory of the default audit per record, beyond the records themselves.

Each size is audited in a process of its own, and what the audit allocates is counted from the moment that the data are there. The slope
between two sizes leaves out what does not grow with the data. The peak of resident memory would not do: on Linux a process inherits
it from the one that started it.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from benchmarks.measure import Line

SIZES, COLUMNS = (50_000, 200_000), 10
MOST = 0.5
PEAK = """
import sys, tracemalloc, warnings
import numpy as np
from sklearn.naive_bayes import GaussianNB
import leakscope as ls
warnings.simplefilter("ignore")
n, columns = int(sys.argv[1]) // 2, int(sys.argv[2])
rng = np.random.default_rng(0)
def draw():
    X = rng.normal(size=(n, columns))
    return X, (X[:, 0] + rng.normal(size=n) > 0).astype(np.int64)
train, holdout = draw(), draw()
model = GaussianNB().fit(*train)
tracemalloc.start()
ls.audit(model, train, holdout, workers=1, seed=1)
print(tracemalloc.get_traced_memory()[1])
"""


def run(full: bool) -> Iterator[Line]:  # noqa: ARG001
    few, many = (_peak(size) for size in SIZES)
    slope = (many - few) / (SIZES[1] - SIZES[0]) / 1000
    detail = f"[{SIZES[0]:,} records {few / 1e6:.0f} MB, {SIZES[1]:,} records {many / 1e6:.0f} MB]"
    yield Line("peak memory of the default audit beyond the data, per record", slope, MOST, "kB", detail)


def _peak(records: int) -> float:
    """Most bytes that the audit had allocated at once."""
    command = [sys.executable, "-c", PEAK, str(records), str(COLUMNS)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
