"""Containers of records: pandas, polars, Arrow, scipy sparse matrices, torch data sets and lists, converted in one place.

Data frames of other libraries become pandas data frames. Sparse matrices stay sparse, as CSR with a length. Everything else becomes
an array whose first axis is the records.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix, issparse

from leakscope.core.errors import InputError
from leakscope.core.failures import cause, describe

#: Items of a torch data set that are read at a time.
BATCH = 256
#: Interfaces of data frames that are not pandas.
PROTOCOLS = ("__narwhals_dataframe__", "__arrow_c_stream__", "__dataframe__", "to_pandas")


# --- sparse matrices --------------------------------------------------------------------------------------------------


class _Rows:
    """What records need in addition to scipy's matrices: their number, and no silent conversion."""

    def __len__(self) -> int:
        return int(self.shape[0])  # type: ignore[attr-defined]

    def __array__(self, *args: Any, **options: Any) -> NDArray[Any]:
        raise InputError("this step can't read a sparse matrix: pass X.toarray(), or leave the step out")


class SparseMatrix(_Rows, csr_matrix):
    """A `scipy.sparse.csr_matrix` of records; models get it without the changes (`plain_sparse`)."""


class SparseArray(_Rows, csr_array):
    """A `scipy.sparse.csr_array` of records; models get it without the changes (`plain_sparse`)."""


def is_sparse(X: Any) -> bool:
    """Return whether records are a scipy sparse matrix or array."""
    return bool(issparse(X))


def as_sparse(X: Any, where: str) -> SparseMatrix | SparseArray:
    """Return a sparse matrix as CSR, without duplicate entries and with sorted columns; the caller's arrays stay unchanged.

    Examples
    --------
    >>> rows = as_sparse(csr_array([[0.0, 2.0], [1.0, 0.0]]), "the training set")
    >>> len(rows), rows[[1]].toarray().tolist()
    (2, [[1.0, 0.0]])
    """
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise InputError(f"the features of {where} are not a sparse table of real numbers: pass a two-dimensional one")
    rows = (SparseMatrix if isinstance(X, csr_matrix) or not _is_array(X) else SparseArray)(X.tocsr())
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def plain_sparse(X: Any) -> Any:
    """Return sparse records as scipy's own class, which shares their memory; anything else unchanged."""
    if isinstance(X, SparseMatrix):
        return csr_matrix(X)
    return csr_array(X) if isinstance(X, SparseArray) else X


def _is_array(X: Any) -> bool:
    from scipy.sparse import sparray

    return isinstance(X, sparray)


# --- data frames of other libraries -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class NativeTable:
    """Function from a pandas data frame to the library and the column types that a table had before it was converted."""

    library: Any
    schema: Mapping[str, Any]

    def __call__(self, X: Any) -> Any:
        if not isinstance(X, pd.DataFrame):
            return X
        import narwhals as nw

        wanted = {name: self.schema[name] for name in X.columns}
        values = {name: _cells(X[name], kind) for name, kind in wanted.items()}
        return nw.from_dict(values, schema=wanted, backend=self.library).to_native()


def _cells(column: pd.Series[Any], kind: Any) -> list[Any]:
    import narwhals as nw

    values = column.dt.date if kind == nw.Date else column.astype("Int64") if kind.is_integer() else column
    return values.astype(object).where(column.notna(), None).tolist()


def native_form(X: Any) -> Callable[[Any], Any] | None:
    """Return how records are converted back to the form that the user passed; None where they are in it."""
    if is_sparse(X):
        return plain_sparse
    if not is_foreign(X):
        return None
    frame = _narwhals(X, "the training set")
    return NativeTable(frame.implementation.value, dict(frame.schema))


def is_foreign(X: Any) -> bool:
    """Return whether an object is a data frame of another library than pandas."""
    return not isinstance(X, pd.DataFrame | pd.Series | np.ndarray) and (
        any(hasattr(X, name) for name in PROTOCOLS) and not isinstance(X, type)
    )


def as_pandas(X: Any, where: str) -> pd.DataFrame | pd.Series[Any]:
    """Convert a data frame or a column of another library: numbers with missing values become floats, text stays text."""
    frame = _narwhals(X, where)
    if hasattr(frame, "columns"):
        return pd.DataFrame({name: _column(frame[name]) for name in frame.columns})
    return _column(frame).rename(frame.name or None)


def _narwhals(X: Any, where: str) -> Any:
    try:
        import narwhals as nw
    except ImportError as error:
        raise InputError(
            f"{where} is a {type(X).__module__.split('.')[0]} {type(X).__name__}, which needs narwhals: "
            "pip install narwhals"
        ) from cause(error)
    try:
        try:
            frame = nw.from_native(X, allow_series=True)
        except TypeError:
            frame = nw.from_native(_other_protocol(X))
        return frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    except ImportError as error:
        raise InputError(
            f"{where} is a {type(X).__name__}, which needs {error.name}: pip install {error.name}"
        ) from cause(error)
    except Exception as error:
        raise InputError(
            f"{where} is a {type(X).__name__} that can't be read: {describe(error)}; pass a pandas DataFrame"
        ) from cause(error)


def _other_protocol(X: Any) -> Any:
    """Convert a table that narwhals does not know, by what it offers."""
    if hasattr(X, "to_pandas"):
        return X.to_pandas()
    import pyarrow

    if hasattr(X, "__arrow_c_stream__"):
        return pyarrow.table(X)
    from pyarrow.interchange import from_dataframe

    return from_dataframe(X)


def _column(column: Any) -> pd.Series[Any]:
    import narwhals as nw

    kind = column.dtype
    if isinstance(kind, nw.Enum):  # other categories differ from table to table: they become text
        return pd.Series(pd.Categorical(column.to_list(), categories=list(kind.categories)))
    if kind.is_integer() or kind.is_float() or kind == nw.Boolean:
        if not column.is_null().any():
            return pd.Series(np.array(column.to_numpy()))
        return pd.Series(column.to_list(), dtype="boolean" if kind == nw.Boolean else np.float64)
    if kind.is_decimal():
        return pd.Series(column.cast(nw.Float64).to_list(), dtype=np.float64)
    values = pd.Series(column.to_list())
    return pd.to_datetime(values) if kind.is_temporal() and kind in (nw.Date, nw.Datetime) else values


# --- torch data sets --------------------------------------------------------------------------------------------------


def is_torch_data(data: Any) -> bool:
    """Return whether an object is a torch `Dataset` or `DataLoader`, without importing torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(data, torch.utils.data.Dataset | torch.utils.data.DataLoader)


def read_dataset(data: Any, where: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Read a map-style torch data set of pairs (x, y) once, in its order; a loader is read through its data set.

    A loader that draws a subset, such as one with a `SubsetRandomSampler`, stands for that subset.
    """
    import torch.utils.data as torch_data

    rows: Any = None
    collate: Callable[[Any], Any] | None = None
    if isinstance(data, torch_data.DataLoader):
        rows = None if isinstance(data.dataset, torch_data.IterableDataset) else _rows_of(data, where)
        collate = None if data.batch_size is None else data.collate_fn
        data = data.dataset
    if isinstance(data, torch_data.IterableDataset) or not hasattr(data, "__len__"):
        raise InputError(
            f"{where} is a torch data set without a length: pass one with __len__ and __getitem__, or arrays (X, y)"
        )
    if rows is None:
        rows = range(len(data))
    if not len(rows):
        raise InputError(f"{where} is empty: pass members in train= and non-members in holdout=")
    # A generator of its own: the order is fixed, and torch's random state stays as it is.
    batches = torch_data.DataLoader(
        torch_data.Subset(data, rows), BATCH, collate_fn=collate, generator=torch_data.dataloader.torch.Generator()
    )
    sides: tuple[list[NDArray[Any]], list[NDArray[Any]]] = ([], [])
    for batch in batches:
        if not isinstance(batch, tuple | list) or len(batch) != 2 or any(isinstance(p, tuple | dict) for p in batch):
            raise InputError(f"the items of {where} are not pairs (x, y): pass a data set whose items have one x and y")
        for side, part in zip(sides, batch, strict=True):
            side.append(np.asarray(part.detach().cpu() if hasattr(part, "detach") else part))
    X, y = (np.concatenate(side) for side in sides)
    return X, y


def _rows_of(loader: Any, where: str) -> Any:
    """Return the positions of the records that a loader gives, in the order of the data set."""
    import torch.utils.data as torch_data

    sampler, count = loader.sampler, len(loader.dataset)
    if type(loader.batch_sampler) in (torch_data.BatchSampler, type(None)):
        if isinstance(sampler, torch_data.SequentialSampler):
            return range(count // loader.batch_size * loader.batch_size if loader.drop_last else count)
        if isinstance(sampler, torch_data.RandomSampler) and not sampler.replacement and sampler.num_samples == count:
            return range(count)
        if isinstance(sampler, torch_data.SubsetRandomSampler):
            return sorted(int(row) for row in sampler.indices)
    raise InputError(
        f"{where} is a loader with a {type(sampler).__name__}, which may repeat or leave out records: pass the data set, or "
        "torch.utils.data.Subset of it"
    )
