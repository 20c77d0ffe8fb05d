"""Synthetic images with the shape, labels and superclasses of MNIST and CIFAR-100.

A digit consists of random pixels inside a stroke pattern of its class. A photograph is the sum of a pattern of its
class, a background that is independent of the class, and noise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakscope.data.datasets.images import Images
from leakscope.data.datasets.synthetic.tables import level_counts

Bytes = NDArray[np.uint8]

MNIST_ROWS, MNIST_TRAIN = 70_000, 60_000 / 70_000
DIGITS = (6_903, 7_877, 6_990, 7_141, 6_824, 6_313, 6_876, 7_293, 6_825, 6_958)
STYLES = 40  # strokes of a digit
#: The synthetic CIFAR-100 has 200 + 40 images per class instead of 500 + 100: its size stays below 80 MB.
CIFAR_ROWS, CIFAR_TRAIN = 24_000, 5 / 6
SUBSET_ROWS, SUBSET_TRAIN = 20_000, 0.8
BACKGROUNDS = 512
COLOURS = (0.515, 0.481, 0.405)  # means of the patterns, which give the published means of the images
SUPERCLASSES = (
    "aquatic_mammals", "fish", "flowers", "food_containers", "fruit_and_vegetables", "household_electrical_devices",
    "household_furniture", "insects", "large_carnivores", "large_man-made_outdoor_things",
    "large_natural_outdoor_scenes", "large_omnivores_and_herbivores", "medium_mammals", "non-insect_invertebrates",
    "people", "reptiles", "small_mammals", "trees", "vehicles_1", "vehicles_2",
)  # fmt: skip
#: The superclass of each of the 100 classes.
COARSE = (
    4, 1, 14, 8, 0, 6, 7, 7, 18, 3, 3, 14, 9, 18, 7, 11, 3, 9, 7, 11, 6, 11, 5, 10, 7, 6, 13, 15, 3, 15, 0, 11, 1, 10,
    12, 14, 16, 9, 11, 5, 5, 19, 8, 8, 15, 13, 14, 17, 18, 10, 16, 4, 17, 4, 2, 0, 17, 4, 18, 17, 10, 3, 2, 12, 12, 16,
    12, 1, 9, 19, 2, 10, 0, 1, 16, 12, 9, 13, 15, 13, 16, 19, 2, 4, 6, 19, 5, 5, 8, 19, 18, 1, 2, 15, 6, 0, 17, 8, 14,
    13,
)  # fmt: skip


def generate_mnist(rows: int, rng: np.random.Generator) -> Images:
    """Generate digits, as `leakscope.data.datasets.images.read_mnist` returns them."""
    strokes = np.concatenate([_strokes(rng) for _ in DIGITS])
    labels = rng.permutation(np.repeat(np.arange(len(DIGITS)), level_counts(DIGITS, rows)))
    pattern = strokes[labels * STYLES + rng.integers(0, STYLES, rows)]
    ink = rng.integers(0, 256, (rows, 28, 28), dtype=np.uint8)
    return _split(np.where(ink < pattern, ink | 128, 0).astype(np.uint8), labels, round(MNIST_TRAIN * rows))


def _strokes(rng: np.random.Generator) -> Bytes:
    """Return polygons, one per style, as the probability times 256 that a pixel is dark."""
    corners = rng.uniform(6, 22, (5, 2)) + rng.normal(0, 2.5, (STYLES, 5, 2))
    steps = np.linspace(0, 1, 12)[:, None]
    line = np.concatenate(
        [corners[:, i, None] * (1 - steps) + corners[:, i + 1, None] * steps for i in range(4)], axis=1
    )
    pixels = np.arange(28)
    down, across = (pixels[:, None] - line[:, None, :, axis] for axis in (0, 1))
    squares = (down**2)[:, :, None] + (across**2)[:, None, :]
    distance: NDArray[np.float64] = np.sqrt(squares.min(axis=-1))
    return np.round(245 * np.clip(2.6 - distance, 0, 1)).astype(np.uint8)


def generate_cifar100(rows: int, rng: np.random.Generator, train: float = CIFAR_TRAIN) -> Images:
    """Generate photographs of 100 equally frequent classes, for training and test."""
    first = round(train * rows)
    labels = np.concatenate([rng.permutation(np.arange(count) % 100) for count in (first, rows - first)])
    images = _smooth(100, rng)[labels] // 10
    images += _smooth(BACKGROUNDS, rng)[rng.integers(0, BACKGROUNDS, rows)] // 2
    images += rng.integers(0, 102, images.shape, dtype=np.uint8)
    split = _split(images, labels, first)
    coarse = [np.array(COARSE)[part] for part in split.labels]
    return split._replace(coarse=coarse, coarse_names=SUPERCLASSES)


def _smooth(count: int, rng: np.random.Generator) -> Bytes:
    """Return random patterns of 8 x 8 squares, each four pixels wide."""
    level = np.array(COLOURS) * 255
    squares = np.clip(rng.normal(level, 75, (count, 8, 8, 3)), 0, 255).astype(np.uint8)
    return squares.repeat(4, axis=1).repeat(4, axis=2)


def _split(images: Bytes, labels: NDArray[np.intp], train: int) -> Images:
    return Images([images[:train], images[train:]], [labels[:train], labels[train:]])
