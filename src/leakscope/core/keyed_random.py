"""Deterministic random numbers by key, for many keys at once: equal records get equal numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def uniforms(keys: NDArray[np.uint64], count: int, seed: int = 0) -> NDArray[np.float64]:
    """Draw uniform numbers in the open interval (0, 1), shape (keys, count): one SplitMix64 stream per key.

    SplitMix64 applies a mixing function to a counter (Steele, Lea and Flood 2014), so all numbers are computed at once.

    Examples
    --------
    >>> one, two, again = uniforms(np.array([7, 8, 7], np.uint64), 3)
    >>> bool((one == again).all()), bool((one == two).any())
    (True, False)
    """
    secret = np.random.SeedSequence(seed).generate_state(1, np.uint64)
    steps = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    bits = _mix(_mix(keys ^ secret)[:, None] + steps)
    # A float holds 53 bits; adding half a step excludes 0.
    return np.asarray(((bits >> np.uint64(11)) + 0.5) * 2.0**-53)


def _mix(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    return bits ^ (bits >> np.uint64(31))
