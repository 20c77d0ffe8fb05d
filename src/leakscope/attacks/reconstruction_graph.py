"""Reconstruction by traversal of the influence graph: query every revealed record [shokri2019, 5.2.1, 5.3.3].

A training record that explains a prediction is queried next, and its explanation shows up to k more. From one start,
every record that can be reached in the influence graph is recovered, in any order. Then the attack restarts at another
point that is known beforehand: a record of the prior, or one drawn uniformly.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from leakscope.core.arrays import Floats
from leakscope.core.checks import check_count
from leakscope.core.errors import InputError
from leakscope.releases.oracle import BudgetSpent, Collector, Oracle, Prior, Reconstruction, Recovered
from leakscope.releases.record_explanations.graph import ORDERS, Order


def graph_traversal(order: Order = "breadth-first", restarts: bool = True, patience: int | None = 50) -> Reconstruction:
    """Return the attack that follows explanations from record to record.

    Parameters
    ----------
    order
        Which revealed record is queried next: the one revealed first (``breadth-first``, in batches), last
        (``depth-first``; of one explanation the most influential first), or any (``random``).
    restarts
        Whether to restart at another point of the prior when all revealed records have been queried.
    patience
        Stop after this many consecutive starts without a new record; None continues until the budget is spent.

    Examples
    --------
    >>> from leakscope.releases.record_explanations import RecordExplanation, leave_one_out
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 1, 0, 1])
    >>> oracle = Oracle.of(leave_one_out(X, y), X, y, RecordExplanation(k=2))
    >>> found = graph_traversal(restarts=False).run(oracle, Prior.box(1, 0, 3), np.random.default_rng(0))
    >>> found.records, found.at, found.queries, found.notes
    (array([2, 3]), array([1, 1]), 3, {'starts': 1, 'why': 'one start was asked for'})
    """
    if order not in ORDERS:
        raise InputError(f"order must be one of {', '.join(map(repr, ORDERS))}, not {order!r}")
    if patience is not None:
        check_count("patience", patience)

    def run(oracle: Oracle, prior: Prior, rng: np.random.Generator) -> Recovered:
        found = Collector(oracle)
        if patience is None and prior.records is None and not np.isfinite(oracle.remaining):
            raise InputError("a traversal without patience never ends: pass an oracle with a budget, or set patience")
        starts, idle, why = 0, 0, "the points of the prior are used up"
        try:
            for point in _starts(prior, rng):
                starts += 1
                before = len(found)
                found.query(point)
                _follow(found, before, order, rng)
                if not restarts:
                    why = "one start was asked for"
                    break
                idle = idle + 1 if len(found) == before else 0
                if idle == patience:
                    why = f"{patience} starts in a row brought nothing new"
                    break
        except BudgetSpent:
            why = BudgetSpent.why
        return found.recovered(starts=starts, why=why)

    name = f"graph traversal ({order}{'' if restarts else ', one start'})"
    return Reconstruction(name, "shokri2019, section 5.2.1", run)


def _starts(prior: Prior, rng: np.random.Generator) -> Iterator[Floats]:
    """Points that are known beforehand: the records in random order, or without records an endless sequence of uniform points."""
    if prior.records is not None:
        for place in rng.permutation(len(prior.records)):
            yield prior.records[place]
        return
    while True:
        yield prior.uniform(1, rng)


def _follow(found: Collector, asked: int, order: Order, rng: np.random.Generator) -> None:
    """Query each record recovered after the first ``asked``, and the records that these reveal."""
    if order == "breadth-first":
        # Records are stored in the order of recovery, which is the order of the queue: all that wait are queried at once.
        while asked < len(found):
            waiting, asked = found.records[asked:], len(found)
            found.query(np.array([found.row(record) for record in waiting]))
        return
    waiting = found.records[asked:][::-1]
    while waiting:
        place = len(waiting) - 1 if order == "depth-first" else int(rng.integers(len(waiting)))
        record, known = waiting.pop(place), len(found)
        found.query(found.row(record))
        waiting += found.records[known:][::-1]
