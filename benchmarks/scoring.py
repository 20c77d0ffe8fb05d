"""A million scores with all intervals against one numpy sort of them, and the memory that takes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import numpy as np

import leakscope as ls
from benchmarks.measure import Line, ratio

MEMORY = """
import resource
import numpy as np
import leakscope as ls
rng = np.random.default_rng(0)
member = rng.random(1_000_000) < 0.5
scores = rng.normal(0.5 * member, 1.0)
ls.score(scores, member)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
"""


def run() -> Iterator[Line]:
    rng = np.random.default_rng(0)
    member = rng.random(1_000_000) < 0.5
    # Scores with many ties are themselves quicker to sort, so that their ratio may be larger.
    for kind, goal, scores in (
        ("continuous", 10.0, rng.normal(0.5 * member, 1.0)),
        ("tied", 15.0, np.round(rng.normal(0.5 * member, 1.0), 2)),
    ):
        ls.score(scores, member)
        value, detail = ratio(lambda s=scores: ls.score(s, member), lambda s=scores: np.sort(s), rounds=7)
        yield Line(f"scoring 10^6 {kind} scores with all intervals, against sorting them", value, goal, detail=detail)
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    yield Line("peak memory of the process that scores 10^6 scores", float(done.stdout), 1.0, "GB")
