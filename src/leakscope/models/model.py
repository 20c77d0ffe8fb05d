"""Model: one function from records to probabilities or values, and the checks on what it gives back."""

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
    """A fitted model, seen from outside: records in, probabilities or values out.

    Parameters
    ----------
    name
        What the model is called in a report.
    task
        ``"classification"`` or ``"regression"``.
    classes
        Labels in the order of the columns of ``predict``; None for regression.
    gives_probabilities
        False if the model says labels only; ``predict`` is then 1 for the label and 0 elsewhere.
    predict
        Records to float64: (n, k) probabilities for classification, (n,) values for regression.
    block
        Records to ask about at a time at most, for a model that is slow to answer; None where it does not matter.

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
    """Position of each label in ``classes``; True and 1 are the same label."""
    codes = np.asarray(pd.Index(_numbers(classes)).get_indexer(pd.Index(_numbers(y))), dtype=np.int64)
    if (unknown := codes < 0).any():
        text = [np.asarray(labels).dtype.kind in "OUST" for labels in (y, classes)]
        hint = ""
        if text[0] != text[1]:
            kinds = [("numbers", "text")[is_text] for is_text in text]
            hint = f" (these labels are {kinds[0]} and the model's are {kinds[1]}: convert them)"
        raise InputError(
            f"{where} has labels that the model never saw, in {int(unknown.sum())} of {len(y)} records, the first in "
            f"{row_name(int(unknown.argmax()))}; the model knows {len(classes)} classes{hint}"
        )
    return codes


def _numbers(labels: NDArray[Any]) -> NDArray[Any]:
    return labels.astype(np.int64) if labels.dtype == bool else labels


# --- what a model gives back ------------------------------------------------------------------------------------------


def check_values(raw: NDArray[Any], records: int, name: str) -> NDArray[np.float64]:
    """Regression outputs as float64 of shape (n,), or an error."""
    values = check_rows(raw, records, name)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise InputError(
            f"{name} predicts {values.shape[1:]} values per record: models with several outputs can't be audited"
        )
    if not np.isfinite(values).all():
        raise InputError(
            f"{name} predicts {int((~np.isfinite(values)).sum())} values that are not finite: check the model"
        )
    return values


def check_probabilities(raw: NDArray[Any], records: int, classes: int, name: str) -> NDArray[np.float64]:
    """Probabilities as float64 of shape (n, classes) with rows that sum to 1, or an error.

    One column is the probability of the second of two classes, or of the only class that a retrained model saw.
    """
    columns = check_rows(raw, records, name)
    columns = columns[:, None] if columns.ndim == 1 else columns
    if columns.ndim == 2 and columns.shape[1] == 1 and classes != 1:
        columns = np.hstack([1 - columns, columns])
    if columns.ndim != 2 or columns.shape[1] != classes:
        raise InputError(
            f"{name} gives outputs of shape {columns.shape} for {classes} classes: it must give one column per class"
        )
    with np.errstate(invalid="ignore"):
        sums = columns.sum(axis=1)
    inside = columns.size == 0 or (columns.min() >= -1e-6 and columns.max() <= 1 + 1e-6)
    if not (np.isfinite(sums).all() and inside and (np.abs(sums - 1) <= 1e-3).all()):
        raise InputError(
            f"the outputs of {name} are not probabilities: they range from {columns.min():.3g} to {columns.max():.3g} "
            f"and row sums range from {sums.min():.3g} to {sums.max():.3g}; apply a softmax or say what they are with "
            'outputs="logits", outputs="log-probabilities" or task="regression" (--outputs, --task)'
        )
    columns = np.clip(columns, 0.0, 1.0)
    sums = columns.sum(axis=1, keepdims=True)
    return columns / sums if np.abs(sums - 1).max(initial=0.0) > 1e-12 else columns


def check_rows(raw: NDArray[Any], records: int, name: str) -> NDArray[np.float64]:
    """Outputs as float64 with one row per record, or an error."""
    try:
        values = np.asarray(raw, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} gives outputs that are not numbers: return one array of numbers") from cause(error)
    if values.ndim == 0 or len(values) != records:
        raise InputError(
            f"{name} gives outputs of shape {values.shape} for {records} records: return one row per record"
        )
    return values


def to_probabilities(raw: NDArray[np.float64], outputs: Outputs) -> NDArray[np.float64]:
    """Softmax or exponential of the columns; one column of logits stands beside a column of zeros."""
    if outputs == "probabilities":
        return raw
    with np.errstate(invalid="ignore", over="ignore"):  # what is not finite is refused later, with the model's name
        if outputs == "log-probabilities":
            return np.exp(raw)
        logits = raw.reshape(len(raw), -1)
        if logits.shape[1] == 1:  # both tails stay exact, which 1 - p would not
            logits = np.hstack([np.zeros_like(logits), logits])
        powers: NDArray[np.float64] = np.exp(logits - logits.max(axis=1, keepdims=True))
        powers /= powers.sum(axis=1, keepdims=True)
        return powers


@dataclass(frozen=True)
class Aligned:
    """Outputs of a model that saw only some of the classes: the others have probability 0."""

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
