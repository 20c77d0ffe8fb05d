"""Colored digits: the shape causes the label, and the colour only correlates with it (Arjovsky et al. 2019, section 5.2).

An image of a digit gets a label, 0 for digits below 5 and 1 from 5 on, which is flipped with probability ``noise``; then a
colour, which is that label, flipped with probability ``flip``. The image is in the first of two channels for colour 0 and
in the second for colour 1; the other channel is black. Environments differ in ``flip`` alone: for 0.1 and 0.2 the colour
predicts the label better (90 and 80 %) than the shape does (75 %), and for 0.9 it misleads.

[tople2020, section 4] does not mention the noise, and says that it uses the code of Arjovsky et al., which has 25 %. Without
it the shape would predict the label almost always, and the accuracies of [tople2020, Table 3], 70 and 69 %, would be
impossible: they are just below 75 %, the best that the shape allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakscope.core.checks import check_number
from leakscope.core.errors import InputError

NOISE = 0.25
#: Share of colours that differ from the label: in the two training environments, and in the test environment.
TRAINING, TEST = (0.1, 0.2), 0.9

Colored = tuple[NDArray[np.float32], NDArray[np.int64]]


def load_digits() -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Load all 70,000 images of MNIST, every other pixel of every other row (14 x 14), and their digits."""
    from leakscope.data import datasets

    data = datasets.load("mnist")
    return np.ascontiguousarray(np.asarray(data.X)[:, ::2, ::2]), np.asarray(data.y, np.int64)


def environment(images: Any, digits: Any, flip: float, rng: np.random.Generator, noise: float = NOISE) -> Colored:
    """Colour grey images: features (images, 2 x height x width) in [0, 1] as float32, and labels 0 and 1.

    Parameters
    ----------
    images
        Bytes, or numbers from 0 to 1, (images, height, width).
    digits
        The digit of each image.
    flip
        Probability that the colour is not the label.
    noise
        Probability that the label is not that of the digit.

    Examples
    --------
    >>> X, y = environment(np.full((2, 1, 1), 255, np.uint8), [3, 8], 0.0, np.random.default_rng(0), noise=0.0)
    >>> X.tolist(), y.tolist()
    ([[1.0, 0.0], [0.0, 1.0]], [0, 1])
    """
    grey, numbers = np.asarray(images), np.asarray(digits)
    _check(grey, numbers)
    for name, share in (("flip", flip), ("noise", noise)):
        check_number(name, share, 0, 1)
    y = (numbers >= 5) ^ (rng.random(len(grey)) < noise)
    colour = y ^ (rng.random(len(grey)) < flip)
    flat = grey.reshape(len(grey), -1)
    X = np.zeros((len(grey), 2, flat.shape[1]), np.float32)
    X[np.arange(len(grey)), colour.astype(np.intp)] = flat / np.float32(255) if grey.dtype == np.uint8 else flat
    return X.reshape(len(grey), -1), y.astype(np.int64)


def environments(
    images: Any, digits: Any, flips: Sequence[float], sizes: Sequence[int], rng: np.random.Generator
) -> list[Colored]:
    """Divide images at random among disjoint environments, and colour each.

    Examples
    --------
    >>> grey, digits = np.ones((10, 2, 2)), np.arange(10)
    >>> [X.shape for X, _ in environments(grey, digits, (0.1, 0.9), (6, 4), np.random.default_rng(0))]
    [(6, 8), (4, 8)]
    """
    grey, numbers = np.asarray(images), np.asarray(digits)
    _check(grey, numbers)
    if len(flips) != len(sizes) or min(sizes, default=0) < 1:
        raise InputError("flips and sizes must have one entry per environment, with sizes of 1 or more")
    if sum(sizes) > len(grey):
        raise InputError(f"sizes sum to {sum(sizes):,}, more than the {len(grey):,} images: reduce them")
    parts = np.split(rng.permutation(len(grey))[: sum(sizes)], np.cumsum(sizes)[:-1])
    return [environment(grey[part], numbers[part], flip, rng) for part, flip in zip(parts, flips, strict=True)]


def _check(images: NDArray[Any], digits: NDArray[Any]) -> None:
    if images.ndim != 3 or digits.shape != images.shape[:1]:
        raise InputError(
            f"images have shape {images.shape} and digits {digits.shape}: pass images as (images, height, width) and one "
            "digit each"
        )
    if images.dtype != np.uint8 and not (images.dtype.kind in "buif" and ((images >= 0) & (images <= 1)).all()):
        raise InputError("images must be bytes (uint8) or numbers from 0 to 1: convert them")
