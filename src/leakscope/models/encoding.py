"""Records as numbers, the way the audited model's last step sees them, for defenses that train a model of their own.

The steps before the last of a fitted pipeline are kept as they are fitted; where there are none, categories become columns
of zeros and ones and numbers are centred and scaled, by the training records. Either way the encoding itself (means, scales,
categories) was read from the training records and **is not covered by any guarantee** of what is trained on top of it:
`PUBLIC_ENCODING` is the condition that every such guarantee names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from leakscope.core.arrays import Floats
from leakscope.core.errors import InputError
from leakscope.models.adapters import EstimatorOutputs
from leakscope.models.model import Model
from leakscope.models.target import Target

PUBLIC_ENCODING = "how columns are encoded (their categories, means and scales) is public"
#: More columns than this do not fit into memory as a dense table.
MOST_COLUMNS = 5000


@dataclass(frozen=True, eq=False)
class Encoding:
    """From records to a dense table of numbers: ``encoding(X)`` is (n, width)."""

    steps: Any
    layout: Any
    width: int

    def __call__(self, X: Any) -> Floats:
        table = X if self.layout is None else self.layout.arrange(X)
        encoded = table if self.steps is None else self.steps.transform(table)
        dense = encoded.toarray() if hasattr(encoded, "toarray") else np.asarray(encoded)
        return np.ascontiguousarray(dense.reshape(len(dense), -1), dtype=np.float64)


def last_step(target: Target) -> Any:
    """The fitted scikit-learn estimator that decides, the last step of a pipeline; None for other models."""
    if not isinstance(target.model.predict, EstimatorOutputs):
        return None
    estimator = target.model.predict.estimator
    while steps := getattr(estimator, "steps", None):
        estimator = steps[-1][1]
    return estimator


def make_encoding(target: Target) -> Encoding:
    """The encoding of a target's records.

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
            f"the records have {width} columns once they are encoded, and at most {MOST_COLUMNS} can be held"
        )
    return Encoding(encoding.steps, encoding.layout, width)


def _scaled(X: Any) -> Any:
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

    if not isinstance(X, pd.DataFrame):
        flat = FunctionTransformer(_flat)
        return make_pipeline(flat, StandardScaler()).fit(X)
    numeric = [name for name in X.columns if pd.api.types.is_numeric_dtype(X[name].dtype)]
    other = [name for name in X.columns if name not in numeric]
    return make_column_transformer(
        (StandardScaler(), numeric), (OneHotEncoder(handle_unknown="ignore", sparse_output=False), other)
    ).fit(X)


def _flat(X: Any) -> Floats:
    return np.asarray(X, dtype=np.float64).reshape(len(X), -1)


@dataclass(frozen=True, eq=False)
class LinearOutputs:
    """Answers of a linear model on encoded records: softmax of the scores, or the values of a regression.

    ``coefficients`` is (width, k) and ``intercept`` (k,); one column of scores stands for two classes.
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
    """A model of the target's task and classes with these parameters."""
    task = target.model.task
    predict = LinearOutputs(encoding, coefficients, intercept, task == "classification")
    return Model(name, task, target.model.classes, task == "classification", predict)
