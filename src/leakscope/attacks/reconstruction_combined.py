r"""Reconstruction by subspace reduction combined with a traversal of the influence graph.

The traversal [shokri2019, 5.2.1] queries every revealed record itself. It costs one query for up to k records, and ends
when the component is exhausted: three quarters of Adult have in-degree 0 and are never shown by a query of a record. The
subspaces of Algorithm 1 show other records, each of which is a new start for the traversal. In turn, the records found
show where the data lie. A record's row, moved to the nearest point of the subspace in which the dominant records have no
influence, shows more new records than a random point of the subspace.

Each iteration is a round of Algorithm 1, then queries of all records not yet queried, then queries of rows moved into
the subspace while these show at least one new record in twenty queries. An attacker with own records queries and moves
these as well.

On 2,000 records of Adult with k = 5 (six draws, two runs each, random points to begin with) it recovers 239, 251, 292 and
362 records with 500, 1,000, 2,000 and 5,000 queries, where the traversal alone has 235 to 241 and Algorithm 1 alone 57, 93,
146 and 204. At 500 queries the traversal was better in three of twelve runs.
"""

from __future__ import annotations

import numpy as np

from leakscope.attacks.reconstruction_subspace import Descent, Flat, check_dimensions
from leakscope.core.arrays import Floats
from leakscope.releases.oracle import BudgetSpent, Collector, Oracle, Prior, Reconstruction, Recovered

FIRST = 20  # random points to begin with: one alone may miss the large component
BATCH = 40  # rows moved into the subspace at a time
YIELD = 0.05  # new records per such query, below which the next round begins


def combined(*, dimensions: int | None = None) -> Reconstruction:
    """Return the attack that alternates rounds of subspace reduction with queries of the records found.

    With a budget, Algorithm 1 restarts in another subspace when it has ended; without one, the attack ends with it.

    Parameters
    ----------
    dimensions
        As for `subspace_reduction`.

    Examples
    --------
    >>> from leakscope.releases.record_explanations import RecordExplanation, leave_one_out
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.random((60, 6)), rng.integers(0, 2, 60)
    >>> oracle = Oracle.of(leave_one_out(X, y), X, y, RecordExplanation(k=2), budget=200)
    >>> found = combined().run(oracle, Prior.box(6), rng)
    >>> found.queries, len(found) > 20
    (200, True)
    """
    check_dimensions(dimensions)

    def run(oracle: Oracle, prior: Prior, rng: np.random.Generator) -> Recovered:
        found = Collector(oracle)
        rows = _Rows(found, prior, rng)
        descents, descent = 0, None
        try:
            found.query(prior.uniform(FIRST, rng))
            rows.follow()
            while descent is None or np.isfinite(oracle.remaining):
                rows.query_own()
                descent = Descent(found, prior, rng, dimensions=dimensions)
                descents += 1
                while descent.why is None:
                    descent.round()
                    rows.follow()
                    rows.query_in(descent.flat)
                    rows.query_own()
            why = descent.why
        except BudgetSpent:
            why = BudgetSpent.why
        return found.recovered(why=why, descents=descents)

    return Reconstruction(
        "subspace reduction and graph", "shokri2019, Algorithm 1 and 5.2.1", run, uses_influences=True
    )


class _Rows:
    """Rows to query: of records found, and the attacker's own records, if any."""

    def __init__(self, found: Collector, prior: Prior, rng: np.random.Generator) -> None:
        self.found, self.prior, self.rng = found, prior, rng
        self.own = np.empty((0, 0)) if prior.records is None else prior.records[rng.permutation(len(prior.records))]
        self.followed = self.asked = 0

    def follow(self) -> None:
        """Breadth first: query the rows of all records not yet queried."""
        while self.followed < len(self.found):
            records = self.found.records[self.followed :]
            self.followed += len(records)
            self.found.query(np.array([self.found.row(record) for record in records]))

    def query_in(self, flat: Flat) -> None:
        """Query rows moved into the subspace, and the records that these show, until the yield is too low."""
        while self.pays(flat.points(flat.coordinates(self._some()))):
            pass

    def query_own(self) -> None:
        """Query the attacker's own records, and the records that these show, until the yield is too low."""
        while self.asked < len(self.own):
            self.asked += BATCH
            if not self.pays(self.own[self.asked - BATCH : self.asked]):
                break

    def pays(self, points: Floats) -> bool:
        before = len(self.found)
        self.found.query(points)
        new = len(self.found) - before
        self.follow()
        return new >= YIELD * len(points)

    def _some(self) -> Floats:
        if len(self.own):
            return np.asarray(self.own[self.rng.integers(len(self.own), size=BATCH)])
        if not len(self.found):
            return self.prior.uniform(BATCH, self.rng)
        places = self.rng.integers(len(self.found), size=BATCH)
        return np.array([self.found.row(self.found.records[place]) for place in places])
