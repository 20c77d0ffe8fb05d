"""Tables encoded as numbers for a learner, for `leakscope leakage`: `EncodedTable`, `read_encoded`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leakscope.core.checks import check_count
from leakscope.core.errors import InputError
from leakscope.core.result import Caveat
from leakscope.data.encoding import integer_codes, one_hot, principal_components
from leakscope.data.records import list_names
from leakscope.data.tables import read_labelled
from leakscope.data.text_format import TextFormat
from leakscope.learners import Learner, as_learner
from leakscope.models.adapters import infer_task
from leakscope.models.files import load_model

Encoding = Literal["codes", "one-hot", "raw"]


@dataclass(frozen=True)
class EncodedTable:
    """All records that training sets are drawn from; ids are the index of X. ``notes`` state how X was changed."""

    X: pd.DataFrame
    y: NDArray[Any]
    notes: tuple[Caveat, ...]


def read_encoded(
    path: Path,
    label: str,
    *,
    drop: str | None = None,
    id_column: str | None = None,
    encode: Encoding = "codes",
    components: int | None = None,
    form: TextFormat | None = None,
) -> EncodedTable:
    """Read and encode a table; ids are the literal text of the file.

    Parameters
    ----------
    encode
        ``codes``: a text becomes the rank of its level among the sorted levels, where a missing value is the level ``?``
        [farokhi2020, 6.1], and columns are standardised. ``one-hot``: one column per level, and numbers scaled to
        [0, 1]. ``raw``: no encoding.
    components
        Number of principal components of the encoded columns to keep.
    form
        How a CSV file is written; detected by default.
    """
    if encode not in ("codes", "one-hot", "raw"):
        raise InputError(f"encode must be 'codes', 'one-hot' or 'raw', not {encode!r}")
    read = read_labelled([path], label, drop=drop, id_column=id_column, form=form)
    (file,), (table,) = read.files, read.tables
    X, y = table[read.columns].copy(), table[label]
    if ids := read.names["id"]:
        X.index = pd.Index(file.texts(ids)[ids[0]])
    X, notes = prepare_columns(X, encode)
    if components is not None and encode == "raw":
        raise InputError("components= needs encoded columns: set encode to 'codes' or 'one-hot'")
    if components is not None:
        X = principal_components(X, check_count("components", components, most=X.shape[1]))
    return EncodedTable(X, y.to_numpy(), tuple(notes))


def numbers_of(y: NDArray[Any], label: str) -> NDArray[np.float64]:
    """Convert labels of a regression to numbers; two texts become 0 and 1 in sorted order [farokhi2020, 6.1].

    Examples
    --------
    >>> numbers_of(np.array(["<=50K", ">50K", "<=50K"]), "income")
    array([0., 1., 0.])
    """
    if y.dtype.kind in "biuf":
        return y.astype(np.float64)
    codes, levels = pd.factorize(y, sort=True)
    if len(levels) != 2:
        raise InputError(f"{label!r} has {len(levels)} texts, but a regression needs numbers: choose another learner")
    return codes.astype(np.float64)


def learner_and_labels(
    name: str,
    y: NDArray[Any],
    label: str,
    *,
    l2: list[float] | None = None,
    intercept: bool = True,
    widths: list[int] | None = None,
    task: str | None = None,
    trust: tuple[str, ...] = (),
) -> tuple[Learner, NDArray[Any]]:
    """Return a learner by its name or from a .skops file, and the labels in its format.

    Without a ``task``, a network is a classifier if labels are texts, booleans or integers, otherwise a regressor.

    Examples
    --------
    >>> learner_and_labels("ridge", np.array(["no", "yes"]), "pays", l2=[0.5])
    (Ridge(l2=0.5, intercept=True), array([0., 1.]))
    """
    for option, value in (("--widths", widths), ("--task", task)):
        if value is not None and name != "mlp":
            raise InputError(f"{option} needs --learner mlp")
    if task not in (None, "classification", "regression"):
        raise InputError(f"--task must be classification or regression, not {task!r}")
    settings: dict[str, Any] = {} if l2 is None else {"l2": l2[0]}
    if name == "ridge":
        return as_learner("ridge", intercept=intercept, **settings), numbers_of(y, label)
    if name == "logistic":
        return as_learner("logistic", intercept=intercept, **settings), y
    if name == "mlp":
        task = task or infer_task([y], 1)
        settings |= {} if widths is None else {"widths": tuple(widths)}
        return as_learner("mlp", task=task, **settings), y if task == "classification" else numbers_of(y, label)
    if Path(name).suffix != ".skops":
        raise InputError(f"unknown learner {name!r}: use ridge, logistic, mlp, or a .skops file")
    return as_learner(load_model(Path(name), trust=trust)), y


def prepare_columns(X: pd.DataFrame, encode: Encoding) -> tuple[pd.DataFrame, list[Caveat]]:
    """Encode texts and numbers as numbers of similar scale; return them with notes. See `read_encoded`."""
    if encode == "raw":
        return X, []
    texts = [name for name in X.columns if not pd.api.types.is_numeric_dtype(X[name])]
    same = [name for name in X.columns if X[name].nunique(dropna=False) == 1]
    X, texts = X.drop(columns=same), [name for name in texts if name not in same]
    notes = [Caveat("constant_columns", {"columns": [str(name) for name in same]})] if same else []
    if not X.shape[1]:
        raise InputError(f"columns {list_names(same)} are constant: add other columns")
    numbers = [name for name in X.columns if name not in texts]
    if bad := [name for name in numbers if not np.isfinite(X[name].to_numpy(np.float64)).all()]:
        raise InputError(f"columns {list_names(bad)} have missing or infinite numbers: fill or drop them")
    if bad := [name for name in numbers if not _moderate(X[name].to_numpy(np.float64))]:
        raise InputError(f"columns {list_names(bad)} have too large or too similar numbers to be scaled: rescale them")
    if encode == "one-hot":
        return one_hot(X, texts), notes
    values = integer_codes(X, texts).astype(np.float64)
    return (values - values.mean()) / values.std(ddof=0), notes


def _moderate(values: NDArray[np.float64]) -> bool:
    """Return whether mean and deviation stay within the range of float64."""
    return bool(np.abs(values).max() < 1e100 and np.ptp(values) > 1e-100)
