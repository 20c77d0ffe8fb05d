"""What defenses that train the audited model in another way have in common: its scikit-learn recipe, and its last step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from leakscope.core.errors import InputError
from leakscope.defenses.defense import Defense
from leakscope.models.encoding import last_step
from leakscope.models.target import EstimatorFit, Target, TrainingRecipe

NO_LEARNER = "it can't be trained again here; from Python, fit= says how it is trained"
NOTHING_PROVEN = "nothing is proven about the risk that is left: what counts is what the attacks found"


def learner_of(defense: Defense, target: Target) -> TrainingRecipe:
    """How the target is trained; raises the reason if the defense refuses the target."""
    if (reason := defense.refuse(target)) or target.learner is None:
        raise InputError(f"{defense.name} can't defend this model: {reason}")
    return target.learner


def refuse_other_steps(target: Target, known: Mapping[str, Any], what: str) -> str | None:
    """Why the last step of a target is none of the known estimators, as the end of a sentence; None if it is one.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from leakscope.models.target import make_target
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> target = make_target(GaussianNB().fit(X, y), (X, y), (X, y))
    >>> refuse_other_steps(target, {"Ridge": None}, "such penalty")
    'GaussianNB has no such penalty; these have one: Ridge'
    """
    if target.learner is None:
        return NO_LEARNER
    if not isinstance(target.learner.fit, EstimatorFit):
        return "it is trained by a function of your own, whose settings can't be changed from here: pass a scikit-learn model"
    last = last_step(target)
    if known_class(last, known) is not None:
        return None
    if hasattr(last, "best_estimator_"):
        return f"{type(last).__name__} chooses its own settings: pass its best_estimator_"
    return f"{type(last).__name__} has no {what}; these have one: {', '.join(known)}"


def known_class(estimator: Any, known: Mapping[str, Any]) -> str | None:
    """The name under which an estimator, or a class that it extends, is known."""
    return next((kind.__name__ for kind in type(estimator).__mro__ if kind.__name__ in known), None)


def split_last(estimator: Any) -> tuple[str, Any]:
    """Where the parameters of the last step of a pipeline stand, as scikit-learn writes it, and that step.

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


def with_parameters(recipe: EstimatorFit, parameters: Mapping[str, Any]) -> EstimatorFit:
    """The recipe with parameters of its last step changed, on a clone."""
    from sklearn.base import clone

    estimator = clone(recipe.estimator)
    path, _ = split_last(estimator)
    estimator.set_params(**{path + name: value for name, value in parameters.items()})
    return replace(recipe, estimator=estimator)
