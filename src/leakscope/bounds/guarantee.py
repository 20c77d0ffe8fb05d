"""The guarantee of differential privacy that a defense states, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np


@dataclass(frozen=True)
class Guarantee:
    r"""A proven (ε, δ)-differential privacy and its conditions.

    Parameters
    ----------
    epsilon, delta
        The claim.
    neighbours
        How neighbouring training sets differ: by the ``swap`` of one record, or by one record that is
        ``added or removed``.
    covers
        The releases that it covers: ``parameters`` (and everything computed from them), or ``answers``.
    rests_on
        Conditions that must hold, in plain words.
    source
        The theorem and its paper.

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
        """Convert the claim to the swap of one record, one removed and one added: (2ε, (1 + e^ε)δ) by group privacy."""
        if self.neighbours == "swap":
            return self.epsilon, self.delta
        return 2 * self.epsilon, min(1.0, (1 + float(np.exp(min(self.epsilon, 50.0)))) * self.delta)
