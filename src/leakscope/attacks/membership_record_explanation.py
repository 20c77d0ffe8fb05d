"""Membership inference attacks on record explanations: members often explain themselves [shokri2019, section 5.1].

The attacker queries a point and checks whether the point itself is among the records that explain it. If it is, it is a
member; only a copy of a training record can be a false positive. If it is not, the influences are still informative: if
they are large, a member would usually have been shown, so that the point is probably a non-member (Figure 7, without
the revealed records). On two draws of Adult (2,000 records, k = 10) revelation alone has an AUC of 0.64 and 0.65, with
the influences 0.71 and 0.74.

`ask` makes the release ``record explanation``, one row per point: the rank at which the point itself is revealed, or 0,
then the absolute influences of the records shown, largest first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakscope.attacks.protocol import Attack, Evidence, Scores
from leakscope.core import intervals
from leakscope.core.arrays import Booleans, Floats, Indices
from leakscope.core.checks import check_confidence
from leakscope.core.errors import InputError
from leakscope.core.estimate import Estimate
from leakscope.data.small_groups import NOT_SHOWN, pool_small_groups
from leakscope.releases.oracle import Oracle
from leakscope.releases.record_explanations.explanation import LeftOut, Loss, RecordExplanation

RELEASE = "record explanation"
SOURCE = "shokri2019, section 5.1"
CHUNK = 500  # points per query: bounds the memory


def ask(oracle: Oracle, points: Any) -> Floats:
    """Query each point once; return the rank at which it is revealed itself and the absolute influences.

    Returns
    -------
    One row per point (m, 1 + k), or (m, 1) if influences are hidden. A refused query is a row of zeros.

    Examples
    --------
    >>> from leakscope.releases.record_explanations import leave_one_out
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 1, 0, 1])
    >>> oracle = Oracle.of(leave_one_out(X, y), X, y, RecordExplanation(k=2))
    >>> ask(oracle, [[3.0], [0.5]]).round(2)
    array([[1.  , 0.33, 0.22],
           [0.  , 0.28, 0.23]])
    """
    points = read_numbers(points)
    if len(points) > oracle.remaining:
        raise InputError(
            f"{len(points)} points were passed and the oracle answers {oracle.remaining} more queries: "
            "raise its budget, or pass fewer points"
        )
    parts = [np.empty((0, 1 + oracle.k))]
    for start in range(0, len(points), CHUNK):
        asked = points[start : start + CHUNK]
        answer = oracle.query(asked)
        place = np.searchsorted(answer.shown, answer.records)  # a refused query has -1, which is not found
        ranks = _own_ranks(asked, np.where(answer.records < 0, -1, place), answer.rows)
        sizes = np.empty((len(asked), 0)) if answer.influences is None else np.abs(answer.influences)
        parts.append(np.column_stack([ranks, np.nan_to_num(sizes)]))
    return np.concatenate(parts[1:] or parts)


def read_numbers(points: Any) -> Floats:
    try:
        return np.asarray(points, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("points must be tables of numbers: encode text as for training") from None


def _own_ranks(points: Floats, shown: Indices, rows: Floats) -> Indices:
    """First position, from 1, at which a point's features are shown, or 0; ``shown`` (points, k) are row numbers."""
    ranks = np.zeros(len(points), np.intp)
    for rank in range(shown.shape[1], 0, -1):
        asked = np.flatnonzero(shown[:, rank - 1] >= 0)
        same = (rows[shown[asked, rank - 1]] == points[asked]).all(axis=1)
        ranks[asked[same]] = rank
    return ranks


# --- the attacks ------------------------------------------------------------------------------------------------------


def self_revelation() -> Attack:
    """Return the attack that says "member" if the point explains itself; only copies of members are false positives.

    Examples
    --------
    >>> self_revelation().release
    'record explanation'
    """
    return Attack("self-revelation", RELEASE, SOURCE, _guess_by_revelation, fixed_scale=True)


def _guess_by_revelation(evidence: Evidence, rng: np.random.Generator) -> Scores:  # noqa: ARG001
    revealed = (evidence.observed[:, 0] > 0).astype(np.float64)
    return Scores(revealed, revealed.copy())


def influence_value() -> Attack:
    """Return the attack by a small decision tree on the rank and the absolute influences.

    Examples
    --------
    >>> influence_value().name
    'influence values (tree)'
    """
    return Attack("influence values (tree)", RELEASE, f"{SOURCE}.2 and Figure 7", _guess_by_influences)


def _guess_by_influences(evidence: Evidence, rng: np.random.Generator) -> Scores:
    from sklearn.tree import DecisionTreeClassifier

    known = evidence.known
    # Depth three: whether it was revealed, the size of the influences, and one more split. Deeper trees fit noise.
    tree = DecisionTreeClassifier(
        max_depth=3, min_samples_leaf=max(1, min(20, len(known.member) // 20)), random_state=int(rng.integers(2**31))
    )
    tree.fit(known.observed, known.member)
    probability = tree.predict_proba(evidence.observed)[:, 1]
    return Scores(probability, (probability > 0.5).astype(np.float64))


# --- who is revealed --------------------------------------------------------------------------------------------------


def self_revealing(
    models: LeftOut, X: Any, ks: Iterable[int] = (1, 5, 10), labels: Any = None, loss: Loss = "likelihood"
) -> dict[int, Booleans]:
    """Return which training records are k-self-revealing: shown among the k records that explain them [shokri2019, 5].

    A copy with equal features that is shown counts too. One explanation with the largest k serves all ``ks``.

    Parameters
    ----------
    models, X
        The models, and the training records that they were trained on.
    ks
        Numbers of records that an explanation shows.
    labels, loss
        See `influences`.

    Examples
    --------
    >>> from leakscope.releases.record_explanations import leave_one_out
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 3))
    >>> found = self_revealing(leave_one_out(X, X[:, 0] > 0), X, ks=(1, 5))
    >>> {k: int(revealed.sum()) for k, revealed in found.items()}
    {1: 6, 5: 14}
    """
    ks, X = sorted(set(ks)), read_numbers(X)
    if not ks:
        raise InputError("ks is empty: pass at least one number of records that an explanation shows")
    if len(X) != len(models):
        raise InputError(
            f"the models leave out {len(models)} records, and X has {len(X)} rows: pass the records that they were trained on"
        )
    shown = [RecordExplanation(k, loss) for k in ks][-1].explain(models, X, labels).records
    return {k: explains_itself(X, shown, k) for k in ks}


def explains_itself(X: Floats, shown: Indices, k: int) -> Booleans:
    """Return which training records are, by their features, among the first k of the records ``shown`` (n, …) that explain them.

    Examples
    --------
    >>> explains_itself(np.array([[0.0], [1.0], [1.0]]), np.array([[0, 1], [2, 0], [0, 1]]), k=1)
    array([ True,  True, False])
    """
    return np.asarray(_own_ranks(X, shown[:, :k], X) > 0)


@dataclass(frozen=True)
class GroupShare:
    """Share of the records of one group that are revealed.

    ``share`` is the share of the group's ``records`` that is revealed, ``gap`` that share minus the share among all
    other records. The intervals of the gaps are simultaneous over all groups. They assume independent records, which is
    approximate within one training set.
    """

    column: str
    level: str
    records: int
    share: Estimate
    gap: Estimate


def by_group(revealed: Any, groups: Mapping[str, Any], confidence: float = 0.95) -> list[GroupShare]:
    """Return the share of revealed records in each group, and its gap to all other records [shokri2019, Table 2].

    Groups of fewer than 20 records are pooled, as in an audit, and left out where even the pool is that small.

    Parameters
    ----------
    revealed
        Whether each record is revealed, as from `self_revealing`.
    groups
        Column name to the level of each record.

    Examples
    --------
    >>> revealed = np.arange(200) % np.repeat([2, 10], 100) == 0
    >>> for group in by_group(revealed, {"age": np.repeat(["old", "young"], 100)}):
    ...     print(group.level, group.share, group.gap)
    old 0.50 [0.39, 0.61] 0.40 [0.25, 0.53]
    young 0.10 [0.04, 0.18] −0.40 [−0.53, −0.25]
    """
    hits = np.asarray(revealed)
    if hits.ndim != 1 or hits.dtype != bool:
        raise InputError("revealed must be True or False for each record")
    check_confidence(confidence)
    columns: dict[str, NDArray[Any]] = {}
    for name, levels in groups.items():
        if len(levels) != len(hits):
            raise InputError(
                f"the column {name!r} has {len(levels)} levels for {len(hits)} records: pass one level per record"
            )
        text = np.array([str(level) for level in levels], dtype=object)
        # Pooling counts members and non-members; here every record counts as one of each.
        columns[name] = pool_small_groups(np.tile(text, 2), np.repeat([True, False], len(text)))[0][: len(text)]
    chosen = [(name, level) for name, levels in columns.items() for level in sorted(set(levels) - {NOT_SHOWN})]
    together = 1 - (1 - confidence) / max(len(chosen), 1)  # Bonferroni
    found = []
    for name, level in chosen:
        own, shown = columns[name] == level, columns[name] != NOT_SHOWN
        rest = shown & ~own
        if rest.any():
            gap = intervals.difference(_share(hits[own], together), _share(hits[rest], together))
            found.append(GroupShare(name, level, int(own.sum()), _share(hits[own], confidence), gap))
    return found


def _share(hits: Booleans, confidence: float) -> Estimate:
    return intervals.proportion(int(hits.sum()), len(hits), confidence)
