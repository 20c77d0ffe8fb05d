"""Target: a fitted model, the records it was trained on, held-out records, and how to train it again."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
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
from leakscope.data.records import (
    HOLDOUT,
    TRAIN,
    Records,
    list_names,
    number_rows,
    read_groups,
    read_ids,
    read_pair,
    row_name,
    same_columns,
)
from leakscope.models.adapters import (
    EstimatorOutputs,
    FunctionOutputs,
    Layout,
    as_function,
    checked,
    estimator_layout,
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
    """How to train the model again: ``fit(X, y, rng)`` gives a new `Model` with the target's classes.

    ``y`` holds int64 positions in the classes, or float64 values. Equal keys mean equal learners: a cache relies on it.
    """

    name: str
    fit: Callable[[Any, NDArray[Any], np.random.Generator], Model] = field(repr=False)
    key: str


@dataclass(frozen=True, eq=False)
class Target:
    """What is audited: the model, its training records, held-out records, and its learner where it has one."""

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
) -> Target:
    """Read a model and its records, check that they fit together, and refuse what can't be audited.

    Only a few hundred records are predicted here.

    Parameters
    ----------
    model
        A fitted scikit-learn classifier, regressor or pipeline (or what has the same methods), a native Booster of
        XGBoost or LightGBM, a torch module, a callable, or a `Model`.
        A callable takes records as you gave them and returns probabilities, or values for regression; one column of
        probabilities is that of the second class.
    train, holdout
        Pairs (X, y). Where a scikit-learn model remembers its columns, the others are left out.
    groups
        Names of columns of X, a Series or DataFrame whose columns X has too (``X["race"]``), or a pair of
        Series, DataFrames or arrays, one for the training set and one for the holdout.
    fit
        ``fit(X, y, rng)`` trains the model anew on some of the records, with labels as you gave them, and returns any
        kind of model named above. A scikit-learn model needs none: it is cloned, every ``random_state`` within it is
        drawn from ``rng``, and ``fit(X, y)`` is called, without sample weights. With a torch module, torch's own random
        numbers are seeded from ``rng``, on one thread.
    task
        By default what scikit-learn says; otherwise text, boolean and integer labels mean classification, and numbers
        with fractions regression.
    classes
        Labels in the order of the model's columns. By default what scikit-learn says; otherwise 0 … k - 1 if all labels
        are such integers, or the sorted labels of the training set if there are k.
    outputs
        What a torch module or callable gives back: ``"logits"``, ``"probabilities"`` or ``"log-probabilities"``. By
        default callables give probabilities, and torch modules what their last layer says.
    ids
        One id per training record, or a pair for both sets. By default the row names of a DataFrame, or positions.

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
    levels, other_levels = read_groups(groups, X, other)
    pair = ids if isinstance(ids, tuple | list) and len(ids) == 2 and np.ndim(ids[0]) == 1 else (ids, None)
    names, other_names = read_ids(pair[0], X, TRAIN), read_ids(pair[1], other, HOLDOUT)
    adapted = _adapt(model, X, [y, other_y], task, classes, outputs)
    X, other = _used(adapted, X), _used(adapted, other)
    members = Records(X, _targets(adapted, y, TRAIN), names, levels, number_rows(len(y), TRAIN))
    nonmembers = Records(
        other, _targets(adapted, other_y, HOLDOUT), other_names, other_levels, number_rows(len(other_y), HOLDOUT)
    )
    for records, where in ((members, TRAIN), (nonmembers, HOLDOUT)):
        asked = PredictionRequest(records.X, where, records.places, adapted.block is None)
        asked.attempt(adapted.predict, adapted.name, probe(records.X))
    learner, why_not = _learner(model, adapted, fit)
    return Target(adapted, members, nonmembers, learner, (*warnings, *more, *why_not))


# --- reading the model ------------------------------------------------------------------------------------------------


def _adapt(
    model: Any, X: Any, labels: list[NDArray[Any]], task: Task | None, classes: Any, outputs: Outputs | None
) -> Model:
    """Any model as a `Model`, its task, classes and kind of outputs settled."""
    if task not in (None, *get_args(Task)):
        raise InputError(f"task={task!r} is not known: say one of {list_names(get_args(Task))}")
    if outputs not in (None, *get_args(Outputs)):
        raise InputError(f"outputs={outputs!r} is not known: say one of {list_names(get_args(Outputs))}")
    if isinstance(model, type):
        raise InputError(f"{model.__name__} is a class: pass a fitted model made from it")
    if isinstance(model, Model) or is_estimator(model):
        if classes is not None or outputs is not None:
            raise InputError("classes= and outputs= are for torch modules and callables: this model says both itself")
        adapted = checked(model) if isinstance(model, Model) else estimator_model(model)
        if task not in (None, adapted.task):
            raise InputError(f"{adapted.name} is a {adapted.task} model: leave task= out")
        return adapted
    call, name = as_function(model)
    asked = PredictionRequest(X, TRAIN, number_rows(len(X), TRAIN), getattr(call, "block", None) is None)
    raw = asked.attempt(lambda part: output_columns(call(part), len(part), name), name, probe(X))
    if isinstance(model, OnnxModel):  # the file may name its task and, once it has predicted, its classes
        task = task or model.task
        classes = model.classes if classes is None else classes
    task = task or infer_task(labels, raw.shape[1])
    if task == "regression":
        return function_model(model, task, None, "probabilities")
    known = infer_classes(labels, raw.shape[1], classes)
    if outputs is None:
        outputs = torch_outputs(model, raw) if is_torch_module(model) else "probabilities"
    return function_model(model, task, known, outputs)


def _used(model: Model, X: Any) -> Any:
    """Columns that the model uses, where it knows their names."""
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
    """Labels as codes or values."""
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
        raise InputError(f"{where} has one label only: give records of at least two classes")
    return codes


def _check_range(y: NDArray[np.float64], where: str) -> None:
    """Refuse labels whose squared errors, or their variance, could leave the range of floating-point numbers."""
    largest = float(np.abs(y).max())
    spread = largest * float((y / largest).std()) if largest > 0 else 0.0
    if (spread > 0 and not 1 / LARGEST_SPREAD <= spread <= LARGEST_SPREAD) or largest > LARGEST_SPREAD**2:
        raise InputError(
            f"the labels of {where} have a standard deviation of {spread:.1e}, beyond what squared errors can be computed for: "
            "rescale the labels and the model's predictions"
        )


# --- training again ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EstimatorFit:
    """Train a clone of a scikit-learn estimator."""

    estimator: Any
    layout: Layout
    classes: NDArray[Any] | None

    def __call__(self, X: Any, y: NDArray[Any], rng: np.random.Generator, **options: Any) -> Model:
        """Train on some records; ``options`` go to the estimator's own ``fit``, such as weights of the records."""
        from sklearn.base import clone
        from sklearn.exceptions import ConvergenceWarning

        estimator = clone(self.estimator)
        estimator.set_params(**dict.fromkeys(_memories(estimator)))
        seeds = [name for name in sorted(estimator.get_params()) if name.split("__")[-1] == "random_state"]
        estimator.set_params(**{name: int(rng.integers(2**31)) for name in seeds})
        try:
            with seeded_numpy(rng), warnings.catch_warnings():
                # whoever trained the model has seen this warning; of hundreds of retrainings it says nothing new
                warnings.simplefilter("ignore", ConvergenceWarning)
                estimator.fit(self.layout.arrange(X), y if self.classes is None else self.classes[y], **options)
        except Exception as error:
            name = estimator_name(estimator)
            raise InputError(
                f"{name} can't be trained again on {len(y)} records: {describe(error)}"
                f"{about_texts(X, error) or ' (fit= can say how it is trained)'}"
            ) from cause(error)
        return align(estimator_model(estimator), self.classes)


def _memories(estimator: Any) -> list[str]:
    """Parameters by which scikit-learn writes the records, as pickles, into a folder that a model file may name."""
    parameters = estimator.get_params()
    owners = {name: parameters.get(name.removesuffix("memory").removesuffix("__"), estimator) for name in parameters}
    named = [name for name in parameters if name.split("__")[-1] == "memory"]
    return [name for name in named if type(owners[name]).__module__.startswith("sklearn.")]


@dataclass(frozen=True)
class FunctionFit:
    """Train by the user's own function, which sees labels as the user gave them."""

    fit: Callable[[Any, Any, np.random.Generator], Any]
    task: Task
    classes: NDArray[Any] | None
    outputs: Outputs
    seeds_torch: bool

    def __call__(self, X: Any, y: NDArray[Any], rng: np.random.Generator) -> Model:
        with seeded_torch(rng) if self.seeds_torch else nullcontext():
            try:
                with seeded_numpy(rng.spawn(1)[0]):
                    trained = self.fit(X, y if self.classes is None else self.classes[y], rng)
            except Exception as error:
                raise InputError(f"the fit= function fails on {len(y)} records: {describe(error)}") from cause(error)
        if isinstance(trained, Model):
            model = checked(trained)
        elif is_estimator(trained):
            model = estimator_model(trained)
        else:
            model = function_model(trained, self.task, self.classes, self.outputs, one_thread=True)
        if model.task != self.task:
            raise InputError(f"fit returned a {model.task} model for a {self.task} target: return the same kind")
        return align(model, self.classes)


@contextmanager
def seeded_numpy(rng: np.random.Generator) -> Iterator[None]:
    """Draw from the seed what a learner without a seed of its own takes from numpy's global generator."""
    before = np.random.get_state()  # noqa: NPY002
    np.random.seed(int(rng.integers(2**31)))  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(before)  # noqa: NPY002


def _learner(model: Any, adapted: Model, fit: Any) -> tuple[TrainingRecipe | None, list[Caveat]]:
    """How to train the model again, or nothing and why not."""
    if fit is not None:
        if not callable(fit):
            raise InputError("fit= must be a function fit(X, y, rng) that returns a fitted model")
        outputs = adapted.predict.outputs if isinstance(adapted.predict, FunctionOutputs) else "probabilities"
        recipe = FunctionFit(fit, adapted.task, adapted.classes, outputs, is_torch_module(model))
        return TrainingRecipe(adapted.name, recipe, _key(replace(recipe, fit=getattr(fit, "key", fit)))), []
    if not is_estimator(model):
        return None, []
    from sklearn.base import clone

    try:
        estimator = clone(model)
    except (TypeError, RuntimeError) as error:
        return None, [Caveat("not_cloneable", {"model": adapted.name, "error": describe(error)})]
    if frozen := frozen_parts(estimator):
        return None, [Caveat("frozen_parts", {"model": adapted.name, "parts": [str(part) for part in frozen]})]
    again = EstimatorFit(estimator, estimator_layout(model), adapted.classes)
    return TrainingRecipe(adapted.name, again, _key(again)), []


def _key(*recipe: Any) -> str:
    """Fingerprint of what the training depends on."""
    from leakscope.data.fingerprints import fingerprint

    try:
        return fingerprint(*recipe)
    except InputError:
        return uuid4().hex  # never the same twice, so that a cache never answers for another learner
