"""Noise whose seed is the record's own values, so that equal records get equal noise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Numbers of noise that are drawn at a time.
NOISE = 1 << 22


def draw(keys: NDArray[np.uint64], shape: tuple[int, ...], seed: int, stream: int = 0) -> NDArray[np.float32]:
    """Draw standard normal numbers of a shape for each record, given by its hash.

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
    """Combine each record's hash and the seed into one number whose last 32 bits depend on all bits of both."""
    start = np.random.SeedSequence(seed).generate_state(1, np.uint64)
    found = (keys ^ start) * np.uint64(0x9E3779B97F4A7C15)
    return found ^ (found >> np.uint64(32))
