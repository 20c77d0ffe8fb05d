r"""Maximum-likelihood tables of a sample by counting: :math:`\hat P(x_v \mid c) = N(c, x_v)/N(c)`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from leakscope.causal.network import Network, small_configurations
from leakscope.core.arrays import Floats
from leakscope.core.errors import InputError

Counts = NDArray[np.int64]

FEW = 24  # largest number of cells for which comparing all rows with each cell is faster than sorting
BLOCK = 65_536  # rows that stay in the processor's cache while they are counted


def count_table(codes: NDArray[np.integer], child: int, parents: Sequence[int], levels: Sequence[int]) -> Counts:
    """Count each level of a column by the configuration of other columns, (configurations, levels).

    Parameters
    ----------
    codes
        The sample, one row for each record.
    child, parents
        Columns.
    levels
        Number of levels of every column of the sample.

    Examples
    --------
    >>> count_table(np.array([[0, 1], [0, 1], [1, 0]]), 1, [0], [2, 2])
    array([[0, 2],
           [1, 0]])
    """
    columns = [*parents, child]
    sizes = [levels[column] for column in columns]
    counts = np.zeros(math.prod(sizes), np.int64)
    block, signed = max(BLOCK, counts.size), codes.dtype.kind != "u"
    for first in range(0, len(codes), block):
        rows = codes[first : first + block]
        for column, size in zip(columns, sizes, strict=True):
            if rows[:, column].max() >= size or (signed and rows[:, column].min() < 0):
                raise InputError(f"column {column + 1} of the sample has codes outside 0 to {size - 1}: recode it")
        number = small_configurations(rows, columns, sizes)
        if counts.size <= FEW:
            counts += [np.count_nonzero(number == cell) for cell in range(counts.size)]
        else:
            counts += np.bincount(number, minlength=counts.size)
    return counts.reshape(-1, levels[child])


def fit_table(codes: NDArray[np.integer], child: int, parents: Sequence[int], levels: Sequence[int]) -> Floats:
    """Return the level frequencies of a column by the configuration of others; unseen configurations get equal shares.

    Examples
    --------
    >>> fit_table(np.array([[0, 1], [0, 0]]), 1, [0], [2, 2])
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    counts = count_table(codes, child, parents, levels)
    totals = counts.sum(axis=1, keepdims=True)
    shares: Floats = np.where(totals > 0, counts / np.maximum(totals, 1), 1 / counts.shape[1])
    return shares


def fit_tables(
    network: Network, codes: NDArray[np.integer], parents: Mapping[str, Sequence[str]] | None = None
) -> Network:
    """Return the network with tables counted in a sample; ``parents`` replaces its graph.

    Examples
    --------
    >>> from leakscope.causal import draw, load_network
    >>> sachs = load_network("sachs")
    >>> fitted = fit_tables(sachs, draw(sachs, 20_000))
    >>> float(np.abs(fitted.tables["PKC"] - sachs.tables["PKC"]).max()) < 0.02
    True
    """
    graph = {name: tuple(of) for name, of in (network.parents if parents is None else parents).items()}
    network.check_names([name for pair in graph.items() for name in (pair[0], *pair[1])])
    tables = {
        name: fit_table(codes, column, [network.place[parent] for parent in graph.get(name, ())], network.sizes)
        for column, name in enumerate(network.names)
    }
    return Network(network.name, network.levels, graph, tables)
