"""[farokhi2020, Figure 1]: linear regression, training sets from 10 to 1,000 records [farokhi2020, Thm 2]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from leakscope.learners import Ridge
from leakscope.papers import farokhi
from leakscope.papers.farokhi import NO_NUMBERS, SweepAxis, SweepCase, SweepEffort, sweep
from leakscope.papers.reproduction import Reproduction, Work

ID = "farokhi-fig1"
TITLE = "Linear regression: advantage and leakage by number of training records"
PAPER = {
    "source": "Farokhi and Kaafar 2020, Figure 1 and Theorem 2",
    "statement": "Advantage and leakage decrease rapidly as the training set grows (λ = 0, 5 features).",
    "numbers": NO_NUMBERS,
}
FULL = farokhi.FULL | {"sizes": (10, 20, 30, 50, 100, 200, 300, 500, 1000)}
QUICK = farokhi.QUICK | {"sizes": (10, 30, 100)}


def run(work: Work, sizes: Sequence[int], **effort: Any) -> Reproduction:
    """Measure leakage and advantage at each size."""
    axis = SweepAxis("Training records n", power_law=True)
    cases = [SweepCase(size, Ridge(l2=0.0, intercept=False), size) for size in sizes]
    return sweep(work, axis, cases, SweepEffort(**effort), {"learner": "least squares", "l2": 0.0, "features": 5})
