"""Synthetic features with the shape of the Inception-v3 features of dogs and fish: positive, skewed, two classes."""

from __future__ import annotations

import numpy as np

from leakscope.data.datasets.dogfish import Part

ROWS, COLUMNS, TRAIN_SHARE = 2_400, 2_048, 0.75
FACTORS, TYPICAL, SHIFT = 20, 0.05, 0.25


def generate(rows: int, rng: np.random.Generator) -> list[Part]:
    """Generate the training and the test part, as `leakscope.data.datasets.dogfish.read` returns them."""
    labels = np.arange(rows) % 2
    factors = rng.standard_normal((rows, FACTORS)) @ rng.standard_normal((FACTORS, COLUMNS)) / np.sqrt(FACTORS)
    direction = SHIFT * rng.standard_normal(COLUMNS) * (rng.random(COLUMNS) < TYPICAL)
    signs = 2.0 * labels - 1
    scores = 0.6 * factors + 0.6 * rng.standard_normal((rows, COLUMNS)) + signs[:, None] * direction
    values = 0.25 * np.exp(scores)
    train = round(TRAIN_SHARE * rows / 2) * 2  # even, so that both classes are equally frequent
    return [(values[part], labels[part].astype(np.int64)) for part in (slice(train), slice(train, None))]
