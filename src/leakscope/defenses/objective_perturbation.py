r"""Objective perturbation: logistic regression with a random linear term in its objective.

[Chaudhuri, Monteleoni and Sarwate 2011, Algorithm 2]. On rows of norm at most 1 (`leakscope.defenses.bounded_linear`),
multiplied by the labels ±1, draw b at random and release the minimum θ of

.. math:: F_S(\theta) = \lambda'\lVert\theta\rVert^2 + \frac1n\sum_{v\in S}\log\bigl(1 + e^{-v^\top\theta}\bigr)
   + \frac1n b^\top\theta, \qquad \lambda' = \max\Bigl\{\lambda, \frac{1}{8n(e^{\varepsilon/2} - 1)}\Bigr\},
   \qquad \varepsilon' = \varepsilon - \log\Bigl(1 + \frac{1}{8n\lambda'}\Bigr) \ge \frac\varepsilon2.

Proof for the swap of a row v for w. The gradient vanishes at the minimum, so b and θ determine each other:
:math:`b_S(\theta) = -2n\lambda'\theta + \sum_{v\in S}\alpha_v v` with :math:`\alpha_v = 1/(1 + e^{v^\top\theta}) \in
[0, 1]`. With ν the density of b, that of θ is :math:`\nu(b_S(\theta))\,|\det\nabla b_S(\theta)|`. Two factors can differ
between S and S':

- *The determinants.* :math:`-\nabla b_S = T + k_v vv^\top` and :math:`-\nabla b_{S'} = T + k_w ww^\top`, where T, from
  the common rows, is at least :math:`2n\lambda' I` and :math:`0 \le k \le 1/4`. By the determinant lemma their ratio
  is :math:`(1 + k_v v^\top T^{-1}v)/(1 + k_w w^\top T^{-1}w) \le 1 + 1/(8n\lambda')`. This uses :math:`\varepsilon -
  \varepsilon'`.
- *The noise.* :math:`b_{S'} = b_S + u` with :math:`u = \alpha_w w - \alpha_v v`, of norm at most 2.

  ``laplace``: :math:`\nu \propto e^{-\varepsilon'\lVert b\rVert/2}` changes by at most :math:`e^{\varepsilon'}`:
  ε-differential privacy.

  ``gaussian``: the logarithm of the ratio is :math:`(b^\top u + \lVert u\rVert^2/2)/\sigma^2`. It is convex in
  :math:`(\alpha_v, \alpha_w)`, so its largest value over the square is at a corner: u is 0, -v, w or w - v, which do
  not depend on b. For such a fixed u it exceeds ε' with probability :math:`Q(\sigma\varepsilon'/\lVert u\rVert - \lVert
  u\rVert/2\sigma)`, Q the tail of the normal distribution, at most :math:`Q(\sigma\varepsilon'/2 - 1/\sigma)`. With :math:`z =
  Q^{-1}(\delta/3)` and :math:`\sigma = (z + \sqrt{z^2 + 2\varepsilon'})/\varepsilon'` this is δ/3, and the three
  corners together give (ε, δ).

Deviations: the source has the Laplace part (Theorem 9; its Λ is 2λ), with twice this share of ε for the
determinants, and raises λ only if ε' would not be positive. The Gaussian part follows the idea of Kifer, Smith
and Thakurta (2012) that u has two directions only, with different, conservative constants: on small examples the
true δ is far below the claimed one. The proof holds for the exact minimum. The guarantee states the condition that a
minimum with a gradient of at most 10⁻⁸/n counts as exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from leakscope.bounds.guarantee import Guarantee
from leakscope.core.checks import check_share
from leakscope.defenses.bounded_linear import (
    BoundedRows,
    check_fields,
    make_rows,
    minimum,
    spherical_laplace,
    usual_l2,
    why_no_rows,
)
from leakscope.defenses.defense import Allowed, Defended, Tunable, make_learner
from leakscope.models.model import Model
from leakscope.models.target import Target

EXACT = "the minimum counts as exact (its gradient is at most 10⁻⁸ divided by the number of records)"


@dataclass(frozen=True)
class ObjectivePerturbation(Tunable):
    """Train a logistic regression for two classes with a random linear term in its objective.

    Parameters
    ----------
    epsilon
        One or more ε of the guarantee.
    delta
        The δ of the guarantee with Gaussian noise; Laplace noise needs none.
    noise
        ``gaussian`` or ``laplace``; at δ = 10⁻⁵ Gaussian noise is smaller from about twenty columns.
    l2
        The weight λ of the penalty, by default √(p/ε)/2n with p parameters (`usual_l2`); it is raised if ε or the training
        set is very small.
    radius
        Divisor of encoded records before they are clipped at norm 1; by default the 95 % quantile of their norms, computed
        from the training records.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from leakscope.models.target import make_target
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> target = make_target(LogisticRegression(max_iter=5000).fit(X[::2], y[::2]), (X[::2], y[::2]), (X[1::2], y[1::2]))
    >>> made = ObjectivePerturbation(noise="laplace").defend(target, 4.0)
    >>> made.guarantee.epsilon, made.guarantee.delta, made.guarantee.neighbours
    (4.0, 0.0, 'swap')
    """

    epsilon: Any = (1.0, 4.0)
    delta: float = 1e-5
    noise: Literal["gaussian", "laplace"] = "gaussian"
    l2: float | None = None
    radius: float | None = None

    name: ClassVar[str] = "objective-perturbation"
    setting_name: ClassVar[str] = "ε"
    what: ClassVar[str] = "a logistic regression with random noise in its training objective, which hides each record"
    source: ClassVar[str] = "Chaudhuri, Monteleoni and Sarwate 2011, Algorithm 2"
    allowed = Allowed("epsilon", lambda value: value > 0, "above 0")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_fields(self.noise, self.l2, self.radius)
        if self.noise == "gaussian":
            check_share("delta", self.delta)

    def refuse(self, target: Target) -> str | None:
        """Refuse targets without two classes, and records that cannot be encoded as numbers."""
        if target.model.classes is None or len(target.model.classes) != 2:
            return "the guarantee holds for logistic regression with two classes only"
        return why_no_rows(target)

    def defend(self, target: Target, setting: Any) -> Defended:
        """Replace the target's model by a logistic regression with the noise for this ε."""
        rows, rests_on = make_rows(target, self.radius)
        delta = float(self.delta) if self.noise == "gaussian" else 0.0
        fit = _TiltedFit(rows, float(setting), delta, self.l2)
        asked = fit.weight(len(target.members.y))
        l2, _ = noise_for(len(target.members.y), fit.epsilon, delta, asked)
        raised = (f"l2 is raised from {asked:.3g} to {l2:.3g}, which this small ε requires",) if l2 > asked else ()
        paper = "Chaudhuri, Monteleoni and Sarwate 2011, Theorem 9" if delta == 0 else "Kifer, Smith and Thakurta 2012"
        proof = f"after {paper}; the proof is in leakscope.defenses.objective_perturbation"
        guarantee = Guarantee(fit.epsilon, delta, rests_on="; ".join([*rests_on, EXACT]), source=proof)
        return Defended(make_learner("perturbed logistic regression", fit), guarantee=guarantee, notes=raised)


def noise_for(n: int, epsilon: float, delta: float, l2: float) -> tuple[float, float]:
    """Return the weight of the penalty and the scale of the noise: σ, or for δ = 0 the Laplace scale.

    Examples
    --------
    >>> l2, scale = noise_for(1000, epsilon=1.0, delta=0.0, l2=0.01)
    >>> l2, round(scale, 4)  # 2 / (1 - log(1 + 1/80))
    (0.01, 2.0252)
    """
    l2 = max(l2, 1 / (8 * n * math.expm1(min(epsilon, 700.0) / 2)))
    left = epsilon - math.log1p(1 / (8 * n * l2))
    if delta == 0:
        return l2, 2 / left
    z = -float(ndtri(delta / 3))
    return l2, (z + math.sqrt(z * z + 2 * left)) / left


@dataclass(frozen=True)
class _TiltedFit:
    rows: BoundedRows
    epsilon: float
    delta: float
    l2: float | None

    def weight(self, n: int) -> float:
        """Return the weight of the penalty for n records, before it is raised."""
        return usual_l2(0.5, self.rows.encoding.width + 1, n, self.epsilon) if self.l2 is None else float(self.l2)

    def __call__(self, X: Any, y: NDArray[Any], rng: np.random.Generator) -> Model:
        table = self.rows.rows(X)
        l2, scale = noise_for(len(y), self.epsilon, self.delta, self.weight(len(y)))
        shape = (table.shape[1], 1)
        unit = rng.standard_normal(shape) if self.delta else spherical_laplace(shape, rng)
        return self.rows.model("perturbed logistic regression", minimum(table, y, 1, l2, scale * unit))
