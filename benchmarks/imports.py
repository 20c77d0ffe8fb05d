"""``import leakscope``, and a first use of it, against importing pandas and scikit-learn together."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from benchmarks.measure import Line, ratio


def run() -> Iterator[Line]:
    def fresh(line: str) -> None:
        subprocess.run([sys.executable, "-c", line], check=True)

    yardstick = "import pandas, sklearn"
    fresh(yardstick)
    for line in ("import leakscope", "import leakscope; leakscope.audit"):
        value, detail = ratio(lambda line=line: fresh(line), lambda: fresh(yardstick), rounds=5)
        yield Line(f"“{line}”, against “{yardstick}”", value, 1.3, detail=detail)
