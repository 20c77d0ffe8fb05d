"""Sorted scores of members and non-members, and the AUC and ROC statistics computed from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leakscope.core.arrays import Booleans, Floats, Indices


@dataclass(frozen=True)
class Scale:
    """Strata of records with comparable scores, and blocks of dependent strata.

    ``stratum`` is the stratum number of each record. Scores are comparable within a stratum only: each half of a
    cross-fitted attack is scored by an attack fitted on the other half. Statistics are means over strata (LeDell,
    Petersen and van der Laan 2015).

    ``block`` is the block number of each record; strata of a block were fitted on each other. Under the null
    hypothesis the errors of two such halves have the same sign: their AUCs have a correlation of about 0.6. An interval
    that treated them as independent would miss in 1 of 8 cases instead of 1 of 20. Errors are therefore added within
    a block, and only independent blocks average out.
    """

    stratum: Indices
    block: Indices

    @classmethod
    def of_one(cls, count: int) -> Scale:
        """Return a scale on which all scores are comparable."""
        one = np.broadcast_to(np.zeros(1, np.intp), count)  # takes no memory
        return cls(one, one)

    @classmethod
    def of_halves(cls, half: Indices) -> Scale:
        """Return a scale with one stratum per half, where the halves were fitted on each other."""
        return cls(half, cls.of_one(len(half)).block)

    def take(self, rows: NDArray[Any]) -> Scale:
        return Scale(self.stratum[rows], self.block[rows])

    def strata(self) -> Iterator[tuple[Booleans, int]]:
        """Yield the rows of each stratum and its block."""
        for number in numbers_in(self.stratum):
            rows = self.stratum == number
            yield rows, int(self.block[np.argmax(rows)])


def numbers_in(values: NDArray[Any]) -> Indices:
    """Return the distinct small non-negative integers in ascending order: ``np.unique`` without a sort.

    Examples
    --------
    >>> numbers_in(np.array([3, 0, 3]))
    array([0, 3])
    """
    return np.flatnonzero(np.bincount(values))


class ScoreSplit(NamedTuple):
    """Values of the members and of the non-members of one stratum, and its block."""

    members: Floats
    nonmembers: Floats
    block: int = 0

    @property
    def size(self) -> int:
        return len(self.members) + len(self.nonmembers)


def split(values: Floats, member: Booleans, scale: Scale | None = None) -> list[ScoreSplit]:
    """Split values by stratum and membership; by default into one stratum.

    Examples
    --------
    >>> split(np.array([1.0, 2.0, 3.0]), np.array([True, False, True]))
    [ScoreSplit(members=array([1., 3.]), nonmembers=array([2.]), block=0)]
    """
    if scale is None:
        return [ScoreSplit(values[member], values[~member])]
    return [ScoreSplit(values[rows & member], values[rows & ~member], block) for rows, block in scale.strata()]


def combine(errors: Floats, weights: Floats, blocks: Indices) -> float:
    """Return the error of a weighted mean over strata: errors add within a block, their squares between blocks.

    Examples
    --------
    >>> combine(np.array([3.0, 3.0]), np.array([0.5, 0.5]), np.array([0, 0]))
    3.0
    >>> round(combine(np.array([3.0, 3.0]), np.array([0.5, 0.5]), np.array([0, 1])), 3)
    2.121
    """
    weighted = weights * errors
    parts = [float(np.sum(weighted[blocks == block])) for block in numbers_in(np.asarray(blocks, np.intp))]
    return float(np.hypot.reduce(parts))


def count_below(ordered: Floats, wanted: Floats, side: Literal["left", "right"] = "left") -> Indices:
    """Count the ordered numbers below each of the wanted ones, which are ordered too.

    Equal numbers are looked up once, which is fast for scores with many ties.

    Examples
    --------
    >>> count_below(np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.0, 9.0]))
    array([1, 1, 3])
    """
    if not len(wanted):
        return np.zeros(0, np.intp)
    first = np.flatnonzero(np.concatenate([[True], wanted[1:] != wanted[:-1]]))
    found = np.searchsorted(ordered, wanted[first], side=side)
    return found if len(first) == len(wanted) else np.repeat(found, np.diff(first, append=len(wanted)))


@dataclass(frozen=True)
class Ordered:
    """The records of one stratum by score: their rows, which of them tie, who is a member, and the block of the stratum."""

    rows: Indices
    rank: Indices
    member: Booleans
    block: int

    @cached_property
    def placements(self) -> Floats:
        """Those of `Stratum`, of members and of non-members, in the order of the records."""
        start, end = ties(self.rank)
        inside = np.concatenate([[0], np.cumsum(self.member)])
        members, both = int(inside[-1]), inside[start] + inside[end]
        below = (start + end - both) / (2 * max(1, len(self.rows) - members))
        return np.asarray(np.where(self.member, below, 1 - both / (2 * max(1, members))))

    def within(self, scale: Scale) -> list[Ordered]:
        """The same records in the strata of another scale."""
        kept = [(rows[self.rows], block) for rows, block in scale.strata()]
        return [Ordered(self.rows[rows], self.rank[rows], self.member[rows], block) for rows, block in kept]


def order_scores(scores: Floats, member: Booleans, scale: Scale) -> list[Ordered]:
    """Sort the records of each stratum."""
    found = []
    for mask, block in scale.strata():
        rows = np.flatnonzero(mask)
        rows = rows[np.argsort(scores[rows])]
        new = np.diff(scores[rows], prepend=scores[rows[:1]]) != 0
        rank: Indices = np.cumsum(new).astype(np.int32 if len(new) < 2**31 else np.int64)
        found.append(Ordered(rows, rank, member[rows], block))
    return found


def placed(ordered: Sequence[Ordered]) -> Floats:
    """Placement of each record, by row."""
    found = np.empty(sum(len(one.rows) for one in ordered))
    for one in ordered:
        found[one.rows] = one.placements
    return found


def ties(*sorted_values: Indices) -> tuple[Indices, Indices]:
    """Where the run of equal values that each one belongs to starts, and where it ends."""
    new = np.zeros(len(sorted_values[0]), bool)
    new[:1] = True
    for values in sorted_values:
        new[1:] |= values[1:] != values[:-1]
    starts = np.flatnonzero(new)
    run = np.cumsum(new, dtype=np.int32 if len(new) < 2**31 else np.int64) - 1
    ends = np.append(starts[1:], len(new)).astype(run.dtype)
    return starts.astype(run.dtype)[run], ends[run]


@dataclass(frozen=True)
class Stratum:
    """Member scores and non-member scores on one scale, each sorted once and used for every figure.

    ``known`` are their placements, where they were found with the order.
    """

    members: Floats
    nonmembers: Floats
    known: tuple[Floats, Floats] | None = None

    @cached_property
    def placements(self) -> tuple[Floats, Floats]:
        """For each member the share of non-members below it, for each non-member the share of members above it."""
        if self.known is not None:
            return self.known
        s, t = self.members, self.nonmembers
        below = count_below(t, s)
        # t[j] >= s[i] for j >= below[i]: the cumulative count is the number of s that are not above each t.
        not_above = np.cumsum(np.bincount(below, minlength=len(t) + 1))[: len(t)]
        tied = t[np.minimum(below, len(t) - 1)] == s
        if not tied.any():
            return below / len(t), 1 - not_above / len(s)
        upto = below.copy()
        upto[tied] = count_below(t, s[tied], side="right")
        # t[j] > s[i] for j >= upto[i].
        below_t = np.cumsum(np.bincount(upto, minlength=len(t) + 1))[: len(t)]
        return (below + upto) / (2 * len(t)), 1 - (below_t + not_above) / (2 * len(s))

    @property
    def auc(self) -> float:
        return self._auc_and_variance[0]

    @property
    def auc_variance(self) -> float:
        """Variance of the AUC by DeLong, DeLong and Clarke-Pearson (1988)."""
        return self._auc_and_variance[1]

    @cached_property
    def _auc_and_variance(self) -> tuple[float, float]:
        placed = self.placements
        variances = (float(np.var(part, ddof=1)) / len(part) if len(part) > 1 else np.inf for part in placed)
        return float(np.mean(placed[0])), sum(variances)

    def rates(self, false_alarms: Floats) -> Floats:
        """Return the true-positive rates at thresholds with these numbers of false positives.

        Ties at the threshold are broken at random, consistent with a ROC curve that is linear across ties and an AUC that
        counts a tie one half.
        """
        s, t = self.members, self.nonmembers
        if not len(t):
            return np.ones(np.shape(false_alarms))
        at = t[np.maximum(len(t) - 1 - (false_alarms + 1e-9).astype(np.intp), 0)]
        (s_from, s_to), (t_from, t_to) = (
            (np.searchsorted(x, at), np.searchsorted(x, np.nextafter(at, np.inf))) for x in (s, t)
        )
        picked = (false_alarms - (len(t) - t_to)) / (t_to - t_from)
        return np.where(false_alarms >= len(t), 1.0, (len(s) - s_to + picked * (s_to - s_from)) / len(s))


@dataclass(frozen=True)
class Ranking:
    """Scores of members and non-members, compared within strata only (see `Scale`).

    Examples
    --------
    >>> Ranking.of([ScoreSplit(np.array([3.0, 2.0]), np.array([1.0, 2.0]))]).auc
    0.875
    """

    strata: tuple[Stratum, ...]
    blocks: Indices

    @classmethod
    def of(cls, parts: Sequence[ScoreSplit]) -> Ranking:
        """Sort the scores of each stratum."""
        strata = tuple(Stratum(np.sort(part.members), np.sort(part.nonmembers)) for part in parts)
        return cls(strata, np.array([part.block for part in parts], np.intp))

    @classmethod
    def in_order(cls, scores: Floats, ordered: Sequence[Ordered]) -> Ranking:
        """The same from the records in their order."""
        strata = []
        for one in ordered:
            here, sides = scores[one.rows], (one.member, ~one.member)
            inside, outside = (one.placements[side] for side in sides)
            strata.append(Stratum(here[sides[0]], here[sides[1]], (inside, outside)))
        return cls(tuple(strata), np.array([one.block for one in ordered], np.intp))

    @cached_property
    def weights(self) -> Floats:
        """Weight of each stratum: the precision of its AUC under chance; 0 with fewer than two records in a class."""
        sizes = [(len(part.members), len(part.nonmembers)) for part in self.strata]
        precision = np.array([m * n / (m + n) if min(m, n) > 1 else 0.0 for m, n in sizes])
        return np.asarray(precision / max(precision.sum(), 1e-300))

    @property
    def members(self) -> int:
        return sum(len(part.members) for part in self.strata)

    @property
    def nonmembers(self) -> int:
        return sum(len(part.nonmembers) for part in self.strata)

    @cached_property
    def auc(self) -> float:
        # Rounding of the weights may give 1 + 2e-16 for a perfect separation.
        return min(1.0, float(sum(w * part.auc for w, part in zip(self.weights, self.strata, strict=True) if w)))

    @cached_property
    def auc_deviation(self) -> float:
        """Standard error of the AUC."""
        pairs = zip(self.weights, self.strata, strict=True)
        deviations = [np.sqrt(part.auc_variance) if weight else 0.0 for weight, part in pairs]
        return combine(np.array(deviations), self.weights, self.blocks)


def best_threshold(inside: Floats, outside: Floats) -> float:
    """Return the threshold with the largest true-positive rate minus false-positive rate."""
    if not (len(inside) and len(outside)):
        return np.inf
    s, t = np.sort(inside), np.sort(outside)
    caught = 1 - np.arange(len(s)) / len(s)
    alarms = 1 - count_below(t, s) / len(t)
    return float(s[np.argmax(caught - alarms)])
