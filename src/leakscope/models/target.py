"""`Target`: a fitted model, its members and non-members, and how to train it again; `make_target` creates it."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, get_args
from uuid import uuid4

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from leakscope.core.errors import InputError
from leakscope.core.failures import cause, describe
from leakscope.core.result import Caveat
from leakscope.data.bins import Bins
from leakscope.data.containers import is_sparse, is_torch_data, native_form
from leakscope.data.records import (
    HOLDOUT,
    TRAIN,
    Records,
    list_names,
    number_rows,
    read_groups,
    read_ids,
    read_pair,
    read_weights,
    row_name,
    same_columns,
    take_rows,
)
from leakscope.models.adapters import (
    EstimatorOutputs,
    FunctionOutputs,
    Layout,
    Native,
    NativeCall,
    as_function,
    booster_library,
    checked,
    estimator_model,
    estimator_name,
    frozen_parts,
    function_model,
    infer_classes,
    infer_task,
    is_estimator,
    is_torch_module,
    output_columns,
    seeded_torch,
    torch_outputs,
)
from leakscope.models.files import OnnxModel
from leakscope.models.model import Model, Outputs, Task, align, label_codes
from leakscope.models.predicting import PredictionRequest, about_texts, predict_in_blocks, probe

__all__ = ["Model", "Records", "Target", "Task", "TrainingRecipe", "make_target", "predict_in_blocks"]

#: Standard deviation of regression labels up to which squared errors and their variance neither overflow nor underflow.
LARGEST_SPREAD = 1e50


@dataclass(frozen=True, eq=False)
class TrainingRecipe:
    """How to train the model again: ``fit(X, y, rng)`` returns a new `Model` with the classes of the target.

    ``y`` are int64 positions in the classes, or float64 values. Equal keys mean equal training: the cache relies on it.
    With ``takes_weights``, ``fit`` has a keyword ``sample_weight``.
    """

    name: str
    fit: Callable[..., Model] = field(repr=False)
    key: str
    takes_weights: bool = False


@dataclass(frozen=True, eq=False)
class Target:
    """The subject of a study: a model, its members, non-members, and how to train it again if that is known."""

    model: Model
    members: Records
    nonmembers: Records
    learner: TrainingRecipe | None = None
    warnings: tuple[Caveat, ...] = ()


def make_target(
    model: Any,
    train: tuple[Any, Any],
    holdout: tuple[Any, Any],
    *,
    groups: Any = None,
    fit: Callable[[Any, Any, np.random.Generator], Any] | None = None,
    task: Task | None = None,
    classes: ArrayLike | None = None,
    outputs: Outputs | None = None,
    ids: Any = None,
    bins: Bins | None = None,
    sample_weight: Any = None,
) -> Target:
    """Create a target from a model, its training set and a holdout, and check that they are consistent.

    The check predicts a few hundred records.

    Parameters
    ----------
    model
        A fitted scikit-learn classifier, regressor or pipeline (or an object with the same methods), a native Booster
        of XGBoost or LightGBM, a torch module, a callable, or a `Model`. A callable takes records in the form that you
        pass and returns probabilities, or values for regression; one column is the probability of the second class.
    train, holdout
        Pairs (X, y) of members and of non-members. X is an array, a list, a scipy sparse matrix, or a data frame of pandas,
        polars or any library with the Arrow or dataframe protocol (`data.containers`); a torch `Dataset` or `DataLoader`
        of pairs (x, y) stands for both. Columns that a scikit-learn model was not fitted on are dropped.
    groups
        Names of columns of X, a Series or DataFrame with columns of X (``X["race"]``), or a pair of Series, DataFrames
        or arrays, one for the training set and one for the holdout. A numeric column with more than 20 values is binned.
    bins
        Ends of the bins of numeric group columns, ``{"age": [18, 30, 50]}``; None for a column that keeps its values. By
        default quantiles: five bins of about equal numbers of records.
    fit
        ``fit(X, y, rng)`` trains the model on some of the records, with labels in the form that you pass, and returns
        any kind of model named above. Not needed for scikit-learn models: they are cloned, every ``random_state`` is
        drawn from ``rng``, and ``fit`` is called. For a torch module, torch is seeded from ``rng`` and uses one thread.
        With ``sample_weight``, a function gets the weights of its records if it has a keyword ``sample_weight``.
    task
        By default the task of a scikit-learn model; otherwise text, boolean and integer labels mean classification, and
        fractional numbers regression.
    classes
        Labels in the order of the model's columns. By default ``classes_`` of a scikit-learn model; otherwise 0 … k - 1
        if all labels are such integers, or the sorted labels of the training set if there are k.
    outputs
        Kind of outputs of a torch module or callable: ``"logits"``, ``"probabilities"`` or ``"log-probabilities"``. By
        default probabilities for callables; for torch modules it is inferred from the last layer.
    ids
        One id per training record, or a pair for both sets. By default the index of a DataFrame, or positions.
    sample_weight
        Weights that the model was trained with: the name of a column of X, which is then not a feature, or a pair of arrays,
        one for the training set and one for the holdout, since reference models are trained on records of both. Each
        retrained model gets the weights of its records, a pipeline in its last step. Only training reads them.

    Examples
    --------
    >>> X, y = np.arange(6.0).reshape(6, 1), np.array(["low", "low", "low", "high", "high", "high"])
    >>> target = make_target(lambda X: 1 / (1 + np.exp(5 - 2 * X)), (X, y), (X + 0.5, y), classes=["low", "high"])
    >>> target.members.y
    array([0, 0, 0, 1, 1, 1])
    >>> target.model.predict(np.array([[2.5]]))
    array([[0.5, 0.5]])
    """
    X, y, warnings = read_pair(train, TRAIN)
    other, other_y, more = read_pair(holdout, HOLDOUT)
    other = same_columns(X, other)
    levels, other_levels = read_groups(groups, X, other, bins)
    X, other, weights = read_weights(sample_weight, X, other)
    pair = ids if isinstance(ids, tuple | list) and len(ids) == 2 and np.ndim(ids[0]) == 1 else (ids, None)
    names, other_names = read_ids(pair[0], X, TRAIN), read_ids(pair[1], other, HOLDOUT)
    native = None if is_torch_data(train) else native_form(train[0])
    adapted = _adapt(_in_native_form(model, native), X, [y, other_y], task, classes, outputs)
    X, other = _used(adapted, X), _used(adapted, other)
    adapted = _native_if_needed(adapted, X, native)
    own, others = (None, None) if weights is None else weights
    members = Records(X, _targets(adapted, y, TRAIN), names, levels, number_rows(len(y), TRAIN), own)
    places = number_rows(len(other_y), HOLDOUT)
    nonmembers = Records(other, _targets(adapted, other_y, HOLDOUT), other_names, other_levels, places, others)
    for records, where in ((members, TRAIN), (nonmembers, HOLDOUT)):
        request = PredictionRequest(records.X, where, records.places, adapted.block is None)
        request.attempt(adapted.predict, adapted.name, probe(records.X))
    learner, why_not = _learner(model, adapted, fit, native)
    if weights is not None and not (learner and learner.takes_weights):
        why_not.append(Caveat("weights_not_used", {"models": [adapted.name]}))
    return Target(adapted, members, nonmembers, learner, (*warnings, *more, *why_not))


# --- reading the model ------------------------------------------------------------------------------------------------


def _adapt(
    model: Any, X: Any, labels: list[NDArray[Any]], task: Task | None, classes: Any, outputs: Outputs | None
) -> Model:
    """Convert any model to a `Model` with task, classes and kind of outputs."""
    if task not in (None, *get_args(Task)):
        raise InputError(f"task={task!r} is unknown: pass one of {list_names(get_args(Task))}")
    if outputs not in (None, *get_args(Outputs)):
        raise InputError(f"outputs={outputs!r} is unknown: pass one of {list_names(get_args(Outputs))}")
    if isinstance(model, type):
        raise InputError(f"{model.__name__} is a class: pass a fitted model made from it")
    if isinstance(model, Model) or is_estimator(model):
        if classes is not None or outputs is not None:
            raise InputError("classes= and outputs= are for torch modules and callables: leave them out for this model")
        adapted = checked(model) if isinstance(model, Model) else estimator_model(model)
        if task not in (None, adapted.task):
            raise InputError(f"{adapted.name} is a {adapted.task} model: leave task= out")
        return adapted
    call, name = as_function(model)
    request = PredictionRequest(X, TRAIN, number_rows(len(X), TRAIN), getattr(call, "block", None) is None)
    raw = request.attempt(lambda part: output_columns(call(part), len(part), name), name, probe(X))
    if isinstance(model, OnnxModel):  # the file may determine the task and, after a prediction, the classes
        task = task or model.task
        classes = model.classes if classes is None else classes
    task = task or infer_task(labels, raw.shape[1])
    if task == "regression":
        return function_model(model, task, None, "probabilities")
    known = infer_classes(labels, raw.shape[1], classes)
    if outputs is None:
        outputs = torch_outputs(model, raw) if is_torch_module(model) else "probabilities"
    return function_model(model, task, known, outputs)


def _in_native_form(model: Any, native: Native | None) -> Any:
    """Return a callable that gets the records as the user passed them; other models unchanged."""
    if native is None or is_estimator(model) or is_torch_module(model) or booster_library(model):
        return model
    if isinstance(model, Model):
        return replace(model, predict=NativeCall(model.predict, native))
    own = type(model).__module__.startswith("leakscope.")  # an ONNX file or a server, which take data frames
    return NativeCall(model, native) if callable(model) and not isinstance(model, type) and not own else model


def _native_if_needed(model: Model, X: Any, native: Native | None) -> Model:
    """Return an estimator that gets the user's kind of data frame, if it fails on that of pandas and not on this."""
    if native is None or is_sparse(X) or not isinstance(model.predict, EstimatorOutputs):
        return model
    part = take_rows(X, slice(0, 1))
    outputs = replace(model.predict, layout=replace(model.predict.layout, native=native))
    return model if _works(model.predict, part) or not _works(outputs, part) else replace(model, predict=outputs)


def _works(predict: Callable[[Any], Any], X: Any) -> bool:
    try:
        predict(X)
    except Exception:
        return False
    return True


def _used(model: Model, X: Any) -> Any:
    """Return the columns that the model uses, if it records their names."""
    if isinstance(model.predict, EstimatorOutputs) and isinstance(X, pd.DataFrame):
        arranged = model.predict.layout.arrange(X)
        return arranged if isinstance(arranged, pd.DataFrame) else X
    return X


def _is_number(label: Any) -> bool:
    try:
        float(label)
    except (TypeError, ValueError):
        return False
    return True


def _targets(model: Model, y: NDArray[Any], where: str) -> NDArray[Any]:
    """Convert labels to class positions or values."""
    if model.classes is None:
        try:
            values = np.asarray(y, dtype=np.float64)
        except (TypeError, ValueError) as error:
            row = next(number for number, label in enumerate(y) if not _is_number(label))
            raise InputError(
                f"{where} has labels that are not numbers, the first in {row_name(row)}: regression needs numbers"
            ) from cause(error)
        _check_range(values, where)
        return values
    codes = label_codes(model.classes, y, where)
    if len(np.unique(codes)) < 2:
        raise InputError(f"{where} has one label only: pass records of at least two classes")
    return codes


def _check_range(y: NDArray[np.float64], where: str) -> None:
    """Refuse labels whose squared errors or their variance could overflow or underflow."""
    largest = float(np.abs(y).max())
    spread = largest * float((y / largest).std()) if largest > 0 else 0.0
    if (spread > 0 and not 1 / LARGEST_SPREAD <= spread <= LARGEST_SPREAD) or largest > LARGEST_SPREAD**2:
        raise InputError(
            f"the labels of {where} have a standard deviation of {spread:.1e}, so squared errors overflow or underflow: "
            "rescale the labels and the model's predictions"
        )


# --- retraining -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EstimatorFit:
    """Train a clone of a scikit-learn estimator."""

    estimator: Any
    layout: Layout
    classes: NDArray[Any] | None

    def __call__(
        self, X: Any, y: NDArray[Any], rng: np.random.Generator, sample_weight: NDArray[Any] | None = None
    ) -> Model:
        """Train on some records; the last step of a pipeline gets the sample weights."""
        from sklearn.base import clone
        from sklearn.exceptions import ConvergenceWarning

        estimator = clone(self.estimator)
        parameters = estimator.get_params()
        seeds = [name for name in sorted(parameters) if name.split("__")[-1] == "random_state"]
        drawn = {name: int(rng.integers(2**31)) for name in seeds}
        estimator.set_params(**dict.fromkeys(_memories(estimator, parameters)), **drawn)
        options = {} if sample_weight is None else {f"{split_last(estimator)[0]}sample_weight": sample_weight}
        try:
            with seeded_numpy(rng), warnings.catch_warnings():
                # the user has seen this warning for the model itself
                warnings.simplefilter("ignore", ConvergenceWarning)
                estimator.fit(self.layout.arrange(X), y if self.classes is None else self.classes[y], **options)
        except Exception as error:
            name = estimator_name(estimator)
            raise InputError(
                f"{name} can't be trained again on {len(y)} records: {describe(error)}"
                f"{about_texts(X, error) or ' (or pass fit= with your own training)'}"
            ) from cause(error)
        return align(estimator_model(estimator, self.layout.native), self.classes)


def _memories(estimator: Any, parameters: Mapping[str, Any]) -> list[str]:
    """Return the ``memory`` parameters, by which scikit-learn pickles records into a folder set in a model file."""
    owners = {name: parameters.get(name.removesuffix("memory").removesuffix("__"), estimator) for name in parameters}
    named = [name for name in parameters if name.split("__")[-1] == "memory"]
    return [name for name in named if type(owners[name]).__module__.startswith("sklearn.")]


@dataclass(frozen=True)
class FunctionFit:
    """Train with a user function, which gets labels in the form that the user passed."""

    fit: Callable[[Any, Any, np.random.Generator], Any]
    task: Task
    classes: NDArray[Any] | None
    outputs: Outputs
    seeds_torch: bool

    def __call__(
        self, X: Any, y: NDArray[Any], rng: np.random.Generator, sample_weight: NDArray[Any] | None = None
    ) -> Model:
        options = {} if sample_weight is None else {"sample_weight": sample_weight}
        with seeded_torch(rng) if self.seeds_torch else nullcontext():
            try:
                with seeded_numpy(rng.spawn(1)[0]):
                    trained = self.fit(X, y if self.classes is None else self.classes[y], rng, **options)
            except Exception as error:
                raise InputError(f"the fit= function fails on {len(y)} records: {describe(error)}") from cause(error)
        native = self.fit.native if isinstance(self.fit, NativeCall) else None
        trained = _in_native_form(trained, native)
        if isinstance(trained, Model):
            model = checked(trained)
        elif is_estimator(trained):
            model = _native_if_needed(estimator_model(trained), X, native)
        else:
            model = function_model(trained, self.task, self.classes, self.outputs, one_thread=True)
        if model.task != self.task:
            raise InputError(f"fit= returned a {model.task} model for a {self.task} target: return a {self.task} model")
        return align(model, self.classes)


@contextmanager
def seeded_numpy(rng: np.random.Generator) -> Iterator[None]:
    """Seed numpy's global generator from ``rng``, for learners that use it, and restore its state afterwards."""
    before = np.random.get_state()  # noqa: NPY002
    np.random.seed(int(rng.integers(2**31)))  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(before)  # noqa: NPY002


def _learner(model: Any, adapted: Model, fit: Any, native: Native | None) -> tuple[TrainingRecipe | None, list[Caveat]]:
    """Return the training recipe of a model, or None and the reasons."""
    if fit is not None:
        if not callable(fit):
            raise InputError("fit= must be a function fit(X, y, rng) that returns a fitted model")
        outputs = adapted.predict.outputs if isinstance(adapted.predict, FunctionOutputs) else "probabilities"
        train = fit if native is None else NativeCall(fit, native)
        recipe = FunctionFit(train, adapted.task, adapted.classes, outputs, is_torch_module(model))
        return TrainingRecipe(
            adapted.name, recipe, training_key(replace(recipe, fit=getattr(fit, "key", fit))), takes_weights(recipe)
        ), []
    if not is_estimator(model):
        return None, []
    from sklearn.base import clone

    try:
        estimator = clone(model)
    except (TypeError, RuntimeError) as error:
        return None, [Caveat("not_cloneable", {"model": adapted.name, "error": describe(error)})]
    if frozen := frozen_parts(estimator):
        return None, [Caveat("frozen_parts", {"model": adapted.name, "parts": [str(part) for part in frozen]})]
    assert isinstance(adapted.predict, EstimatorOutputs)
    again = EstimatorFit(estimator, adapted.predict.layout, adapted.classes)
    return TrainingRecipe(adapted.name, again, training_key(again), takes_weights(again)), []


def takes_weights(fit: Any) -> bool:
    """Return whether an `EstimatorFit` or a `FunctionFit` trains with sample weights."""
    from sklearn.utils.validation import has_fit_parameter

    if isinstance(fit, EstimatorFit):
        return bool(has_fit_parameter(split_last(fit.estimator)[1], "sample_weight"))
    if not isinstance(fit, FunctionFit):
        return False
    try:
        return "sample_weight" in inspect.signature(getattr(fit.fit, "call", fit.fit)).parameters
    except (TypeError, ValueError):
        return False


def split_last(estimator: Any) -> tuple[str, Any]:
    """Return scikit-learn's parameter prefix of the last step of a pipeline, and that step.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> split_last(make_pipeline(make_pipeline(Ridge())))
    ('pipeline__ridge__', Ridge())
    """
    path = ""
    while steps := getattr(estimator, "steps", None):
        name, estimator = steps[-1]
        path += f"{name}__"
    return path, estimator


def training_key(recipe: Any, fitted: bool = False) -> str:
    """Return the fingerprint of everything that the training depends on; see `fingerprint` for ``fitted``."""
    from leakscope.data.fingerprints import fingerprint

    try:
        return fingerprint(recipe, fitted=fitted)
    except InputError:
        return uuid4().hex  # unique, so that the cache never returns results of another learner
