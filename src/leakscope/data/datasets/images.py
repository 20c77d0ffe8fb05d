"""MNIST and CIFAR-100: unchanged images as bytes, training images first.

The published CIFAR-100 archive contains Python pickles, which are never executed. After a check of the md5 of the
archive, a restricted unpickler reads the data; it accepts only placeholder classes for arrays of bytes.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leakscope.core.errors import InputError
from leakscope.data.datasets.dataset import Dataset, Description, no_groups
from leakscope.data.datasets.store import open_payload, reading, tar_members


class Images(NamedTuple):
    """Training and test images with their labels, and the superclasses of CIFAR-100."""

    images: list[NDArray[np.uint8]]
    labels: list[Any]
    coarse: Sequence[Any] = ()
    coarse_names: Sequence[str] = ()


def read_mnist(description: Description, folder: Path) -> Images:
    """Read MNIST: 60,000 training images and 10,000 test images, 28 x 28."""
    train, train_labels, test, test_labels = (_read_idx(folder / file.name) for file in description.files)
    return Images([train, test], [train_labels, test_labels])


def read_cifar100(description: Description, folder: Path) -> Images:
    """Read all of CIFAR-100: 50,000 training images and 10,000 test images, 32 x 32 x 3."""
    parts = parse_cifar_archive(folder / description.files[0].name, description.files[0].members)
    train, test, meta = (parts[name] for name in description.files[0].members)
    return Images(
        images=[_images(train[b"data"]), _images(test[b"data"])],
        labels=[train[b"fine_labels"], test[b"fine_labels"]],
        coarse=[train[b"coarse_labels"], test[b"coarse_labels"]],
        coarse_names=[name.decode() for name in meta[b"coarse_label_names"]],
    )


def read_cifar100_20k(description: Description, folder: Path) -> Images:
    """Read the fixed subset of CIFAR-100: 16,000 training images and 4,000 test images, all different."""
    with np.load(folder / description.files[0].name, allow_pickle=False) as arrays:
        return Images(
            images=[arrays["x_train"], arrays["x_test"]],
            labels=[arrays["y_train"], arrays["y_test"]],
            coarse=[arrays["coarse_train"], arrays["coarse_test"]],
            coarse_names=[bytes(name).decode() for name in arrays["coarse_names"].astype("S")],
        )


def prepare(description: Description, raw: Images) -> Dataset:
    """Join the training and the test images; the groups of CIFAR-100 are the superclasses."""
    y = np.concatenate(raw.labels).astype(np.int64)
    groups = no_groups(pd.RangeIndex(len(y)))
    if raw.coarse_names:
        groups["superclass"] = np.array(raw.coarse_names)[np.concatenate(raw.coarse)]
    train = np.arange(len(y)) < len(raw.labels[0])
    return Dataset(description, np.concatenate(raw.images), y, groups, train=train)


def _read_idx(path: Path) -> NDArray[np.uint8]:
    """Read an array of bytes in idx format: two zeros, type 8, number of axes, their big-endian lengths, the bytes."""
    with open_payload(path) as stream:
        content = stream.read()
    axes = content[3]
    shape = np.frombuffer(content, dtype=">u4", count=axes, offset=4)
    return np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * axes).reshape(shape)


class _Bytes:
    """Placeholder for a pickled numpy array or type, which only stores its state."""

    def __init__(self, *arguments: object) -> None:
        self.arguments = arguments
        self.state: Any = None

    def __setstate__(self, state: object) -> None:
        self.state = state


class _InertUnpickler(pickle.Unpickler):
    """Unpickler for dicts, lists, numbers, bytes and ``_Bytes`` that refuses any other class or function."""

    _INERT = frozenset({("numpy.core.multiarray", "_reconstruct"), ("numpy", "ndarray"), ("numpy", "dtype")})

    def find_class(self, module: str, name: str) -> type[_Bytes]:
        if (module, name) not in self._INERT:
            raise pickle.UnpicklingError(f"{module}.{name} is not allowed")
        return _Bytes


def parse_cifar_archive(path: Path, members: tuple[str, ...]) -> dict[str, dict[bytes, Any]]:
    """Return the pickled dicts of the published archive by member name, with arrays as ``_Bytes``."""
    parts = {}
    with reading(path):
        for name, stream in tar_members(path, members):
            parts[name] = _unpickle(stream, f"{name} in {path}")
    return parts


def _unpickle(stream: IO[bytes], what: str) -> dict[bytes, Any]:
    try:
        content = _InertUnpickler(stream, encoding="bytes").load()
        if not isinstance(content, dict):
            raise pickle.UnpicklingError("no dict")
    except (pickle.UnpicklingError, AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{what} is not a plain pickle of CIFAR-100 ({error}): delete the file and fetch it again"
        ) from error
    return content


def _images(array: _Bytes) -> NDArray[np.uint8]:
    """Convert rows of 1,024 red, then green, then blue bytes to height x width x colour."""
    _, shape, kind, column_order, content = array.state
    if kind.arguments[0] != b"u1" or column_order or len(shape) != 2 or shape[1] != 3 * 32 * 32:
        raise InputError("the CIFAR-100 archive does not contain rows of 3,072 bytes: delete it and fetch it again")
    planes = np.frombuffer(content, dtype=np.uint8).reshape(shape[0], 3, 32, 32)
    return np.ascontiguousarray(planes.transpose(0, 2, 3, 1))
