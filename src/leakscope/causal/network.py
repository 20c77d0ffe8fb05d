r"""Bayesian networks of discrete variables, interpreted as structural causal graphs.

A network gives each variable :math:`X_v` a table :math:`P(X_v \mid X_{\mathrm{pa}(v)})` over its levels for every
configuration of its parents, and the joint distribution is the product of the tables,

.. math:: P(x) = \prod_v P(x_v \mid x_{\mathrm{pa}(v)}).

In a causal graph [tople2020, section 2.1], an intervention on a variable replaces its table and keeps the others.

Configurations are numbered with the first parent slowest: parents with codes :math:`c_1, …, c_k` and
:math:`L_1, …, L_k` levels have the number :math:`(\cdots(c_1 L_2 + c_2)L_3 + \cdots)L_k + c_k`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from graphlib import CycleError, TopologicalSorter

import numpy as np
from numpy.typing import NDArray

from leakscope.core.arrays import Floats
from leakscope.core.errors import InputError
from leakscope.data.records import list_names

#: Largest difference of a row's sum from 1; rows of published tables are rounded to seven digits.
ROUNDED = 1e-4
#: Largest difference of a sum from 1 by floating-point rounding.
ROUNDING = 1e-12
#: Codes of levels are bytes.
MOST_LEVELS = 256
#: Numbers in one table: 400 MB.
LARGEST_TABLE = 50_000_000


@dataclass(frozen=True, eq=False)
class Network:
    """A Bayesian network.

    Parameters
    ----------
    name
        Name of the network.
    levels
        Variable to the names of its levels. The order of the variables is that of the columns of a sample.
    parents
        Variable to its parents.
    tables
        Variable to its table, one row for each configuration of the parents, one column for each level. Rows that sum to
        1 up to rounding are divided by their sum.

    Examples
    --------
    >>> rain = Network("garden", {"rain": ("no", "yes"), "wet": ("no", "yes")}, {"rain": (), "wet": ("rain",)},
    ...                {"rain": np.array([[0.8, 0.2]]), "wet": np.array([[0.9, 0.1], [0.0, 1.0]])})
    >>> rain.children("rain"), rain.order
    (('wet',), ('rain', 'wet'))
    """

    name: str
    levels: Mapping[str, tuple[str, ...]]
    parents: Mapping[str, tuple[str, ...]]
    tables: Mapping[str, Floats] = field(repr=False)

    def __post_init__(self) -> None:
        levels = {name: tuple(map(str, of)) for name, of in self.levels.items()}
        if extra := [name for name in (*self.parents, *self.tables) if name not in levels]:
            raise InputError(f"network {self.name!r} has no variable {list_names(extra)}: add its levels, or remove it")
        parents = {name: tuple(self.parents.get(name, ())) for name in levels}
        object.__setattr__(self, "levels", levels)
        object.__setattr__(self, "parents", parents)
        self._check_graph()
        object.__setattr__(self, "tables", {name: self._checked(name) for name in levels})

    @property
    def names(self) -> tuple[str, ...]:
        """The variables in the order of the columns of a sample."""
        return tuple(self.levels)

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The variables with parents before children, otherwise in the order of the columns."""
        return topological_order(self.parents)

    @cached_property
    def place(self) -> dict[str, int]:
        """Variable to the number of its column."""
        return {name: column for column, name in enumerate(self.levels)}

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of levels of each variable."""
        return tuple(map(len, self.levels.values()))

    @property
    def arcs(self) -> int:
        """Number of arcs."""
        return sum(map(len, self.parents.values()))

    @property
    def free_parameters(self) -> int:
        """Number of free parameters: (levels - 1) per configuration of the parents, summed over variables."""
        return sum(table.shape[0] * (table.shape[1] - 1) for table in self.tables.values())

    def children(self, name: str) -> tuple[str, ...]:
        """Return the variables that have this one as a parent."""
        self.check_names([name])
        return tuple(other for other, of in self.parents.items() if name in of)

    def markov_blanket(self, name: str) -> tuple[str, ...]:
        """Return parents, children, and the children's other parents [tople2020, Figure 1c], in the order of the columns."""
        children = self.children(name)
        near = {*self.parents[name], *children, *(other for child in children for other in self.parents[child])}
        return tuple(other for other in self.names if other in near - {name})

    def replace_tables(self, tables: Mapping[str, Floats]) -> Network:
        """Return the network with other tables for some variables."""
        self.check_names(list(tables))
        return Network(self.name, self.levels, self.parents, {**self.tables, **tables})

    def check_names(self, names: Sequence[str]) -> None:
        """Raise an error for names that are not variables of the network."""
        if unknown := [name for name in names if name not in self.levels]:
            raise InputError(
                f"network {self.name!r} has no variable {list_names(unknown)}: it has {list_names(self.names, 12)}"
            )

    def log_probability(self, codes: NDArray[np.integer]) -> Floats:
        """Return the natural logarithm of the joint probability of each row of codes; -inf for an impossible row.

        Examples
        --------
        >>> coin = Network("coin", {"side": ("heads", "tails")}, {}, {"side": np.array([[0.25, 0.75]])})
        >>> np.exp(coin.log_probability(np.array([[0], [1]])))
        array([0.25, 0.75])
        """
        total = np.zeros(len(codes))
        with np.errstate(divide="ignore"):
            for name, table in self.tables.items():
                total += np.log(table)[self.configurations(codes, name), codes[:, self.place[name]]]
        return total

    def configurations(self, codes: NDArray[np.integer], name: str) -> NDArray[np.intp]:
        """Return the number of the configuration of a variable's parents in each row of codes."""
        columns = [self.place[parent] for parent in self.parents[name]]
        return configurations(codes, columns, [len(self.levels[parent]) for parent in self.parents[name]])

    # --- checks -------------------------------------------------------------------------------------------------------

    def _check_graph(self) -> None:
        if not self.levels:
            raise InputError(f"network {self.name!r} has no variables: pass levels for at least one")
        for name, levels in self.levels.items():
            if len(levels) < 1 or len(set(levels)) < len(levels) or len(levels) > MOST_LEVELS:
                raise InputError(f"variable {name!r} needs 1 to {MOST_LEVELS} different levels, not {len(levels)}")
        for name, parents in self.parents.items():
            if unknown := [parent for parent in parents if parent not in self.levels]:
                raise InputError(f"variable {name!r} has the unknown parent {list_names(unknown)}: add its levels")
            if len(set(parents)) < len(parents):
                raise InputError(f"variable {name!r} has a parent twice: name each of {list_names(parents)} once")
        topological_order(self.parents)

    def _checked(self, name: str) -> Floats:
        """Return the table of a variable, with rows that sum to 1 up to rounding."""
        if name not in self.tables:
            raise InputError(f"variable {name!r} has no table: pass one row per configuration of its parents")
        shape = math.prod(len(self.levels[parent]) for parent in self.parents[name]), len(self.levels[name])
        check_cells(name, math.prod(shape))
        table = np.array(self.tables[name], dtype=np.float64)
        if table.shape != shape:
            raise InputError(
                f"the table of {name!r} has shape {table.shape}, not {shape}: pass one row per configuration of its parents"
            )
        if not np.isfinite(table).all() or (table < 0).any():
            raise InputError(f"the table of {name!r} has numbers that are not probabilities: correct them")
        sums = table.sum(axis=1)
        if (worst := np.abs(sums - 1)).max() > ROUNDED:
            row = int(worst.argmax())
            raise InputError(f"row {row + 1} of the table of {name!r} sums to {sums[row]:.6g}, not 1: correct it")
        # Rows that were normalised before keep every bit.
        return np.where(worst[:, None] > ROUNDING, table / sums[:, None], table)


def check_cells(name: str, cells: int) -> None:
    """Raise an error for a table that is too large for memory."""
    if cells > LARGEST_TABLE:
        raise InputError(f"the table of {name!r} would have {cells:,} numbers: reduce its parents")


def configurations(codes: NDArray[np.integer], columns: Sequence[int], sizes: Sequence[int]) -> NDArray[np.intp]:
    """Return the number of the configuration of some columns in each row, the first column slowest.

    Examples
    --------
    >>> configurations(np.array([[1, 2], [0, 1]]), [0, 1], [2, 3])
    array([5, 1])
    """
    return small_configurations(codes, columns, sizes).astype(np.intp)


def small_configurations(
    codes: NDArray[np.integer], columns: Sequence[int], sizes: Sequence[int]
) -> NDArray[np.unsignedinteger]:
    """Return the same in the smallest sufficient type, which needs several times less memory traffic."""
    kind = np.min_scalar_type(math.prod(sizes))
    number = codes[:, columns[0]].astype(kind) if columns else np.zeros(len(codes), kind)
    for column, size in zip(columns[1:], sizes[1:], strict=True):
        number *= size
        np.add(number, codes[:, column], out=number, casting="unsafe")
    return number


def topological_order(parents: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Order parents before children; raise an error for a cycle or an unknown parent.

    Examples
    --------
    >>> topological_order({"b": ("a",), "a": ()})
    ('a', 'b')
    """
    if unknown := [parent for of in parents.values() for parent in of if parent not in parents]:
        raise InputError(f"the graph has the unknown parent {list_names(unknown)}: add it as a variable")
    place = {name: number for number, name in enumerate(parents)}
    sorter = TopologicalSorter(parents)
    try:
        sorter.prepare()
    except CycleError as error:
        raise InputError(f"the graph has a cycle through {list_names(error.args[1][1:])}: remove an arc") from None
    order: list[str] = []
    while sorter.is_active():
        free = sorted(sorter.get_ready(), key=place.__getitem__)
        order += free
        sorter.done(*free)
    return tuple(order)


def compelled_arcs(parents: Mapping[str, Sequence[str]]) -> frozenset[tuple[str, str]]:
    """Return the arcs (parent, child) that all Markov-equivalent graphs share: those that data can orient.

    These are colliders of variables that are not adjacent, and arcs implied by the rules of [Meek 1995, section 2.1], which
    exclude new colliders and cycles.

    Examples
    --------
    >>> sorted(compelled_arcs({"a": (), "b": (), "c": ("a", "b"), "d": ("c",), "e": ("a",)}))
    [('a', 'c'), ('b', 'c'), ('c', 'd')]
    """
    topological_order(parents)
    arcs = {(parent, child) for child, of in parents.items() for parent in of}
    near = {name: {*of, *(child for child, other in parents.items() if name in other)} for name, of in parents.items()}
    known = {(a, c) for a, c in arcs if any(b != a and b not in near[a] for b in parents[c])}

    def follows(a: str, b: str) -> bool:
        into = {c for c in near[b] if (c, b) in known}
        if any((c, a) in known for c in near[a] - near[b] - {b}):
            return True
        if any((a, c) in known for c in into):
            return True
        sides = [c for c in into & near[a] if (a, c) not in known and (c, a) not in known]
        return any(d not in near[c] for c in sides for d in sides if d != c)

    while new := {(a, b) for a, b in arcs - known if follows(a, b)}:
        known |= new
    return frozenset(known)
