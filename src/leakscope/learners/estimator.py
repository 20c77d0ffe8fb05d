"""Any scikit-learn classifier, regressor or pipeline as a learner, one fit after the other.

The estimator is cloned, every ``random_state`` within it is drawn from the generator of the world, and ``fit`` is called
with the records as they were given. What it minimises is its own affair: penalties are set on the estimator.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakscope.core.arrays import Floats
from leakscope.core.errors import InputError
from leakscope.core.failures import cause, describe
from leakscope.data.records import read_pair
from leakscope.learners.linear import check_size, read_classes, read_values
from leakscope.models.adapters import EstimatorOutputs, Layout, estimator_name, estimator_task, frozen_parts
from leakscope.models.model import Aligned, Model, Task
from leakscope.models.target import EstimatorFit

FLOOR = 1e-12  # probabilities are taken to be at least that: log-odds stay within ±27.7


@dataclass(frozen=True)
class Estimator:
    """A scikit-learn classifier, regressor or pipeline, fitted or not.

    Parameters
    ----------
    estimator
        What to train; it is cloned for each training set and never changed.
    classes
        The labels in rising order; `prepare` fills them in.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> learner, X, y = Estimator(LinearRegression()).prepare([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> learner.parameters(learner.fit(X, y, np.random.default_rng(0))).round(6)
    array([2., 1.])
    """

    estimator: Any
    classes: tuple[Any, ...] | None = field(default=None, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        if isinstance(self.estimator, type) or not hasattr(self.estimator, "get_params"):
            raise InputError("Estimator takes a scikit-learn estimator, such as Estimator(LogisticRegression())")

    @property
    def name(self) -> str:
        """Class of the estimator; for a pipeline, that of its last step too."""
        return estimator_name(self.estimator)

    @property
    def task(self) -> Task:
        """Whether the estimator classifies or regresses."""
        return estimator_task(self.estimator)

    def prepare(self, X: Any, y: Any) -> tuple[Estimator, Any, NDArray[Any]]:
        """Records as they are, and labels as float64 or as positions in the sorted classes.

        Examples
        --------
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> Estimator(DecisionTreeClassifier()).prepare([[3.0], [4.0]], ["yes", "no"])[2]
        array([1, 0])
        """
        task = self.task
        if frozen_parts(self.estimator):
            raise InputError(
                f"{self.name} can't be trained again, since it or a part of it is frozen: pass it unfrozen"
            )
        features, labels, _ = read_pair((X, y), "the data")
        if task == "regression":
            return self, features, read_values(labels, self.name)
        classes, codes = read_classes(labels)
        return replace(self, classes=tuple(classes.tolist())), features, codes

    def check(self, X: Any, y: NDArray[Any], size: int) -> None:  # noqa: ARG002
        """Refuse training sets that are empty, or larger than what there is."""
        check_size(size, len(y))

    def fit(self, X: Any, y: NDArray[Any], rng: np.random.Generator) -> Model:
        """Train a clone on one set."""
        return EstimatorFit(self.estimator, Layout(None, None), self._labels())(X, y, rng)

    def parameters(self, model: Model) -> Floats:
        """Give ``coef_`` row by row, then ``intercept_``, of the last step.

        Refused where there is no ``coef_``, or where a class was missing in training so that it lacks rows.
        """
        last = _fitted(model)
        while hasattr(last, "steps"):
            last = last.steps[-1][1]
        if not hasattr(last, "coef_"):
            raise InputError(f'{self.name} has no coef_ to take for its parameters: use space="function"')
        if isinstance(model.predict, Aligned):
            raise InputError(
                f"a training set lacks one of the {len(self.classes or ())} classes, so that {self.name} has fewer "
                'parameters there: make training sets larger, or use space="function"'
            )
        coefficients = np.ravel(np.asarray(last.coef_, dtype=np.float64))
        intercepts = np.ravel(np.asarray(getattr(last, "intercept_", []), dtype=np.float64))
        return np.concatenate([coefficients, intercepts if getattr(last, "fit_intercept", True) else intercepts[:0]])

    def outputs(self, model: Model, X: Any) -> Floats:
        """Give predicted values (rows, 1), or the log-odds of classes 1…K-1 against class 0, (rows, K - 1).

        Probabilities are taken to be at least 10⁻¹², those of classes that a training set lacks among them, so that
        log-odds stay finite. A classifier of two classes without ``predict_proba`` gives its ``decision_function``.
        """
        if model.task == "regression":
            return model.predict(X)[:, None]
        if not model.gives_probabilities:
            return self._decisions(model, X)[:, None]
        logs = np.log(np.maximum(model.predict(X), FLOOR))
        log_odds: Floats = logs[:, 1:] - logs[:, :1]
        return log_odds

    def losses(self, model: Model, X: Any, y: NDArray[Any]) -> Floats:
        """Squared error, or log-loss of a probability of at least 10⁻¹².

        Where there are no probabilities, the decision function is read as log-odds.
        """
        losses: Floats
        if model.task == "regression":
            losses = (y - model.predict(X)) ** 2
        elif not model.gives_probabilities:
            losses = np.logaddexp(0.0, (1.0 - 2.0 * y) * self._decisions(model, X))
        else:
            losses = -np.log(np.maximum(model.predict(X)[np.arange(len(y)), y], FLOOR))
        return losses

    def _labels(self) -> NDArray[Any] | None:
        return None if self.classes is None else np.asarray(self.classes)

    def _decisions(self, model: Model, X: Any) -> Floats:
        fitted = _fitted(model)
        if not hasattr(fitted, "decision_function") or len(self.classes or ()) > 2:
            raise InputError(
                f"{self.name} gives no probabilities: use one with predict_proba, such as a calibrated one"
            )
        if isinstance(model.predict, Aligned):
            raise InputError(f"{self.name} was trained on one of two classes only: make training sets larger")
        try:
            return np.asarray(fitted.decision_function(X), dtype=np.float64)
        except Exception as error:
            raise InputError(f"{self.name} fails to predict the data: {describe(error)}") from cause(error)


def _fitted(model: Model) -> Any:
    """The estimator within the model that `Estimator.fit` made."""
    outputs = model.predict.predict if isinstance(model.predict, Aligned) else model.predict
    if not isinstance(outputs, EstimatorOutputs):
        raise InputError(f"{model.name} is not a model that Estimator trained: pass what its fit gave")
    return outputs.estimator
