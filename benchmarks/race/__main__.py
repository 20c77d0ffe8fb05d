"""Run the race, or the parts named: ``python -m benchmarks.race strength verdicts``.

The data sets are read from ``LEAKSCOPE_DATA``. ``--full`` adds LiRA with 64 reference models, also over five splits, and measures exposure at full size.
All lines are printed again at the end, and written to ``build/race.json``.
"""

from __future__ import annotations

import json
import math
import sys
import time
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

from benchmarks.measure import Line

NAMES = ("strength", "splits", "peers", "exposure", "verdicts", "memory", "lira")
OUT = Path("build/race.json")


def main() -> None:
    full, names = "--full" in sys.argv, [name for name in sys.argv[1:] if name != "--full"] or NAMES
    if unknown := set(names) - set(NAMES):
        sys.exit(f"no part of the race is called {', '.join(sorted(unknown))}: choose from {', '.join(NAMES)}")
    lines: list[tuple[str, Line]] = []
    for name in names:
        start = time.perf_counter()
        for line in import_module(f"benchmarks.race.{name}").run(full):
            print(line, flush=True)
            lines.append((name, line))
        print(f"       {name}: {time.perf_counter() - start:.0f} s", flush=True)
    _finish(lines)


def _finish(lines: list[tuple[str, Line]]) -> None:
    print("\nAll lines:")
    for _, line in lines:
        print(line)
    missed = sum(line.missed for _, line in lines)
    print(f"{missed} of {sum(line.goal is not None for _, line in lines)} goals missed")
    OUT.parent.mkdir(exist_ok=True)
    rows = [
        {"part": name, **asdict(line), "measured": None if math.isnan(line.measured) else line.measured}
        for name, line in lines
    ]
    OUT.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    sys.exit(1 if missed else 0)


main()
