"""Loading a model file with the first load in a child process, against loading it alone: seconds that the child adds."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import numpy as np
import skops.io
from sklearn.ensemble import RandomForestClassifier

from benchmarks.measure import Line, seconds
from leakscope.models.files import load_model, load_skops


def run() -> Iterator[Line]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5_000, 20))
    y = (X[:, :5].sum(axis=1) + rng.normal(0, 2, len(X)) > 0).astype(int)
    forest = RandomForestClassifier(100, random_state=0, n_jobs=2).fit(X, y)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "forest.skops")
        skops.io.dump(forest, path)
        pairs = [
            (seconds(lambda: load_model(path)), seconds(lambda: load_skops(path, path.read_bytes(), ())))
            for _ in range(5)
        ]
        size = path.stat().st_size / 1e6
    with_child, alone = median(pair[0] for pair in pairs), median(pair[1] for pair in pairs)
    detail = f"[{with_child:.3f} s against {alone:.3f} s, {size:.0f} MB]"
    yield Line(
        "loading a forest of 100 trees, seconds that the child process adds", with_child - alone, 1.0, "s", detail
    )
