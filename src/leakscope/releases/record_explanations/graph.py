r"""The influence graph: training records, and an edge from each to the k records that explain it [shokri2019, 5.2.1].

An attacker with a training record queries it, then the records that its explanation reveals, and so on. Every reachable
record is recovered, in any order; the order determines the number of queries.

A record that explains itself has an edge to itself, which counts in its in-degree. Table 4 of the paper doesn't state
whether it does there: on Adult (2,000 records, k = 5, mean of 10 draws, penalty 1) 1,538 records have in-degree zero, 1,596
without such edges, and the paper has 1,568.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from leakscope.core.arrays import Indices
from leakscope.core.checks import check_count
from leakscope.core.errors import InputError
from leakscope.releases.record_explanations.explanation import LeftOut, RecordExplanation

Order = Literal["breadth-first", "depth-first", "random"]
ORDERS = ("breadth-first", "depth-first", "random")

BLOCK = 2**14  # records whose reachability is computed at a time: bounds the memory


@dataclass(frozen=True, eq=False)
class Traversal:
    """A traversal of the influence graph from one record.

    Parameters
    ----------
    revealed
        Number of records revealed after 0, 1, 2, … queries.
    """

    revealed: Indices

    @property
    def queries(self) -> int:
        """Queries until every revealed record was queried: only then does an attacker know that nothing new follows."""
        return len(self.revealed) - 1

    @property
    def queries_needed(self) -> int:
        """Queries until the last new record was revealed."""
        return int(np.argmax(self.revealed == self.revealed[-1]))


@dataclass(frozen=True, eq=False)
class InfluenceGraph:
    """The records that explain each training record.

    Parameters
    ----------
    targets
        Row i holds the k records that explain record i (n, k).

    Examples
    --------
    >>> graph = InfluenceGraph([[0], [2], [1], [1]])
    >>> graph.components, graph.component_sizes, graph.in_degrees, graph.reachable
    (array([0, 1, 1, 2]), array([1, 2, 1]), array([1, 2, 1, 0]), array([1, 2, 2, 2]))
    """

    targets: Indices

    def __post_init__(self) -> None:
        targets = np.asarray(self.targets)
        if targets.ndim != 2 or not targets.size or targets.dtype.kind not in "iu":
            raise InputError(
                "targets must be a table of record numbers: pass in row i the records that explain record i"
            )
        if targets.min() < 0 or targets.max() >= len(targets):
            raise InputError(
                f"targets must be numbers of records, from 0 to {len(targets) - 1}: one row for each record"
            )
        targets = targets.astype(np.intp)
        if (np.diff(np.sort(targets, axis=1), axis=1) == 0).any():
            raise InputError("targets names a record twice in one row: pass k different records")
        targets.setflags(write=False)
        object.__setattr__(self, "targets", targets)

    def __len__(self) -> int:
        return len(self.targets)

    @cached_property
    def components(self) -> Indices:
        """Number of the strongly connected component of each record, counted from 0 in the order of records."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        n, k = self.targets.shape
        starts = np.arange(0, n * k + 1, k)
        adjacency = csr_array((np.ones(n * k, np.int8), self.targets.ravel(), starts), shape=(n, n))
        _, labels = connected_components(adjacency, directed=True, connection="strong")
        _, first, place = np.unique(labels, return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first))[place].astype(np.intp)

    @cached_property
    def component_sizes(self) -> Indices:
        """How many records each component holds."""
        return np.bincount(self.components).astype(np.intp)

    @cached_property
    def in_degrees(self) -> Indices:
        """How many records each record explains, itself included."""
        return np.bincount(self.targets.ravel(), minlength=len(self)).astype(np.intp)

    @cached_property
    def reachable(self) -> Indices:
        """How many records a traversal from each record reveals; the start itself only if a record reveals it."""
        successors, order = self._condensation()
        cyclic = self._cyclic()
        counts = np.zeros(len(successors), np.intp)
        for block in range(0, len(self), BLOCK):
            members = [0] * len(successors)  # whole numbers as sets of bits, one bit for each record of the block
            for bit, component in enumerate(self.components[block : block + BLOCK].tolist()):
                members[component] |= 1 << bit
            below = [0] * len(successors)
            for component in reversed(order):
                found = members[component] if cyclic[component] else 0
                for other in successors[component]:
                    found |= members[other] | below[other]
                below[component] = found
                counts[component] += found.bit_count()
        return counts[self.components]

    def _condensation(self) -> tuple[list[list[int]], list[int]]:
        """Edges between different components, and the components in topological order (Kahn 1962)."""
        count = len(self.component_sizes)
        starts = np.repeat(self.components, self.targets.shape[1])
        edges = np.unique(np.column_stack([starts, self.components[self.targets.ravel()]]), axis=0)
        edges = edges[edges[:, 0] != edges[:, 1]]
        successors: list[list[int]] = [[] for _ in range(count)]
        for one, other in edges.tolist():
            successors[one].append(other)
        waiting = np.bincount(edges[:, 1], minlength=count).tolist()
        order = [component for component in range(count) if not waiting[component]]
        for component in order:
            for other in successors[component]:
                waiting[other] -= 1
                if not waiting[other]:
                    order.append(other)
        return successors, order

    def _cyclic(self) -> NDArray[np.bool_]:
        """Whether the records of a component reveal themselves: it has several, or one with an edge to itself."""
        loops = (self.targets == np.arange(len(self))[:, None]).any(axis=1)
        cyclic = self.component_sizes > 1
        cyclic[self.components[loops]] = True
        return cyclic

    def traversal(self, start: int, order: Order = "breadth-first", *, seed: int = 0) -> Traversal:
        """Query a record, then all revealed records, until none is left.

        Parameters
        ----------
        start
            Number of the record that the attacker has.
        order
            Which revealed record is queried next: the one revealed first (``breadth-first``), last (``depth-first``; of
            one explanation the most influential first), or any (``random``).
        seed
            For ``random``.

        Examples
        --------
        >>> walk = InfluenceGraph([[1, 2], [1, 2], [3, 1], [3, 4], [4, 0]]).traversal(0)
        >>> walk.revealed, walk.queries, walk.queries_needed
        (array([0, 2, 2, 3, 4, 5]), 5, 5)
        """
        start = check_count("start", start, 0, len(self) - 1)
        if order not in ORDERS:
            raise InputError(f"order must be one of {', '.join(map(repr, ORDERS))}, not {order!r}")
        rng = np.random.default_rng(seed)
        targets = self.targets
        known, queued = np.zeros(len(self), bool), np.zeros(len(self), bool)
        queued[start] = True
        queue, revealed, count = deque([start]), [0], 0
        while queue:
            if order == "random":
                queue.rotate(-int(rng.integers(len(queue))))
            shown = targets[queue.popleft()]
            count += int(np.sum(~known[shown]))
            known[shown] = True
            new = shown[~queued[shown]].tolist()
            queued[new] = True
            if order == "depth-first":
                queue.extendleft(reversed(new))
            else:
                queue.extend(new)
            revealed.append(count)
        return Traversal(np.array(revealed, dtype=np.intp))

    def greedy(self, start: int) -> int:
        """Count the queries of an attacker who knows the graph and queries the record with most unknown targets next.

        It stops when all reachable records are revealed. The smallest number of queries is NP-hard to find [shokri2019,
        5.2.1]; traversals are compared with this greedy number. Ties go to the lower record number.

        Examples
        --------
        >>> InfluenceGraph([[1, 2], [1, 2], [3, 1], [3, 4], [4, 0]]).greedy(0)
        4
        """
        start = check_count("start", start, 0, len(self) - 1)
        targets, wanted = self.targets, int(self.reachable[start])
        known, held = np.zeros(len(self), bool), np.zeros(len(self), bool)
        held[start] = True
        queries = 0
        while wanted:
            candidates = np.flatnonzero(held)
            unknown = np.sum(~known[targets[candidates]], axis=1)
            best = int(unknown.argmax())
            shown = targets[candidates[best]]
            wanted -= int(unknown[best])
            known[shown] = held[shown] = True
            queries += 1
        return queries


def influence_graph(models: LeftOut, X: Any, explanation: RecordExplanation, labels: Any = None) -> InfluenceGraph:
    """Explain every training record, and connect it to the records that explain it.

    Parameters
    ----------
    models, X
        The models, and the training records that they were trained on.
    explanation
        How many records are shown, and by which loss.
    labels
        0 or 1 for each record; by default the predicted class, as in a query without a label. They do not affect the
        likelihood loss.

    Examples
    --------
    >>> from leakscope.releases.record_explanations import leave_one_out
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> influence_graph(leave_one_out(X, [0, 1, 0, 1]), X, RecordExplanation(k=1)).targets.ravel()
    array([0, 1, 2, 3])
    """
    if len(X) != len(models):
        raise InputError(
            f"the models leave out {len(models)} records, and X has {len(X)} rows: pass the records that they were trained on"
        )
    return InfluenceGraph(explanation.explain(models, X, labels).records)
