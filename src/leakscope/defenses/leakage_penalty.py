"""Leakage penalty: train a linear model with less weight on the records that leak most.

farokhi2020 proposes, as future work, to train with the measured leakage as a regulariser. `leakscope.learners.leakage_penalty`
has the proofs: to first order, the *mean* leakage of the parameters is the number of parameters over the number of records for
any penalty, so that a penalty can only distribute it more evenly. Here no record of a training set leaks more than 1/κ times
the mean, to first order; the others leak slightly more.

A linear or logistic regression on encoded records replaces the audited model; κ = 0 is plain l2 with the same l2, for
comparison. Labels of a regression are centred by the mean of the audited model's training records.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from leakscope.core.checks import check_number
from leakscope.defenses.bounded_linear import why_no_rows
from leakscope.defenses.defense import Allowed, Defended, Tunable, make_learner
from leakscope.models.encoding import LinearOutputs, linear_model, make_encoding
from leakscope.models.model import Model
from leakscope.models.target import Target

NOT_PROVEN = (
    "no guarantee: the limit of 1/κ times the mean leakage holds to first order and for this training set, not for every "
    "training set as differential privacy requires"
)
SHARED_OUT = "the mean leakage of the parameters is not lower, only more evenly distributed over records"
BIASED = "probabilities are biased towards 0 and 1, since misclassified records have less weight"


@dataclass(frozen=True)
class LeakagePenalty(Tunable):
    """Train a linear model, or a logistic one for two classes, with a penalty on each record's leakage.

    Parameters
    ----------
    weights
        One or more κ, from 0 to 0.95: no record leaks more than 1/κ times the mean.
    l2
        The weight λ of the additional penalty on large parameters, above 0.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from leakscope.defenses import apply
    >>> from leakscope.models.target import make_target
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> target = make_target(LogisticRegression(max_iter=5000).fit(X[::2], y[::2]), (X[::2], y[::2]), (X[1::2], y[1::2]))
    >>> made = apply(LeakagePenalty(), target, 0.2)
    >>> bool((made.model.predict(X[1::2]).argmax(axis=1) == y[1::2]).mean() > 0.9)
    True
    """

    weights: Any = (0.2, 0.5)
    l2: float = 0.01

    name: ClassVar[str] = "leakage-penalty"
    setting_name: ClassVar[str] = "κ"
    what: ClassVar[str] = "records that leak most through the parameters of a linear model get less weight in training"
    source: ClassVar[str] = "farokhi2020, section 7, after Krasker and Welsch 1982"
    allowed = Allowed("κ", lambda value: 0 <= value <= 0.95, "from 0 to 0.95")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("l2", self.l2, least=0, open_ends=True)

    def refuse(self, target: Target) -> str | None:
        """Refuse more than two classes, and records that cannot be encoded as numbers."""
        if target.model.classes is not None and len(target.model.classes) != 2:
            return f"it has {len(target.model.classes)} classes; supported are two classes and regression"
        return why_no_rows(target)

    def defend(self, target: Target, setting: Any) -> Defended:
        """Replace the target's model by a linear model with this penalty."""
        encoding = make_encoding(target)
        classes = target.model.classes is not None
        name = f"{'logistic' if classes else 'linear'} regression with leakage penalty {float(setting):g}"
        empty = linear_model(target, name, encoding, np.zeros((encoding.width, 1)), np.zeros(1))
        centre = 0.0 if classes else float(np.mean(target.members.y))
        notes = (SHARED_OUT, BIASED, NOT_PROVEN) if classes else (SHARED_OUT, NOT_PROVEN)
        return Defended(
            make_learner(name, _PenalisedFit(empty, float(setting), float(self.l2), centre)),
            notes=notes if setting else (),
        )


@dataclass(frozen=True)
class _PenalisedFit:
    """Trains a linear model; ``empty`` is the same model with all parameters 0."""

    empty: Model
    weight: float
    l2: float
    centre: float

    def __call__(self, X: Any, y: NDArray[Any], rng: np.random.Generator) -> Model:
        from leakscope.learners.leakage_penalty import LeakagePenalised
        from leakscope.learners.logistic import Logistic
        from leakscope.learners.ridge import Ridge

        outputs = cast(LinearOutputs, self.empty.predict)
        plain = Logistic(self.l2) if outputs.classification else Ridge(self.l2)
        encoded = outputs.encoding(X)
        # `prepare` would reject a small set with one class only.
        rows = np.hstack([encoded, np.ones((len(encoded), 1))])
        theta = LeakagePenalised(plain, self.weight).fit(rows, y - self.centre if self.centre else y, rng)
        trained = replace(outputs, coefficients=theta[:-1, None], intercept=theta[-1:] + self.centre)
        return replace(self.empty, predict=trained)
