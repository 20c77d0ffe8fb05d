"""The most exposed training records of an audit, by id."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from heapq import nsmallest
from typing import TYPE_CHECKING, Any

from leakscope.evaluation.results import ExposedRecord

if TYPE_CHECKING:
    import pandas as pd

#: How many of the most exposed records a report names.
EXPOSED_RECORDS = 10


def most_exposed(records: pd.DataFrame) -> tuple[ExposedRecord, ...]:
    """Return the ten training records with the first ranks; of those that share a rank, those that come first.

    Examples
    --------
    >>> import pandas as pd
    >>> most_exposed(pd.DataFrame({"id": ["ann", "bob"], "score": [0.5, 0.9], "rank": [2, 1]}))[0]
    ExposedRecord(id='bob', score=0.9, rank=1, shared=1)
    """
    return first_ranks(*(records[name].tolist() for name in ("id", "score", "rank")))


def first_ranks(ids: Sequence[Any], scores: Sequence[float], ranks: Sequence[int]) -> tuple[ExposedRecord, ...]:
    """Give the same from columns."""
    sizes = Counter(ranks)
    first = nsmallest(EXPOSED_RECORDS, range(len(ranks)), key=ranks.__getitem__)
    return tuple(ExposedRecord(str(ids[at]), float(scores[at]), int(ranks[at]), sizes[ranks[at]]) for at in first)
