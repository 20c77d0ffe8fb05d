"""Pooling of groups with few records, because statistics of a small group reveal its members."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leakscope.core.arrays import Booleans

#: Groups with fewer evaluated members or non-members than this are pooled.
SMALLEST_GROUP = 20
SMALL_GROUPS = "(small groups)"
#: Level of records that belong to no reported group; user levels cannot have this name.
NOT_SHOWN = "\0not shown"  # numpy ignores a trailing null in comparisons


def pool_small_groups(levels: NDArray[Any], member: Booleans) -> tuple[NDArray[Any], int]:
    r"""Pool levels with too few members or non-members into "(small groups)", or `NOT_SHOWN` if that is too small too.

    Returns the new levels and the number of pooled levels.

    Examples
    --------
    >>> levels, pooled = pool_small_groups(np.array(["a"] * 60 + ["b"] * 4, dtype=object), np.arange(64) % 2 == 0)
    >>> pooled, sorted(set(levels.tolist()))
    (1, ['\x00not shown', 'a'])
    """
    codes, names = pd.factorize(levels, sort=True)
    inside, outside = (np.bincount(codes[side], minlength=len(names)) for side in (member, ~member))
    small = np.minimum(inside, outside) < SMALLEST_GROUP
    # A user level with the name of the pooled level must not be hidden.
    named = [NOT_SHOWN.replace("\0", "\N{REPLACEMENT CHARACTER}") if name == NOT_SHOWN else name for name in names]
    return _pooled(named, small, min(inside[small].sum(), outside[small].sum()))[codes], int(small.sum())


def pool_levels(levels: NDArray[Any]) -> NDArray[Any]:
    """Pool levels with fewer than `SMALLEST_GROUP` records into one, or `NOT_SHOWN` if that is too small too.

    Examples
    --------
    >>> sorted(set(pool_levels(np.array(["a"] * 30 + ["b"] * 15 + ["c"] * 10, dtype=object)).tolist()))
    ['(small groups)', 'a']
    """
    names, codes, counts = np.unique(levels.astype(object), return_inverse=True, return_counts=True)
    small = counts < SMALLEST_GROUP
    return _pooled(names, small, counts[small].sum())[codes]


def _pooled(names: Iterable[Any], small: Booleans, records: int) -> NDArray[Any]:
    pooled = SMALL_GROUPS if records >= SMALLEST_GROUP else NOT_SHOWN
    return np.array([pooled if few else name for few, name in zip(small, names, strict=True)], object)
