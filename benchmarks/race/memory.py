"""Peak memory of the default audit per record, beyond the records themselves.

Each size is audited in a process of its own. The slope of the peak between two sizes leaves out what does not grow with the data.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from benchmarks.measure import Line

SIZES, COLUMNS = (50_000, 200_000), 10
MOST = 0.5
PEAK = """
import resource, sys, warnings
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
ls.audit(GaussianNB().fit(*train), train, holdout, workers=1, seed=1)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def run(full: bool) -> Iterator[Line]:  # noqa: ARG001
    few, many = (_peak(size) for size in SIZES)
    own = (COLUMNS + 1) * 8 / 1000
    slope = (many - few) * 1024 / (SIZES[1] - SIZES[0]) / 1000 - own
    detail = f"[{SIZES[0]:,} records {few / 1024:.0f} MiB, {SIZES[1]:,} records {many / 1024:.0f} MiB; a record has {own:.3f} kB]"
    yield Line("peak memory of the default audit beyond the data, per record", slope, MOST, "kB", detail)


def _peak(records: int) -> float:
    """Peak resident memory in KiB."""
    command = [sys.executable, "-c", PEAK, str(records), str(COLUMNS)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
