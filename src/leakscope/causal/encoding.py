"""Codes of levels as the numbers that networks and regressions take."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def one_hot(codes: NDArray[np.integer], levels: Sequence[int]) -> NDArray[np.float32]:
    """One column of zeros and ones for each level of each column; a column of two levels gives one, of one level none.

    Examples
    --------
    >>> one_hot(np.array([[0, 2], [1, 0]]), [2, 3])
    array([[0., 0., 0., 1.],
           [1., 1., 0., 0.]], dtype=float32)
    """
    widths = [count if count > 2 else count - 1 for count in levels]
    table = np.zeros((len(codes), sum(widths)), np.float32)
    start, rows = 0, np.arange(len(codes))
    for column, (count, width) in enumerate(zip(levels, widths, strict=True)):
        if count > 2:
            table[rows, start + codes[:, column].astype(np.intp)] = 1.0
        elif count == 2:
            table[:, start] = codes[:, column]
        start += width
    return table
