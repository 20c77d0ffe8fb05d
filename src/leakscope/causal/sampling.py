r"""Fast sampling from a Bayesian network, and conversion between codes and tables.

Variables are drawn parents first. A level is the number of entries of the cumulative row
:math:`F_0 \le F_1 \le \dots \le F_{L-2}` of its configuration that are at most u, with u uniform on the multiples of
:math:`2^{-31}` in [0, 1) and :math:`F_l` rounded to such a multiple. So a level l has probability :math:`F_l - F_{l-1}` up to
:math:`2^{-31} < 5 \cdot 10^{-10}`, and one of probability 0 never occurs. Rows are drawn in chunks of 32,768, each with its
own generator, so that they do not depend on the number of rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leakscope.causal.network import Network
from leakscope.core.arrays import Floats
from leakscope.core.checks import check_count
from leakscope.core.errors import InputError
from leakscope.data.records import list_names, row_name

if TYPE_CHECKING:
    import pandas as pd

Codes = NDArray[np.uint8]
Counts = NDArray[np.uint32]

CHUNK = 32_768  # rows that stay in the processor's cache while all variables are drawn
ONE = 2**31  # represents probability 1: the largest power of two in 32 bits


def draw(network: Network, n: int, seed: int | np.random.SeedSequence = 0) -> Codes:
    """Draw rows of codes, (n, variables), columns in the order of ``network.names``.

    The first rows of a larger sample with the same seed are the rows of a smaller one.

    Examples
    --------
    >>> from leakscope.causal import load_network
    >>> codes = draw(load_network("child"), 1000, seed=1)
    >>> codes.shape, codes.dtype, bool((codes[:500] == draw(load_network("child"), 500, seed=1)).all())
    ((1000, 20), dtype('uint8'), True)
    """
    n = check_count("n", n)
    sequence = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    children = np.random.SeedSequence(sequence.entropy, spawn_key=sequence.spawn_key).spawn(-(-n // CHUNK))
    codes = np.empty((len(network.names), n), np.uint8)
    plan = [_Step.of(network, name) for name in network.order]
    buffers = _Buffers()
    for number, child in enumerate(children):
        chunk = codes[:, number * CHUNK : (number + 1) * CHUNK]
        generator = np.random.PCG64(child)
        for step in plan:
            # The last chunk is the start of a full one, so that n does not change its rows.
            step.fill(chunk, _uniform(generator)[: chunk.shape[1]], buffers)
    return codes.T


def _uniform(generator: np.random.PCG64) -> Counts:
    """Draw whole numbers from 0 to 2^31 - 1, one per row of a chunk: the upper bits of both halves of 64."""
    halves = generator.random_raw(CHUNK // 2).astype("<u8", copy=False).view("<u4")
    halves >>= 1
    return halves


class _Buffers:
    """Arrays that all steps reuse, because allocation would take longer than the computation."""

    def __init__(self) -> None:
        self.number = np.empty(CHUNK, np.intp)
        self.threshold = np.empty(CHUNK, np.uint32)
        self.above = np.empty(CHUNK, np.bool_)


class _Step:
    """How one variable is drawn from the codes of its parents."""

    def __init__(self, column: int, parents: list[tuple[int, int]], thresholds: Counts) -> None:
        self.column, self.parents, self.thresholds = column, parents, thresholds
        # The smallest type that holds every number of a configuration, and the number of levels of any parent.
        self.small = np.min_scalar_type(thresholds.shape[1])

    @classmethod
    def of(cls, network: Network, name: str) -> _Step:
        parents = [(network.place[parent], len(network.levels[parent])) for parent in network.parents[name]]
        thresholds = np.rint(_cumulative(network.tables[name]).T * float(ONE)).astype(np.uint32)
        return cls(network.place[name], parents, np.ascontiguousarray(thresholds))

    def fill(self, chunk: Codes, uniform: Counts, buffers: _Buffers) -> None:
        """Draw the variable in all rows of a chunk, (variables, rows)."""
        out, rows = chunk[self.column], chunk.shape[1]
        above, threshold, number = buffers.above[:rows], buffers.threshold[:rows], buffers.number[:rows]
        if self.parents:
            small = chunk[self.parents[0][0]].astype(self.small)
            for column, size in self.parents[1:]:
                small *= size
                small += chunk[column]
            number[:] = small
        out[:] = 0
        for row in self.thresholds:
            # mode="clip" changes no value; it avoids the range check and a copy.
            least = row.take(number, mode="clip", out=threshold) if self.parents else row[0]
            np.less_equal(least, uniform, out=above)
            out += above


def _cumulative(table: Floats) -> Floats:
    """Return cumulative probabilities of all levels but the last, exactly 1 from the last level of positive probability."""
    sums = np.cumsum(table, axis=1)
    last = table.shape[1] - 1 - np.argmax(table[:, ::-1] > 0, axis=1)
    sums[np.arange(table.shape[1]) >= last[:, None]] = 1.0
    return np.asarray(np.minimum(sums, 1.0)[:, :-1])


def to_frame(network: Network, codes: NDArray[np.integer]) -> pd.DataFrame:
    """Convert a sample to a table of texts, one categorical column per variable.

    Examples
    --------
    >>> from leakscope.causal import load_network
    >>> sachs = load_network("sachs")
    >>> to_frame(sachs, draw(sachs, 3))["Akt"].cat.categories.tolist()
    ['LOW', 'AVG', 'HIGH']
    """
    import pandas as pd

    return pd.DataFrame(
        {
            name: pd.Categorical.from_codes(
                codes[:, column].astype(np.int16), categories=pd.Index(network.levels[name])
            )
            for column, name in enumerate(network.names)
        }
    )


def to_codes(network: Network, frame: Any, what: str = "the data") -> Codes:
    """Convert a table of texts to codes; raise an error for unknown columns or levels.

    Columns may be in any order, and every variable of the network must be present. Numbers are read as texts: 1 is "1".

    Examples
    --------
    >>> from leakscope.causal import load_network
    >>> sachs = load_network("sachs")
    >>> codes = draw(sachs, 50)
    >>> bool((to_codes(sachs, to_frame(sachs, codes)) == codes).all())
    True
    """
    import pandas as pd

    unknown = [name for name in frame.columns if name not in network.levels]
    missing = [name for name in network.names if name not in frame.columns]
    if unknown or missing:
        problem = f"has columns that are not in the graph: {list_names(unknown)}" if unknown else ""
        problem = problem or f"lacks variables of the graph: {list_names(missing)}"
        advice = "drop them" if unknown else "add them"
        raise InputError(f"{what} {problem}; {advice}, or pass a graph over the existing columns")
    codes = np.empty((len(network.names), len(frame)), np.uint8)
    for column, name in enumerate(network.names):
        texts = frame[name].astype("str")
        found = pd.Index(network.levels[name]).get_indexer(pd.Index(texts))
        if (found < 0).any():
            raise InputError(
                f"{what} has levels of {name!r} that are not in the graph, in {int((found < 0).sum())} of {len(texts)} records, "
                f"the first in {row_name(int((found < 0).argmax()))}; it has {list_names(network.levels[name], 12)}"
            )
        codes[column] = found
    return codes.T
