"""Synthetic binary records with the shape of Location30, Purchase100 and Texas100.

Every class has a probability for every bit: the frequency of the bit, raised for a few bits that are typical of the
class. Some labels are permuted at random, so that a model that fits all labels has memorised records.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from leakscope.data.datasets.bits import Raw
from leakscope.data.datasets.synthetic.tables import level_counts


class Shape(NamedTuple):
    """Number of records, bits and classes, the share of ones, and the smallest and largest class as shares of the mean."""

    rows: int
    columns: int
    classes: int
    ones: float
    smallest: float
    largest: float


#: Purchase100 and Texas100 have fewer records than the real sets (197,324 and 67,330): their size stays below 130 MB.
SHAPES = {
    "location30": Shape(5_010, 446, 30, 0.12, 97 / 167, 308 / 167),
    "purchase100": Shape(40_000, 600, 100, 0.17, 0.1, 2.5),
    "texas100": Shape(20_000, 6_170, 100, 0.03, 0.1, 2.5),
}
TYPICAL, BOOST = 0.1, 6.0
EXCHANGED = 0.15


def generate(shape: Shape, rows: int, rng: np.random.Generator) -> Raw:
    """Generate labels, which start at 1, and bits, as `leakscope.data.datasets.bits.read` returns them."""
    popularity = rng.gamma(0.5, size=shape.columns)
    typical = rng.random((shape.classes, shape.columns)) < TYPICAL
    chance = popularity * np.where(typical, BOOST, 1.0)
    chance = np.clip(chance * (shape.ones / chance.mean()), 0.0, 0.9)
    chance = np.clip(chance * (shape.ones / chance.mean()), 0.004, 0.9)  # again, since clipping changed the mean
    rising = np.linspace(0, 1, shape.classes) ** 2
    sizes = level_counts(shape.smallest + (shape.largest - shape.smallest) * rising, rows)
    places = rng.permutation(np.repeat(np.arange(shape.classes), sizes))
    noise = rng.integers(0, 256, (rows, shape.columns), dtype=np.uint8)
    bits = (noise < np.round(256 * chance).astype(np.uint8)[places]).view(np.uint8)
    exchanged = rng.permutation(rows)[: round(EXCHANGED * rows)]
    places[exchanged] = places[rng.permutation(exchanged)]
    return places.astype(np.int64) + 1, bits
