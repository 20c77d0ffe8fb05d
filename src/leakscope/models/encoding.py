"""Numeric encoding of records for defenses that train their own model, and linear models on encoded records.

The fitted preprocessing steps of a pipeline are reused. Without such steps, categories become one-hot columns and
numbers are standardised, by the training records. In both cases the encoding (means, scales, categories) depends on the
training records and **is not covered by any guarantee** of the model that is trained on it. Every such guarantee
states the condition `PUBLIC_ENCODING`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from leakscope.core.arrays import Floats
from leakscope.core.errors import InputError
from leakscope.data.containers import is_sparse
from leakscope.models.adapters import EstimatorOutputs
from leakscope.models.model import Model
from leakscope.models.target import Target

PUBLIC_ENCODING = "how columns are encoded (their categories, means and scales) is public"
#: Maximum number of columns of a dense table.
MOST_COLUMNS = 5000


@dataclass(frozen=True, eq=False)
class Encoding:
    """Function from records to a dense table of numbers: ``encoding(X)`` has the shape (n, width)."""

    steps: Any
    layout: Any
    width: int

    def __call__(self, X: Any) -> Floats:
        table = X if self.layout is None else self.layout.arrange(X)
        encoded = table if self.steps is None else self.steps.transform(table)
        dense = encoded.toarray() if hasattr(encoded, "toarray") else np.asarray(encoded)
        return np.ascontiguousarray(dense.reshape(len(dense), -1), dtype=np.float64)


def last_step(target: Target) -> Any:
    """Return the fitted scikit-learn predictor, the last step of a pipeline; None for other models."""
    if not isinstance(target.model.predict, EstimatorOutputs):
        return None
    estimator = target.model.predict.estimator
    while steps := getattr(estimator, "steps", None):
        estimator = steps[-1][1]
    return estimator


def make_encoding(target: Target) -> Encoding:
    """Return the encoding of the records of a target.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from leakscope.models.target import make_target
    >>> X, y = np.array([[0.0], [2.0], [0.0], [2.0]]), np.array([0, 1, 0, 1])
    >>> target = make_target(LogisticRegression().fit(X, y), (X, y), (X, y))
    >>> make_encoding(target)(X).ravel()
    array([-1.,  1., -1.,  1.])
    """
    predict, X = target.model.predict, target.members.X
    if isinstance(predict, EstimatorOutputs) and len(getattr(predict.estimator, "steps", ())) > 1:
        encoding = Encoding(predict.estimator[:-1], predict.layout, 0)
    else:
        encoding = Encoding(_scaled(X), None, 0)
    width = encoding(target.members.take(np.arange(1)).X).shape[1]
    if width > MOST_COLUMNS:
        raise InputError(
            f"the encoded records have {width} columns, more than {MOST_COLUMNS}: drop columns or merge rare categories"
        )
    return Encoding(encoding.steps, encoding.layout, width)


def _scaled(X: Any) -> Any:
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

    if is_sparse(X):
        if X.shape[1] > MOST_COLUMNS:
            raise InputError(
                f"the sparse records have {X.shape[1]} columns, more than {MOST_COLUMNS}: use fewer columns"
            )
        X = X.toarray()
    if not isinstance(X, pd.DataFrame):
        flat = FunctionTransformer(_flat)
        return make_pipeline(flat, StandardScaler()).fit(X)
    numeric = [name for name in X.columns if pd.api.types.is_numeric_dtype(X[name].dtype)]
    other = [name for name in X.columns if name not in numeric]
    return make_column_transformer(
        (StandardScaler(), numeric), (OneHotEncoder(handle_unknown="ignore", sparse_output=False), other)
    ).fit(X)


def _flat(X: Any) -> Floats:
    return np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64).reshape(len(X), -1)


@dataclass(frozen=True, eq=False)
class LinearOutputs:
    """Outputs of a linear model on encoded records: softmax of the scores, or the values of a regression.

    ``coefficients`` is (width, k) and ``intercept`` (k,); one column of scores means two classes.
    """

    encoding: Encoding
    coefficients: Floats
    intercept: Floats
    classification: bool

    def __call__(self, X: Any) -> Floats:
        from leakscope.models.model import to_probabilities

        scores = self.encoding(X) @ self.coefficients + self.intercept
        return to_probabilities(scores, "logits") if self.classification else scores[:, 0]


def linear_model(target: Target, name: str, encoding: Encoding, coefficients: Floats, intercept: Floats) -> Model:
    """Return a model with the task and classes of the target and these parameters."""
    task = target.model.task
    predict = LinearOutputs(encoding, coefficients, intercept, task == "classification")
    return Model(name, task, target.model.classes, task == "classification", predict)
