"""Predictions in blocks of records, and error messages for failing models that contain no values of records."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leakscope.core.errors import EndpointError, InputError
from leakscope.core.failures import cause, describe, text_of
from leakscope.data.records import SETS, bad_values, list_names, row_name, take_rows
from leakscope.models.bisection import FailingCell, failing_cell
from leakscope.models.model import Model

PROBE = 256
BLOCK = 32_768


def predict_in_blocks(
    model: Model,
    X: Any,
    block: int = BLOCK,
    progress: Callable[[str, int, int], None] | None = None,
    *,
    where: str = "the data",
    places: NDArray[np.intp] | None = None,
) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Predict block by block, so that memory does not grow with the number of records.

    Yields the rows as a slice and the outputs for them. A failure of the model becomes an `InputError` that names
    ``where``, the column and, by ``places`` (see `Records`), the row.

    Examples
    --------
    >>> double = Model("double", "regression", None, False, lambda X: 2.0 * X[:, 0])
    >>> for rows, values in predict_in_blocks(double, np.array([[1.0], [2.0], [3.0]]), block=2):
    ...     print(rows, values)
    slice(0, 2, None) [2. 4.]
    slice(2, 3, None) [6.]
    """
    step = min(block, model.block or block)
    request = PredictionRequest(X, where, places, model.block is None)
    for start in range(0, len(X), step):
        rows = slice(start, min(start + step, len(X)))
        yield rows, request.attempt(model.predict, model.name, rows)
        if progress is not None:
            progress("predicting", rows.stop, len(X))


@dataclass(frozen=True)
class PredictionRequest:
    """Records to predict, with their name and their row numbers for messages."""

    X: Any
    where: str
    places: NDArray[np.intp] | None = None
    may_repeat: bool = True

    def attempt(self, predict: Callable[[Any], NDArray[np.float64]], name: str, rows: Any) -> NDArray[np.float64]:
        """Predict some of the records, or raise an `InputError` that contains no value of a record."""
        part = take_rows(self.X, rows)
        try:
            return predict(part)
        except EndpointError:
            raise
        except Exception as error:
            causes = [values.kind for values in bad_values(part) if _works_without(predict, part, values.rows)]
            if causes:
                bad = next(values for values in bad_values(self.X) if values.kind == causes[0])
                raise InputError(
                    f"{name} can't take {bad.kind} values, and {self.where} has them in {bad.rows.sum()} of {len(self.X)} "
                    f"records, in columns {list_names(bad.columns)}: fill or drop them, or add an imputer to the pipeline"
                ) from cause(error)
            if isinstance(error, InputError):
                raise
            again = self.may_repeat and not isinstance(error, MemoryError)
            found = failing_cell(predict, part) if again else None
            place = "" if found is None else self._place(found, rows)
            raise InputError(
                f"{name} fails to predict {self.where}: {describe(error)}{place}{about_texts(part, error)}"
                f"{_about_categories(error)}"
            ) from cause(error)

    def _place(self, found: FailingCell, rows: Any) -> str:
        """Return the column and the row that a model fails on, as text."""
        place = "" if found.column is None else f", in column {list_names([found.column])}"
        if self.places is None:
            return place
        number, row = self.places[rows][found.row].tolist()
        table = "" if SETS[number] == self.where else f" of {SETS[number]}"
        return f"{place}, {row_name(row, table)}"


def probe(X: Any) -> NDArray[np.intp]:
    """Return the positions of the first `PROBE` records and of the first missing or infinite value per column."""
    rows = [row for values in bad_values(X) for row in values.first[:PROBE]]
    return np.array(sorted({*range(min(PROBE, len(X))), *rows}), dtype=np.intp)


def _about_categories(error: Exception) -> str:
    """Return the remedy for a category that an encoder was not trained on, which can happen in retraining."""
    if "unknown categories" not in text_of(error):
        return ""
    return '; set handle_unknown="ignore" in the OneHotEncoder, or merge rare categories'


def about_texts(X: Any, error: Exception) -> str:
    """Return the text columns if a model fails on text; categories in a CSV file are read as text."""
    if not isinstance(X, pd.DataFrame) or not re.search(r"string|dtype|object|categorical", text_of(error)):
        return ""
    texts = [name for name in X.columns if not pd.api.types.is_numeric_dtype(X[name].dtype)]
    texts = [name for name in texts if not isinstance(X[name].dtype, pd.CategoricalDtype)]
    if not texts:
        return ""
    return f" (the columns {list_names(texts)} contain text: encode them in a pipeline, or pass categories from Python)"


def _works_without(predict: Callable[[Any], NDArray[np.float64]], X: Any, rows: NDArray[np.bool_]) -> bool:
    """Return whether prediction works without these rows; True if no rows would be left."""
    if rows.all():
        return True
    try:
        predict(take_rows(X, ~rows))
    except Exception:
        return False
    return True
