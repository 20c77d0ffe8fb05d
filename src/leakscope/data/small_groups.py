"""Groups with few records, which are pooled: a figure about a handful of people would be one about each of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leakscope.core.arrays import Booleans

#: Groups with fewer judged members or non-members than this are pooled.
SMALLEST_GROUP = 20
SMALL_GROUPS = "(small groups)"
#: The level of records that belong to no reported group; no level of a user's can be called so.
NOT_SHOWN = "\0not shown"  # numpy drops a null at the end when it compares


def pool_small_groups(levels: NDArray[Any], member: Booleans) -> tuple[NDArray[Any], int]:
    r"""Levels with too few members or non-members become one level "(small groups)"; if that is too small too, ``NOT_SHOWN``.

    Returns the new levels and how many were pooled.

    Examples
    --------
    >>> levels, pooled = pool_small_groups(np.array(["a"] * 60 + ["b"] * 4, dtype=object), np.arange(64) % 2 == 0)
    >>> pooled, sorted(set(levels.tolist()))
    (1, ['\x00not shown', 'a'])
    """
    codes, names = pd.factorize(levels, sort=True)
    inside, outside = (np.bincount(codes[side], minlength=len(names)) for side in (member, ~member))
    small = np.minimum(inside, outside) < SMALLEST_GROUP
    enough = min(inside[small].sum(), outside[small].sum()) >= SMALLEST_GROUP
    # A level that is called so by whoever made the data must not be hidden by its name.
    named = [NOT_SHOWN.replace("\0", "\N{REPLACEMENT CHARACTER}") if name == NOT_SHOWN else name for name in names]
    new = np.array(
        [name if not few else SMALL_GROUPS if enough else NOT_SHOWN for few, name in zip(small, named, strict=True)],
        object,
    )
    return new[codes], int(small.sum())


def pool_levels(levels: NDArray[Any]) -> NDArray[Any]:
    """Levels of fewer than `SMALLEST_GROUP` records become one, or none where that is too small as well.

    Examples
    --------
    >>> sorted(set(pool_levels(np.array(["a"] * 30 + ["b"] * 15 + ["c"] * 10, dtype=object)).tolist()))
    ['(small groups)', 'a']
    """
    names, codes, counts = np.unique(levels.astype(object), return_inverse=True, return_counts=True)
    small = counts < SMALLEST_GROUP
    pooled = SMALL_GROUPS if counts[small].sum() >= SMALLEST_GROUP else NOT_SHOWN
    return np.array([pooled if few else name for few, name in zip(small, names, strict=True)], object)[codes]
