"""`Model`: a function from records to probabilities or values, and the checks of its outputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leakscope.core.errors import InputError
from leakscope.core.failures import cause
from leakscope.data.records import row_name

Task = Literal["classification", "regression"]
Outputs = Literal["logits", "probabilities", "log-probabilities"]


@dataclass(frozen=True, eq=False)
class Model:
    """A fitted model as a function from records to probabilities or values.

    Parameters
    ----------
    name
        Name of the model in reports.
    task
        ``"classification"`` or ``"regression"``.
    classes
        Labels in the order of the columns of ``predict``; None for regression.
    gives_probabilities
        False if the model returns labels only; ``predict`` is then 1 for the label and 0 otherwise.
    predict
        Function from records to float64: (n, k) probabilities for classification, (n,) values for regression.
    block
        Maximum number of records per call, for slow models; None for no limit.

    Examples
    --------
    >>> coin = Model("coin", "classification", np.array(["no", "yes"]), True, lambda X: np.full((len(X), 2), 0.5))
    >>> coin.predict(np.zeros((1, 3)))
    array([[0.5, 0.5]])
    """

    name: str
    task: Task
    classes: NDArray[Any] | None
    gives_probabilities: bool
    predict: Callable[[Any], NDArray[np.float64]] = field(repr=False)
    block: int | None = None


def label_codes(classes: NDArray[Any], y: NDArray[Any], where: str) -> NDArray[np.int64]:
    """Return the position of each label in ``classes``; True and 1 are equal."""
    codes = np.asarray(pd.Index(_numbers(classes)).get_indexer(pd.Index(_numbers(y))), dtype=np.int64)
    if (unknown := codes < 0).any():
        text = [np.asarray(labels).dtype.kind in "OUST" for labels in (y, classes)]
        hint = ""
        if text[0] != text[1]:
            kinds = [("numbers", "text")[is_text] for is_text in text]
            hint = f" (these labels are {kinds[0]} and the model's are {kinds[1]}: convert them)"
        raise InputError(
            f"{where} has labels unknown to the model, in {int(unknown.sum())} of {len(y)} records, the first in "
            f"{row_name(int(unknown.argmax()))}; the model has {len(classes)} classes{hint}"
        )
    return codes


def _numbers(labels: NDArray[Any]) -> NDArray[Any]:
    return labels.astype(np.int64) if labels.dtype == bool else labels


# --- outputs ----------------------------------------------------------------------------------------------------------


def check_values(raw: NDArray[Any], records: int, name: str) -> NDArray[np.float64]:
    """Check regression outputs and return them as float64 of shape (n,)."""
    values = check_rows(raw, records, name)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise InputError(f"{name} predicts {values.shape[1:]} values per record: pass a model with one output")
    if not np.isfinite(values).all():
        raise InputError(f"{name} predicts {int((~np.isfinite(values)).sum())} non-finite values: check the model")
    return values


def check_probabilities(raw: NDArray[Any], records: int, classes: int, name: str) -> NDArray[np.float64]:
    """Check probabilities and return them as float64 of shape (n, classes) with rows that sum to 1.

    One column is the probability of the second of two classes, or of the only class that a retrained model saw.
    """
    columns = check_rows(raw, records, name)
    columns = columns[:, None] if columns.ndim == 1 else columns
    if columns.ndim == 2 and columns.shape[1] == 1 and classes != 1:
        columns = np.hstack([1 - columns, columns])
    if columns.ndim != 2 or columns.shape[1] != classes:
        raise InputError(
            f"{name} returns outputs of shape {columns.shape} for {classes} classes: return a column for each"
        )
    with np.errstate(invalid="ignore"):
        sums = columns.sum(axis=1)
    inside = columns.size == 0 or (columns.min() >= -1e-6 and columns.max() <= 1 + 1e-6)
    if not (np.isfinite(sums).all() and inside and (np.abs(sums - 1) <= 1e-3).all()):
        raise InputError(
            f"the outputs of {name} are not probabilities: they range from {columns.min():.3g} to {columns.max():.3g} "
            f"and row sums range from {sums.min():.3g} to {sums.max():.3g}; apply a softmax or pass "
            'outputs="logits", outputs="log-probabilities" or task="regression" (--outputs, --task)'
        )
    columns = np.clip(columns, 0.0, 1.0)
    sums = columns.sum(axis=1, keepdims=True)
    return columns / sums if np.abs(sums - 1).max(initial=0.0) > 1e-12 else columns


def check_rows(raw: NDArray[Any], records: int, name: str) -> NDArray[np.float64]:
    """Check outputs and return them as float64 with one row per record."""
    try:
        values = np.asarray(raw, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} returns outputs that are not numbers: return one array of numbers") from cause(error)
    if values.ndim == 0 or len(values) != records:
        raise InputError(f"{name} returns outputs of shape {values.shape} for {records} records: return a row for each")
    return values


def to_probabilities(raw: NDArray[np.float64], outputs: Outputs) -> NDArray[np.float64]:
    """Apply softmax or exponential to the columns; one column of logits is paired with a column of zeros."""
    if outputs == "probabilities":
        return raw
    with np.errstate(
        invalid="ignore", over="ignore"
    ):  # values that are not finite are refused later, with the name of the model
        if outputs == "log-probabilities":
            return np.exp(raw)
        logits = raw.reshape(len(raw), -1)
        if logits.shape[1] == 1:  # 1 - p would be inexact in one tail
            logits = np.hstack([np.zeros_like(logits), logits])
        powers: NDArray[np.float64] = np.exp(logits - logits.max(axis=1, keepdims=True))
        powers /= powers.sum(axis=1, keepdims=True)
        return powers


@dataclass(frozen=True)
class Aligned:
    """Outputs of a model that was trained on some of the classes: the others have probability 0."""

    predict: Callable[[Any], NDArray[np.float64]]
    columns: NDArray[np.int64]
    classes: int

    def __call__(self, X: Any) -> NDArray[np.float64]:
        aligned = np.zeros((len(X), self.classes))
        aligned[:, self.columns] = self.predict(X)
        return aligned


def align(model: Model, classes: NDArray[Any] | None) -> Model:
    """Return the model with its columns in the order of ``classes``."""
    if classes is None or model.classes is None:
        return model
    columns = label_codes(classes, model.classes, "the retrained model")
    if np.array_equal(columns, np.arange(len(classes))):
        return replace(model, classes=classes)
    return replace(model, classes=classes, predict=Aligned(model.predict, columns, len(classes)))
