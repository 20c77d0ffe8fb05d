r"""Label stability: the share of slightly changed copies of a record that get its true label.

An attacker who queries changed copies learns more than the label of the record: a model that was trained on a record tends
to give its neighbourhood the same label (Choquette-Choo et al. 2021, section 3, with random changes; Li and Zhang 2021).
With :math:`x_0 = x` the record, y its label and :math:`x_1, …, x_M` the copies, M = 8,

.. math:: \text{stability}(x, y) = \frac{1}{M+1} \sum_{m=0}^M 1[\arg\max_c p_c(x_m) = y].

How a copy is made, column by column:

- where most values of the column have a fraction, Gaussian noise of a tenth of its spread is added, with the spread the
  distance between the quartiles divided by 1.349 (the standard deviation, if the column is Gaussian);
- in any other column (texts, categories, truth values, whole numbers, missing spread), the value is replaced with probability
  one tenth by that of another record.

The draws depend on the record's own values alone, so that every model gets the same copies of a record, whatever its
position. Spreads and replacement values come from the records that are queried together, without their membership. An audit
queries members and non-members separately, so that their spreads differ by chance, by about :math:`1/\sqrt n`; `compare`
does not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri

from leakscope.core.arrays import Floats, Indices
from leakscope.core.keyed_random import uniforms
from leakscope.data.containers import is_sparse
from leakscope.data.records import take_rows
from leakscope.models.model import Model
from leakscope.models.target import predict_in_blocks

COPIES = 8
#: Noise in a column of numbers with fractions, in units of its spread.
NOISE = 0.1
#: Probability with which a value in any other column is replaced.
REPLACED = 0.1
#: Distance between the quartiles of a Gaussian column, in standard deviations.
QUARTILES = 1.3489795003921634
#: Cells of copies in memory at a time.
CELLS = 1 << 21


def label_stability(model: Model, X: Any, y: NDArray[Any], predicted: NDArray[Any]) -> Floats:
    """Return the stability of each record's label, from 0 to 1; ``predicted`` are the predicted labels of the records.

    Examples
    --------
    >>> from leakscope.toys import constant_model
    >>> label_stability(constant_model(), np.zeros((2, 1)), np.array([0, 1]), np.array([0, 0]))
    array([1., 0.])
    """
    right = np.asarray(predicted == y, dtype=np.float64)
    change = _changes(X)
    step = max(1, CELLS // (COPIES * _width(X)))
    for start in range(0, len(right), step):
        rows = np.arange(start, min(start + step, len(right)))
        copies = change(rows)
        answers = [part.argmax(axis=1) for _, part in predict_in_blocks(model, copies, where="changed copies")]
        right[rows] += (np.concatenate(answers).reshape(COPIES, -1) == y[rows]).sum(axis=0)
    return np.asarray(right / (COPIES + 1))


def _width(X: Any) -> int:
    return max(1, int(np.prod(X.shape[1:])))


def _changes(X: Any) -> Callable[[Indices], Any]:
    """Function that makes the copies of some records: one of each in their order, then a second, and so on."""
    from leakscope.data.fingerprints import row_hashes

    keys, spreads = row_hashes(X), _spreads(X)
    return lambda rows: _change(X, rows, keys[rows], spreads)


def _spreads(X: Any) -> Floats:
    """The spread of each column to which noise is added, and 0 for the others."""
    if isinstance(X, pd.DataFrame):
        columns = [X.iloc[:, place] for place in range(X.shape[1])]
        return np.array([_spread(column.to_numpy()) if _is_float(column.dtype) else 0.0 for column in columns])
    if not _is_float(X.dtype):
        return np.zeros(_width(X))
    if is_sparse(X):
        cells = X.tocsc()  # a column with spread has few zeros
        full = np.diff(cells.indptr) > len(X) / 2
        return np.array([_spread(cells[:, [at]].toarray()[:, 0]) if full[at] else 0.0 for at in range(len(full))])
    return np.array([_spread(column) for column in X.reshape(len(X), -1).T])


def _is_float(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind == "f"


def _spread(column: NDArray[Any]) -> float:
    there = column[np.isfinite(column)].astype(np.float64)
    if not len(there) or np.mean(there != np.floor(there)) <= 0.5:
        return 0.0
    low, high = np.quantile(there, [0.25, 0.75])
    return float((high - low) / QUARTILES)


def _change(X: Any, rows: Indices, keys: NDArray[np.uint64], spreads: Floats) -> Any:
    width, noisy = len(spreads), np.flatnonzero(spreads)
    drawn = uniforms(keys, COPIES * width).reshape(len(rows), COPIES, width).swapaxes(0, 1).reshape(-1, width)
    added = NOISE * spreads[noisy] * ndtri(drawn[:, noisy])
    # A number below the probability is, divided by it, uniform again: it names the other record.
    other = (drawn * (len(X) / REPLACED)).astype(np.intp)
    own = np.tile(rows, COPIES)
    source = np.where((other < len(X)) & (spreads == 0), other, own[:, None])
    if not isinstance(X, pd.DataFrame):
        sparse = is_sparse(X)
        cells = (
            X[source, np.arange(width)].toarray()
            if sparse
            else np.take_along_axis(X.reshape(len(X), -1), source, axis=0)
        )
        if len(noisy):
            cells[:, noisy] = (cells[:, noisy] + added).astype(X.dtype)
        return type(X)(cells) if sparse else cells.reshape(-1, *X.shape[1:])
    copies = take_rows(X, own).reset_index(drop=True)
    for place in np.flatnonzero(spreads == 0).tolist():
        copies.isetitem(place, X.iloc[:, place].array.take(source[:, place]))
    for place, noise in zip(noisy.tolist(), added.T, strict=True):
        column = copies.iloc[:, place]
        copies.isetitem(place, (column + noise).astype(column.dtype))
    return copies
