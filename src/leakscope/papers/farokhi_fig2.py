"""[farokhi2020, Figure 2]: a network of five layers of fifty neurons, training sets of growing size.

A Gaussian over the network's 10,000 parameters would need more draws than there is time for, so the leakage is that of
what the network answers, ``space="function"``: a lower bound on the leakage of the parameters, by data processing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from leakscope.learners import MLP
from leakscope.papers.farokhi import NO_NUMBERS, SweepAxis, SweepCase, SweepEffort, sweep
from leakscope.papers.reproduction import Reproduction, Work

ID = "farokhi-fig2"
TITLE = "Neural network: advantage and leakage by number of training records"
PAPER = {
    "source": "Farokhi and Kaafar 2020, Figure 2 and Theorem 2",
    "statement": "The same trend as for linear regression: advantage and leakage decrease as the training set grows.",
    "numbers": NO_NUMBERS,
}
FULL = {"sizes": (10, 30, 100, 300, 1000), "steps": 500, "records": 20, "draws": 100, "models": 100}
QUICK = {"sizes": (10, 100), "steps": 100, "records": 4, "draws": 40, "models": 20}


def run(work: Work, sizes: Sequence[int], steps: int, **effort: Any) -> Reproduction:
    """Measure leakage and advantage at each size."""
    network = MLP(widths=(50,) * 5, activation="tanh", steps=steps)
    axis, cases = SweepAxis("Training records n", power_law=True), [SweepCase(size, network, size) for size in sizes]
    about = {"learner": network.name, "l2": 0.0, "features": 5}
    return sweep(work, axis, cases, SweepEffort(**effort, space="function"), about)
