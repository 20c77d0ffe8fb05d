"""Early stopping: end training after a few steps, before the model memorises its training records.

A step is the estimator's own unit: an iteration of the solver (logistic regression, support vectors), an epoch (SGD,
networks), or a tree or round of boosting. A model that converges earlier stops earlier.

Song & Mittal 2021 compare adversarial regularisation with plain early stopping, since much of a defense's effect may come
from less training. They stop networks by epochs; Leakscope does the same for every estimator that trains in steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from leakscope.defenses.defense import Defended, Tunable, make_learner, whole_numbers
from leakscope.defenses.retraining import NOTHING_PROVEN, known_class, learner_of, refuse_other_steps, with_parameters
from leakscope.models.encoding import last_step
from leakscope.models.target import Target

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
#: Estimator to the parameter with its largest number of steps.
STEPS = {
    **dict.fromkeys((*ITERATIVE, "HistGradientBoostingClassifier", "HistGradientBoostingRegressor"), "max_iter"),
    **dict.fromkeys((*BOOSTED, "XGBClassifier", "XGBRegressor"), "n_estimators"),
}
XGBOOST_STEPS = 100  # its default if the parameter is None


@dataclass(frozen=True)
class EarlyStopping(Tunable):
    """Stop training after a number of steps of the estimator.

    Parameters
    ----------
    iterations
        One or more numbers of steps, from 1.

    Examples
    --------
    >>> EarlyStopping(10).settings
    (10,)
    """

    iterations: Any = (5, 20)

    name: ClassVar[str] = "early-stopping"
    setting_name: ClassVar[str] = "steps"
    what: ClassVar[str] = "training stops after a few steps"
    source: ClassVar[str] = "Song & Mittal 2021"
    allowed = whole_numbers("the number of steps")

    def refuse(self, target: Target) -> str | None:
        """Refuse estimators that do not train in steps."""
        return refuse_other_steps(target, STEPS, "number of steps to stop at")

    def defend(self, target: Target, setting: Any) -> Defended:
        """Train with at most this number of steps."""
        learner = learner_of(self, target)
        last = last_step(target)
        parameter = STEPS[known_class(last, STEPS) or ""]
        own = getattr(last, parameter)
        most = XGBOOST_STEPS if own is None else int(own)
        idle = f"the model already trains for at most {most} steps, so this setting changes nothing"
        notes = (idle, NOTHING_PROVEN) if setting >= most else (NOTHING_PROVEN,)
        recipe: Any = learner.fit
        stopped = with_parameters(recipe, {parameter: min(int(setting), most)})
        return Defended(make_learner(learner.name, stopped, takes_weights=learner.takes_weights), notes=notes)
