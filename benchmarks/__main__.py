"""Run all benchmarks, or those named: ``python -m benchmarks scoring imports``."""

from __future__ import annotations

import sys
from importlib import import_module

NAMES = (
    "scoring",
    "imports",
    "audit_cost",
    "download",
    "ridge",
    "networks",
    "leave_one_out",
    "explanations",
    "bayesian_networks",
    "comparison",
    "model_files",
    "reading",
)


def main() -> None:
    missed = 0
    for name in sys.argv[1:] or NAMES:
        for line in import_module(f"benchmarks.{name}").run():
            print(line, flush=True)
            missed += line.missed
    sys.exit(1 if missed else 0)


main()
