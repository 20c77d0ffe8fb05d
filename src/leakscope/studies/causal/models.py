"""Which models are compared: the causal one, one on all columns, the same kind on the causes, and wrong choices."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from leakscope.causal.kinds import EstimatorKind, Kind, NetworkKind, TableKind
from leakscope.causal.network import LARGEST_TABLE
from leakscope.core.errors import InputError
from leakscope.data.records import list_names
from leakscope.studies.causal.scenarios import CausalProblem

#: Models by name: what stands for all columns and, where a table can't, for the causes.
MODELS = ("network", "logistic", "trees", "ridge")


def choose_kinds(
    problem: CausalProblem, model: Any, wrong: int, others: dict[str, tuple[int, ...]], rng: np.random.Generator
) -> list[Kind]:
    """The causal model, one on all columns, the same kind on the causes, and causal models on other choices of columns."""
    everything, causes = tuple(range(len(problem.names))), problem.causes
    make, name = _maker(problem, model)
    table = _fits_table(problem, causes)
    kinds = [(table, causes, "table of the causes" if table else f"{name} on the causes")]
    kinds.append((False, everything, f"{name} on all columns"))
    if table:
        kinds.append((False, causes, f"{name} on the causes"))
    rest = [column for column in everything if column not in causes]
    if wrong > len(rest):
        raise InputError(f"wrong must be at most the {len(rest)} columns that are no causes, not {wrong}")
    choices = dict(others)
    if wrong and not any(set(columns) > set(causes) for columns in choices.values()):
        added = sorted(rng.choice(rest, wrong, replace=False).tolist())
        choices[f"with wrong {list_names([problem.names[column] for column in added])}"] = (*causes, *added)
    for words, columns in choices.items():
        if columns and set(columns) != set(causes):
            kinds.append((table and _fits_table(problem, columns), columns, f"causes {words}"))
    return [(TableKind if fits else make)(columns, problem.levels, name=title) for fits, columns, title in kinds]


def _fits_table(problem: CausalProblem, columns: Sequence[int]) -> bool:
    cells = math.prod(float(problem.levels[column]) for column in columns)
    return problem.classes is not None and 0 < cells * len(problem.classes) <= LARGEST_TABLE


def _maker(problem: CausalProblem, model: Any) -> tuple[Callable[..., Kind], str]:
    """How a model on some columns is made, and what it is called."""
    regression = problem.classes is None
    if model == "network":
        return NetworkKind, "network"
    if isinstance(model, str) and model in MODELS:
        estimator, name = _estimator(model, regression), model
    elif hasattr(model, "get_params") and hasattr(model, "fit") and not isinstance(model, type):
        from leakscope.models.adapters import estimator_name, estimator_task

        estimator, name = model, estimator_name(model)
        wanted = "regression" if regression else "classification"
        if estimator_task(model) != wanted:
            raise InputError(f"{name} does not fit the label {problem.label}, which asks for {wanted}")
        if not regression and not hasattr(model, "predict_proba"):
            raise InputError(f"{name} gives no probabilities: use one with predict_proba")
    else:
        raise InputError(f"model is {', '.join(MODELS)} or a scikit-learn estimator, not {model!r}")
    return partial(EstimatorKind, estimator=estimator), name


def _estimator(name: str, regression: bool) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.linear_model import LogisticRegression, Ridge

    if regression and name == "logistic":
        raise InputError("logistic regression is for classes, and the label is a number: use ridge, trees or network")
    if not regression and name == "ridge":
        raise InputError("ridge is for numbers, and the label has classes: use logistic, trees or network")
    if name == "trees":
        return HistGradientBoostingRegressor() if regression else HistGradientBoostingClassifier()
    return Ridge() if name == "ridge" else LogisticRegression(max_iter=2000)
