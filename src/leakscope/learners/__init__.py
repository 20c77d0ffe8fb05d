"""Learners that train models on many training sets: ridge, logistic regression, networks, scikit-learn estimators.

A learner is a frozen dataclass of its settings. `worlds.retrain` and the leakage measures take any of them. Ridge,
Logistic and MLP minimise [farokhi2020, Eq. 1]

    λ g(θ) + (1/n) Σ loss(model(x; θ), y),   g(θ) = θᵀθ over all parameters, including the intercept,

with the squared error for regression and the log-loss for classification; ``l2`` is λ.

========= ========================================================================== ==========================
Ridge     least squares; solves all training sets that differ in one record at once  regression
Logistic  logistic regression by Newton steps on stacks of training sets             classification, two classes
MLP       fully connected networks, trained in stacks; needs torch                   both
Estimator any scikit-learn estimator or pipeline, trained one by one                 both
========= ========================================================================== ==========================
"""

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from leakscope.core.errors import InputError
from leakscope.core.lazy import lazy_names
from leakscope.models.model import Task
from leakscope.worlds.training import Trainer

if TYPE_CHECKING:
    from leakscope.learners.estimator import Estimator
    from leakscope.learners.logistic import Logistic
    from leakscope.learners.mlp import MLP
    from leakscope.learners.ridge import Ridge

__all__ = ["MLP", "Estimator", "Learner", "Logistic", "Ridge", "as_learner"]

#: Public name to the module it lives in, imported when it is first used: torch is imported for networks only.
_HOMES = {"Ridge": ".ridge", "Logistic": ".logistic", "MLP": ".mlp", "Estimator": ".estimator"}
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
#: Name that `as_learner` takes, to the learner.
_NAMES = {"ridge": "Ridge", "logistic": "Logistic", "mlp": "MLP"}


@runtime_checkable
class Learner(Trainer, Protocol):
    """Protocol of all learners: a `Trainer` whose models can be measured.

    Optional attribute: ``from_parameters(theta)``, which returns the model with these parameters. ``X`` and ``y`` of
    all methods are the arrays that `prepare` returned, or rows of them.
    """

    @property
    def name(self) -> str: ...

    @property
    def task(self) -> Task: ...

    def prepare(self, X: Any, y: Any) -> tuple["Learner", Any, NDArray[Any]]:
        """Check and convert all records; return a learner that stores properties of the data, such as the classes."""
        ...

    def check(self, X: Any, y: NDArray[Any], size: int) -> None:
        """Raise `InputError` if no training set of ``size`` of these records can be trained on."""
        ...

    def parameters(self, model: Any) -> NDArray[np.float64]:
        """Return the parameters of a model, (p,); raise `InputError` if it has none."""
        ...

    def outputs(self, model: Any, X: Any) -> NDArray[np.float64]:
        """Return predicted values (rows, 1), or log-odds of classes 1…K-1 against class 0, (rows, K - 1)."""
        ...

    def losses(self, model: Any, X: Any, y: NDArray[Any]) -> NDArray[np.float64]:
        """Return the squared error or the log-loss of each record, (rows,)."""
        ...


def as_learner(thing: Any, **settings: Any) -> Learner:
    """Convert a name, a learner or a scikit-learn estimator to a learner.

    Parameters
    ----------
    thing
        A learner; the name of one, ``"ridge"``, ``"logistic"`` or ``"mlp"``; or a scikit-learn classifier, regressor or
        pipeline, fitted or not.
    **settings
        Settings of a learner that is given by name, such as ``l2=0.1``.

    Examples
    --------
    >>> as_learner("ridge", l2=0.1)
    Ridge(l2=0.1, intercept=True)
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> as_learner(DecisionTreeRegressor()).name
    'DecisionTreeRegressor'
    """
    if isinstance(thing, str) and thing.lower() in _NAMES:
        return _made(_NAMES[thing.lower()], settings)
    if isinstance(thing, type):
        raise InputError(f"{thing.__name__} is a class: pass {thing.__name__}(), with its settings")
    made = None
    if isinstance(thing, Learner):
        made = thing
    elif hasattr(thing, "get_params") and hasattr(thing, "fit"):
        from leakscope.learners.estimator import Estimator

        made = Estimator(thing)
    if made is None:
        what = repr(thing) if isinstance(thing, str) else f"a {type(thing).__name__}"
        raise InputError(
            f"{what} is not a learner: pass 'ridge', 'logistic' or 'mlp', a learner of leakscope.learners, or a "
            "scikit-learn estimator"
        )
    if settings:
        raise InputError(f"{made.name} already has settings: leave {', '.join(settings)} out")
    return made


def _made(name: str, settings: dict[str, Any]) -> Learner:
    kind = __getattr__(name)
    known = [field.name for field in fields(kind) if field.init and field.repr] if is_dataclass(kind) else []
    if unknown := [setting for setting in settings if setting not in known]:
        raise InputError(f"{name} has no setting {unknown[0]!r}: it has {', '.join(known)}")
    learner: Learner = kind(**settings)
    return learner
