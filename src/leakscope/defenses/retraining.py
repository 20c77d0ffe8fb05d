"""Retraining of the audited model with other settings: its scikit-learn estimator and the pipeline's last step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from leakscope.core.errors import InputError
from leakscope.defenses.defense import Defense
from leakscope.models.adapters import pick_columns
from leakscope.models.encoding import last_step
from leakscope.models.target import EstimatorFit, Target, TrainingRecipe, split_last

NO_LEARNER = "it cannot be retrained: pass fit= from Python"
NOTHING_PROVEN = "there is no guarantee about the remaining risk: rely on the measured attacks"


def learner_of(defense: Defense, target: Target) -> TrainingRecipe:
    """How the target is trained; raises the reason if the defense refuses the target."""
    if (reason := defense.refuse(target)) or target.learner is None:
        raise InputError(f"defense {defense.name!r} cannot be applied to this model: {reason}")
    return target.learner


def same_form(members: Any, X: Any, where: str) -> Any:
    """Return further records with the columns and categories of the training records; refuse another form."""
    if isinstance(members, pd.DataFrame) != isinstance(X, pd.DataFrame):
        raise InputError(f"the training set and {where} must both be DataFrames with named columns, or both arrays")
    if not isinstance(members, pd.DataFrame):
        if members.shape[1:] != X.shape[1:]:
            raise InputError(f"{where} have shape {X.shape[1:]}, the training set {members.shape[1:]}: use one shape")
        return X
    X = pick_columns(X, tuple(members.columns))
    # Categorical columns keep their type only if both tables have the same categories.
    categories = {name: kind for name, kind in members.dtypes.items() if isinstance(kind, pd.CategoricalDtype)}
    return X.astype(categories)


def refuse_other_steps(target: Target, known: Mapping[str, Any], what: str) -> str | None:
    """Return why the last step of a target is not supported, as the end of a sentence, or None if it is.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from leakscope.models.target import make_target
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> target = make_target(GaussianNB().fit(X, y), (X, y), (X, y))
    >>> refuse_other_steps(target, {"Ridge": None}, "l2 penalty")
    'GaussianNB has no l2 penalty; supported are Ridge'
    """
    if target.learner is None:
        return NO_LEARNER
    if not isinstance(target.learner.fit, EstimatorFit):
        return "it is trained by your own function, whose settings cannot be changed: pass a scikit-learn model"
    last = last_step(target)
    if known_class(last, known) is not None:
        return None
    if hasattr(last, "best_estimator_"):
        return f"{type(last).__name__} selects its own settings: pass its best_estimator_"
    return f"{type(last).__name__} has no {what}; supported are {', '.join(known)}"


def known_class(estimator: Any, known: Mapping[str, Any]) -> str | None:
    """Return the supported name of an estimator or of a class that it extends."""
    return next((kind.__name__ for kind in type(estimator).__mro__ if kind.__name__ in known), None)


def with_parameters(recipe: EstimatorFit, parameters: Mapping[str, Any]) -> EstimatorFit:
    """Return a clone of the recipe with changed parameters of its last step."""
    from sklearn.base import clone

    estimator = clone(recipe.estimator)
    path, _ = split_last(estimator)
    estimator.set_params(**{path + name: value for name, value in parameters.items()})
    return replace(recipe, estimator=estimator)
