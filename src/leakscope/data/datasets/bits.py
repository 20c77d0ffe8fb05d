"""Location30, Purchase100 and Texas100: binary records, as published with the first membership inference attacks.

A line is ``label,bit,bit,…``, where labels start at 1 and may be quoted. The labels of Texas100 are in a separate file.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leakscope.core.errors import InputError
from leakscope.data.datasets.dataset import Dataset, Description, no_groups
from leakscope.data.datasets.store import reading, tar_members

_NOUNS = {"location30": "location", "purchase100": "product", "texas100": "attribute"}


Raw = tuple[NDArray[np.int64], NDArray[np.uint8]]


def read(description: Description, folder: Path) -> Raw:
    """Read the labels, which start at 1, and the bits, one byte each, of one of the three sets."""
    path = folder / description.files[0].name
    labels, bits = parse_archive(path, description.files[0].members, description.rows, description.record[0])
    if not np.array_equal(np.unique(labels), np.arange(1, description.classes + 1)):
        raise InputError(f"{path} does not have the labels 1 to {description.classes}: delete it and fetch it again")
    return labels, bits


def prepare(description: Description, raw: Raw) -> Dataset:
    """Name the columns of the bits of `read`, and number the labels from 0."""
    labels, bits = raw
    names = [f"{_NOUNS[description.name]}_{number}" for number in range(1, bits.shape[1] + 1)]
    X = pd.DataFrame(bits, columns=names, copy=False)
    return Dataset(description, X, labels - 1, no_groups(X.index), tuple(names))


def parse_archive(path: Path, members: tuple[str, ...], rows: int, columns: int) -> Raw:
    """Read labels and bits of an archive: one member with both, or one with bits and one with labels."""
    labels = np.empty(0, dtype=np.int64)
    bits = np.empty((0, columns), dtype=np.uint8)
    with reading(path):
        for name, stream in tar_members(path, members):
            try:
                if name == members[0]:
                    own_labels, bits = parse_lines(stream, rows, columns, labelled=len(members) == 1)
                    labels = own_labels if len(members) == 1 else labels
                else:
                    labels, _ = parse_lines(stream, rows, 0, labelled=True)
            except ValueError as error:
                raise InputError(f"{name} in {path} {error}: delete the file and fetch it again") from None
    return labels, bits


def parse_lines(lines: Iterable[bytes], rows: int, columns: int, *, labelled: bool) -> Raw:
    """Read exactly ``rows`` lines of an optional label and ``columns`` bits, without memory beyond the result.

    Raises ValueError with a message that completes "this file …".

    Examples
    --------
    >>> labels, bits = parse_lines([b'"13",0,1', b"2,1,1"], rows=2, columns=2, labelled=True)
    >>> labels.tolist(), bits.tolist()
    ([13, 2], [[0, 1], [1, 1]])
    """
    labels = np.zeros(rows, dtype=np.int64)
    bits = np.empty((rows, columns), dtype=np.uint8)
    count = 0
    for line in lines:
        text = line.strip().replace(b'"', b"")
        if not text:
            continue
        if count == rows:
            raise ValueError(f"has more than the {rows:,} lines published")
        label, _, row = text.partition(b",") if labelled else (b"0", b"", text)
        codes = np.frombuffer(row, dtype=np.uint8)
        # "0" is 48 and "1" is 49; any other character gives a value above 1, by overflow or directly.
        values = codes[::2] - 48
        right = len(row) == max(2 * columns - 1, 0) and (values <= 1).all() and (codes[1::2] == ord(",")).all()
        if not (right and label.isdigit() and len(label) < 10):
            raise ValueError(
                f"has a line {count + 1:,} that is not {'a label and ' * labelled}{columns:,} zeros and ones"
            )
        labels[count], bits[count] = int(label), values
        count += 1
    if count < rows:
        raise ValueError(f"has {count:,} lines, not the {rows:,} published")
    return labels, bits
