r"""l2: penalise large parameters, which reduces the influence of single records.

The model minimises

.. math:: \lambda\,\|\theta\|^2 + \frac1n\sum_{i=1}^n \text{loss}(M(x_i; \theta), y_i)

over its n training records [farokhi2020, Eq. 1]. λ is converted to the parameter of each estimator by its own
objective and the n of each training set, so that models trained on halves have the same λ:

* LogisticRegression, LinearSVC, SVC, LinearSVR, SVR minimise :math:`C\sum\text{loss} + \tfrac12\|\theta\|^2`: C = 1 / (2λn);
* Ridge, RidgeClassifier :math:`\sum\text{loss} + \alpha\|\theta\|^2`: α = λn;
* SGDClassifier, SGDRegressor :math:`\tfrac1n\sum\text{loss} + \tfrac\alpha2\|\theta\|^2`: α = 2λ;
* MLPClassifier, MLPRegressor, batch by batch of b records (all n with lbfgs),
  :math:`\tfrac1b\sum\text{loss} + \tfrac\alpha{2b}\|\theta\|^2`: α = 2λb;
* gradient boosting (on histograms, LightGBM, XGBoost), tree by tree with values v in its leaves,
  :math:`\sum\text{loss} + \tfrac\mu2\|v\|^2`: μ = 2λn.

The loss is the estimator's own: log-loss, hinge or squared error. For estimators that use half of the squared error (SGD,
MLP and boosting as regressors), the parameter is halved, so that λ refers to the full squared error.

Deviations: intercepts, which the paper penalises, are not penalised (except by liblinear); SVC and SVR penalise the function
in the space of their kernel; boosting penalises the leaf values tree by tree, not all parameters together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from leakscope.core.arrays import Floats
from leakscope.core.errors import InputError
from leakscope.defenses.defense import Allowed, Defended, Tunable, make_learner
from leakscope.defenses.retraining import NOTHING_PROVEN, known_class, learner_of, refuse_other_steps, with_parameters
from leakscope.models.encoding import last_step
from leakscope.models.model import Model
from leakscope.models.target import EstimatorFit, Target, split_last

LEAVES = "the penalty applies to the leaf values tree by tree, not to all parameters together"
#: Names of the squared error of estimators that use half of it; None is the default of LightGBM and XGBoost.
HALF_SQUARES = (None, "squared_error", "reg:squarederror", "regression", "regression_l2", "l2", "mse")


@dataclass(frozen=True)
class L2(Tunable):
    """Add a penalty λ‖θ‖² to the mean loss.

    Parameters
    ----------
    weights
        One or more λ, above 0.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from leakscope.defenses import apply
    >>> from leakscope.models.target import make_target
    >>> X, y = np.array([[-1.0], [1.0], [-1.0], [1.0]]), np.array([-1.0, 1.0, -1.0, 1.0])
    >>> target = make_target(Ridge().fit(X, y), (X, y), (X, y))
    >>> apply(L2(1.0), target, 1.0).model.predict(X)
    array([-0.5,  0.5, -0.5,  0.5])
    """

    weights: Any = (0.001, 0.01, 0.1)

    name: ClassVar[str] = "l2"
    setting_name: ClassVar[str] = "λ"
    what: ClassVar[str] = "large parameters are penalised in training"
    source: ClassVar[str] = "farokhi2020, Eq. 1 and Figure 3"
    allowed = Allowed("λ", lambda value: value > 0, "above 0")

    def refuse(self, target: Target) -> str | None:
        """Refuse estimators without such a penalty."""
        return refuse_other_steps(target, PENALTIES, "such penalty")

    def defend(self, target: Target, setting: Any) -> Defended:
        """Train with the penalty."""
        learner = learner_of(self, target)
        boosting = PENALTIES[known_class(last_step(target), PENALTIES) or ""] in (_on_leaves, _on_histogram_leaves)
        notes = (LEAVES, NOTHING_PROVEN) if boosting else (NOTHING_PROVEN,)
        recipe: Any = learner.fit
        fit = partial(_fit, recipe, float(setting))
        return Defended(make_learner(learner.name, fit, takes_weights=learner.takes_weights), notes=notes)


def _fit(
    recipe: EstimatorFit,
    weight: float,
    X: Any,
    y: NDArray[Any],
    rng: np.random.Generator,
    sample_weight: Floats | None = None,
) -> Model:
    _, last = split_last(recipe.estimator)
    total = len(y) if sample_weight is None else float(sample_weight.sum())
    return with_parameters(recipe, penalty_parameters(last, weight, total))(X, y, rng, sample_weight)


def penalty_parameters(estimator: Any, weight: float, n: float) -> dict[str, Any]:
    """Return the parameters that give an estimator the penalty λ‖θ‖² with its mean loss over n records.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> penalty_parameters(Ridge(), weight=0.1, n=50)
    {'alpha': 5.0}
    """
    kind = known_class(estimator, PENALTIES)
    if kind is None:
        raise InputError(f"{type(estimator).__name__} has no l2 penalty; supported are {', '.join(PENALTIES)}")
    return PENALTIES[kind](estimator, weight, n)


def _inverse(estimator: Any, weight: float, n: float) -> dict[str, Any]:
    parameters = {"C": 1 / (2 * weight * n)}
    if hasattr(estimator, "penalty"):  # the default is l2 in every version of scikit-learn, under different names
        default = type(estimator)().get_params()
        parameters |= {name: default[name] for name in ("penalty", "l1_ratio") if name in default}
    return parameters


def _ridge(estimator: Any, weight: float, n: float) -> dict[str, Any]:  # noqa: ARG001
    return {"alpha": weight * n}


def _descent(estimator: Any, weight: float, n: float) -> dict[str, Any]:  # noqa: ARG001
    return {"penalty": "l2", "alpha": 2 * weight * _share(estimator, "loss", "SGDRegressor")}


def _network(estimator: Any, weight: float, n: float) -> dict[str, Any]:
    batch = 200 if estimator.batch_size == "auto" else estimator.batch_size
    size = n if estimator.solver == "lbfgs" else min(batch, n)
    return {"alpha": 2 * weight * size * _share(estimator, "loss", "MLPRegressor")}


def _on_histogram_leaves(estimator: Any, weight: float, n: float) -> dict[str, Any]:
    return {"l2_regularization": 2 * weight * n * _share(estimator, "loss", "HistGradientBoostingRegressor")}


def _on_leaves(estimator: Any, weight: float, n: float) -> dict[str, Any]:
    return {"reg_lambda": 2 * weight * n * _share(estimator, "objective", "LGBMRegressor", "XGBRegressor")}


def _share(estimator: Any, loss: str, *regressors: str) -> float:
    """Return one half for regressors that use half of the squared error, and one for all others."""
    halved = known_class(estimator, dict.fromkeys(regressors)) is not None
    return 0.5 if halved and getattr(estimator, loss, "squared_error") in HALF_SQUARES else 1.0


PENALTIES: dict[str, Callable[[Any, float, float], dict[str, Any]]] = {
    **dict.fromkeys(("LogisticRegression", "LinearSVC", "LinearSVR", "SVC", "SVR"), _inverse),
    **dict.fromkeys(("Ridge", "RidgeClassifier"), _ridge),
    **dict.fromkeys(("SGDClassifier", "SGDRegressor"), _descent),
    **dict.fromkeys(("MLPClassifier", "MLPRegressor"), _network),
    **dict.fromkeys(("HistGradientBoostingClassifier", "HistGradientBoostingRegressor"), _on_histogram_leaves),
    **dict.fromkeys(("LGBMClassifier", "LGBMRegressor", "XGBClassifier", "XGBRegressor"), _on_leaves),
}
