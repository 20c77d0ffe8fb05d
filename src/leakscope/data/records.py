"""`Records`: features, labels, ids and groups of one data set, and the functions that read them from user input."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import vstack

from leakscope.core.errors import InputError
from leakscope.core.failures import cause
from leakscope.core.result import Caveat
from leakscope.data.bins import Bins, bin_columns, did_you_mean
from leakscope.data.containers import (
    as_pandas,
    as_sparse,
    is_foreign,
    is_sparse,
    is_torch_data,
    plain_sparse,
    read_dataset,
)

#: Names of the two data sets in messages.
SETS = TRAIN, HOLDOUT = "the training set", "the holdout"
MISSING, EMPTY = "(missing)", "(empty)"


@dataclass(frozen=True, eq=False)
class Records:
    """A set of records: row i of every field belongs to the same record.

    Parameters
    ----------
    X
        Features: a DataFrame, a sparse matrix, or an array whose first axis is the records.
    y
        Labels: int64 positions in the model's classes, or float64 values for regression.
    ids
        Unique id of each record.
    groups
        Level of each record as text, by column name; a missing level is ``"(missing)"``.
    places
        Position in `SETS` and row number of each record in the user's table, for messages; or None.
    weights
        Sample weight of each record in training, or None.

    Examples
    --------
    >>> people = Records(X=np.eye(3), y=np.array([0, 1, 0]), ids=np.array(["ann", "ben", "cem"]))
    >>> len(people), people.take([2, 0]).ids.tolist()
    (3, ['cem', 'ann'])
    """

    X: Any
    y: NDArray[Any]
    ids: NDArray[Any]
    groups: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    places: NDArray[np.intp] | None = None
    weights: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        # Values of records must not appear in logs and tracebacks.
        return f"<{len(self)} records>"

    def take(self, indices: Any) -> Records:
        """Return copies of the records at these positions, in this order, or of those that a mask selects."""
        rows = np.asarray(indices)
        rows = np.flatnonzero(rows) if rows.dtype == bool else rows.astype(np.intp)
        levels = {name: column[rows] for name, column in self.groups.items()}
        places = None if self.places is None else self.places[rows]
        weights = None if self.weights is None else self.weights[rows]
        return Records(take_rows(self.X, rows), self.y[rows], self.ids[rows], levels, places, weights)


def number_rows(count: int, where: str) -> NDArray[np.intp]:
    """Return the places of all records of one of the two `SETS`."""
    return np.column_stack([np.full(count, SETS.index(where), np.intp), np.arange(count, dtype=np.intp)])


def join_records(first: Records, second: Records) -> Records:
    """Concatenate features, labels and weights of two sets; ids become positions, and groups are dropped.

    Examples
    --------
    >>> side = Records(np.zeros((2, 1)), np.zeros(2), np.arange(2))
    >>> len(join_records(side, side))
    4
    """
    X = stack_rows(first.X, second.X)
    places, weights = _joined(first.places, second.places), _joined(first.weights, second.weights)
    return Records(X, np.concatenate([first.y, second.y]), np.arange(len(X)), places=places, weights=weights)


def _joined(first: NDArray[Any] | None, second: NDArray[Any] | None) -> NDArray[Any] | None:
    return None if first is None or second is None else np.concatenate([first, second])


def stack_rows(first: Any, second: Any) -> Any:
    """Return the features of two sets of one type, one below the other.

    Examples
    --------
    >>> stack_rows(np.zeros((1, 2)), np.ones((1, 2))).tolist()
    [[0.0, 0.0], [1.0, 1.0]]
    """
    if isinstance(first, pd.DataFrame):
        return pd.concat([first, second], ignore_index=True)
    if is_sparse(first):
        return as_sparse(vstack([plain_sparse(first), plain_sparse(second)], format="csr"), "the records")
    return np.concatenate([first, second])


def take_rows(X: Any, rows: Any) -> Any:
    """Return rows of a DataFrame, Series, sparse matrix or array, always as a writable copy."""
    named = isinstance(X, pd.DataFrame | pd.Series)
    if isinstance(rows, slice):
        return X.iloc[rows].copy() if named else X[rows].copy() if is_sparse(X) else np.array(X[rows])
    # Indexing by positions and masks copies.
    if named:
        return X.iloc[rows]
    rows = np.asarray(rows)
    if is_sparse(X):
        return X[rows]
    return np.asarray(np.take(X, rows, axis=0) if rows.dtype.kind in "iu" else X[rows])


def list_names(names: Any, most: int = 5) -> str:
    """List the first few names and the number of the others; cut long names."""
    names = list(names)
    shown = [text if len(text) <= 60 else text[:59] + "…" for text in (repr(plain(name)) for name in names[:most])]
    return ", ".join(shown) + (f" and {len(names) - most} more" if len(names) > most else "")


def row_name(row: int, table: str = "") -> str:
    """Name a record in a message by its position in its file or table, never by its id or values.

    Examples
    --------
    >>> row_name(0)
    'row 0 (counted from 0)'
    """
    return f"row {row}{table} (counted from 0)"


def plain(value: Any) -> Any:
    """Convert a NumPy scalar to a Python scalar, which prints as the user wrote it."""
    return value.item() if isinstance(value, np.generic) else value


def as_array(values: Any) -> NDArray[Any]:
    """Convert anything array-like, including torch tensors and columns of other libraries, to an array."""
    if is_foreign(values):
        return as_pandas(values, "a column").to_numpy()
    return np.asarray(values.detach().cpu() if hasattr(values, "detach") else values)


def as_matrix(X: Any) -> NDArray[Any]:
    """Convert a table to an array; columns of different numeric types become floats, not objects."""
    if not isinstance(X, pd.DataFrame):
        return np.asarray(X)
    table = X.to_numpy()
    if table.dtype == object and all(pd.api.types.is_numeric_dtype(dtype) for dtype in X.dtypes):
        return X.to_numpy(dtype=np.float64, na_value=np.nan)
    return table


@dataclass(frozen=True)
class BadValues:
    """Missing or infinite values: the rows and columns that contain them, and the first row per column."""

    kind: str
    rows: NDArray[np.bool_]
    columns: list[Any]
    first: list[int]


def bad_values(X: Any) -> list[BadValues]:
    """Find infinite, missing, and infinite or missing values; return each kind that occurs."""
    found = [_find("infinite", X, _infinite), _find("missing", X, pd.isna)]
    if all(values.columns for values in found):
        rows, columns = found[0].rows | found[1].rows, list(dict.fromkeys(found[0].columns + found[1].columns))
        found.append(BadValues("missing or infinite", rows, columns, []))
    return [values for values in found if values.columns]


def _infinite(table: NDArray[Any]) -> NDArray[np.bool_]:
    return np.isinf(table) if table.dtype.kind == "f" else np.zeros(table.shape, dtype=bool)


def _find(kind: str, X: Any, is_bad: Callable[[Any], Any]) -> BadValues:
    found = BadValues(kind, np.zeros(len(X), dtype=bool), [], [])
    if is_sparse(X):
        cells = X.tocoo()
        bad = is_bad(cells.data)
        found.rows[cells.row[bad]] = True
        columns, first = np.unique(cells.col[bad], return_index=True)  # the cells are in the order of the rows
        found.columns.extend(columns.tolist())
        found.first.extend(cells.row[bad][first].tolist())
        return found
    for names, table in _tables(X):
        if table.dtype.kind in "biu" or not table.size:
            continue
        first = np.full(table.shape[1], -1)
        step = max(1, 2**20 // table.shape[1])
        for start in range(0, len(table), step):
            bad = is_bad(table[start : start + step])
            found.rows[start : start + step] |= bad.any(axis=1)
            new = bad.any(axis=0) & (first < 0)
            first[new] = start + bad[:, new].argmax(axis=0)
        found.columns.extend(name for name, row in zip(names, first, strict=True) if row >= 0)
        found.first.extend(first[first >= 0].tolist())
    return found


def _tables(X: Any) -> Iterator[tuple[list[Any], NDArray[Any]]]:
    """Yield column names and a matrix: all columns at once if they have one type, otherwise one by one."""
    if not isinstance(X, pd.DataFrame):
        flat = X.reshape(len(X), -1)
        yield list(range(flat.shape[1])), flat
    elif len(set(X.dtypes)) == 1:
        yield list(X.columns), X.to_numpy()
    else:
        for number, name in enumerate(X.columns):
            column = X.iloc[:, number]
            # Nullable and text columns become objects, in which pandas still finds missing values.
            yield [name], column.to_numpy().reshape(-1, 1)


def read_features(X: Any, where: str) -> Any:
    """Return features as a DataFrame, a sparse matrix, or an array whose first axis is the records.

    A pandas data frame is returned unchanged, and data frames of other libraries become one (`containers`).
    """
    X = as_pandas(X, f"the table of {where}") if is_foreign(X) else X
    if isinstance(X, pd.DataFrame):
        twice = X.columns[X.columns.duplicated()].unique()
        if len(twice):
            raise InputError(f"{where} has more than one column named {list_names(twice)}: rename the duplicates")
        return X
    if is_sparse(X):
        return as_sparse(X, where)
    if isinstance(X, list | tuple) and X and isinstance(X[0], str):
        return np.array(X, dtype=object)  # texts of any length
    try:
        table = as_array(X)
    except ValueError as error:
        raise InputError(f"the features of {where} are not a table: use equal columns") from cause(error)
    if table.ndim == 0:
        raise InputError(f"the features of {where} are not a table: pass a DataFrame or an array with a row per record")
    return table


def read_labels(y: Any, where: str) -> NDArray[Any]:
    """Return one label per record, with the values that the user gave."""
    labels = as_array(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise InputError(
            f"{where} has labels of shape {labels.shape}: pass one label per record (for one-hot labels, "
            "y.argmax(axis=1)); models with several outputs are not supported"
        )
    if missing := int(pd.isna(labels).sum()):
        raise InputError(f"{where} has {missing} missing labels: drop these records or label them")
    if labels.dtype.kind == "f" and (infinite := int(np.isinf(labels).sum())):
        raise InputError(f"{where} has {infinite} infinite labels: drop these records or correct them")
    if labels.dtype == object:
        kinds = sorted({type(label).__name__ for label in labels})
        if len(kinds) > 1:
            raise InputError(f"the labels of {where} mix {' and '.join(kinds)}: convert them to one type")
        labels = pd.Series(labels, dtype=object).infer_objects().to_numpy()
    return labels


def read_pair(pair: Any, where: str) -> tuple[Any, NDArray[Any], list[Caveat]]:
    """Read features and labels of one set, also from a torch data set; return them with warnings about their row names."""
    if is_torch_data(pair):
        pair = read_dataset(pair, where)
    if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
        raise InputError(f"{where} must be a pair (X, y) of features and labels")
    X, y = read_features(pair[0], where), read_labels(pair[1], where)
    if len(X) != len(y):
        raise InputError(f"{where} has {len(X)} records but {len(y)} labels: give one label per record")
    if len(y) == 0:
        raise InputError(f"{where} is empty: pass members in train= and non-members in holdout=")
    index = getattr(pair[1], "index", None)
    if isinstance(X, pd.DataFrame) and isinstance(index, pd.Index) and not X.index.equals(index):
        return X, y, [Caveat("paired_by_position", {"where": where})]
    return X, y, []


def same_columns(X: Any, other: Any) -> Any:
    """Return the holdout with its columns in the order of the training set; refuse different columns."""
    if isinstance(X, pd.DataFrame) != isinstance(other, pd.DataFrame):
        raise InputError("one of train= and holdout= is a DataFrame, the other is not: pass both as the same type")
    if is_sparse(X) != is_sparse(other):
        raise InputError("one of train= and holdout= is sparse, the other is not: pass both as the same type")
    if not isinstance(X, pd.DataFrame):
        if X.shape[1:] != other.shape[1:]:
            raise InputError(
                f"the training set has records of shape {X.shape[1:]} and the holdout of shape {other.shape[1:]}: "
                "give both the same columns"
            )
        return other
    lacking = X.columns.difference(other.columns, sort=False)
    extra = other.columns.difference(X.columns, sort=False)
    if len(lacking) or len(extra):
        parts = [f"the holdout lacks {list_names(lacking)}"] if len(lacking) else []
        parts += [f"the training set lacks {list_names(extra)}"] if len(extra) else []
        raise InputError(f"train= and holdout= have different columns: {' and '.join(parts)}")
    return other if other.columns.equals(X.columns) else other[list(X.columns)]


def read_ids(ids: Any, X: Any, where: str) -> NDArray[Any]:
    """Return the given ids, or the row names of a DataFrame if they are unique, or positions."""
    if ids is None:
        if not isinstance(X, pd.DataFrame) or not X.index.is_unique:
            return np.arange(len(X))
        return np.asarray(X.index.map(str) if isinstance(X.index, pd.MultiIndex) else X.index)
    same_row_names(ids, X, f"ids for {where}")
    names = as_array(ids)
    if missing := int(pd.isna(names).sum()):
        raise InputError(f"ids for {where} are missing for {missing} records: give every record an id")
    if names.shape != (len(X),):
        raise InputError(f"ids for {where} have shape {names.shape}: give one id for each of its {len(X)} records")
    index = pd.Index(names)
    if not index.is_unique:
        again = index.duplicated()
        second = int(again.argmax())
        first = int((index == index[second]).argmax())
        raise InputError(
            f"ids for {where} are not unique: {int(again.sum())} of {len(X)} records repeat an id, the first in rows {first} "
            f"and {second} (counted from 0); give every record its own id"
        )
    return names


def read_weights(sample_weight: Any, X: Any, other: Any) -> tuple[Any, Any, tuple[NDArray[np.float64], ...] | None]:
    """Return the features of both sets and their sample weights; a weight column is no longer among the features.

    ``sample_weight`` is None, the name of a column of both sets, or a pair (training weights, holdout weights).
    """
    if sample_weight is None:
        return X, other, None
    if isinstance(sample_weight, str):
        if not isinstance(X, pd.DataFrame) or sample_weight not in X.columns:
            near = did_you_mean(sample_weight, X.columns if isinstance(X, pd.DataFrame) else ())
            raise InputError(f"the training set has no weight column {sample_weight!r}{near or ': name a column of X'}")
        given = X[sample_weight], other[sample_weight]
        X, other = X.drop(columns=sample_weight), other.drop(columns=sample_weight)
    elif isinstance(sample_weight, tuple | list) and len(sample_weight) == 2 and np.ndim(sample_weight[0]) == 1:
        given = sample_weight[0], sample_weight[1]
    else:
        raise InputError(
            "sample_weight= lacks the weights of the holdout, on which reference models are trained too: pass a pair "
            "sample_weight=(train_weights, holdout_weights), or the name of a column"
        )
    return X, other, tuple(_weights(*one) for one in zip(given, (X, other), SETS, strict=True))


def _weights(given: Any, X: Any, where: str) -> NDArray[np.float64]:
    same_row_names(given, X, f"weights of {where}")
    try:
        weights = pd.Series(as_array(given)).to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise InputError(f"the weights of {where} are not numbers: pass one number per record") from cause(error)
    if len(weights) != len(X):
        raise InputError(f"{where} has {len(X)} records but {len(weights)} weights: pass one weight per record")
    for bad, what in ((~np.isfinite(weights), "missing or infinite"), (weights < 0, "negative")):
        if bad.any():
            raise InputError(
                f"the weights of {where} are {what} in {int(bad.sum())} of {len(weights)} records, the first in "
                f"{row_name(int(bad.argmax()))}: weights must be numbers of at least 0"
            )
    if not weights.any():
        raise InputError(f"the weights of {where} are all zero: pass the weights that the model was trained with")
    return weights


def same_row_names(values: Any, X: Any, what: str) -> None:
    """Refuse a Series or DataFrame whose row names differ from those of X, since pairing by position could be wrong."""
    named = isinstance(values, pd.Series | pd.DataFrame) and isinstance(X, pd.DataFrame) and len(values) == len(X)
    if named and not values.index.equals(X.index):
        raise InputError(f"{what} have row names that differ from those of X: reorder them like X, or pass an array")


def read_groups(
    groups: Any, X: Any, other: Any, bins: Bins | None = None
) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
    """Read the levels of each group column, for the training set and for the holdout.

    ``groups`` is None, column names, a Series or DataFrame whose columns are in the holdout too, or a pair
    (training groups, holdout groups). Numeric columns with many values are binned (`bins.bin_columns`).
    """
    train, holdout = _group_tables(groups, X, other)
    for table, count, where in ((train, len(X), TRAIN), (holdout, len(other), HOLDOUT)):
        if groups is not None and len(table) != count:
            raise InputError(
                f"groups of {where} have {len(table)} rows, but it has {count} records: pass one per record"
            )
    train, holdout = bin_columns(train, holdout, bins)
    return _levels(train), _levels(holdout)


def _group_tables(groups: Any, X: Any, other: Any) -> tuple[pd.DataFrame, pd.DataFrame]:
    if groups is None:
        return pd.DataFrame(), pd.DataFrame()
    if is_foreign(groups):
        groups = as_pandas(groups, "groups")
    if isinstance(groups, str):
        groups = [groups]
    if isinstance(groups, list | tuple) and all(isinstance(name, str) for name in groups):
        groups = list(dict.fromkeys(groups))
        return _columns(X, groups), _holdout_table(other, groups)
    if isinstance(groups, list | tuple) and len(groups) == 2:
        same_row_names(groups[0], X, "groups of the training set")
        same_row_names(groups[1], other, "groups of the holdout")
        train, holdout = _frame(groups[0]), _frame(groups[1])
        if train.shape[1] == holdout.shape[1] == 1:
            holdout.columns = train.columns
        if list(train.columns) != list(holdout.columns):
            raise InputError(f"groups of the holdout must have the columns of the training set: {list_names(train)}")
        return train, holdout
    if not isinstance(groups, pd.Series | pd.DataFrame):
        raise InputError("groups= lacks the groups of the holdout: pass a pair groups=(train_groups, holdout_groups)")
    same_row_names(groups, X, "groups of the training set")
    train = _frame(groups)
    return train, _holdout_table(other, list(train.columns))


def _holdout_table(other: Any, names: Sequence[Any]) -> pd.DataFrame:
    if not isinstance(other, pd.DataFrame) or not set(names) <= set(other.columns):
        raise InputError(f"the holdout lacks columns {list_names(names)}: pass groups=(train_groups, holdout_groups)")
    return pd.DataFrame(other[list(names)])


def _columns(X: Any, names: Sequence[str]) -> pd.DataFrame:
    lacking = [name for name in names if not isinstance(X, pd.DataFrame) or name not in X.columns]
    if lacking:
        near = did_you_mean(lacking[0], X.columns if isinstance(X, pd.DataFrame) else ())
        raise InputError(f"the training set has no group column {list_names(lacking)}{near or ': name columns of X'}")
    return pd.DataFrame(X[list(names)])


def _frame(groups: Any) -> pd.DataFrame:
    """Convert groups to a DataFrame with named columns."""
    groups = as_pandas(groups, "groups") if is_foreign(groups) else groups
    if isinstance(groups, pd.DataFrame | Mapping):
        return pd.DataFrame(groups)
    if isinstance(groups, pd.Series):
        return groups.to_frame(name="group" if groups.name is None else groups.name)
    table = as_array(groups)
    if table.ndim not in (1, 2):
        raise InputError("groups= must be a Series, a DataFrame or an array with one level per record")
    names = ["group"] if table.ndim == 1 else [f"group {column + 1}" for column in range(table.shape[1])]
    return pd.DataFrame(table.reshape(len(table), -1), columns=names)


def _levels(table: pd.DataFrame) -> dict[str, NDArray[Any]]:
    levels = {}
    for name in table.columns:
        codes, values = pd.factorize(table[name])
        # Missing values have code -1, the last entry; records share str objects, which saves memory.
        levels[str(name)] = np.array([*map(level_name, values), MISSING], dtype=object)[codes]
    return levels


def level_name(value: Any) -> str:
    """Convert a level to text; 1 and 1.0 are equal, since a missing value turns an integer column into floats."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value) or EMPTY
