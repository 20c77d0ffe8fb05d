"""The most exposed training records of an audit, by id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leakscope.results import ExposedRecord

if TYPE_CHECKING:
    import pandas as pd

#: How many of the most exposed records a report names.
EXPOSED_RECORDS = 10


def most_exposed(records: pd.DataFrame) -> tuple[ExposedRecord, ...]:
    """The ten training records with the first ranks; of those that share a rank, those that come first.

    Examples
    --------
    >>> import pandas as pd
    >>> most_exposed(pd.DataFrame({"id": ["ann", "bob"], "score": [0.5, 0.9], "rank": [2, 1]}))[0]
    ExposedRecord(id='bob', score=0.9, rank=1, shared=1)
    """
    top = records.nsmallest(EXPOSED_RECORDS, "rank", keep="first")
    sizes = records["rank"].value_counts()
    rows = zip(top["id"], top["score"], top["rank"], strict=True)
    return tuple(ExposedRecord(str(name), float(score), int(rank), int(sizes[rank])) for name, score, rank in rows)
