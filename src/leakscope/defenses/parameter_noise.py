r"""Parameter noise: train a regularised linear model and add noise to its parameters.

Output perturbation [Chaudhuri, Monteleoni and Sarwate 2011, Algorithm 1]. A linear model is trained on rows of norm at
most 1 (`leakscope.defenses.bounded_linear`) and released as :math:`\theta(S) + \text{noise}`. The noise has to cover the
largest distance by which the swap of one record can change :math:`\theta`, over *all* possible records:

**Classes.** :math:`F_S` is 2λ-strongly convex, and :math:`F_S - F_{S'} = (\ell_z - \ell_{z'})/n` for the records z and
z' that are swapped, so that [Chaudhuri et al. 2011, Corollary 8, whose Λ is 2λ]

.. math:: \lVert\theta(S) - \theta(S')\rVert_2
   \le \frac{\lVert\nabla\ell_z(\theta(S')) - \nabla\ell_{z'}(\theta(S'))\rVert}{2\lambda n} \le \frac{G}{\lambda n}.

The gradient of the log-loss is x times the prediction error: G = 1 for two classes (one column of parameters), and
:math:`G = \sqrt2` for a softmax, which bounds the norm of the errors of all classes. The minimisation stops at a gradient
of 10⁻⁸/n, which changes each of the two by at most 10⁻⁸/2λn: :math:`\Delta = (G +
10^{-8})/\lambda n`.

**Values.** With :math:`|y| \le 1` the bound for least squares in `leakscope.bounds.sensitivity` holds for all records at once:
:math:`\Delta = \tfrac{2(1 + r)}{\sqrt{n\lambda}}\,\tfrac{q}{1 + q^2}`, with :math:`r = 1/(2\sqrt\lambda)` and :math:`q
= \min(1, 1/\sqrt{n\lambda})`, and it is never more than 2r.

**Noise.** ``gaussian``: standard deviation σ on each parameter, from `leakscope.bounds.any_attack.gaussian_noise`; (ε, δ). ``laplace``:
density proportional to :math:`e^{-\varepsilon\lVert b\rVert_2/\Delta}`; ε alone [Chaudhuri et al. 2011, Theorem 6]. At
ε = 1 and δ = 10⁻⁵ Gaussian noise is the smaller of the two from 13 parameters. A larger λ means less noise and more bias.

Deviations from the source: rows are clipped at a public radius, the intercept is a column of them, there may be more than
two classes, and the linear model replaces any audited model, because the proof holds for linear models only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from leakscope.bounds.any_attack import gaussian_noise, laplace_noise
from leakscope.bounds.guarantee import Guarantee
from leakscope.core.arrays import Floats
from leakscope.core.checks import check_number
from leakscope.core.errors import InputError
from leakscope.defenses.bounded_linear import (
    SLACK,
    BoundedRows,
    check_fields,
    least_squares,
    make_rows,
    minimum,
    spherical_laplace,
    usual_l2,
    why_no_rows,
)
from leakscope.defenses.defense import Allowed, Defended, Tunable, make_learner
from leakscope.models.model import Model
from leakscope.models.target import Target

#: Number of swaps if the sensitivity is estimated.
SWAPS = 16


@dataclass(frozen=True)
class ParameterNoise(Tunable):
    """Train a linear model and add noise to its parameters in proportion to their sensitivity.

    Parameters
    ----------
    epsilon
        One or more ε of the guarantee.
    delta
        The δ of the guarantee with Gaussian noise; Laplace noise needs none.
    noise
        ``gaussian`` or ``laplace``.
    method
        ``analytic``: the smallest possible Gaussian noise. ``classic``: the classic formula below ε = 1, where it is proven,
        and the analytic one from ε = 1.
    sensitivity
        ``proven``: over all possible records. A number: your own value, for rows of norm at most 1; the guarantee then
        depends on it. ``estimated``: the largest over a few swaps, without a guarantee.
    l2
        The weight λ of the penalty; by default √(p/ε)/n for classes, with p parameters (`usual_l2`), and 0.1 for
        values, whose sensitivity grows faster as λ falls.
    radius
        Divisor of encoded records before they are clipped at norm 1; by default the 95 % quantile of their norms, computed
        from the training records.
    limits
        Lowest and highest label of a regression; by default those of the middle 90 % of the training records.

    Examples
    --------
    >>> ParameterNoise(epsilon=[0.5, 1]).settings
    (0.5, 1)
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from leakscope.models.target import make_target
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> target = make_target(LogisticRegression(max_iter=5000).fit(X[::2], y[::2]), (X[::2], y[::2]), (X[1::2], y[1::2]))
    >>> made = ParameterNoise().defend(target, 4.0)
    >>> made.guarantee.epsilon, made.guarantee.delta, made.guarantee.neighbours
    (4.0, 1e-05, 'swap')
    >>> made.notes
    ('with 285 records and l2 = 0.0098, the noise has standard deviation 0.388 on each parameter',)
    """

    epsilon: Any = (1.0, 4.0)
    delta: float = 1e-5
    noise: Literal["gaussian", "laplace"] = "gaussian"
    method: Literal["analytic", "classic"] = "analytic"
    sensitivity: Literal["proven", "estimated"] | float = "proven"
    l2: float | None = None
    radius: float | None = None
    limits: tuple[float, float] | None = None

    name: ClassVar[str] = "parameter-noise"
    setting_name: ClassVar[str] = "ε"
    what: ClassVar[str] = "a linear model with enough noise on its parameters to hide each record"
    source: ClassVar[str] = "Chaudhuri, Monteleoni and Sarwate 2011, Algorithm 1"
    allowed = Allowed("epsilon", lambda value: value > 0, "above 0")
    refuse = staticmethod(why_no_rows)

    def __post_init__(self) -> None:
        check_fields(self.noise, self.l2, self.radius)
        if self.method not in ("analytic", "classic"):
            raise InputError(f"unknown method {self.method!r}: use 'analytic' or 'classic'")
        if self.sensitivity not in ("proven", "estimated"):
            check_number("sensitivity, unless 'proven' or 'estimated',", self.sensitivity, least=0, open_ends=True)
        limits = self.limits
        if limits is not None and not (np.shape(limits) == (2,) and -np.inf < limits[0] < limits[1] < np.inf):
            raise InputError(f"limits must be the lowest and the highest label, not {limits!r}")
        for setting in self.settings:  # raises an error for an invalid delta
            noise_scale(self.noise, setting, self.delta, 1.0, self.method)

    def defend(self, target: Target, setting: Any) -> Defended:
        """Replace the target's model by a linear model with noise for this ε."""
        rows, rests_on = make_rows(target, self.radius, self.limits)
        fit = _NoisyFit(rows, self.l2, float(setting), self.delta, self.noise, self.method, self.sensitivity)
        learner = make_learner(f"linear model with {self.noise} noise", fit)
        if self.sensitivity == "estimated":
            note = f"no guarantee: the sensitivity is estimated as the largest of {SWAPS} swaps, which is a lower bound"
            return Defended(learner, notes=(note,))
        n, parameters = len(target.members.y), (rows.encoding.width + 1) * rows.scores
        proven = proven_sensitivity(n, fit.weight(n), rows.classes)
        apart = proven if self.sensitivity == "proven" else float(self.sensitivity)
        if self.sensitivity != "proven":
            rests_on = [f"no swap of a record changes the parameters by more than {apart:g}, as you stated", *rests_on]
        scale = noise_scale(self.noise, fit.epsilon, self.delta, apart, self.method)
        gaussian = self.noise == "gaussian"
        size = (
            f"standard deviation {scale:.3g} on each parameter" if gaussian else f"mean norm {scale * parameters:.3g}"
        )
        guarantee = Guarantee(
            fit.epsilon, self.delta if gaussian else 0.0, rests_on="; ".join(rests_on), source=self._proof
        )
        note = f"with {n:,} records and l2 = {fit.weight(n):.2g}, the noise has {size}"
        return Defended(learner, guarantee=guarantee, notes=(note,))

    @property
    def _proof(self) -> str:
        if self.noise == "laplace":
            return "Chaudhuri, Monteleoni and Sarwate 2011, Theorem 6"
        covers = "Balle and Wang 2018, Theorem 8" if self.method == "analytic" else "Dwork and Roth 2014, Theorem A.1"
        return f"Chaudhuri, Monteleoni and Sarwate 2011, Corollary 8; {covers}"


def proven_sensitivity(n: int, l2: float, classes: NDArray[Any] | None) -> float:
    """Bound the change of the parameters by the swap of one of n records, for all records: see the module.

    Examples
    --------
    >>> round(proven_sensitivity(1000, 0.01, np.array(["no", "yes"])), 6)
    0.1
    >>> round(proven_sensitivity(1000, 0.01, None), 6)  # regression
    1.090909
    """
    if classes is not None:
        steepest = 1.0 if len(classes) == 2 else math.sqrt(2)
        return (steepest + SLACK) / (l2 * n)
    farthest, root = 1 / (2 * math.sqrt(l2)), math.sqrt(n * l2)
    q = min(1.0, 1 / root)
    return min(2 * farthest, 2 * (1 + farthest) / root * q / (1 + q * q))


def noise_scale(noise: str, epsilon: float, delta: float, sensitivity: float, method: str = "analytic") -> float:
    """Return the standard deviation of Gaussian noise, or the scale of Laplace noise, for this sensitivity.

    Examples
    --------
    >>> noise_scale("laplace", epsilon=2.0, delta=0.0, sensitivity=0.5)
    0.25
    >>> round(noise_scale("gaussian", epsilon=0.5, delta=1e-5, sensitivity=1.0, method="classic"), 4)
    9.6896
    """
    if noise == "laplace":
        return laplace_noise(float(epsilon), sensitivity)
    return gaussian_noise(
        float(epsilon), delta, sensitivity, "classic" if method == "classic" and epsilon < 1 else "analytic"
    )


@dataclass(frozen=True)
class _NoisyFit:
    rows: BoundedRows
    l2: float | None
    epsilon: float
    delta: float
    noise: str
    method: str
    sensitivity: str | float

    def weight(self, n: int) -> float:
        """Return the weight of the penalty for n records."""
        if self.l2 is not None:
            return float(self.l2)
        parameters = (self.rows.encoding.width + 1) * self.rows.scores
        return 0.1 if self.rows.classes is None else usual_l2(1.0, parameters, n, self.epsilon)

    def __call__(self, X: Any, y: NDArray[Any], rng: np.random.Generator) -> Model:
        table, labels = self.rows.rows(X), self.rows.labels(y)
        theta = self.trained(table, labels)
        draws, swaps = rng.spawn(2)  # the noise does not depend on the method of the sensitivity
        if self.sensitivity == "proven":
            apart = proven_sensitivity(len(y), self.weight(len(y)), self.rows.classes)
        elif self.sensitivity == "estimated":
            apart = self.largest_move(table, labels, theta, swaps)
        else:
            apart = float(self.sensitivity)
        scale = noise_scale(self.noise, self.epsilon, self.delta, apart, self.method)
        unit = draws.standard_normal(theta.shape) if self.noise == "gaussian" else spherical_laplace(theta.shape, draws)
        return self.rows.model("linear model with noise", theta + scale * unit)

    def trained(self, table: Floats, labels: NDArray[Any], start: Floats | None = None) -> Floats:
        if self.rows.classes is None:
            return least_squares(table, labels, self.weight(len(labels)))
        return minimum(table, labels, self.rows.scores, self.weight(len(labels)), start=start)

    def largest_move(self, table: Floats, labels: NDArray[Any], theta: Floats, rng: np.random.Generator) -> float:
        """Return the largest distance over random swaps of a record for a copy of another one."""
        moves = []
        for _ in range(SWAPS):
            swapped = np.arange(len(labels))
            swapped[rng.integers(len(labels))] = rng.integers(len(labels))
            moves.append(float(np.linalg.norm(self.trained(table[swapped], labels[swapped], theta) - theta)))
        return max(moves)
