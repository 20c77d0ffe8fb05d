"""Adapters from scikit-learn estimators, torch modules, boosters and callables to `Model`.

Other modules do not depend on the framework of a model.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leakscope.core.errors import InputError
from leakscope.core.failures import cause
from leakscope.data.containers import is_sparse, plain_sparse
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
#: Converts records to the form in which the user passed them (`data.containers.native_form`).
Native = Callable[[Any], Any]


# --- scikit-learn -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Layout:
    """Input format of an estimator: named columns, an array of some width, texts, or unchanged records.

    ``native`` converts a data frame to the library of the user's records, for estimators that fail on pandas.
    """

    columns: tuple[str, ...] | None
    width: int | None
    texts: bool = False
    native: Native | None = None

    def arrange(self, X: Any) -> Any:
        """Return the columns that the estimator was fitted on, in its order and form."""
        table = self._arranged(X)
        return table if self.native is None else self.native(table)

    def _arranged(self, X: Any) -> Any:
        if self.columns is not None and isinstance(X, pd.DataFrame):
            return X if tuple(X.columns) == self.columns else pick_columns(X, self.columns)
        if self.texts and X.ndim == 2:
            if X.shape[1] != 1:
                raise InputError(
                    f"the model takes one text per record, and the data have {X.shape[1]} columns: pass only the column "
                    "of texts (--drop excludes columns)"
                )
            return X.iloc[:, 0] if isinstance(X, pd.DataFrame) else X[:, 0]
        if self.width is None:
            return plain_sparse(X)
        width = X.shape[1] if X.ndim == 2 else None
        if width != self.width:
            raise InputError(
                f"the model was trained on {self.width} columns, and the data have {width or f'shape {X.shape}'}: "
                "pass the columns that it was trained on, in the same order"
            )
        if is_sparse(X):
            return plain_sparse(X)
        if self.columns is not None:
            return pd.DataFrame(X, columns=list(self.columns))
        return as_matrix(X)


def pick_columns(X: pd.DataFrame, columns: tuple[str, ...]) -> pd.DataFrame:
    """Select columns by name, or by the name in LightGBM, where a space becomes an underscore."""
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
    """Return whether an object has the interface of a scikit-learn estimator: ``get_params`` and ``fit``."""
    return hasattr(model, "get_params") and hasattr(model, "fit")


def estimator_task(estimator: Any) -> Task:
    """Return the task of an estimator; refuse estimators that neither classify nor regress."""
    from sklearn.base import is_classifier, is_clusterer, is_outlier_detector, is_regressor

    kind = "a transformer" if hasattr(estimator, "transform") else "neither a classifier nor a regressor"
    try:
        if is_classifier(estimator):
            return "classification"
        if is_regressor(estimator):
            return "regression"
        kind = "an outlier detector" if is_outlier_detector(estimator) else kind
        kind = "a clusterer" if is_clusterer(estimator) else kind
    except AttributeError:  # a third-party estimator without scikit-learn tags
        pass
    name = type(estimator).__name__
    raise InputError(f"{name} is {kind}: pass a classifier, a regressor, or a callable that returns probabilities")


def estimator_model(estimator: Any, native: Native | None = None) -> Model:
    """Return the `Model` of a fitted scikit-learn classifier, regressor or pipeline; for ``native`` see `Layout`."""
    name = estimator_name(estimator)
    task = estimator_task(estimator)
    _check_fitted(estimator, name)
    classes = None
    if task == "classification":
        classes = getattr(estimator, "classes_", None)
        if classes is None or isinstance(classes, list) or np.ndim(classes) != 1:
            raise InputError(f"{name} has several outputs or no classes_: pass a model with one label per record")
        classes = np.asarray(classes)
    gives_probabilities = classes is not None and hasattr(estimator, "predict_proba")
    layout = replace(estimator_layout(estimator), native=native)
    predict = EstimatorOutputs(estimator, layout, name, classes, gives_probabilities)
    return Model(name, task, classes, gives_probabilities, predict)


def estimator_layout(estimator: Any) -> Layout:
    """Return the input format that a fitted estimator records."""
    columns, width = getattr(estimator, "feature_names_in_", None), getattr(estimator, "n_features_in_", None)
    if columns is not None and list(columns) == [f"Column_{place}" for place in range(len(columns))]:
        columns = None  # LightGBM's default names for the columns of an array
    return Layout(None if columns is None else tuple(columns), width, _takes_texts(estimator))


def _takes_texts(estimator: Any) -> bool:
    """Return whether the first step reads a list of texts; given a table, it would read the header."""
    from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer

    estimator = getattr(estimator, "best_estimator_", estimator)
    while steps := getattr(estimator, "steps", None):
        estimator = steps[0][1]
    return isinstance(estimator, CountVectorizer | HashingVectorizer)


def estimator_name(estimator: Any) -> str:
    """Return the class name of an estimator; for a pipeline, also that of its last step."""
    steps = getattr(estimator, "steps", None)
    name = type(estimator).__name__
    return f"{name} with {type(steps[-1][1]).__name__}" if steps else name


def frozen_parts(estimator: Any) -> list[str]:
    """Return the names of the parts that training does not change; they still depend on left-out records."""

    def is_frozen(name: str, part: Any) -> bool:
        prefit = (isinstance(part, str) and part == "prefit") or (name.split("__")[-1] == "prefit" and part is True)
        return prefit or type(part).__name__ == "FrozenEstimator"

    whole = {} if not is_frozen("", estimator) else {"all of it": estimator}
    return [name for name, part in (whole | estimator.get_params()).items() if is_frozen(name, part)]


def _check_fitted(estimator: Any, name: str) -> None:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        if not hasattr(estimator, "classes_"):  # third-party estimators may not follow scikit-learn's convention
            check_is_fitted(estimator)
    except NotFittedError as error:
        raise InputError(f"{name} is not fitted: call fit with the training set first") from cause(error)


# --- callables and torch ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FunctionOutputs:
    """Prediction function of a callable or a torch module; ``outputs`` is the kind of its outputs."""

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


@dataclass(frozen=True)
class NativeCall:
    """A function of records that takes them in the form in which the user passed them."""

    call: Callable[..., Any]
    native: Native

    @property
    def __name__(self) -> str:
        return str(getattr(self.call, "__name__", type(self.call).__name__))

    @property
    def block(self) -> int | None:
        """Maximum number of records per call."""
        return getattr(self.call, "block", None)

    def __call__(self, X: Any, *others: Any, **options: Any) -> Any:
        return self.call(self.native(X), *others, **options)


def as_function(model: Any, one_thread: bool = False) -> tuple[Callable[[Any], Any], str]:
    """Return a torch module, booster or callable as a function from records to outputs, and its name."""
    if is_torch_module(model):
        module = without_sample_gradients(model)
        return TorchCall(module, one_thread), type(module).__name__
    if library := booster_library(model):
        return BoosterCall(model, library), f"{library} Booster"
    if callable(model):
        name = getattr(model, "__name__", type(model).__name__)
        return model, "the callable" if name == "<lambda>" else name
    advice = (
        "a fitted scikit-learn estimator, a torch module, or a callable that takes records and returns probabilities"
    )
    if isinstance(model, str | Path):
        advice = "the result of leakscope.load_model(path)"
    raise InputError(f"a {type(model).__name__} is not a model: pass {advice}")


def function_model(
    model: Any, task: Task, classes: NDArray[Any] | None, outputs: Outputs, *, one_thread: bool = False
) -> Model:
    """Return the `Model` of a torch module or callable."""
    call, name = as_function(model, one_thread)
    predict = FunctionOutputs(call, name, classes, outputs)
    return Model(name, task, classes, task == "classification", predict, getattr(call, "block", None))


def output_columns(raw: Any, records: int, name: str) -> NDArray[np.float64]:
    """Return the unchanged outputs of a callable as columns."""
    values = check_rows(as_array(raw), records, name)
    if values.ndim > 2:
        raise InputError(f"{name} gives outputs of shape {values.shape}: return one row of probabilities per record")
    return values.reshape(records, -1)


def infer_task(labels: list[NDArray[Any]], columns: int) -> Task:
    """Infer the task of a callable from its labels; for integers stored as floats, from the number of columns."""
    if any(y.dtype.kind != "f" for y in labels):
        return "classification"
    if any((y != np.floor(y)).any() for y in labels):
        return "regression"
    if columns > 1:
        return "classification"
    raise InputError(
        'the labels are integers stored as floats: pass task="classification" or task="regression" (--task)'
    )


def infer_classes(labels: list[NDArray[Any]], columns: int, classes: Any) -> NDArray[Any]:
    """Return the labels in the order of the columns: given, or 0 … k - 1, or the sorted training labels."""
    one, columns = columns == 1, max(2, columns)  # one column is the probability of the second of two classes
    known = np.unique(labels[0])
    if one and classes is None and len(known) > 2:
        raise InputError(
            f"the model returns one number per record, and the training set has {len(known)} different labels: "
            'return one column of probabilities per class, or pass task="regression" (--task) if the labels are values'
        )
    if classes is not None:
        known = _distinct(np.asarray(classes))
        if len(known) != columns:
            raise InputError(
                f"classes= has {len(known)} classes, but the model returns {columns} columns: pass one class per column"
            )
        return known
    if all(y.dtype.kind in "iuf" and (y == np.floor(y)).all() and y.min() >= 0 and y.max() < columns for y in labels):
        return np.arange(columns)
    if len(known) != columns:
        raise InputError(
            f"the model returns {columns} columns and the training set has {len(known)} different labels: "
            "pass classes= with the labels in the order of the columns"
        )
    return known


def checked(model: Model) -> Model:
    """Return a user-made `Model` with the checks that all other models have."""
    if isinstance(model.predict, Aligned | EstimatorOutputs | FunctionOutputs):
        return model
    if (model.task == "classification") != (model.classes is not None):
        raise InputError(f"{model.name} has the wrong classes: pass labels for classification, and None for regression")
    classes = None if model.classes is None else _distinct(model.classes)
    return replace(model, classes=classes, predict=FunctionOutputs(model.predict, model.name, classes, "probabilities"))


def _distinct(classes: NDArray[Any]) -> NDArray[Any]:
    if classes.ndim != 1 or len(pd.unique(classes)) != len(classes):
        raise InputError(
            f"classes= must list different labels: {classes.size} were given, {len(pd.unique(np.ravel(classes)))} of them "
            "different"
        )
    return classes


@dataclass(frozen=True)
class BoosterCall:
    """A native Booster of XGBoost or LightGBM as a function from records to predictions of its objective."""

    booster: Any
    library: str

    def __call__(self, X: Any) -> Any:
        if self.library == "lightgbm":
            return self.booster.predict(plain_sparse(X))
        import xgboost

        return self.booster.predict(xgboost.DMatrix(plain_sparse(X), enable_categorical=True))


def booster_library(model: Any) -> str | None:
    """Return the library of a native Booster, or None for another model, without importing the library."""
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

        parameter = first_parameter(self.module)
        embeds = any(isinstance(part, torch.nn.Embedding | torch.nn.EmbeddingBag) for part in self.module.modules())
        table = as_matrix(X)
        if table.dtype.kind not in "biuf":
            raise InputError("a torch module takes numbers, and the data contain text: encode the text columns first")
        keep = embeds and table.dtype.kind in "iu"
        dtype = torch.int64 if keep else parameter.dtype
        batches = []
        with evaluation_mode(self.module), torch.no_grad(), _threads(1 if self.one_thread else None):
            for start in range(0, len(table), TORCH_BATCH):
                rows = np.array(table[start : start + TORCH_BATCH])
                answer = self.module(torch.from_numpy(rows).to(device=parameter.device, dtype=dtype))
                batch = tensor_of(answer, type(self.module).__name__)
                batches.append(batch.to(device="cpu", dtype=torch.float64).numpy())
        return np.concatenate(batches)


def tensor_of(answer: Any, name: str) -> Any:
    """Return the tensor that a module answers, or that is the ``logits`` of its answer, as in models of Hugging Face."""
    import torch

    tensor = getattr(answer, "logits", answer)
    if not isinstance(tensor, torch.Tensor):
        raise InputError(f"{name} returns a {type(answer).__name__}: wrap it in a module that returns one tensor")
    return tensor


def first_parameter(module: Any) -> Any:
    """Return the tensor whose type and device records must have: the first of the parameters, or else of the buffers."""
    import torch

    buffers = (part for part in module.buffers() if part.is_floating_point())
    return next(module.parameters(), next(buffers, torch.zeros(0)))


def without_sample_gradients(module: Any) -> Any:
    """Return a module of Opacus that records gradients by record as a copy that does not; any other one unchanged.

    Its hooks stay in the wrapped module and would fail where gradients are taken in evaluation mode.
    """
    opacus = sys.modules.get("opacus")
    if opacus is None or not isinstance(module, opacus.grad_sample.AbstractGradSampleModule):
        return module
    # Outputs of the last training step, which can't be copied and are not needed.
    recorded = [part.activations for part in module.modules() if type(getattr(part, "activations", None)) is list]
    return deepcopy(module, {id(outputs): [] for outputs in recorded}).to_standard_module()


@contextmanager
def evaluation_mode(module: Any) -> Iterator[None]:
    """Switch every submodule to evaluation mode, and restore the mode of each afterwards."""
    training = [(part, part.training) for part in module.modules()]
    with suppress(NotImplementedError):  # an exported program has the mode in which it was exported
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
    """Seed torch from ``rng``, use one thread, and restore the random state of torch afterwards."""
    import torch

    with torch.random.fork_rng(devices=range(torch.cuda.device_count())), _threads(1):
        torch.manual_seed(int(rng.integers(2**63)))
        yield


def is_torch_module(model: Any) -> bool:
    """Return whether an object is a torch module, without importing torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def torch_outputs(module: Any, raw: NDArray[np.float64]) -> Outputs:
    """Infer the kind of outputs from the last layer; refuse ambiguous outputs."""
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
            'pass outputs="probabilities" or outputs="logits"'
        )
    return "logits"
