"""Samples of a comparison: training samples, held-out records of the same distribution P, and shifted distributions P* with the same causes of Y.

- **A graph**: P* is the network with tables exchanged (`causal.shifts`). Where there are data, P is the data, and the label's
  table is counted in them, so that Y follows its causes in P* as it does there.
- **Named causes, no graph**: P* keeps records of P by a random preference for values of the causes, and takes all other
  columns from other records: the causes and Y of a record stay together, everything else is independent of them.
- **Environments**: P* is each environment in turn, and P the others.

Data are split into three equal parts: two training samples, and held-out records. Both samples train models of each kind, each the
control of the other (`causal.membership`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leakscope.causal.counting import count_table
from leakscope.causal.encoding import EncodedRecords
from leakscope.causal.network import Network
from leakscope.causal.sampling import draw, to_codes
from leakscope.causal.shifts import intervene, perturb, redraw
from leakscope.core.errors import InputError
from leakscope.data.records import Records, list_names, row_name
from leakscope.evaluation.paired import FEWEST_OF_PAIR
from leakscope.studies.causal.result import Source

#: Environments that are held out in turn, the largest first.
MOST_ENVIRONMENTS = 5
#: Records in each of the three parts, for attacks to be fitted and judged.
FEWEST_IN_PART = 6 * FEWEST_OF_PAIR


@dataclass(frozen=True)
class Scenario:
    """Two training samples and held-out records of P, and records of one or more shifted distributions by name."""

    samples: tuple[Records, Records]
    test: Records
    shifted: dict[str, Records]


@dataclass(frozen=True, eq=False)
class CausalProblem:
    """All that a comparison needs: columns, the causes among them, and scenarios."""

    label: str
    names: tuple[str, ...]
    levels: tuple[int, ...]
    classes: NDArray[Any] | None
    causes: tuple[int, ...]
    causes_from: Source
    scenarios: tuple[Scenario, ...]
    #: Environments that were not held out.
    skipped: int = 0


# --- a graph ----------------------------------------------------------------------------------------------------------


def from_graph(
    network: Network,
    label: str,
    data: pd.DataFrame | int,
    *,
    shift: tuple[str | float, int],
    seeds: np.random.SeedSequence,
    drop: Sequence[str] = (),
) -> CausalProblem:
    """Scenario of a graph: data, or a number of samples of the network in each part, against a number of shifts of one kind.

    Records are drawn with the variables in ``drop``, and no model sees them.
    """
    network.check_names([label, *drop])
    causes = network.parents[label]
    if not causes:
        raise InputError(
            f"{label} has no parents in the graph {network.name}: choose another label, or name its causes with causes=[…]"
        )
    if needed := [name for name in drop if name in causes]:
        raise InputError(
            f"{list_names(needed)} is a cause of {label} in the graph {network.name} and can't be dropped: drop others"
        )
    hidden = tuple(drop)
    sampling, dealing, shifting = seeds.spawn(3)
    world = network
    if isinstance(data, int):
        parts = [_records(draw(network, data, child), network, label, hidden) for child in sampling.spawn(3)]
    else:
        codes = to_codes(network, data)
        _refuse_impossible(network, codes)
        world = network.replace_tables({label: _counted(network, label, codes)})
        everyone = _records(codes, network, label, hidden)
        parts = [everyone.take(part) for part in deal_three(len(codes), np.random.default_rng(dealing))]
    shifted = {
        name: _records(draw(other, len(parts[2]), child), network, label, hidden)
        for name, other, child in _shifts(world, label, *shift, shifting)
    }
    names = tuple(name for name in network.names if name not in (label, *hidden))
    return CausalProblem(
        label=label,
        names=names,
        levels=tuple(len(network.levels[name]) for name in names),
        classes=np.array(network.levels[label]),
        causes=tuple(names.index(name) for name in causes),
        causes_from="graph",
        scenarios=(Scenario((parts[0], parts[1]), parts[2], shifted),),
    )


def _shifts(
    network: Network, label: str, shift: str | float, draws: int, seeds: np.random.SeedSequence
) -> Iterator[tuple[str, Network, np.random.SeedSequence]]:
    """Name, network and seed of each shifted distribution."""
    for number, child in enumerate(seeds.spawn(draws), start=1):
        tables, sampling = child.spawn(2)
        if isinstance(shift, str):
            other = redraw(network, [label], tables) if shift == "random" else intervene(network, shift, label, tables)
        else:
            other = perturb(network, [label], shift, tables)
        yield f"P* {number}", other, sampling


def _counted(network: Network, label: str, codes: NDArray[np.integer]) -> NDArray[np.float64]:
    """The label's table counted in the data; configurations that they lack keep the row of the graph."""
    parents = [network.place[name] for name in network.parents[label]]
    counts = count_table(codes, network.place[label], parents, network.sizes)
    totals = counts.sum(axis=1, keepdims=True)
    return np.asarray(np.where(totals > 0, counts / np.maximum(totals, 1), network.tables[label]))


def _refuse_impossible(network: Network, codes: NDArray[np.integer]) -> None:
    impossible = np.flatnonzero(np.isneginf(network.log_probability(codes)))
    if len(impossible):
        row = codes[impossible[0]][None]
        guilty = [
            name
            for name, table in network.tables.items()
            if table[network.configurations(row, name), row[:, network.place[name]]][0] == 0
        ]
        raise InputError(
            f"the graph calls {len(impossible):,} of the records impossible, the first in {row_name(int(impossible[0]))}, by "
            f"the table of {list_names(guilty)}: correct the records, or use a table without zeros"
        )


def _records(codes: NDArray[np.uint8], network: Network, label: str, hidden: tuple[str, ...]) -> Records:
    columns = [network.place[name] for name in (label, *hidden)]
    return Records(np.delete(codes, columns, axis=1), codes[:, columns[0]].astype(np.int64), np.arange(len(codes)))


# --- a table of data --------------------------------------------------------------------------------------------------


def without(data: pd.DataFrame, drop: Sequence[str]) -> pd.DataFrame:
    """The data without some columns."""
    if unknown := [name for name in drop if name not in data.columns]:
        there = list_names(data.columns, 12)
        raise InputError(f"the data have no column {list_names(unknown)} to drop: their columns are {there}")
    return data.drop(columns=list(drop))


def from_parents(
    data: EncodedRecords,
    label: str,
    named: Sequence[str],
    *,
    shift: str | float,
    draws: int,
    seeds: np.random.SeedSequence,
) -> CausalProblem:
    """Scenario of named causes: the data against ``draws`` tilted selections of them."""
    if shift != "random":
        raise InputError(f"without a graph the shift is random, not {shift}: give a graph for others")
    causes = data.columns(named, "the causes")
    if not causes:
        raise InputError("causes names no column: name the causes of the label")
    dealing, shifting = seeds.spawn(2)
    everyone = Records(data.X, data.y, np.arange(len(data.y)))
    parts = [everyone.take(part) for part in deal_three(len(data.y), np.random.default_rng(dealing))]
    shifted = {
        f"P* {number}": tilt(parts[2], causes, [data.levels[column] for column in causes], np.random.default_rng(child))
        for number, child in enumerate(shifting.spawn(draws), start=1)
    }
    scenario = Scenario((parts[0], parts[1]), parts[2], shifted)
    return CausalProblem(label, data.names, data.levels, data.classes, causes, "named", (scenario,))


def tilt(records: Records, causes: Sequence[int], levels: Sequence[int], rng: np.random.Generator) -> Records:
    """A third of the records, preferred by the values of their causes, with all other columns taken from other records.

    Each configuration of the levels is preferred by a uniform draw, numbers by a random direction. Selection looks at the
    causes alone, so that the label follows them as before; no record is taken twice.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(2, size=(9000, 2)).astype(np.uint8)
    >>> world = Records(X, X[:, 0].astype(np.int64), np.arange(9000))
    >>> moved = tilt(world, [0], [2], rng)
    >>> len(moved), bool((moved.X[:, 0] == moved.y).all())
    (3000, True)
    """
    X, n = records.X, len(records)
    discrete = [place for place, count in enumerate(levels) if count]
    number = np.zeros(n, np.intp)
    if discrete:
        codes = X[:, [causes[place] for place in discrete]].astype(np.intp)
        number = np.unique(codes, axis=0, return_inverse=True)[1].reshape(-1)
    # From P's own shares to shares that are uniform draws.
    preference = np.log(1 - rng.random(number.max() + 1)) - np.log(np.bincount(number))
    direction = rng.normal(size=len(levels))
    weight = preference[number]
    for place, count in enumerate(levels):
        if not count:
            weight = weight + direction[place] * X[:, causes[place]]
    chosen = np.argsort(-(weight + rng.gumbel(size=n)), kind="stable")[: n // 3]
    shifted = X[rng.permutation(np.setdiff1d(np.arange(n), chosen))[: len(chosen)]].copy()
    shifted[:, list(causes)] = X[chosen][:, list(causes)]
    return Records(shifted, records.y[chosen], np.arange(len(chosen)))


def from_environments(
    data: EncodedRecords,
    label: str,
    causes: Sequence[int],
    environment: NDArray[Any],
    source: Source,
    seeds: np.random.SeedSequence,
) -> CausalProblem:
    """Scenarios of environments: each of the largest in turn against all others."""
    codes, names = pd.factorize(environment, sort=True)
    sizes = np.bincount(codes)
    large = [
        number
        for number in np.argsort(-sizes, kind="stable")
        if sizes[number] >= FEWEST_IN_PART and len(codes) - sizes[number] >= 3 * FEWEST_IN_PART
    ]
    if not large:
        raise InputError(
            f"no environment has {FEWEST_IN_PART} records and {3 * FEWEST_IN_PART} in the others, to be held out: merge some, "
            "or give more records"
        )
    scenarios, everyone = [], Records(data.X, data.y, np.arange(len(data.y)))
    for number, child in zip(large[:MOST_ENVIRONMENTS], seeds.spawn(MOST_ENVIRONMENTS), strict=False):
        rest = np.flatnonzero(codes != number)
        parts = [everyone.take(rest[part]) for part in deal_three(len(rest), np.random.default_rng(child))]
        held = {f"environment {names[number]}": everyone.take(codes == number)}
        scenarios.append(Scenario((parts[0], parts[1]), parts[2], held))
    skipped = len(names) - len(scenarios)
    return CausalProblem(label, data.names, data.levels, data.classes, tuple(causes), source, tuple(scenarios), skipped)


def deal_three(n: int, rng: np.random.Generator) -> list[NDArray[np.intp]]:
    """Three equal random parts of n records."""
    if n < 3 * FEWEST_IN_PART:
        raise InputError(
            f"a comparison needs {3 * FEWEST_IN_PART} records or more, and there are {n}: give more records"
        )
    order = rng.permutation(n)
    return [order[start : start + n // 3] for start in (0, n // 3, 2 * (n // 3))]
