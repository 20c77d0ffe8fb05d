"""Reconstruction by static queries: points that are chosen before the first answer [shokri2019, 5.3.1].

The prior knowledge of the attacker determines the points:

- ``uniform``: the range of each feature;
- ``marginal``: the distribution of each feature by itself;
- ``records``: the joint distribution, from own records that are non-members.

Further queries soon reveal the same records again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from leakscope.core.arrays import Floats
from leakscope.core.checks import check_count
from leakscope.core.errors import InputError
from leakscope.releases.oracle import BudgetSpent, Collector, Oracle, Prior, Reconstruction, Recovered

Kind = Literal["uniform", "marginal", "records"]
KINDS = ("uniform", "marginal", "records")

CHUNK = 500  # points per query: bounds the memory


def static_queries(kind: Kind, queries: int | None = 1000) -> Reconstruction:
    """Return the attack that queries points that don't depend on the answers.

    Parameters
    ----------
    kind
        How points are drawn: ``uniform`` within the ranges of the prior; ``marginal``, each feature by itself from
        that feature of the prior's records; or ``records``, the prior's records in random order, each once.
    queries
        Largest number of points. The budget may allow fewer, and ``records`` may have fewer. None for as many as the
        budget allows.

    Examples
    --------
    >>> from leakscope.releases.record_explanations import RecordExplanation, leave_one_out
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 1, 0, 1])
    >>> oracle = Oracle.of(leave_one_out(X, y), X, y, RecordExplanation(k=1))
    >>> found = static_queries("uniform", queries=20).run(oracle, Prior.box(1, 0, 3), np.random.default_rng(0))
    >>> found.records, found.at, found.queries, found.notes
    (array([2, 0, 3, 1]), array([ 1,  2,  5, 20]), 20, {'why': 'all queries are spent'})
    """
    if kind not in KINDS:
        raise InputError(f"kind must be one of {', '.join(map(repr, KINDS))}, not {kind!r}")
    if queries is not None:
        check_count("queries", queries)

    def run(oracle: Oracle, prior: Prior, rng: np.random.Generator) -> Recovered:
        found = Collector(oracle)
        why = "all queries are spent"
        if queries is None and not np.isfinite(oracle.remaining):
            raise InputError("static queries without a number never end: pass an oracle with a budget, or set queries")
        most = int(oracle.remaining) if queries is None else int(queries)
        try:
            for points in _draw(kind, most, prior, rng):
                found.query(points)
            if kind == "records" and prior.records is not None and len(prior.records) < most:
                why = "the records of the prior are used up"
        except BudgetSpent:
            why = BudgetSpent.why
        return found.recovered(why=why)

    return Reconstruction(
        f"static queries ({kind})", "shokri2019, section 5.3.1", run, uses_records=kind in ("marginal", "records")
    )


def _draw(kind: Kind, queries: int, prior: Prior, rng: np.random.Generator) -> Iterator[Floats]:
    """Points in chunks."""
    own = prior.records
    if kind != "uniform" and (own is None or not len(own)):
        raise InputError(
            f"static queries of kind {kind!r} need records from the population of the training records: add some to the prior"
        )
    if kind == "records" and own is not None:
        queries = min(queries, len(own))
        order = rng.permutation(len(own))[:queries]
    for start in range(0, queries, CHUNK):
        count = min(CHUNK, queries - start)
        if kind == "uniform" or own is None:
            yield prior.uniform(count, rng)
        elif kind == "marginal":
            yield np.take_along_axis(own, rng.integers(len(own), size=(count, own.shape[1])), axis=0)
        else:
            yield own[order[start : start + count]]
