"""[farokhi2020, Figure 5]: linear regression whose parameters are released with Gaussian noise [farokhi2020, Thm 4]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from leakscope.learners import Ridge
from leakscope.papers import farokhi
from leakscope.papers.farokhi import NO_NUMBERS, SweepAxis, SweepCase, SweepEffort, sweep
from leakscope.papers.reproduction import Reproduction, Work

ID = "farokhi-fig5"
TITLE = "Linear regression: advantage and leakage by noise on the parameters"
PAPER = {
    "source": "Farokhi and Kaafar 2020, Figure 5 and Theorem 4",
    "statement": "Advantage and leakage both decrease as the noise grows (n = 30, λ = 0, 5 features).",
    "numbers": NO_NUMBERS,
}
FULL = farokhi.FULL | {"deviations": (0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0), "size": 30}
QUICK = farokhi.QUICK | {"deviations": (0.0, 0.1, 1.0), "size": 30}


def run(work: Work, deviations: Sequence[float], size: int, **effort: Any) -> Reproduction:
    """Measure leakage and advantage at each standard deviation of the noise."""
    least_squares = Ridge(l2=0.0, intercept=False)
    cases = [SweepCase(deviation, least_squares, size, noise=deviation) for deviation in deviations]
    about = {"learner": "least squares", "l2": 0.0, "features": 5}
    return sweep(work, SweepAxis("Standard deviation of the noise σ"), cases, SweepEffort(**effort), about)
