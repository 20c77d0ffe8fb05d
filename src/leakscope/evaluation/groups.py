r"""Risks of groups and of their complements from scores that are sorted once, in time independent of the number of groups.

For a member with score :math:`s_i` let :math:`a_i=\sum_j(1[s_i>t_j]+1[s_i\ge t_j])`, twice its number of non-members below with ties
counted one half, and :math:`b_{ig}` the same sum over the non-members of group :math:`g` only. The AUC of :math:`g` and its DeLong
variance follow from the sums of :math:`b_{ig}` and :math:`b_{ig}^2` over its members, and those of the rest from the sums of
:math:`a_i-b_{ig}` and :math:`(a_i-b_{ig})^2` over all other members. Neither needs :math:`b_{ig}` for every pair of a record and a group:

.. math::

   \sum_i b_{ig} = \sum_{j\in g}(M^\ge_j+M^>_j),\qquad
   \sum_i a_ib_{ig} = \sum_{j\in g}(A^\ge_j+A^>_j),\qquad
   \sum_i b_{ig}^2 = \sum_{j\in g}\bigl(M^\ge_j(2e_j+u_j)+M^>_j(2e_j+3u_j)\bigr),

where :math:`M^\ge_j` members, with :math:`a_i` adding up to :math:`A^\ge_j`, score at least :math:`t_j` (:math:`>`: more), :math:`e_j` is
twice the number of non-members of the group below :math:`t_j`, and :math:`u_j` how many of them score :math:`t_j`. The side of the
non-members is the same with the order reversed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leakscope.core import intervals
from leakscope.core.arrays import Booleans, Floats, Indices
from leakscope.core.estimate import Estimate
from leakscope.core.ranking import Ordered, numbers_in, ties
from leakscope.evaluation.results import GroupRisk

#: Columns of the groups that every audit has: the classes of a classifier, the deciles of the labels of a regression.
CLASS, LABEL = "class", "label"
DECILES = 10


def label_column(task: str, named: Iterable[str] = ()) -> str:
    """Return a name for the column of classes or deciles that differs from the columns that the caller named.

    Examples
    --------
    >>> label_column("classification"), label_column("classification", ["class"]), label_column("regression")
    ('class', 'class (label)', 'label')
    """
    name, taken = CLASS if task == "classification" else LABEL, set(named)
    while name in taken:
        name += " (label)"
    return name


def decile_levels(values: Floats) -> NDArray[Any]:
    """Return the number of each value's decile. The ends of deciles are values of records and are not shown.

    Equal values share a decile.

    Examples
    --------
    >>> decile_levels(np.arange(20.0)).tolist()[:4]
    ['decile 1', 'decile 1', 'decile 2', 'decile 2']
    """
    ends = np.quantile(values, np.arange(1, DECILES) / DECILES)
    names = np.array([f"decile {number}" for number in range(1, DECILES + 1)], object)
    return np.asarray(names[np.searchsorted(ends, values)])


class GroupColumn(NamedTuple):
    """A column that groups the records: its levels, and the code of each record's level, or -1 for records that are left out."""

    name: str
    levels: list[str]
    codes: Indices


def group_risks(
    ordered: Sequence[Ordered], says_member: Floats, columns: Sequence[GroupColumn], confidences: Sequence[float]
) -> list[tuple[GroupRisk, ...]]:
    """Return the risk of each group and its gap to its complement, at each confidence.

    The intervals of one confidence are simultaneous (Bonferroni over all groups of all columns). A group is left out if its
    complement lacks members or non-members.

    Examples
    --------
    >>> member = np.tile([True, False], 40)
    >>> one = np.zeros(80, int)
    >>> column = GroupColumn("sex", ["f", "m"], np.repeat([0, 1], 40))
    >>> scores = np.where(column.codes == 0, member, 0.0)
    >>> from leakscope.core.ranking import Scale, order_scores
    >>> ((first, second),) = group_risks(order_scores(scores, member, Scale(one, one)), scores, [column], [0.95])
    >>> first.level, first.auc.value, second.auc.value, first.gap.value
    ('f', 1.0, 0.5, 0.5)
    """
    groups = max(sum(len(column.levels) for column in columns), 1)
    found: list[list[GroupRisk]] = [[] for _ in confidences]
    for column in columns:
        parts = [_both_sides(one, column) for one in ordered]
        blocks = np.array([one.block for one in ordered])
        own, rest = (_combined([part[side] for part in parts], blocks) for side in (0, 1))
        decided = _Decided.of(ordered, says_member, column)
        for risks, confidence in zip(found, confidences, strict=True):
            risks += _risks(column, own, rest, decided, 1 - (1 - confidence) / groups)
    return [tuple(risks) for risks in found]


class _GroupAucs(NamedTuple):
    """AUC, DeLong variance and numbers of records of each group, in one stratum."""

    auc: Floats
    variance: Floats
    members: Indices
    nonmembers: Indices


def _both_sides(one: Ordered, column: GroupColumn) -> tuple[_GroupAucs, _GroupAucs]:
    """AUC of every group and of every complement in one stratum."""
    codes, rank, member = column.codes[one.rows], one.rank, one.member
    if len(codes) and codes.min() < 0:
        shown = codes >= 0
        codes, rank, member = codes[shown], rank[shown], member[shown]
    count = len(column.levels)
    ours = _sums(codes, rank, member, count)
    theirs = _sums(codes[::-1], rank[::-1], ~member[::-1], count)
    sizes = [np.bincount(codes[side], minlength=count) for side in (member, ~member)]
    placed = []
    for sums, other, (m, n) in zip(ours, theirs, (sizes, [size.sum() - size for size in sizes]), strict=True):
        with np.errstate(divide="ignore", invalid="ignore"):
            auc = sums[0] / (2 * m * n)
            placed.append(
                _GroupAucs(auc, _variance(*sums, m) / (2.0 * n) ** 2 + _variance(*other, n) / (2.0 * m) ** 2, m, n)
            )
    return placed[0], placed[1]


def _sums(codes: Indices, rank: Indices, a: Booleans, count: int) -> tuple[tuple[Indices, Indices], ...]:
    """Sums of b and b² over the records ``a`` of each group, and of a - b and its square over its complement.

    All are whole numbers. Beyond 64 bits they wrap around, which `_variance` reverses. Counts of records have 32 bits, and arrays
    are freed after use: otherwise this step would determine the memory that an audit needs.
    """
    kind = np.int32 if len(rank) < 2**28 else np.int64
    start, end = ties(rank)
    below, number = _total(~a, kind), _total(a, kind)
    placed, m_from, m_above = below[start] + below[end], number[-1] - number[start], number[-1] - number[end]
    weight = _total(np.where(a, placed, 0), np.int64)
    a_above = 2 * weight[-1] - weight[start] - weight[end]  # A of both kinds
    del start, end, below, number, weight
    order = np.argsort(codes.astype(np.int16) if count < 2**15 else codes, kind="stable")
    code, a, rank = codes[order], a[order], rank[order]
    placed, m_from, m_above, a_above = placed[order], m_from[order], m_above[order], a_above[order]
    del order
    first = np.searchsorted(code, np.arange(count + 1))
    start, end = ties(rank, code)
    below = _total(~a, kind)
    before = below[first][code]
    least, tied = below[start] - before, below[end] - below[start]
    del start, end, below, before, rank, code
    own = 2 * least + tied
    known = placed[a].astype(np.int64)
    wide = np.int64

    def rest() -> Indices:
        squares = m_from * (4 * least + tied).astype(wide) + m_above * (4 * least + 3 * tied).astype(wide) - 2 * a_above
        return np.where(a, -((placed - own).astype(wide) ** 2), squares)

    lines = (
        lambda: np.where(a, own, 0),
        lambda: np.where(a, own.astype(wide) ** 2, 0),
        lambda: np.where(a, own - placed, -m_from - m_above),
        rest,
    )
    by_group = [_sums_between(line(), first) for line in lines]
    return (by_group[0], by_group[1]), (by_group[2] + known.sum(), by_group[3] + (known * known).sum())


def _total(values: Indices | Booleans, kind: Any) -> Indices:
    """Sums of the first 0, 1, … values."""
    total = np.zeros(len(values) + 1, kind)
    np.cumsum(values, dtype=kind, out=total[1:])
    return total


def _sums_between(values: Indices, ends: Indices) -> Indices:
    """Sums of the values from each end to the next."""
    total = np.cumsum(values, dtype=np.int64)
    return np.diff(np.where(ends > 0, total[ends - 1], 0)) if len(total) else np.zeros(len(ends) - 1, np.int64)


def _variance(total: Indices, squares: Indices, count: Indices) -> Floats:
    """Variance of a mean of whole numbers from their sum and the sum of their squares; infinite for fewer than two of them.

    The sum of squares about a whole number near the mean is small, and correct even if the other sums have wrapped around.
    """
    centre = total // np.maximum(count, 1)
    off = (total - count * centre).astype(np.float64)
    about = (squares - 2 * centre * total + count * centre * centre).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(count > 1, np.maximum(about - off * off / count, 0.0) / (count - 1.0) / count, np.inf)


class _Auc(NamedTuple):
    """AUC over all strata, its standard error, and numbers of records."""

    value: Floats
    deviation: Floats
    members: Indices
    nonmembers: Indices
    known: Booleans


def _combined(parts: Sequence[_GroupAucs], blocks: Indices) -> _Auc:
    """Mean over strata, as in `ranking.Ranking`."""
    auc, variance, m, n = (np.array(values) for values in zip(*parts, strict=True))
    used = np.minimum(m, n) > 1
    precision = np.where(used, m * n / np.maximum(m + n, 1), 0.0)
    weights = precision / np.maximum(precision.sum(axis=0), 1e-300)
    value = np.minimum(1.0, (weights * np.where(used, auc, 0.0)).sum(axis=0))
    deviation = _combine(np.sqrt(np.where(used, variance, 0.0)), weights, blocks)
    return _Auc(value, deviation, m.sum(axis=0), n.sum(axis=0), used.any(axis=0))


def _combine(errors: Floats, weights: Floats, blocks: Indices) -> Floats:
    """`ranking.combine` for each group; the first axis is that of the strata."""
    parts = [(weights * errors)[blocks == block].sum(axis=0) for block in numbers_in(blocks)]
    return np.asarray(np.hypot.reduce(parts))


def _ends(auc: _Auc, confidence: float) -> tuple[Floats, Floats, Floats]:
    """Value and interval; without two members and two non-members on one scale the interval is [0, 1]."""
    value = np.where(auc.known, auc.value, 0.5)
    m, n = (np.maximum(numbers, 1) for numbers in (auc.members, auc.nonmembers))
    low, high = intervals.auc_ends(value, auc.deviation, m, n, confidence)
    return value, np.where(auc.known, low, 0.0), np.where(auc.known, high, 1.0)


@dataclass(frozen=True)
class _Decided:
    """Sums and sums of squares of the decisions about members and non-members of each group, by stratum."""

    sums: Floats
    squares: Floats
    counts: Floats
    blocks: Indices

    @classmethod
    def of(cls, ordered: Sequence[Ordered], says_member: Floats, column: GroupColumn) -> _Decided:
        found = []
        for one in ordered:
            codes, says = column.codes[one.rows], says_member[one.rows]
            cell = np.where(codes < 0, 2 * len(column.levels), 2 * codes + ~one.member)
            parts = [np.bincount(cell, weights, 2 * len(column.levels) + 1) for weights in (says, says * says, None)]
            found.append([part[:-1].reshape(-1, 2).T for part in parts])
        sums, squares, counts = (np.array(parts, np.float64) for parts in zip(*found, strict=True))
        return cls(sums, squares, counts, np.array([one.block for one in ordered]))

    def advantage(self, confidence: float) -> tuple[Floats, Floats, Floats]:
        """Value and interval as in `intervals.mean_difference`."""
        sums, squares, counts = (np.moveaxis(part, 1, 0) for part in (self.sums, self.squares, self.counts))
        used = counts.min(axis=0) > 0
        weights = np.where(used, counts.prod(axis=0) / np.maximum(counts.sum(axis=0), 1), 0.0)
        weights /= np.maximum(weights.sum(axis=0), 1e-300)
        means = sums / np.maximum(counts, 1)
        value = (weights * (means[0] - means[1])).sum(axis=0)
        centres, halves = intervals.agresti_caffo(sums, squares, counts, confidence)
        centre, half = (weights * centres).sum(axis=0), _combine(halves, weights, self.blocks)
        return (
            value,
            np.minimum(value, np.maximum(-1.0, centre - half)),
            np.maximum(value, np.minimum(1.0, centre + half)),
        )


def _risks(column: GroupColumn, own: _Auc, rest: _Auc, decided: _Decided, together: float) -> list[GroupRisk]:
    ours, theirs, advantage = _ends(own, together), _ends(rest, together), decided.advantage(together)
    gap = intervals.mover(ours, theirs)
    rows = zip(*(values.tolist() for values in (*ours, *advantage, *gap)), strict=True)
    found = []
    for at, (auc, low, high, mean, least, most, between, gap_low, gap_high) in enumerate(rows):
        if not (rest.members[at] and rest.nonmembers[at]):
            continue
        m, n, known = int(own.members[at]), int(own.nonmembers[at]), bool(own.known[at])
        everyone = m + n + int(rest.members[at] + rest.nonmembers[at])
        method = intervals.AUC_METHOD if known else intervals.TOO_FEW
        found.append(
            GroupRisk(
                column=column.name,
                level=column.levels[at],
                members=m,
                nonmembers=n,
                auc=Estimate(auc, low, high, together, n=m + n, method=method),
                advantage=Estimate(mean, least, most, together, n=m + n, method="Agresti-Caffo"),
                gap=Estimate(between, gap_low, gap_high, together, n=everyone, method="MOVER"),
            )
        )
    return found
