r"""Structure learning by hill climbing over directed acyclic graphs.

The score of a graph is the sum of the scores of its families, a variable v with its parents,

.. math:: s(v, \mathrm{pa}) = \sum_{c, x} N(c, x) \log\frac{N(c, x)}{N(c)} - w\, q\,(L_v - 1),

where N counts rows, q is the number of configurations of the parents, :math:`L_v` the number of levels of v, and the weight
w is :math:`\tfrac12 \log n` for BIC [Schwarz 1978] and 1 for AIC [Akaike 1974]. Adding or removing an arc changes one family,
reversing one changes two; the best change is made until none improves the score [Koller and Friedman 2009, section 18.4.3].

With :math:`G_{pv}` the gain of v's family if p is added or removed, reversing an arc p → v gains :math:`G_{pv} + G_{vp}`.
So one matrix holds every gain, and after a change only the columns of the changed families are recomputed. A family
whose penalty exceeds the loss of v without parents is in no best graph. It is never counted, which limits tables to a
few numbers per row of the sample.

Markov equivalence: graphs with the same adjacent pairs and the same colliders a → c ← b, with a and b not adjacent, imply
the same independences [Verma and Pearl 1990] and have the same BIC. Data cannot distinguish them; between changes of equal
gain the order of the columns decides. A learned arc is causal only if the whole class contains it
(``network.compelled_arcs``), or if prior knowledge (``forbidden``, ``required``) implies it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from leakscope.causal.counting import count_table
from leakscope.causal.network import check_cells, configurations, topological_order
from leakscope.core import intervals
from leakscope.core.arrays import Floats
from leakscope.core.checks import check_count
from leakscope.core.errors import InputError
from leakscope.core.estimate import Estimate
from leakscope.data.records import list_names

Codes = NDArray[np.integer]
Arcs = Sequence[tuple[str, str]]
Graph = dict[str, tuple[str, ...]]
Matrix = NDArray[np.bool_]
Progress = Callable[[str, int, int], None]

#: Score to the weight of a free parameter in a sample of n rows.
WEIGHTS: dict[str, Callable[[int], float]] = {"bic": lambda n: 0.5 * math.log(n), "aic": lambda n: 1.0}
#: Digits to which gains are rounded, so that equivalent changes tie and rounding errors do not decide.
DIGITS = 6
#: A change that gains less is a tie.
LEAST_GAIN = 1e-4


def bic(codes: Codes, parents: Mapping[str, Sequence[str]], levels: Sequence[int]) -> float:
    r"""Return the Bayesian information criterion of a graph, :math:`\log \hat L - \tfrac12 k \log n`: higher is better.

    Parameters
    ----------
    codes
        The sample, (rows, variables).
    parents
        Variable to its parents, in the order of the columns.
    levels
        Number of levels of each column.

    Examples
    --------
    >>> round(bic(np.array([[0], [1]]), {"coin": ()}, [2]), 4)  # 2 log(1/2) - log(2)/2
    -1.7329
    """
    names = tuple(parents)
    codes = _check(codes, names, levels, "bic")
    _check_graph(_matrix(names, _arcs(parents)), names, levels)
    place = {name: column for column, name in enumerate(names)}
    weight = WEIGHTS["bic"](len(codes))
    return sum(
        _score(count_table(codes, place[name], [place[parent] for parent in of], levels), weight)
        for name, of in parents.items()
    )


def climb(
    codes: Codes,
    names: Sequence[str],
    levels: Sequence[int],
    *,
    score: str = "bic",
    most_parents: int | None = None,
    patience: int = 0,
    orders: int = 1,
    seed: int | np.random.SeedSequence = 0,
    start: Mapping[str, Sequence[str]] | None = None,
    forbidden: Arcs = (),
    required: Arcs = (),
    progress: Progress | None = None,
) -> Graph:
    """Learn a graph by hill climbing: add, remove or reverse the best arc until the score does not improve.

    Parameters
    ----------
    codes, names, levels
        The sample, (rows, variables), and the name and the number of levels of each column.
    score
        ``"bic"`` or ``"aic"``.
    most_parents
        Largest number of parents of a variable; no limit by default.
    patience
        Number of consecutive changes without a new best score before the search stops; no graph is visited twice, and the
        best one is returned. 0 is plain hill climbing.
    orders
        Number of searches. Ties are broken by the order of the columns in the first, and in random orders after it. The
        best graph is returned, since ties can lead to a lower local maximum.
    seed
        Seed of the random orders.
    start
        Initial graph; by default that of the required arcs.
    forbidden, required
        Arcs (parent, child) that must not, or must, be in the graph.
    progress
        Called with a label, the number of changes so far and that number plus one, since the total is unknown.

    Returns
    -------
    dict
        Variable to its parents. Among equivalent graphs the result depends on the order of the columns. Of two graphs with
        the same score the first is returned.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.integers(0, 2, (2, 1000))
    >>> either = (a | b) ^ (rng.random(1000) < 0.1)
    >>> climb(np.column_stack([a, b, either]), ["a", "b", "either"], [2, 2, 2])
    {'a': (), 'b': (), 'either': ('a', 'b')}
    """
    names = tuple(names)
    codes = _check(codes, names, levels, score)
    for word, limit, least in (("most_parents", most_parents, 1), ("patience", patience, 0), ("orders", orders, 1)):
        if limit is not None:
            check_count(word, limit, least)
    allowed = ~(_matrix(names, forbidden) | np.eye(len(names), dtype=bool))
    fixed = _matrix(names, required)
    graph = fixed | _matrix(names, _arcs(start or {}))
    if (graph & ~allowed).any():
        parent, child = np.argwhere(graph & ~allowed)[0]
        raise InputError(
            f"the arc {names[parent]!r} → {names[child]!r} is both forbidden and required: remove it from one"
        )
    _check_graph(graph, names, levels)
    families = _Families(codes, levels, WEIGHTS[score](len(codes)))
    climber = _Climber(families, graph, allowed, fixed, len(names) if most_parents is None else most_parents)
    rng = np.random.default_rng(seed)
    best, top = climber.run(patience, None, progress)
    for _ in range(orders - 1):
        found, height = climber.run(patience, rng.permutation(3 * len(names) ** 2), progress)
        if height >= top + LEAST_GAIN:
            best, top = found, height
    return _parents(names, best)


def learned_parents(
    codes: Codes, names: Sequence[str], levels: Sequence[int], label: str, *, no_children: bool = False, **settings: Any
) -> tuple[str, ...]:
    """Return the parents of the label in a graph learned by ``climb`` with these settings.

    [tople2020, section 4.1] says that for its four networks "a simple hill-climbing algorithm outputs the true causal
    parents". Data identify only the class of equivalent graphs: whether a neighbour of the label is its cause or its effect is
    identified only if the class orients the arc. Of the four labels this holds for Child/XrayReport and Alarm/BP; in the
    graph of Sachs no arc is oriented. Otherwise it requires prior knowledge: ``no_children=True`` states that the label
    causes no other variable, and forbids those arcs.

    Examples
    --------
    >>> from leakscope.causal import draw, load_network
    >>> sachs = load_network("sachs")
    >>> sizes = [len(of) for of in sachs.levels.values()]
    >>> learned_parents(draw(sachs, 5000, seed=1), sachs.names, sizes, "Akt", no_children=True)
    ('Erk', 'PKA')
    """
    names = tuple(names)
    _check_label(label, names)
    forbidden = [(label, other) for other in names if other != label] if no_children else []
    return climb(codes, names, levels, forbidden=forbidden, **settings)[label]


@dataclass(frozen=True)
class ParentShare:
    """Share of resamples in which a variable is a parent of the label, and in which it is a parent or a child."""

    parent: Estimate
    neighbour: Estimate


def parent_confidence(
    codes: Codes,
    names: Sequence[str],
    levels: Sequence[int],
    label: str,
    *,
    resamples: int = 20,
    seed: int | np.random.SeedSequence = 0,
    progress: Progress | None = None,
    **settings: Any,
) -> dict[str, ParentShare]:
    """Estimate how often each variable is learned by ``climb`` with these settings as a parent of the label on resamples.

    [Friedman, Goldszmidt and Wyner 1999, section 3]. A share of ``neighbour`` near 1 with a share of ``parent`` near 0 or 1
    may still be an arc that data cannot orient: among equivalent graphs, the order of the columns decides in every
    resample. Rows drawn twice make dependence appear stronger, so that shares are biased upwards; intervals cover only the
    finite number of resamples. Only variables found at least once are listed, the largest share first.

    Examples
    --------
    >>> from leakscope.causal import draw, load_network
    >>> sachs = load_network("sachs")
    >>> sizes = [len(of) for of in sachs.levels.values()]
    >>> parent_confidence(draw(sachs, 5000, seed=1), sachs.names, sizes, "Akt", resamples=5)["PKA"].neighbour
    1.00 [0.47, 1.00]
    """
    names = tuple(names)
    check_count("resamples", resamples)
    _check_label(label, names)
    codes = _check(codes, names, levels, settings.get("score", "bic"))
    as_parent, as_child = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    rng = np.random.default_rng(seed)
    for done in range(resamples):
        drawn = np.asfortranarray(codes[rng.integers(0, len(codes), len(codes))])
        graph = climb(drawn, names, levels, **settings)
        for name in names:
            as_parent[name] += name in graph[label]
            as_child[name] += label in graph[name]
        if progress:
            progress("resamples", done + 1, resamples)
    found = [name for name in names if as_parent[name] + as_child[name]]
    found.sort(key=lambda name: (-as_parent[name] - as_child[name], -as_parent[name]))
    return {
        name: ParentShare(
            intervals.proportion(as_parent[name], resamples),
            intervals.proportion(as_parent[name] + as_child[name], resamples),
        )
        for name in found
    }


class _Climber:
    """A graph and the gain of every change that keeps it acyclic."""

    def __init__(self, families: _Families, start: Matrix, allowed: Matrix, fixed: Matrix, most_parents: int) -> None:
        self.families, self.start = families, start
        self.allowed, self.fixed, self.most_parents = allowed, fixed, most_parents
        self.graph, self.gains = start, np.empty(start.shape)
        self._count(range(len(start)))
        self.start_gains = self.gains

    def run(self, patience: int, ranks: NDArray[np.intp] | None, progress: Progress | None) -> tuple[Matrix, float]:
        """Climb from the start, ties by rank; return the best graph and its gain."""
        self.graph, self.gains = self.start, self.start_gains.copy()
        best, height, top, waited, changes = self.start, 0.0, 0.0, 0, 0
        seen = {best.tobytes()}
        while True:
            choices = self._choices().ravel()
            order = np.argsort(-choices, kind="stable") if ranks is None else np.lexsort((ranks, -choices))
            for place in order:
                gain = choices[place]
                if gain == -np.inf or (gain < LEAST_GAIN and waited >= patience):
                    return best, top
                after, changed = self._after(int(place))
                if after.tobytes() not in seen:
                    break
            else:
                return best, top
            self.graph, height = after, height + float(gain)
            self._count(changed)
            seen.add(after.tobytes())
            waited += 1
            if height >= top + LEAST_GAIN:
                best, top, waited = after, height, 0
            changes += 1
            if progress:
                progress("changes to the graph", changes, changes + 1)

    def _choices(self) -> Floats:
        """Return the gains of adding, removing and reversing the arc p → v, (3, variables, variables); -inf if impossible."""
        graph, gains = self.graph, self.gains
        reach = _reachable(graph)
        room = graph.sum(axis=0) < self.most_parents
        free = graph & ~self.fixed
        # Reversing p → v creates no cycle if the arc is the only path from p to v: only one child of p, v itself, leads to v.
        single = graph.astype(np.float32) @ reach.astype(np.float32) == 1
        choices: Floats = np.full((3, *graph.shape), -np.inf)
        for choice, gain, fits in (
            (choices[0], gains, ~graph & ~reach.T & self.allowed & room),
            (choices[1], gains, free),
            (choices[2], gains + gains.T, free & single & self.allowed.T & room[:, None]),
        ):
            choice[fits] = gain[fits]
        return choices.round(DIGITS)

    def _after(self, place: int) -> tuple[Matrix, tuple[int, ...]]:
        """Return the graph after a change, and the variables whose families it changes."""
        kind, parent, child = (int(index) for index in np.unravel_index(place, (3, *self.graph.shape)))
        after = self.graph.copy()
        after[parent, child] = kind == 0
        if kind < 2:
            return after, (child,)
        after[child, parent] = True
        return after, (parent, child)

    def _count(self, changed: Sequence[int]) -> None:
        for child in changed:
            self.gains[:, child] = self.families.gains(child, np.flatnonzero(self.graph[:, child]))


class _Families:
    """Scores of families in one sample."""

    def __init__(self, codes: Codes, levels: Sequence[int], weight: float) -> None:
        self.codes, self.levels, self.weight = codes, list(levels), weight
        # Number of free parameters at which the penalty exceeds the largest possible gain.
        alone = [count_table(codes, child, [], levels) for child in range(len(self.levels))]
        self.most = [-_score(table, weight) / weight for table in alone]
        self.number = np.empty(len(codes), np.intp)

    def gains(self, child: int, parents: NDArray[np.intp]) -> Floats:
        """Return the gain of a child's family if each other variable is added, or removed if it is a parent."""
        levels, size = self.levels, self.levels[child]
        columns = [*map(int, parents), child]
        sizes = [levels[column] for column in columns]
        cells = math.prod(sizes)
        family = configurations(self.codes, columns, sizes)
        table = np.bincount(family, minlength=cells).reshape(sizes)
        scores = np.full(len(levels), -np.inf)
        for other, joining in enumerate(levels):
            if other in columns[:-1]:
                left = table.sum(axis=columns.index(other))
                scores[other] = _score(left.reshape(-1, size), self.weight)
            elif other != child and (cells // size) * joining * (size - 1) < self.most[child]:
                np.multiply(self.codes[:, other], cells, out=self.number, dtype=np.intp)
                self.number += family
                joined = np.bincount(self.number, minlength=cells * joining)
                scores[other] = _score(joined.reshape(-1, size), self.weight)
        return scores - _score(table.reshape(-1, size), self.weight)


def _score(table: NDArray[np.int64], weight: float) -> float:
    """Score of a family from its counts, (configurations, levels)."""
    totals = table.sum(axis=1)
    likelihood = float(xlogy(table, table).sum() - xlogy(totals, totals).sum())
    return likelihood - weight * float(len(table) * (table.shape[1] - 1))


def _reachable(graph: Matrix) -> Matrix:
    """Whether a path leads from row to column, by doubling its length; each variable reaches itself."""
    reach = graph | np.eye(len(graph), dtype=bool)
    length = 1
    while length < len(graph):
        steps = reach.astype(np.float32)
        reach = steps @ steps > 0
        length *= 2
    return reach


def _matrix(names: Sequence[str], arcs: Arcs) -> Matrix:
    place = {name: column for column, name in enumerate(names)}
    matrix = np.zeros((len(names), len(names)), bool)
    for parent, child in arcs:
        if unknown := [name for name in (parent, child) if name not in place]:
            raise InputError(f"an arc names {list_names(unknown)}, which is not a column: pass arcs as (parent, child)")
        matrix[place[parent], place[child]] = True
    return matrix


def _arcs(parents: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    return [(parent, child) for child, of in parents.items() for parent in of]


def _parents(names: Sequence[str], graph: Matrix) -> Graph:
    return {name: tuple(np.asarray(names, object)[graph[:, column]].tolist()) for column, name in enumerate(names)}


def _check_graph(graph: Matrix, names: Sequence[str], levels: Sequence[int]) -> None:
    """Raise an error for a graph with a cycle or with a family too large to count."""
    topological_order(_parents(names, graph))
    for child, name in enumerate(names):
        cells = levels[child] * math.prod(size for size, parent in zip(levels, graph[:, child], strict=True) if parent)
        check_cells(name, cells)


def _check_label(label: str, names: Sequence[str]) -> None:
    if label not in names:
        raise InputError(f"the label {label!r} is not a column: choose one of {list_names(names, 12)}")


def _check(codes: Codes, names: Sequence[str], levels: Sequence[int], score: str) -> Codes:
    codes = np.asarray(codes)
    if score not in WEIGHTS:
        raise InputError(f"score must be {' or '.join(WEIGHTS)}, not {score!r}")
    if codes.ndim != 2 or len(codes) < 2 or not np.issubdtype(codes.dtype, np.integer):
        raise InputError("codes must be whole numbers, (rows, variables), with two rows or more")
    if not codes.shape[1] == len(names) == len(levels) == len(set(names)):
        raise InputError(
            f"{codes.shape[1]} columns of codes, {len(set(names))} different names and {len(levels)} numbers of levels "
            "must have one length: pass one of each per variable"
        )
    if (wrong := (codes.min(axis=0) < 0) | (codes.max(axis=0) >= np.asarray(levels))).any():
        column = int(wrong.argmax())
        raise InputError(f"the codes of {names[column]!r} must be from 0 to {levels[column] - 1}: recode its levels")
    return np.asfortranarray(codes)
