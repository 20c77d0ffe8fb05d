"""[farokhi2020, Figure 4]: linear regression with a growing number of features.

From 10 features on there are at least as many parameters as training records, and the model nearly interpolates them: xᵀθ is
the label of a training record, and not of another one. In that direction the two laws hardly overlap, and the divergence grows
as λ falls. The leakage is then an order of magnitude; the advantages are not affected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from leakscope.learners import Ridge
from leakscope.papers import farokhi
from leakscope.papers.farokhi import NO_NUMBERS, SweepAxis, SweepCase, SweepEffort, sweep
from leakscope.papers.reproduction import Reproduction, Work

ID = "farokhi-fig4"
TITLE = "Linear regression: advantage and leakage by number of features"
PAPER = {
    "source": "Farokhi and Kaafar 2020, Figure 4",
    "statement": "Advantage and leakage both increase with the number of features (n = 10, λ = 1e-6).",
    "numbers": NO_NUMBERS,
}
FULL = farokhi.FULL | {"features": tuple(range(1, 15)), "size": 10, "l2": 1e-6}
QUICK = farokhi.QUICK | {"features": (1, 3, 5, 8), "size": 10, "l2": 1e-6}


def run(work: Work, features: Sequence[int], size: int, l2: float, **effort: Any) -> Reproduction:
    """Measure leakage and advantage at each number of features."""
    axis, ridge = SweepAxis("Features p", expected="rises"), Ridge(l2=l2, intercept=False)
    cases = [SweepCase(count, ridge, size, features=count) for count in features]
    result = sweep(work, axis, cases, SweepEffort(**effort), {"learner": "ridge regression"})
    crowded = [count for count in features if count >= size]
    if not crowded:
        return result
    note = (
        f"From p = {min(crowded)} on there are at least as many parameters as records. The model passes through all records, and the leakage is an "
        "order of magnitude."
    )
    return replace(result, notes=(*result.notes, note))
