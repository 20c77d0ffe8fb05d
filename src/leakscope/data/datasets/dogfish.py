"""Dog and fish images of ImageNet as features of the last hidden layer of Inception-v3 [Koh and Liang 2017, 5.2].

Two files contain the arrays ``inception_features_val``, with one row of 2,048 numbers per image, and ``labels``, 0 for
dog and 1 for fish.
"""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leakscope.core.errors import InputError
from leakscope.data.datasets.dataset import Dataset, Description, no_groups

FEATURES, LABELS = "inception_features_val", "labels"
_BROKEN = (EOFError, OSError, ValueError, zlib.error, zipfile.BadZipFile)


Part = tuple[NDArray[np.float64], NDArray[np.int64]]


def read(description: Description, folder: Path) -> list[Part]:
    """Read the features and labels of the 1,800 training images and of the 600 test images."""
    parts = [_read_part(folder / file.name, description.record[0]) for file in description.files]
    rows = sum(len(labels) for _, labels in parts)
    if rows != description.rows:
        raise InputError(
            f"the files in {folder} contain {rows:,} images, not the {description.rows:,} published: fetch them again"
        )
    return parts


def prepare(description: Description, parts: list[Part]) -> Dataset:
    """Join the training and the test images of `read`; half of each are dogs, 0, and half fish, 1."""
    values, labels = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    X = pd.DataFrame(values, columns=[f"feature_{number}" for number in range(1, values.shape[1] + 1)], copy=False)
    return Dataset(description, X, labels, no_groups(X.index), train=np.arange(len(labels)) < len(parts[0][1]))


def _read_part(path: Path, columns: int) -> Part:
    """Read and check features and labels of one file, since no digest is published."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            values, labels = arrays[FEATURES], np.ravel(arrays[LABELS])
    except KeyError:
        raise InputError(f"{path} has no arrays {FEATURES!r} and {LABELS!r}: fetch it again") from None
    except (*_BROKEN, AttributeError, TypeError) as error:
        raise InputError(
            f"{path} is not a complete file of numpy arrays ({type(error).__name__}): delete it and fetch it again"
        ) from error
    _check(path, values, labels, columns)
    return values.astype(np.float64), labels.astype(np.int64)


def _check(path: Path, values: NDArray[Any], labels: NDArray[Any], columns: int) -> None:
    if values.shape != (len(labels), columns) or not np.issubdtype(values.dtype, np.floating):
        raise InputError(
            f"{path} has an array {FEATURES!r} of shape {values.shape} and {len(labels):,} labels, not a row of "
            f"{columns:,} numbers per label: fetch it again"
        )
    if not np.isfinite(values).all():
        raise InputError(f"{path} has an array {FEATURES!r} with values that are not finite: fetch it again")
    if labels.dtype.kind not in "biuf" or not np.array_equal(np.unique(labels), [0, 1]):
        raise InputError(f"{path} has an array {LABELS!r} with other values than 0 and 1: fetch it again")
