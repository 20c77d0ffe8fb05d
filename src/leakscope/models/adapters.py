"""Adapters: scikit-learn estimators, torch modules, boosters and callables become a `Model` here.

Framework differences end in this file: nothing after it asks which one it was.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leakscope.core.errors import InputError
from leakscope.core.failures import cause
from leakscope.data.records import as_array, as_matrix, list_names
from leakscope.models.model import (
    Aligned,
    Model,
    Outputs,
    Task,
    check_probabilities,
    check_rows,
    check_values,
    label_codes,
    to_probabilities,
)

TORCH_BATCH = 1024


# --- scikit-learn -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Layout:
    """How an estimator wants its records: named columns, a plain array of some width, texts, or as they come."""

    columns: tuple[str, ...] | None
    width: int | None
    texts: bool = False

    def arrange(self, X: Any) -> Any:
        """Return the columns that the estimator was fitted on, in its order and form."""
        if self.columns is not None and isinstance(X, pd.DataFrame):
            return X if tuple(X.columns) == self.columns else pick_columns(X, self.columns)
        if self.texts and X.ndim == 2:
            if X.shape[1] != 1:
                raise InputError(
                    f"the model takes one text per record, and the data have {X.shape[1]} columns: pass the column of "
                    "texts alone (--drop leaves columns out)"
                )
            return X.iloc[:, 0] if isinstance(X, pd.DataFrame) else X[:, 0]
        if self.width is None:
            return X
        width = X.shape[1] if X.ndim == 2 else None
        if width != self.width:
            raise InputError(
                f"the model was trained on {self.width} columns, and the data have {width or f'shape {X.shape}'}: "
                "pass the columns that it was trained on, in the same order"
            )
        if self.columns is not None:
            return pd.DataFrame(X, columns=list(self.columns))
        return as_matrix(X)


def pick_columns(X: pd.DataFrame, columns: tuple[str, ...]) -> pd.DataFrame:
    """Columns by name, or by the name that LightGBM makes of it: a space becomes an underscore."""
    known = {str(name).replace(" ", "_"): name for name in X.columns} | {name: name for name in X.columns}
    if lacking := [name for name in columns if name not in known]:
        raise InputError(f"the data lack columns that the model was trained on: {list_names(lacking)}")
    return X[[known[name] for name in columns]].set_axis(list(columns), axis="columns")


@dataclass(frozen=True)
class EstimatorOutputs:
    """Prediction function of a scikit-learn estimator."""

    estimator: Any
    layout: Layout
    name: str
    classes: NDArray[Any] | None
    gives_probabilities: bool

    def __call__(self, X: Any) -> NDArray[np.float64]:
        table = self.layout.arrange(X)
        if self.classes is None:
            return check_values(self.estimator.predict(table), len(X), self.name)
        if self.gives_probabilities:
            return check_probabilities(self.estimator.predict_proba(table), len(X), len(self.classes), self.name)
        labels = label_codes(self.classes, np.asarray(self.estimator.predict(table)), f"the output of {self.name}")
        return np.eye(len(self.classes))[labels]


def is_estimator(model: Any) -> bool:
    """Whether this is scikit-learn's kind of object: it has parameters and can be fitted."""
    return hasattr(model, "get_params") and hasattr(model, "fit")


def estimator_task(estimator: Any) -> Task:
    """Whether the estimator classifies or regresses; other kinds are refused."""
    from sklearn.base import is_classifier, is_clusterer, is_outlier_detector, is_regressor

    kind = "a transformer" if hasattr(estimator, "transform") else "neither a classifier nor a regressor"
    try:
        if is_classifier(estimator):
            return "classification"
        if is_regressor(estimator):
            return "regression"
        kind = "an outlier detector" if is_outlier_detector(estimator) else kind
        kind = "a clusterer" if is_clusterer(estimator) else kind
    except AttributeError:  # an estimator from elsewhere that doesn't say what it is
        pass
    name = type(estimator).__name__
    raise InputError(f"{name} is {kind}: pass a classifier, a regressor, or a callable that returns probabilities")


def estimator_model(estimator: Any) -> Model:
    """Model of a fitted scikit-learn classifier, regressor or pipeline."""
    name = estimator_name(estimator)
    task = estimator_task(estimator)
    _check_fitted(estimator, name)
    classes = None
    if task == "classification":
        classes = getattr(estimator, "classes_", None)
        if classes is None or isinstance(classes, list) or np.ndim(classes) != 1:
            raise InputError(
                f"{name} has several outputs or no classes_: models with one label per record can be audited"
            )
        classes = np.asarray(classes)
    gives_probabilities = classes is not None and hasattr(estimator, "predict_proba")
    predict = EstimatorOutputs(estimator, estimator_layout(estimator), name, classes, gives_probabilities)
    return Model(name, task, classes, gives_probabilities, predict)


def estimator_layout(estimator: Any) -> Layout:
    """What the fitted estimator remembers of the columns it saw."""
    columns, width = getattr(estimator, "feature_names_in_", None), getattr(estimator, "n_features_in_", None)
    if columns is not None and list(columns) == [f"Column_{place}" for place in range(len(columns))]:
        columns = None  # LightGBM's own names for the columns of an array
    return Layout(None if columns is None else tuple(columns), width, _takes_texts(estimator))


def _takes_texts(estimator: Any) -> bool:
    """Whether the first step reads a list of texts: of a table, it would take the header for that list."""
    from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer

    estimator = getattr(estimator, "best_estimator_", estimator)
    while steps := getattr(estimator, "steps", None):
        estimator = steps[0][1]
    return isinstance(estimator, CountVectorizer | HashingVectorizer)


def estimator_name(estimator: Any) -> str:
    """Class of the estimator; for a pipeline, that of its last step too."""
    steps = getattr(estimator, "steps", None)
    name = type(estimator).__name__
    return f"{name} with {type(steps[-1][1]).__name__}" if steps else name


def frozen_parts(estimator: Any) -> list[str]:
    """Names of the parts that training leaves as they are: they would still know the records left out."""

    def is_frozen(name: str, part: Any) -> bool:
        prefit = (isinstance(part, str) and part == "prefit") or (name.split("__")[-1] == "prefit" and part is True)
        return prefit or type(part).__name__ == "FrozenEstimator"

    whole = {} if not is_frozen("", estimator) else {"all of it": estimator}
    return [name for name, part in (whole | estimator.get_params()).items() if is_frozen(name, part)]


def _check_fitted(estimator: Any, name: str) -> None:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        if not hasattr(estimator, "classes_"):  # others' estimators may not keep to scikit-learn's way of saying so
            check_is_fitted(estimator)
    except NotFittedError as error:
        raise InputError(f"{name} is not fitted: call its fit with the training set first") from cause(error)


# --- callables and torch ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FunctionOutputs:
    """Prediction function of a callable or a torch module; ``outputs`` says what it gives back."""

    call: Callable[[Any], Any]
    name: str
    classes: NDArray[Any] | None
    outputs: Outputs

    def __call__(self, X: Any) -> NDArray[np.float64]:
        raw = as_array(self.call(X))
        if self.classes is None:
            return check_values(raw, len(X), self.name)
        probabilities = to_probabilities(check_rows(raw, len(X), self.name), self.outputs)
        return check_probabilities(probabilities, len(X), len(self.classes), self.name)


def as_function(model: Any, one_thread: bool = False) -> tuple[Callable[[Any], Any], str]:
    """Give a torch module, booster or callable as a function from records to outputs, and its name."""
    if is_torch_module(model):
        return TorchCall(model, one_thread), type(model).__name__
    if library := booster_library(model):
        return BoosterCall(model, library), f"{library} Booster"
    if callable(model):
        name = getattr(model, "__name__", type(model).__name__)
        return model, "the callable" if name == "<lambda>" else name
    advice = (
        "a fitted scikit-learn estimator, a torch module, or a callable that takes records and returns probabilities"
    )
    if isinstance(model, str | Path):
        advice = "what leakscope.load_model(path) gives for a model file"
    raise InputError(f"a {type(model).__name__} is not a model: pass {advice}")


def function_model(
    model: Any, task: Task, classes: NDArray[Any] | None, outputs: Outputs, *, one_thread: bool = False
) -> Model:
    """Model of a torch module or callable."""
    call, name = as_function(model, one_thread)
    predict = FunctionOutputs(call, name, classes, outputs)
    return Model(name, task, classes, task == "classification", predict, getattr(call, "block", None))


def output_columns(raw: Any, records: int, name: str) -> NDArray[np.float64]:
    """Outputs of a callable as they are, in columns."""
    values = check_rows(as_array(raw), records, name)
    if values.ndim > 2:
        raise InputError(f"{name} gives outputs of shape {values.shape}: return one row of probabilities per record")
    return values.reshape(records, -1)


def infer_task(labels: list[NDArray[Any]], columns: int) -> Task:
    """Task of a callable, from its labels; whole numbers stored as floats are settled by the number of columns."""
    if any(y.dtype.kind != "f" for y in labels):
        return "classification"
    if any((y != np.floor(y)).any() for y in labels):
        return "regression"
    if columns > 1:
        return "classification"
    raise InputError(
        'the labels are whole numbers stored as floats: say task="classification" or task="regression" (--task)'
    )


def infer_classes(labels: list[NDArray[Any]], columns: int, classes: Any) -> NDArray[Any]:
    """Labels in the order of the columns: those given, or 0 … k - 1, or the sorted labels of the training set."""
    one, columns = columns == 1, max(2, columns)  # one column is the probability of the second of two classes
    known = np.unique(labels[0])
    if one and classes is None and len(known) > 2:
        raise InputError(
            f"the model gives one number per record, and the training set has {len(known)} different labels: "
            'return a column of probabilities per class, or say task="regression" (--task) where the labels are values'
        )
    if classes is not None:
        known = _distinct(np.asarray(classes))
        if len(known) != columns:
            raise InputError(
                f"classes= names {len(known)} classes, but the model gives {columns} columns: name one each"
            )
        return known
    if all(y.dtype.kind in "iuf" and (y == np.floor(y)).all() and y.min() >= 0 and y.max() < columns for y in labels):
        return np.arange(columns)
    if len(known) != columns:
        raise InputError(
            f"the model gives {columns} columns and the training set has {len(known)} different labels: "
            "pass classes= with the labels in the order of the columns"
        )
    return known


def checked(model: Model) -> Model:
    """Return a `Model` made by hand with the checks that every other model gets."""
    if isinstance(model.predict, Aligned | EstimatorOutputs | FunctionOutputs):
        return model
    if (model.task == "classification") != (model.classes is not None):
        raise InputError(f"{model.name} must have classes if it is a classification model, and None for regression")
    classes = None if model.classes is None else _distinct(model.classes)
    return replace(model, classes=classes, predict=FunctionOutputs(model.predict, model.name, classes, "probabilities"))


def _distinct(classes: NDArray[Any]) -> NDArray[Any]:
    if classes.ndim != 1 or len(pd.unique(classes)) != len(classes):
        raise InputError(
            f"classes must be a list of different labels: {classes.size} were given, {len(pd.unique(np.ravel(classes)))} of them "
            "different"
        )
    return classes


@dataclass(frozen=True)
class BoosterCall:
    """A native Booster of XGBoost or LightGBM as a function from records to what its objective predicts."""

    booster: Any
    library: str

    def __call__(self, X: Any) -> Any:
        if self.library == "lightgbm":
            return self.booster.predict(X)
        import xgboost

        return self.booster.predict(xgboost.DMatrix(X, enable_categorical=True))


def booster_library(model: Any) -> str | None:
    """Library of a native Booster, or None for any other model; neither library is imported to find out."""
    for library in ("xgboost", "lightgbm"):
        module = sys.modules.get(library)
        if module is not None and isinstance(model, module.Booster):
            return library
    return None


@dataclass(frozen=True)
class TorchCall:
    """A torch module as a function from records to an array, in evaluation mode and without gradients."""

    module: Any
    one_thread: bool = False

    def __call__(self, X: Any) -> NDArray[np.float64]:
        import torch

        parameter = next(self.module.parameters(), torch.zeros(0))
        embeds = any(isinstance(part, torch.nn.Embedding | torch.nn.EmbeddingBag) for part in self.module.modules())
        table = as_matrix(X)
        if table.dtype.kind not in "biuf":
            raise InputError("a torch module takes numbers, and the data hold text: encode its columns first")
        keep = embeds and table.dtype.kind in "iu"
        dtype = torch.int64 if keep else parameter.dtype
        batches = []
        with evaluation_mode(self.module), torch.no_grad(), _threads(1 if self.one_thread else None):
            for start in range(0, len(table), TORCH_BATCH):
                rows = np.array(table[start : start + TORCH_BATCH])
                batch = self.module(torch.from_numpy(rows).to(device=parameter.device, dtype=dtype))
                if not isinstance(batch, torch.Tensor):
                    raise InputError(
                        f"{type(self.module).__name__} returns a {type(batch).__name__}: "
                        "wrap it in a module that returns one tensor"
                    )
                batches.append(batch.to(device="cpu", dtype=torch.float64).numpy())
        return np.concatenate(batches)


@contextmanager
def evaluation_mode(module: Any) -> Iterator[None]:
    """Switch every submodule to evaluation, and each back to what it was."""
    training = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, flag in training:
            part.training = flag


@contextmanager
def _threads(count: int | None) -> Iterator[None]:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def seeded_torch(rng: np.random.Generator) -> Iterator[None]:
    """Draw torch's random numbers from ``rng`` on one thread, and leave its own state as it was."""
    import torch

    with torch.random.fork_rng(devices=range(torch.cuda.device_count())), _threads(1):
        torch.manual_seed(int(rng.integers(2**63)))
        yield


def is_torch_module(model: Any) -> bool:
    """Whether this is a torch module; torch is not imported to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def torch_outputs(module: Any, raw: NDArray[np.float64]) -> Outputs:
    """What the module gives back, from its last layer; refused when its outputs could be read in two ways."""
    last = list(module.modules())[-1]
    layer = getattr(last, "original_name", type(last).__name__)
    if layer in ("Softmax", "Sigmoid"):
        return "probabilities"
    if layer in ("LogSoftmax", "LogSigmoid"):
        return "log-probabilities"
    inside = bool(((raw >= 0) & (raw <= 1)).all())
    if inside and (raw.ndim == 1 or raw.shape[1] == 1 or np.allclose(raw.sum(axis=1), 1, atol=1e-3)):
        raise InputError(
            f"the outputs of {type(module).__name__} look like probabilities but its last layer is {layer}: "
            'say what they are with outputs="probabilities" or outputs="logits"'
        )
    return "logits"
