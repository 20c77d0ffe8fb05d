"""``import leakscope`` and a first use of it, and gate and diff of saved audits, against the imports that they need at least."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

import leakscope
from benchmarks.measure import Line, ratio


def run() -> Iterator[Line]:
    def fresh(line: str) -> None:
        subprocess.run([sys.executable, "-c", line], check=True)

    yardstick = "import pandas, sklearn"
    fresh(yardstick)
    for line in ("import leakscope", "import leakscope; leakscope.audit"):
        value, detail = ratio(lambda line=line: fresh(line), lambda: fresh(yardstick), rounds=5)
        yield Line(f"“{line}”, against “{yardstick}”", value, 1.3, detail=detail)
    yield from _saved()


def _saved() -> Iterator[Line]:
    """Commands on saved audits of 10,000 training records, which pipelines run often."""
    yardstick = [sys.executable, "-c", "import numpy, pandas"]
    with tempfile.TemporaryDirectory() as folder:
        rng = np.random.default_rng(0)
        member = np.arange(20_000) % 2 == 0
        for name, shift in (("old", 0.0), ("new", 0.5)):
            scores = rng.normal(shift * member)
            leakscope.audit_scores(scores, member, random_split=True).save(Path(folder) / name)
        for words in (["gate", "new", "--fail-if", "auc > 0.5"], ["diff", "old", "new"]):
            line = [sys.executable, "-m", "leakscope", *words]
            value, detail = ratio(
                partial(subprocess.run, line, cwd=folder, stdout=subprocess.DEVNULL),
                partial(subprocess.run, yardstick, check=True),
                rounds=7,
            )
            yield Line(f"leakscope {words[0]}, against “import numpy, pandas”", value, 1.5, detail=detail)
