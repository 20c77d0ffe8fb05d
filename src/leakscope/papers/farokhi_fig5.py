"""[farokhi2020, Figure 5]: linear regression whose parameters are released with Gaussian noise [farokhi2020, Thm 4]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from leakscope.papers.farokhi import NO_NUMBERS, SweepCase, SweepEffort, sweep
from leakscope.papers.reproduction import Reproduction
from leakscope.papers.work import Work

ID = "farokhi-fig5"
TITLE = "Linear regression: advantage and leakage by noise on the parameters"
PAPER = {
    "source": "Farokhi and Kaafar 2020, Figure 5 and Theorem 4",
    "statement": "Advantage and leakage both decrease as the noise grows (n = 30, λ = 0, 5 features).",
    "numbers": NO_NUMBERS,
}
FULL = {
    "deviations": (0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
    "size": 30,
    "records": 200,
    "draws": 2000,
    "models": 200,
}
QUICK = {"deviations": (0.0, 0.1, 1.0), "size": 30, "records": 50, "draws": 400, "models": 40}


def run(work: Work, deviations: Sequence[float], size: int, **effort: Any) -> Reproduction:
    """Measure leakage and advantage at each standard deviation of the noise."""
    from leakscope.learners import Ridge

    least_squares = Ridge(l2=0.0, intercept=False)
    return sweep(
        work,
        [SweepCase(deviation, least_squares, size, noise=deviation) for deviation in deviations],
        SweepEffort(**effort),
        {"learner": "least squares", "l2": 0.0, "features": 5, "size": size, "deviations": deviations},
        axis="Standard deviation of the noise σ",
    )
