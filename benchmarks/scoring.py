"""A million scores with all intervals against one numpy sort of them, the memory that takes, and the cost of groups."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

import leakscope as ls
from benchmarks.measure import Line, ratio
from leakscope.attacks.protocol import Attack, Scores
from leakscope.core.ranking import Scale
from leakscope.evaluation.risk import Judged, JudgedAttack, assess

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
    yield from _groups()


def _groups(groups: int = 200) -> Iterator[Line]:
    """One attack assessed as the audit does it, with its control, the blind baseline and both confidences."""
    rng = np.random.default_rng(0)
    for n in (5_000, 50_000):
        member, half, none = np.repeat([True, False], n), np.tile(np.arange(n) % 2, 2), np.zeros(2 * n, int)
        target, permuted, control, blind = (
            Judged(Scores(scores, (scores > shift / 2).astype(float)), member, Scale(half, none))
            for shift in (0.5, 0.0, 0.0, 0.0)
            for scores in [rng.normal(shift * member, 1.0)]
        )
        levels = {
            "group": np.array([f"level {at}" for at in range(groups)], object)[np.tile(rng.integers(0, groups, n), 2)]
        }
        attack = Attack("made up", "log_loss", "benchmark", lambda _evidence, _rng: target.attack_scores)  # noqa: B023

        def score(
            columns: dict[str, np.ndarray], judged: tuple[Judged, ...] = (target, permuted, control, blind)
        ) -> None:
            one, two, three, four = map(replace, judged)  # without what an earlier round has cached
            assess(JudgedAttack(attack, one, two, three), four, columns, confidences=(0.95, 0.9975))  # noqa: B023

        score(levels)
        value, detail = ratio(lambda: score(levels), lambda: score({}), rounds=9)  # noqa: B023
        yield Line(
            f"audit scoring of {n:,} + {n:,} records with {groups} groups, against none", value, 3.0, detail=detail
        )
