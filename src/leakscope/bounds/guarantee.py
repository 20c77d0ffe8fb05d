"""A guarantee of differential privacy, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np


@dataclass(frozen=True)
class Guarantee:
    r"""A proof of (ε, δ)-differential privacy, and what it rests on.

    Parameters
    ----------
    epsilon, delta
        The claim.
    neighbours
        Training sets that are told apart with difficulty: those that differ by the ``swap`` of one record, or by one
        that is ``added or removed``.
    covers
        What may be released: ``parameters`` (and so everything computed from them), or ``answers``.
    rests_on
        What must be true for it, in plain words.
    source
        The statement behind it.

    Examples
    --------
    >>> Guarantee(1.0, 1e-5, neighbours="added or removed").for_swaps()[0]
    2.0
    """

    epsilon: float
    delta: float = 0.0
    neighbours: Literal["swap", "added or removed"] = "swap"
    covers: Literal["parameters", "answers"] = "parameters"
    rests_on: str = ""
    source: str = ""

    def for_swaps(self) -> tuple[float, float]:
        """The same claim for the swap of one record: one removed and one added, (2ε, (1 + e^ε)δ) by group privacy."""
        if self.neighbours == "swap":
            return self.epsilon, self.delta
        return 2 * self.epsilon, min(1.0, (1 + float(np.exp(min(self.epsilon, 50.0)))) * self.delta)
