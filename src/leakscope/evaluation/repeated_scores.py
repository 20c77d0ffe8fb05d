"""Repeated rows of scores: which equal rows are copies of one record, and which are chance.

Copies reveal each other's membership and make intervals too narrow: only one of them is judged. If only scores are known,
equal rows may be copies or chance. Chance, rounding and few levels give equal rows on both sides; copies are on one side only.
The rules are:

- if every row of a side occurs two times, three times, …, the side was written that often, and is judged once;
- if rows repeat on their side and hardly any is on both sides, one of equal rows is judged, unless the scores accumulate
  there: a tenth of the side is equal, or the rows have the lowest or highest score, as losses of 0 do, and are more
  frequent than any row in between.

Copies of some records among rounded scores can't be identified. If equal rows are far more common within a side than across the
sides, there is a warning.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leakscope.core.result import Caveat
from leakscope.evaluation.crossfit import Hashes

Counts = NDArray[np.int64]

#: Fewer different rows than this are levels, not measurements. Of so many counts, all are even by chance less than once in 2**18.
MANY_ROWS = 20
#: Rows that repeat on one side, for each row on both sides, from which on they count as copies. Chance gives about one.
ONE_SIDED = 10
#: How much more common equal rows are within a side than across the sides before a warning names copies: without a leak they are
#: equally common, and of two normals it takes an AUC of 0.88. Fewer pairs of equal rows than `MANY_PAIRS` may do so by chance.
UNEVEN, MANY_PAIRS = 2.0, 50


@dataclass(frozen=True)
class Repeats:
    """A key for each row, the same for rows of which one is to be judged; and how many rows of a side are equal to another.

    ``copies`` are the numbers of members and of non-members that are therefore not judged; ``gathered`` of those that share
    a row with others of their side, with hardly any of the other side, and are judged. ``uneven`` states that far more
    pairs are equal within a side than across the sides, and that the copies are unknown.
    """

    members: Hashes
    nonmembers: Hashes
    copies: tuple[int, int]
    gathered: tuple[int, int]
    uneven: bool

    def warnings(self) -> list[Caveat]:
        """Warn about rows that were treated as copies, and about possible copies that were not."""
        found = []
        if any(self.copies):
            found.append(Caveat("repeated_scores", {"members": self.copies[0], "nonmembers": self.copies[1]}))
        for many, side in zip(self.gathered, ("member", "non-member"), strict=True):
            if many:
                found.append(Caveat("shared_scores", {"records": many, "side": side}))
        if self.uneven:
            found.append(Caveat("uneven_repeats"))
        return found


def find_repeats(members: pd.DataFrame, nonmembers: pd.DataFrame) -> Repeats:
    """Find copies among rows with all that is known of each member and non-member, the score first.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> members, others = (pd.DataFrame({"loss": np.tile(rng.normal(size=30), 3)}) for _ in range(2))
    >>> find_repeats(members, others).copies
    (60, 60)
    >>> levels = [pd.DataFrame({"stars": rng.integers(1, 6, 90)}) for _ in range(2)]
    >>> find_repeats(*levels).copies
    (0, 0)
    """
    both = pd.concat([members, nonmembers], ignore_index=True)
    rows = both.groupby(list(both.columns), sort=False, dropna=False).ngroup().to_numpy()
    sides = rows[: len(members)], rows[len(members) :]
    counts = [np.bincount(side, minlength=int(rows.max()) + 1) for side in sides]
    repeated, shared = sum(int(np.sum(many > 1)) for many in counts), int(np.sum((counts[0] > 0) & (counts[1] > 0)))
    one_sided = repeated > ONE_SIDED * shared
    blocks = [np.full(len(many), _times(many, np.concatenate(counts))) for many in counts]
    if one_sided:
        score = both.iloc[:, 0].to_numpy()
        ends = np.isin(np.arange(len(counts[0])), rows[(score == score.min()) | (score == score.max())])
        for many, other, block in zip(counts, counts[::-1], blocks, strict=True):
            alike = _are_copies(many, ends) & (other == 0)
            block[alike] = many[alike]
    keys = [_keys(side, block) for side, block in zip(sides, blocks, strict=True)]
    copies = [len(side) - len(np.unique(key)) for side, key in zip(sides, keys, strict=True)]
    gathered = [
        int(many[(block == 1) & (many > 1) & (other == 0)].sum()) if one_sided else 0
        for many, other, block in zip(counts, counts[::-1], blocks, strict=True)
    ]
    apart = np.uint64(len(rows))  # equal rows of the two sides are two records
    uneven = not one_sided and _uneven(*(many // block for many, block in zip(counts, blocks, strict=True)))
    return Repeats(keys[0], keys[1] + apart, (copies[0], copies[1]), (gathered[0], gathered[1]), uneven)


def _uneven(inside: Counts, outside: Counts) -> bool:
    """Whether equal pairs make up a far larger share of the pairs within the sides than of those across."""
    within = [int(np.sum(many * (many - 1))) for many in (inside, outside)]
    sizes = int(inside.sum()), int(outside.sum())
    share = sum(pairs / (size * (size - 1)) for pairs, size in zip(within, sizes, strict=True)) / 2
    return sum(within) / 2 >= MANY_PAIRS and share > UNEVEN * int(inside @ outside) / (sizes[0] * sizes[1])


def _times(counts: Counts, both: Counts) -> int:
    """How often the side was written: what divides the counts of all its rows, or of both sides where it has few."""
    for some in (counts[counts > 0], both[both > 0]):
        if len(some) >= MANY_ROWS:
            return int(np.gcd.reduce(some))
    return 1


def _are_copies(counts: Counts, ends: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which different rows of a side are one record, if hardly any row is on both sides."""
    if np.sum(counts > 0) < MANY_ROWS:
        return np.zeros(len(counts), dtype=bool)
    gathers = (counts > max(MANY_ROWS, counts.sum() / 10)) | (ends & (counts > counts[~ends].max(initial=0)))
    return np.asarray((counts > 0) & ~gathers)


def _keys(rows: NDArray[Any], block: Counts) -> Hashes:
    """A number for each row: rows of one kind share it in blocks."""
    place = pd.Series(rows).groupby(rows).cumcount().to_numpy() // block[rows]
    return pd.DataFrame({"row": rows, "place": place}).groupby(["row", "place"]).ngroup().to_numpy().astype(np.uint64)
