"""Time two functions alternately, and report the result in one line."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any


@dataclass(frozen=True)
class Line:
    """One measured figure and its goal: at most ``goal``, or at least that if ``at_least``; None for no goal."""

    what: str
    measured: float
    goal: float | None
    unit: str = "x"
    detail: str = ""
    at_least: bool = False

    @property
    def missed(self) -> bool:
        if self.goal is None:
            return False
        return self.measured < self.goal if self.at_least else self.measured > self.goal

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        shown = f"{self.what}: {self.measured:.{2 if unit else 3}f}{unit}"
        if self.goal is None:
            return f"       {shown} {self.detail}"
        goal = f"at {'least' if self.at_least else 'most'} {self.goal:g}{unit}"
        return f"{'MISSED' if self.missed else 'ok    '} {shown} (goal: {goal}) {self.detail}"


def seconds(function: Callable[[], Any], clock: Callable[[], float] = time.perf_counter) -> float:
    start = clock()
    function()
    return clock() - start


def ratio(
    function: Callable[[], Any],
    yardstick: Callable[[], Any],
    rounds: int = 3,
    clock: Callable[[], float] = time.perf_counter,
) -> tuple[float, str]:
    """Median time of the function over that of the yardstick, run alternately so that both have the same load."""
    pairs = [(seconds(function, clock), seconds(yardstick, clock)) for _ in range(rounds)]
    ours, theirs = median(pair[0] for pair in pairs), median(pair[1] for pair in pairs)
    return ours / theirs, f"[{ours:.3f} s against {theirs:.3f} s]"
