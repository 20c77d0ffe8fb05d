"""Random numbers that a key decides, for many keys at once: the same record always gets the same."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def uniforms(keys: NDArray[np.uint64], count: int, seed: int = 0) -> NDArray[np.float64]:
    """Numbers between 0 and 1, both excluded, (keys, count): for each key the stream of SplitMix64 that it starts.

    SplitMix64 is a counter through a mixing function (Steele, Lea and Flood 2014), so that nothing is drawn in turn.

    Examples
    --------
    >>> one, two, again = uniforms(np.array([7, 8, 7], np.uint64), 3)
    >>> bool((one == again).all()), bool((one == two).any())
    (True, False)
    """
    secret = np.random.SeedSequence(seed).generate_state(1, np.uint64)
    steps = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    bits = _mix(_mix(keys ^ secret)[:, None] + steps)
    # 53 bits are what a float holds; half a step more keeps 0 out.
    return np.asarray(((bits >> np.uint64(11)) + 0.5) * 2.0**-53)


def _mix(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    return bits ^ (bits >> np.uint64(31))
