"""Noise that a record's own values seed: the same record always gets the same."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Numbers of noise that are drawn at a time.
NOISE = 1 << 22


def draw(keys: NDArray[np.uint64], shape: tuple[int, ...], seed: int, stream: int = 0) -> NDArray[np.float32]:
    """Return the standard normal numbers of a shape for each record, given by a hash of it.

    Examples
    --------
    >>> one, two, again = draw(np.array([7, 8, 7], np.uint64), (2,), seed=0)
    >>> bool((one == again).all()), bool((one == two).any())
    (True, False)
    """
    noise = np.empty((len(keys), *shape), np.float32)
    for row, key in zip(noise, keys.tolist(), strict=True):
        generator = np.random.Generator(np.random.SFC64([key, seed, stream]))
        generator.standard_normal(out=row, dtype=np.float32)
    return noise


def mixed(keys: NDArray[np.uint64], seed: int) -> NDArray[np.uint64]:
    """Return the hashes of records and the seed as one number each, whose last 32 bits depend on all of both."""
    start = np.random.SeedSequence(seed).generate_state(1, np.uint64)
    found = (keys ^ start) * np.uint64(0x9E3779B97F4A7C15)
    return found ^ (found >> np.uint64(32))
