"""Predicting: ask a model about records block by block, and say why it fails without showing a value of them."""

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
    """Predict block after block, so that the memory needed doesn't grow with the number of records.

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
    asked = PredictionRequest(X, where, places, model.block is None)
    for start in range(0, len(X), step):
        rows = slice(start, min(start + step, len(X)))
        yield rows, asked.attempt(model.predict, model.name, rows)
        if progress is not None:
            progress("predicting", rows.stop, len(X))


@dataclass(frozen=True)
class PredictionRequest:
    """Records that a model is asked about: their name in a message, and what is known of where they stand."""

    X: Any
    where: str
    places: NDArray[np.intp] | None = None
    may_ask_again: bool = True

    def attempt(self, predict: Callable[[Any], NDArray[np.float64]], name: str, rows: Any) -> NDArray[np.float64]:
        """Predict some of the records, or say in one sentence why that fails, without a value of them."""
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
            again = self.may_ask_again and not isinstance(error, MemoryError)
            found = failing_cell(predict, part) if again else None
            place = "" if found is None else self._place(found, rows)
            raise InputError(
                f"{name} fails to predict {self.where}: {describe(error)}{place}{about_texts(part, error)}"
                f"{_about_categories(error)}"
            ) from cause(error)

    def _place(self, found: FailingCell, rows: Any) -> str:
        """Column and row of the value that a model fails on."""
        place = "" if found.column is None else f", in column {list_names([found.column])}"
        if self.places is None:
            return place
        number, row = self.places[rows][found.row].tolist()
        table = "" if SETS[number] == self.where else f" of {SETS[number]}"
        return f"{place}, {row_name(row, table)}"


def probe(X: Any) -> NDArray[np.intp]:
    """Positions of the first few hundred records, and of the first missing or infinite value in each column."""
    rows = [row for values in bad_values(X) for row in values.first[:PROBE]]
    return np.array(sorted({*range(min(PROBE, len(X))), *rows}), dtype=np.intp)


def _about_categories(error: Exception) -> str:
    """What to do where an encoder meets a category that it was not trained on, as a retrained model may."""
    if "unknown categories" not in text_of(error):
        return ""
    return '; set handle_unknown="ignore" in the OneHotEncoder, or merge rare categories'


def about_texts(X: Any, error: Exception) -> str:
    """Where a model trips over text, the columns that hold it: in a CSV file, categories have become text."""
    if not isinstance(X, pd.DataFrame) or not re.search(r"string|dtype|object|categorical", text_of(error)):
        return ""
    texts = [name for name in X.columns if not pd.api.types.is_numeric_dtype(X[name].dtype)]
    texts = [name for name in texts if not isinstance(X[name].dtype, pd.CategoricalDtype)]
    if not texts:
        return ""
    return f" (the columns {list_names(texts)} hold text: encode them in a pipeline, or pass categories from Python)"


def _works_without(predict: Callable[[Any], NDArray[np.float64]], X: Any, rows: NDArray[np.bool_]) -> bool:
    """Whether leaving out these rows helps; where nothing would be left, they are taken for the cause."""
    if rows.all():
        return True
    try:
        predict(take_rows(X, ~rows))
    except Exception:
        return False
    return True
