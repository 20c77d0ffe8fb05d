"""Early stopping: training ends after a few steps, before the model knows its training records by heart.

A step is what the estimator counts: an iteration of the solver (logistic regression, support vectors), a pass over the
records (SGD, networks), or a tree or round of boosting. A model that would stop by itself before that does so.

Song & Mittal 2021 hold adversarial regularisation against plain early stopping, since much of what a defense seems to buy
may come from training less. They stop networks by epochs; we do the same for every estimator that trains in steps.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from leakscope.defenses.defense import Defended, Tunable, make_learner, whole_numbers
from leakscope.defenses.retraining import NOTHING_PROVEN, known_class, learner_of, refuse_other_steps, with_parameters
from leakscope.models.encoding import last_step
from leakscope.models.model import Model
from leakscope.models.target import EstimatorFit, Target

ITERATIVE = (
    "LogisticRegression",
    "LinearSVC",
    "LinearSVR",
    "SGDClassifier",
    "SGDRegressor",
    "MLPClassifier",
    "MLPRegressor",
)
BOOSTED = ("GradientBoostingClassifier", "GradientBoostingRegressor", "LGBMClassifier", "LGBMRegressor")
#: The parameter that says how many steps an estimator trains at most.
STEPS = {
    **dict.fromkeys((*ITERATIVE, "HistGradientBoostingClassifier", "HistGradientBoostingRegressor"), "max_iter"),
    **dict.fromkeys((*BOOSTED, "XGBClassifier", "XGBRegressor"), "n_estimators"),
}
XGBOOST_STEPS = 100  # what it takes where its parameter is None


@dataclass(frozen=True)
class EarlyStopping(Tunable):
    """Training stopped after so many steps of the estimator.

    Parameters
    ----------
    iterations
        One number of steps or several, from 1 on.

    Examples
    --------
    >>> EarlyStopping(10).settings
    (10,)
    """

    iterations: Any = (5, 20)

    name: ClassVar[str] = "early-stopping"
    knob: ClassVar[str] = "steps"
    what: ClassVar[str] = "training stops after a few steps"
    source: ClassVar[str] = "Song & Mittal 2021"
    allowed = whole_numbers("the number of steps")

    def refuse(self, target: Target) -> str | None:
        """Only estimators that train in steps."""
        return refuse_other_steps(target, STEPS, "number of steps to stop at")

    def defend(self, target: Target, setting: Any) -> Defended:
        """Training with at most so many steps."""
        learner = learner_of(self, target)
        last = last_step(target)
        parameter = STEPS[known_class(last, STEPS) or ""]
        own = getattr(last, parameter)
        most = XGBOOST_STEPS if own is None else int(own)
        idle = f"the model trains for at most {most} steps as it is, so this setting changes nothing"
        notes = (idle, NOTHING_PROVEN) if setting >= most else (NOTHING_PROVEN,)
        recipe: Any = learner.fit
        stopped = with_parameters(recipe, {parameter: min(int(setting), most)})
        return Defended(make_learner(learner.name, partial(_fit, stopped)), notes=notes)


def _fit(recipe: EstimatorFit, X: Any, y: NDArray[Any], rng: np.random.Generator) -> Model:
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # to stop before the end is what was asked for
        return recipe(X, y, rng)
