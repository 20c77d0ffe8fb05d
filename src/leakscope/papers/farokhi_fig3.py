"""[farokhi2020, Figure 3]: linear regression, growing regularisation [farokhi2020, Thm 3].

Divergence does not change when the parameters are scaled, and strong regularisation does little else: the leakage of
exact parameters levels off above zero. Theorem 3 has the limit zero for parameters from a finite set. ``rounded`` is the
leakage of parameters kept to steps of width ``step``, taken for noise of standard deviation step/√12.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from leakscope.core.estimate import Estimate
from leakscope.core.wording import write
from leakscope.learners import Ridge
from leakscope.papers import farokhi
from leakscope.papers.farokhi import NO_NUMBERS, SweepAxis, SweepCase, SweepEffort, adult, sweep
from leakscope.papers.reproduction import Reproduction, Work

ID = "farokhi-fig3"
TITLE = "Linear regression: advantage and leakage by weight of regularisation"
PAPER = {
    "source": "Farokhi and Kaafar 2020, Figure 3 and Theorem 3",
    "statement": "Advantage and leakage both decrease as the weight λ grows (n = 10, 5 features).",
    "numbers": NO_NUMBERS,
}
WEIGHTS = (0.0, 1e-6, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1e3, 1e4, 1e5)
FULL = farokhi.FULL | {"weights": WEIGHTS, "step": 1e-3, "size": 10}
QUICK = farokhi.QUICK | {"weights": (0.0, 1.0, 1e4), "step": 1e-3, "size": 10}


def run(work: Work, weights: Sequence[float], step: float, size: int, **effort: Any) -> Reproduction:
    """Measure leakage and advantage at each weight."""
    from leakscope.studies.leakage import membership_leakage

    cases = [SweepCase(weight, Ridge(l2=weight, intercept=False), size) for weight in weights]
    about = {"learner": "ridge regression", "features": 5}
    result = sweep(work, SweepAxis("Weight of regularisation λ"), cases, SweepEffort(**effort), about)
    X, y = adult()
    shared: dict[str, Any] = {"seed": work.seed, "workers": work.workers, "cache": work.cache}
    shared |= {"records": effort["records"], "draws": effort["draws"], "noise": step / math.sqrt(12)}
    rounded = [
        None if row["leakage"] is None else membership_leakage(case.learner, X, y, size, **shared).rho_kl.finite()
        for case, row in zip(cases, result.rows, strict=True)
    ]
    return replace(
        result,
        rows=tuple(row | {"rounded": value} for row, value in zip(result.rows, rounded, strict=True)),
        notes=(*result.notes, *_limit(result, rounded[-1], step)),
    )


def _limit(result: Reproduction, rounded: Estimate | None, step: float) -> list[str]:
    """State whether the leakage is above zero at the largest weight."""
    last = result.rows[-1]["leakage"]
    if rounded is None or not isinstance(last, Estimate) or last.low <= 0:
        return []
    return [
        f"The leakage is not zero at λ = {result.rows[-1]['λ']:g}, because divergence does not change with the scale of the parameters. "
        f"Theorem 3 has its limit for finite precision. Rounded to steps of {step:g}, the parameters leak {write(rounded)}."
    ]
