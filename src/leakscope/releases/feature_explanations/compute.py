"""Feature explanations of any model that can be differentiated; for other models, an error that names what works."""

from __future__ import annotations

from typing import Any, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from leakscope.core.errors import InputError, MissingExtraError
from leakscope.core.failures import cause, describe
from leakscope.data.fingerprints import row_hashes
from leakscope.data.records import as_matrix
from leakscope.models.adapters import (
    EstimatorOutputs,
    FunctionOutputs,
    TorchCall,
    as_function,
    estimator_model,
    function_model,
    is_estimator,
    is_torch_module,
    torch_outputs,
)
from leakscope.models.encoding import LinearOutputs
from leakscope.models.model import Aligned, Model, Outputs, Task
from leakscope.releases.feature_explanations.linear import LinearView, encoded_view, linear_view
from leakscope.releases.feature_explanations.noise import draw
from leakscope.releases.feature_explanations.settings import FeatureExplanation, parse

Values = NDArray[np.floating[Any]]
PROBE = 256
WORKS = (
    "a torch module, or scikit-learn's linear, logistic and MLP models, alone or at the end of a pipeline; record "
    "explanations (leakscope reconstruct) need no derivatives"
)


class View(Protocol):
    """A model that can be explained: linear, or a network."""

    def explain(self, X: Any, how: FeatureExplanation, keys: NDArray[np.uint64]) -> Values: ...


def explain(
    model: Any,
    X: Any,
    how: FeatureExplanation | str = "gradient",
    *,
    outputs: Outputs | None = None,
    task: Task | None = None,
) -> Values:
    """Explain the model's decision about each record by its features.

    Parameters
    ----------
    model
        A torch module; a linear, logistic or MLP model of scikit-learn, or a pipeline that ends in one; or a `Model`
        made from such. In a pipeline, the explained columns are the inputs of its last step.
    X
        Records, one row each; images and the like keep their shape.
    how
        A :class:`FeatureExplanation`, or its name.
    outputs
        What a torch module that classifies gives: ``"logits"``, ``"probabilities"`` or ``"log-probabilities"``; by default
        inferred from its last layer.
    task
        ``"regression"`` for a torch module that predicts a value.

    Returns
    -------
    array
        One value per feature of each record.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> model = LogisticRegression().fit([[0.0, 1.0], [1.0, 0.0], [2.0, 0.0], [0.0, 2.0]], [0, 1, 1, 0])
    >>> explain(model, [[2.0, 0.0]], "gradient:output=logit").round(2)
    array([[ 0.71, -0.71]])
    """
    chosen = parse(how) if isinstance(how, str) else how
    if not isinstance(chosen, FeatureExplanation):
        raise InputError(f"how must be an explanation or its name, such as 'gradient', not {how!r}")
    return explain_model(as_model(model, X, outputs, task), X, chosen)


def as_model(model: Any, X: Any, outputs: Outputs | None = None, task: Task | None = None) -> Model:
    """Convert a model that can be explained to a `Model`; see `explain`."""
    for name, value, known in (("outputs", outputs, get_args(Outputs)), ("task", task, get_args(Task))):
        if value not in (None, *known):
            raise InputError(f"{name}={value!r} is not known: choose one of {', '.join(known)}")
    if isinstance(model, Model) or is_estimator(model):
        if outputs is not None or task is not None:
            raise InputError("outputs= and task= are for torch modules: leave them out for this model")
        return model if isinstance(model, Model) else estimator_model(model)
    if not is_torch_module(model):
        raise InputError(f"a {type(model).__name__} can't be differentiated: explanations need {WORKS}")
    return _module_model(model, X, outputs, task)


def _module_model(module: Any, X: Any, outputs: Outputs | None, task: Task | None) -> Model:
    """A torch module; the meaning of a single output must be stated."""
    if task == "regression":
        if outputs is not None:
            raise InputError('outputs= is for classification: leave it out with task="regression"')
        return function_model(module, "regression", None, "probabilities")
    if outputs == "logits":
        return function_model(module, "classification", np.arange(2), outputs)
    call, name = as_function(module)
    records = _numbers(X, name)[:PROBE]
    try:
        first = call(records)
    except InputError:
        raise
    except Exception as error:
        what = f"{name} fails on these records ({describe(error)})"
        raise InputError(f"{what}: pass records of the shape and type that it expects") from cause(error)
    columns = first.reshape(len(first), -1)
    kind = outputs or torch_outputs(module, columns)
    if columns.shape[1] == 1 and kind == "logits" and task is None:
        raise InputError(
            f'{name} gives one number per record: pass outputs="logits" if it is that of the second of two classes, or '
            'task="regression" if it is a value'
        )
    model = function_model(module, "classification", np.arange(max(2, columns.shape[1])), kind)
    model.predict(records)  # raises an error if its outputs are not as stated
    return model


def explain_model(model: Model, X: Any, how: FeatureExplanation) -> Values:
    """Explain a `Model`, as `explain` does."""
    view = find_view(model, how)
    table = explained_records(model, X)
    keys = row_hashes(table) if how.noise or how.method == "smoothgrad" else np.zeros(len(table), np.uint64)
    with np.errstate(over="ignore", invalid="ignore"):  # the next line refuses what is not finite
        found = process(view.explain(table, how, keys), how, keys)
    if not np.isfinite([found.min(), found.max()]).all():
        raise InputError(
            f"{how.name} of {model.name} is not a finite number for some records: look for missing, infinite or very large "
            "values in them"
        )
    return found


def refusal(model: Model, how: FeatureExplanation) -> str | None:
    """Return why this model can't be explained so, or None. Networks are checked only when they run."""
    if model.task == "regression" and how.output is not None:
        return "a predicted value has neither probability nor logit: leave output out"
    try:
        find_view(model, how)
    except InputError as error:
        return str(error)
    return None


def find_view(model: Model, how: FeatureExplanation) -> View:
    """Find the way to differentiate a model, or raise an error that names what works."""
    view = _view(_unaligned(model.predict), model.name)
    if isinstance(view, LinearView):
        if view.link == "scores" and how.explains == "probability":
            raise InputError(f"{model.name} gives no probabilities: explain its score, {how.method}:output=logit")
        return view
    if how.explains == "logit":
        view = view.without_softmax()
        if view is None:
            raise InputError(
                f"{model.name} gives probabilities, and its logits are not available: pass the network before its softmax, with "
                'outputs="logits"'
            )
    return view  # type: ignore[no-any-return]


def _unaligned(predict: Any) -> Any:
    while isinstance(predict, Aligned):
        predict = predict.predict
    return predict


def _view(predict: Any, name: str) -> Any:
    if isinstance(predict, FunctionOutputs) and isinstance(predict.call, TorchCall):
        from leakscope.releases.feature_explanations.network import NetworkView

        return NetworkView(predict.call.module, predict.outputs if predict.classes is not None else "values")
    if isinstance(predict, EstimatorOutputs):
        last = _last_step(predict.estimator)
        if (view := linear_view(last)) is not None:
            return view
        if type(last).__name__ in ("MLPClassifier", "MLPRegressor"):
            try:
                from leakscope.releases.feature_explanations.scikit_networks import network_view
            except ImportError:
                raise MissingExtraError("explanations of networks", "torch") from None
            return network_view(last)
        raise InputError(f"leakscope knows no gradients of {name}: feature explanations need {WORKS}")
    if isinstance(predict, LinearOutputs):
        return encoded_view(predict.coefficients, predict.intercept, classification=predict.classification)
    raise InputError(f"{name} is a function that can't be differentiated: feature explanations need {WORKS}")


def _unwrapped(estimator: Any) -> Any:
    """The model inside a search or a pipeline of one step."""
    if (best := getattr(estimator, "best_estimator_", None)) is not None:
        return _unwrapped(best)
    steps = getattr(estimator, "steps", None)
    return _unwrapped(steps[0][1]) if steps and len(steps) == 1 else estimator


def _last_step(estimator: Any) -> Any:
    estimator = _unwrapped(estimator)
    steps = getattr(estimator, "steps", None)
    return _last_step(steps[-1][1]) if steps else estimator


def _before_last_step(estimator: Any, table: Any) -> Any:
    """Inputs of the last step of a pipeline, or of nested pipelines."""
    estimator = _unwrapped(estimator)
    if not getattr(estimator, "steps", None):
        return table
    return _before_last_step(estimator.steps[-1][1], estimator[:-1].transform(table))


def explained_columns(model: Model, X: Any) -> Any:
    """Return the inputs of the explained model."""
    predict = _unaligned(model.predict)
    if isinstance(predict, LinearOutputs):
        return predict.encoding(X)
    if not isinstance(predict, EstimatorOutputs):
        return X
    table = X if hasattr(X, "columns") else _array(X, model.name)
    arranged = predict.layout.arrange(table)
    try:
        return _before_last_step(predict.estimator, arranged)
    except Exception as error:
        what = f"{model.name} fails on these records ({describe(error)})"
        raise InputError(f"{what}: pass records like those that it was trained on") from cause(error)


def explained_records(model: Model, X: Any) -> NDArray[Any]:
    """Return the numbers whose influence is explained, one row per record."""
    return _numbers(explained_columns(model, X), model.name)


def _array(X: Any, name: str) -> NDArray[Any]:
    try:
        return as_matrix(X.toarray() if hasattr(X, "toarray") else X)
    except Exception as error:
        what = f"{name} needs a table of records ({describe(error)})"
        raise InputError(f"{what}: pass one row per record") from cause(error)


def _numbers(X: Any, name: str) -> NDArray[Any]:
    table = _array(X, name)
    if table.dtype.kind not in "biuf":
        raise InputError(f"{name} needs numbers, not {table.dtype}: encode the columns of X first")
    if not len(table):
        raise InputError("X has no records to explain: pass one or more")
    return table if table.dtype in (np.float32, np.float64) else table.astype(np.float64)


# --- post-processing of a released explanation ------------------------------------------------------------------------


def process(found: Values, how: FeatureExplanation, keys: NDArray[np.uint64]) -> Values:
    """Add noise, normalise, keep the largest values, and round, as set.

    Examples
    --------
    >>> process(np.array([[0.5, -1.234, 0.25]]), parse("gradient:top=2:decimals=1"), np.zeros(1, np.uint64))
    array([[ 0.5, -1.2,  0. ]])
    """
    flat = found.reshape(len(found), -1)
    if how.noise:
        # A stream of its own: independent of the noise of SmoothGrad.
        flat = flat + how.noise * draw(keys, flat.shape[1:], how.seed, stream=1)
    if how.normalised:
        size = np.abs(flat).sum(axis=1, keepdims=True)
        flat = flat / np.where(size == 0, 1.0, size)
    if how.top is not None and how.top < flat.shape[1]:
        kept = np.argpartition(-np.abs(flat), how.top - 1, axis=1)[:, : how.top]
        largest = np.zeros_like(flat)
        np.put_along_axis(largest, kept, np.take_along_axis(flat, kept, axis=1), axis=1)
        flat = largest
    if how.decimals is not None:
        flat = np.round(flat, how.decimals) + 0.0
    if how.digits is not None:
        flat = _significant(flat, how.digits)
    return flat.astype(found.dtype, copy=False).reshape(found.shape)


def _significant(values: Values, digits: int) -> Values:
    """Round to a number of significant digits."""
    size = np.abs(values)
    with np.errstate(divide="ignore"):
        places = digits - 1 - np.floor(np.log10(np.where(size == 0, 1.0, size)))
    factor = 10.0 ** np.clip(places, -300, 300)
    rounded: Values = np.round(values * factor) / factor
    return rounded
