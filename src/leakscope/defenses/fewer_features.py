r"""Fewer features: train the model only on the columns with the most information about the label.

Leakage grows with the number of features [farokhi2020, section 6, Figure 4]. In each training, column j is ranked by its
mutual information with the label,

.. math:: \hat I_j = \sum_{a, b} \hat p_j(a, b) \log\frac{\hat p_j(a, b)}{\hat p_j(a)\,\hat p(b)}
          \;-\; \text{the same with the labels shuffled,}

the first k are kept, and each other column is replaced by one constant of that training set, so that any model and pipeline
works unchanged. Numbers, as columns and as labels of a regression, are binned into at most 16 ranges with about equal numbers of
records; a missing value is a separate value. The information about shuffled labels corrects for columns with many values:
without it, a column with a different value for each record would rank first.

The paper varies the number of principal components (`leakscope.defenses.Components`); the choice among columns is ours. It
depends on the training records, so that it is part of what the model reveals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leakscope.core.arrays import Floats
from leakscope.defenses.defense import Allowed, Defended, Tunable, make_learner
from leakscope.defenses.retraining import NO_LEARNER, NOTHING_PROVEN, learner_of
from leakscope.models.model import Model
from leakscope.models.target import Target, TrainingRecipe

RANGES = 16
SIZES = "a share between 0 and 1, or a whole number from 1"


def is_size(value: Any) -> bool:
    """Whether the value is a share between 0 and 1, or a whole number from 1."""
    return bool(0 < value < 1 or (value >= 1 and value == int(value)))


@dataclass(frozen=True)
class FewerFeatures(Tunable):
    """Keep the columns with the most information about the label, and set all others to constants.

    Parameters
    ----------
    features
        Number of columns: a share below 1 (0.5 is half of them, rounded, at least one), or a whole number from 1.

    Examples
    --------
    >>> FewerFeatures([0.25, 3]).settings
    (0.25, 3)
    """

    features: Any = (0.5, 0.25)

    name: ClassVar[str] = "fewer-features"
    setting_name: ClassVar[str] = "features"
    what: ClassVar[str] = "the model is trained only on the columns with the most information about the label"
    source: ClassVar[str] = "farokhi2020, section 6 (Figure 4)"
    allowed = Allowed("the number of features", is_size, SIZES)

    def refuse(self, target: Target) -> str | None:
        """Refuse targets that cannot be retrained, or that have too few columns."""
        if target.learner is None:
            return NO_LEARNER
        width = _width(target.members.X)
        if width < 2:
            return "it has one column only, so that none can be removed"
        if (most := max(self.settings)) > width:
            return f"its records have {width} columns, fewer than the {most:g} to keep"
        return None

    def defend(self, target: Target, setting: Any) -> Defended:
        """Train on the columns that each training set selects."""
        learner = learner_of(self, target)
        fit = partial(_fit, learner, float(setting), target.model.task == "classification")
        return Defended(make_learner(learner.name, fit), notes=(NOTHING_PROVEN,))


def read_size(setting: float, width: int) -> int:
    """Return the number of columns of a setting: a share, rounded and at least one, or a number, at most all.

    Examples
    --------
    >>> read_size(0.25, 14), read_size(3, 14), read_size(0.01, 14)
    (4, 3, 1)
    """
    return min(width, max(1, round(setting * width) if setting < 1 else int(setting)))


def _fit(
    learner: TrainingRecipe, setting: float, classification: bool, X: Any, y: NDArray[Any], rng: np.random.Generator
) -> Model:
    told = information(X, y, classification, rng)
    keep = np.argsort(-told, kind="stable")[: read_size(setting, len(told))]
    return fit_blanked(learner, keep.tolist(), X, y, rng)


# --- blanking ---------------------------------------------------------------------------------------------------------


def fit_blanked(
    learner: TrainingRecipe, keep: Sequence[int], X: Any, y: NDArray[Any], rng: np.random.Generator
) -> Model:
    """Train on some columns, and blank the others in the records that the model is asked about too."""
    blanking = blank_columns(X, keep)
    model = learner.fit(blanking(X), y, rng)
    return replace(model, predict=Blanked(model.predict, blanking))


@dataclass(frozen=True, eq=False)
class Blanking:
    """Sets columns to constants: ``blanking(X)`` is a copy of X with the types of the training records.

    Parameters
    ----------
    columns
        Positions of the columns to blank; in an array of more than two dimensions, positions within the flat record.
    constants
        One value for each: a DataFrame of one row, or an array.
    """

    columns: tuple[int, ...]
    constants: Any

    def __call__(self, X: Any) -> Any:
        if isinstance(X, pd.DataFrame):
            blanked = X.copy()
            rows = np.zeros(len(X), dtype=np.intp)
            for place, column in enumerate(self.columns):
                blanked[X.columns[column]] = self.constants.iloc[rows, place].set_axis(X.index)
            return blanked
        table = np.array(X, dtype=np.result_type(X, self.constants) if self.columns else None)
        table.reshape(len(table), -1)[:, list(self.columns)] = self.constants
        return table


@dataclass(frozen=True, eq=False)
class Blanked:
    """Outputs of a model for records whose columns are set to constants first."""

    predict: Callable[[Any], Floats]
    blanking: Blanking

    def __call__(self, X: Any) -> Floats:
        return self.predict(self.blanking(X))


def blank_columns(X: Any, keep: Sequence[int]) -> Blanking:
    """Set all columns but some to constants: the most frequent value or, for numbers, the lower median.

    Both values occur in the data, so that types do not change; missing values are ignored.

    Parameters
    ----------
    X
        Training records, from which the constants are computed; they are not changed.
    keep
        Positions of the columns to keep.

    Examples
    --------
    >>> people = pd.DataFrame({"age": [30, 41, 50, 70], "job": ["cook", "judge", "cook", None]})
    >>> blank_columns(people, keep=[])(people).to_numpy()[1].tolist()
    [41, 'cook']
    >>> blank_columns(np.array([[1, 2], [3, 4]]), keep=[1])(np.array([[5, 6]]))
    array([[1, 6]])
    """
    columns = tuple(column for column in range(_width(X)) if column not in set(keep))
    if isinstance(X, pd.DataFrame):
        rows = pd.DataFrame({place: _constant(X.iloc[:, column]) for place, column in enumerate(columns)}, index=[0])
        return Blanking(columns, rows)
    flat = np.asarray(X).reshape(len(X), -1)
    found = [_constant(pd.Series(flat[:, column])).iloc[0] for column in columns]
    return Blanking(columns, np.array(found, dtype=flat.dtype))


def _constant(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return the constant of a column as a series of one value and the same type."""
    known = column.dropna()
    if known.empty:
        return column.iloc[:1].reset_index(drop=True)
    if _holds_numbers(column):
        middle = (len(known) - 1) // 2
        return known.iloc[[int(np.argpartition(known.to_numpy(), middle)[middle])]].reset_index(drop=True)
    codes, _ = pd.factorize(known)
    return known.iloc[[int(np.argmax(codes == np.bincount(codes).argmax()))]].reset_index(drop=True)


def _holds_numbers(column: pd.Series[Any]) -> bool:
    return pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype)


def _width(X: Any) -> int:
    return int(np.prod(X.shape[1:])) if X.ndim > 1 else 1


# --- information about the label --------------------------------------------------------------------------------------


def information(X: Any, y: NDArray[Any], classification: bool, rng: np.random.Generator) -> Floats:
    """Return each column's mutual information with the label in nats, minus that with shuffled labels.

    Examples
    --------
    >>> X, y = np.array([[0, 5], [0, 5], [1, 5], [1, 5]] * 50), np.array([0, 0, 1, 1] * 50)
    >>> information(X, y, True, np.random.default_rng(0)).round(1)
    array([0.7, 0. ])
    """
    labels = np.unique(y, return_inverse=True)[1] if classification else _ranges(np.asarray(y, dtype=np.float64))
    shuffled = rng.permutation(labels)
    table = X if isinstance(X, pd.DataFrame) else np.asarray(X).reshape(len(X), -1)
    told = np.zeros(_width(X))
    for column in range(len(told)):
        values = table.iloc[:, column] if isinstance(table, pd.DataFrame) else pd.Series(table[:, column])
        codes = _ranges(values.to_numpy(np.float64, na_value=np.nan)) if _holds_numbers(values) else _levels(values)
        told[column] = mutual_information(codes, labels) - mutual_information(codes, shuffled)
    return told


def mutual_information(first: NDArray[np.intp], second: NDArray[np.intp]) -> float:
    """Return the mutual information in nats of the empirical distribution of two columns of codes."""
    width = int(second.max()) + 1
    together = np.bincount(first * width + second).astype(np.float64) / len(first)
    together.resize((int(first.max()) + 1, width), refcheck=False)
    product = together.sum(axis=1)[:, None] * together.sum(axis=0)
    seen = together > 0
    return float(np.sum(together[seen] * np.log(together[seen] / product[seen])))


def _ranges(values: Floats) -> NDArray[np.intp]:
    """Return codes of ranges with about equal numbers of records; missing values have the last code."""
    known = values[~np.isnan(values)]
    cuts = np.unique(np.quantile(known, np.arange(1, RANGES) / RANGES, method="lower")) if known.size else known
    return np.where(np.isnan(values), len(cuts) + 1, np.searchsorted(cuts, values, side="left"))


def _levels(values: pd.Series[Any]) -> NDArray[np.intp]:
    codes, _ = pd.factorize(values, use_na_sentinel=False)
    return codes
