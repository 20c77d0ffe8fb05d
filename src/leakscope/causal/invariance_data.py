"""Records of several environments for `invariance`: checks, and columns classified as levels or numbers.

A column has levels if it holds texts, categories or booleans, or whole numbers of at most 20 different values.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leakscope.causal.conditional_tests import Integers
from leakscope.core.arrays import Floats
from leakscope.core.errors import InputError
from leakscope.data.records import bad_values, list_names, plain, read_features, read_labels, row_name

Column = int | str

FEWEST_RECORDS = 20  # in an environment
NUMBER_LEVELS = 20  # largest number of values of whole numbers that are levels
MOST_LEVELS = 50  # a column of more levels is refused as a candidate


@dataclass(frozen=True, eq=False)
class Data:
    """Checked records.

    Parameters
    ----------
    names
        Column names of a DataFrame, or column numbers of an array.
    values
        One array per column: float64 for numbers, codes from 0 for texts.
    levels
        Number of levels of each column, or None for numbers of many values.
    text
        Whether a column's levels are names without order, which get one coefficient each in a regression.
    label
        Codes of classes, or float64 values if ``classes`` is None.
    environment, environments
        Codes, and the name and number of records of each.
    """

    names: tuple[Column, ...]
    values: tuple[NDArray[Any], ...]
    levels: tuple[int | None, ...]
    text: tuple[bool, ...]
    label: NDArray[Any]
    classes: int | None
    environment: Integers
    environments: dict[Any, int]

    def codes(self, columns: Sequence[int]) -> Integers:
        """Return the codes of some columns of levels, (records, columns)."""
        parts = (np.unique(self.values[column], return_inverse=True)[1] for column in columns)
        return np.column_stack(list(parts)).astype(np.int64)


def read_data(X: Any, y: Any, environment: Any, *, numbers: bool = False) -> Data:
    """Check the records; ``numbers`` treats the label as a number even if it has few values.

    Examples
    --------
    >>> read_data(np.eye(3), [0, 1, 0], ["a", "a", "a"])
    Traceback (most recent call last):
    leakscope.core.errors.InputError: environment has one value only: pass at least two environments
    """
    table, names = _read_table(X)
    labels = read_labels(y, "the data")
    column = np.asarray(environment)
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if column.ndim != 1:
        raise InputError(f"environment has {column.ndim} dimensions: pass one environment per record")
    if not len(table) == len(labels) == len(column):
        raise InputError(
            f"the data has {len(table)} records, {len(labels)} labels and {len(column)} environments: pass one of each per record"
        )
    places, sites = _read_environments(pd.Series(column))
    read = [_read_column(table.iloc[:, number]) for number in range(len(names))]
    if constant := [name for name, (codes, _, _) in zip(names, read, strict=True) if (codes == codes[0]).all()]:
        raise InputError(f"{_column(constant)} the same in every record: drop it")
    label, classes, _ = _read_column(pd.Series(labels))
    if numbers or classes is None:
        if labels.dtype.kind not in "biuf":
            raise InputError("test='linear' needs numeric labels: use test='auto' for classes")
        label, classes = labels.astype(np.float64), None
    else:
        label = np.unique(label, return_inverse=True)[1].astype(np.int64)
    if (label == label[0]).all():
        raise InputError("y has the same label in every record: pass at least two different labels")
    data = Data(
        names, tuple(part[0] for part in read), tuple(part[1] for part in read), tuple(part[2] for part in read),
        label, classes, places, dict(zip(sites, np.bincount(places).tolist(), strict=True)),
    )  # fmt: skip
    _check_label(data, sites)
    _check_copies(data)
    return data


def _read_table(X: Any) -> tuple[pd.DataFrame, tuple[Column, ...]]:
    table = read_features(X, "the data")
    if not isinstance(table, pd.DataFrame):
        if table.ndim != 2:
            raise InputError(f"X has {table.ndim} dimensions: pass a table with one row per record")
        table = pd.DataFrame(table).infer_objects()
    if table.empty:
        raise InputError("X has no records or no columns: pass at least one of each")
    if bad := bad_values(table):
        where = f"column{'s' * (len(bad[-1].columns) > 1)} {list_names(bad[-1].columns)}"
        raise InputError(f"X has {bad[-1].kind} values in {where}: fill them, or drop these records")
    return table, tuple(plain(name) for name in table.columns)


def _column(names: Sequence[Any]) -> str:
    return f"column {list_names(names)} is" if len(names) == 1 else f"columns {list_names(names)} are"


def _read_environments(column: pd.Series[Any]) -> tuple[Integers, list[Any]]:
    """Return codes and names of the environments."""
    if missing := int(column.isna().sum()):
        raise InputError(f"environment is missing in {missing} records: drop or fill them")
    # Names of different types, such as 1 and 'x', are sorted as texts.
    codes, sites = pd.factorize(column.astype(str) if column.dtype == object else column, sort=True)
    names = [plain(site) for site in sites]
    if len(names) == 1:
        raise InputError("environment has one value only: pass at least two environments")
    sizes = np.bincount(codes)
    if sizes.min() < FEWEST_RECORDS:
        raise InputError(
            f"the smallest of {len(names)} environments has {sizes.min()} records, fewer than {FEWEST_RECORDS}: "
            "merge or drop small environments"
        )
    return codes.astype(np.int64), names


def _read_column(column: pd.Series[Any]) -> tuple[NDArray[Any], int | None, bool]:
    """Return codes of texts or values of numbers, the number of levels if few, and whether they are texts."""
    text = not pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype)
    if text:
        codes, names = pd.factorize(column.astype(str), sort=True)
        return codes.astype(np.int64), len(names), True
    values = column.to_numpy(dtype=np.float64)
    levels = len(np.unique(values)) if (values == np.floor(values)).all() else NUMBER_LEVELS + 1
    return values, levels if levels <= NUMBER_LEVELS else None, False


def _check_label(data: Data, sites: Sequence[Hashable]) -> None:
    """Raise an error for environments that are a function of the label, and environments of one class."""
    settled = "the label determines the environment: pass an environment that the label does not affect"
    if data.classes is None:
        order = np.argsort(data.label, kind="stable")
        if np.count_nonzero(np.diff(data.environment[order])) == len(sites) - 1:
            raise InputError(settled)
        return
    table = np.zeros((data.classes, len(sites)), np.int64)
    np.add.at(table, (data.label, data.environment), 1)
    if ((table > 0).sum(axis=1) == 1).all():
        raise InputError(settled)
    if (single := (table > 0).sum(axis=0) == 1).any():
        row = int(single[data.environment].argmax())
        raise InputError(
            f"the environment of {row_name(row)} has one class only: merge it with another, or drop its records"
        )


def _check_copies(data: Data) -> None:
    """Raise an error for columns that are copies of the environment or the label."""
    for column, (name, levels) in enumerate(zip(data.names, data.levels, strict=True)):
        if levels == len(data.environments) and _same_split(data.codes([column])[:, 0], data.environment):
            raise InputError(f"column {name!r} is a copy of the environment: remove it from the features")
        if data.classes is not None:
            same = levels == data.classes and _same_split(data.codes([column])[:, 0], data.label)
        else:
            same = bool(abs(np.corrcoef(data.values[column], data.label)[0, 1]) > 1 - 1e-12)
        if same:
            raise InputError(f"column {name!r} is a copy of the label: remove it from the features")


def _same_split(first: Integers, second: Integers) -> bool:
    """Whether two columns of as many codes split the records in the same way."""
    return len(np.unique(first * (int(second.max()) + 1) + second)) == int(first.max()) + 1


def check_levels(data: Data, chosen: Sequence[int]) -> None:
    """Raise an error for columns with too many levels."""
    for column in chosen:
        if (data.levels[column] or 0) > MOST_LEVELS:
            raise InputError(
                f"column {data.names[column]!r} has {data.levels[column]:,} levels: group them, or drop the column"
            )


def regressors(data: Data, chosen: Sequence[int], largest: int) -> list[Floats]:
    """Return the regressors of each chosen column: numbers unchanged, texts one per level but the first.

    Raises an error if an environment has fewer than two records per coefficient of the largest set.
    """
    blocks = []
    for column in chosen:
        values, levels = data.values[column], data.levels[column]
        if levels is not None and data.text[column]:
            blocks.append((values[:, None] == np.arange(1, levels)).astype(np.float64))
        else:
            blocks.append(values.astype(np.float64)[:, None])
    width = 1 + sum(sorted((block.shape[1] for block in blocks), reverse=True)[:largest])
    records = min(data.environments.values())
    if records < 2 * width:
        raise InputError(
            f"the smallest environment has {records} records for up to {width} coefficients: merge environments, group levels, or "
            "lower largest_set"
        )
    return blocks


def importances(data: Data, rows: int, seed: int) -> Floats:
    """Return the cross-fitted permutation importance of each column for boosted trees.

    The mean increase of the log-loss or the squared error of each column, over both halves.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    rng = np.random.default_rng(seed)
    picked = rng.permutation(len(data.label))[:rows]
    table = np.column_stack([values[picked] for values in data.values]).astype(np.float64)
    label = data.label[picked]
    halves = np.array_split(np.arange(len(picked)), 2)
    found = np.zeros(len(data.names))
    for train, judge in (halves, halves[::-1]):
        kind = HistGradientBoostingRegressor if data.classes is None else HistGradientBoostingClassifier
        model = kind(max_iter=25, learning_rate=0.2, early_stopping=False, random_state=0).fit(
            table[train], label[train]
        )
        before = _loss(model, table[judge], label[judge])
        for column in range(len(found)):
            shuffled = table[judge].copy()
            shuffled[:, column] = rng.permutation(shuffled[:, column])
            found[column] += (_loss(model, shuffled, label[judge]) - before) / 2
    return found


def _loss(model: Any, table: Floats, label: NDArray[Any]) -> float:
    if not hasattr(model, "classes_"):
        return float(np.mean((model.predict(table) - label) ** 2))
    known = np.flatnonzero(np.isin(label, model.classes_))  # a rare class may be missing from a half
    chance = model.predict_proba(table[known])[np.arange(len(known)), np.searchsorted(model.classes_, label[known])]
    return float(-np.log(np.maximum(chance, 1e-12)).mean())
