r"""Regularisation by leakage, an open problem of farokhi2020: a conservation law, and a penalty on single records.

**Proposition 1: to first order, mean leakage is conserved.** Let training sets of n records be drawn from N, and let the
learner be asymptotically linear, as every regular minimum of a smooth penalised loss is: up to a remainder, its
parameters are a mean over the training set:

.. math:: \hat\theta = \theta^* + \frac1n\sum_{i\in S}\psi_i + o(n^{-1/2}), \qquad
          \sum_{i=1}^N\psi_i = 0, \quad V = \frac1N\sum_{i=1}^N\psi_i\psi_i^\top \text{ of rank } d.

To first order in 1/n, the symmetric divergence between the Gaussian laws with and without record i, and its mean over the
records [farokhi2020, Definition 2 and Remark 3], are

.. math:: J_i = \frac{\psi_i^\top V^{-1}\psi_i}{n(1-n/N)}, \qquad
          \rho_{KL} = \frac1N\sum_i J_i = \frac{d}{n(1-n/N)}, \qquad \max_i J_i \ge \rho_{KL}.

*Proof.* Given :math:`z_i = 1` the mean over S has expectation :math:`\psi_i/n - \frac{n-1}{n}\psi_i/(N-1)`, given
:math:`z_i = 0` it is :math:`-\psi_i/(N-1)`: they differ by :math:`\frac Nn\psi_i/(N-1)`. Its covariance, with the record or
without, is :math:`\frac1n(1-\frac nN)V` up to a factor 1 + O(1/n). For equal covariances the symmetric divergence is the
squared distance of the means in their metric, which is :math:`J_i`; unequal ones add a term of order 1/n². Finally,
:math:`\frac1N\sum_i\psi_i^\top V^{-1}\psi_i = \operatorname{tr}V^{-1}V = d`. ∎

The right-hand side of :math:`\rho_{KL}` depends neither on the loss nor on the penalty: **for any penalty, the mean
leakage of exact parameters is d/n(1 − n/N)**. For :math:`\psi_i = -H^{-1}g_i` the Hessian H cancels, and so does λ. Three
quantities can change: the number of parameters d; noise of deviation σ on them, with which
:math:`\rho_{KL} = \frac{1}{n(1-n/N)}\operatorname{tr}V(V + \frac{n}{1-n/N}\sigma^2I)^{-1}` falls as V shrinks, as it does under
l2; and the distribution of J over records, whose mean is fixed. (That the largest is at least the mean is known as
:math:`\gamma_s^*\ge\sqrt p` for the self-standardised sensitivity of robust statistics: Krasker and Welsch 1982; Hampel et al.
1986, section 4.2.) Since the advantage of the best attack is concave in J, equal J give the *largest* advantage.

**The penalty.** Therefore the leakage of each record is penalised, not the mean. Record i has a weight :math:`w_i`; with
:math:`\tilde g_i = \nabla\ell_i + 2\lambda\theta`,

.. math::

   \theta &= \arg\min \sum_i w_i\ell_i(\theta) / \sum_i w_i + \lambda\theta^\top\theta,
   \qquad B = \frac1n\sum_i w_i^2\,\tilde g_i\tilde g_i^\top, \\
   w_i &= \arg\min_w\; \tfrac12(w^2-1) - \ln w + \frac{\kappa}{2d}\,L_i(w), \qquad L_i(w) = w^2\,\tilde g_i^\top B^{-1}\tilde g_i .

The first two terms keep weights near one, and :math:`L_i/n` is the leakage of record i on the right-hand side of
:math:`J_i`, for N much larger than n. The minimum is :math:`w_i = (1 + \kappa\,\tilde g_i^\top B^{-1}\tilde g_i/d)^{-1/2}`.

**Proposition 2.** If all three hold, with :math:`0 \le \kappa < 1`: the mean of :math:`L_i` is d, every
:math:`L_i \le d/\kappa`, and the mean of :math:`w_i^2` is :math:`1-\kappa`.
*Proof.* The mean is :math:`\operatorname{tr}B^{-1}B`. With :math:`a = \tilde g^\top B^{-1}\tilde g`,
:math:`L = a/(1+\kappa a/d) \le d/\kappa` and :math:`w^2 = 1 - \kappa L/d`. ∎
So no record leaks more than 1/κ times the mean, and κ is the share of squared weight that is removed.

For the squared error and small λ this is Krasker and Welsch's bounded-influence regression with a smooth weight (given B, the
pseudo-Huber loss), and B is Maronna's (1976) scatter of the gradients, for which κ < 1 is the condition of existence.

Limitations: B depends on the training set too, which changes θ to first order unless errors are symmetric, and this part
of :math:`\psi_i` is not bounded. For the log-loss, the weights bias the probabilities towards 0 and 1, since misclassified
records lose weight. If fewer than κn/d records determine a direction, their weights become almost 0. The equilibrium of
θ, w and B is found by iteration from the fit without penalty; its uniqueness is not proved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from leakscope.core.arrays import Floats, Indices
from leakscope.core.checks import check_number
from leakscope.core.errors import InputError
from leakscope.core.threads import one_thread
from leakscope.learners.linear import same_sizes
from leakscope.learners.logistic import Logistic, products
from leakscope.learners.ridge import Ridge
from leakscope.models.model import Task

CLOSE = 1e-7  # relative change of weights and outputs at which the iteration ends
NEAR = 1e-3  # the same after the last step, above which the iteration failed
STEPS = 1000
DEPENDENT = 1e-10  # share of the largest variance below which a direction is ignored
LEAST = 1e-9  # share of the mean eigenvalue of B that keeps B invertible


class Balance(NamedTuple):
    """Parameters (k, p), weights (k, n) and first-order leakages times n, L (k, n), of a stack of training sets."""

    theta: Floats
    weights: Floats
    leakages: Floats
    change: Floats


@dataclass(frozen=True)
class LeakagePenalised:
    """A linear learner with a penalty on the leakage of each record: see the module.

    Parameters
    ----------
    plain
        The learner without the penalty, `Ridge` or `Logistic`, with an ``l2`` above 0.
    weight
        Weight κ of the penalty, from 0 (no penalty) to below 1: no record leaks more than 1/κ times the mean.

    Examples
    --------
    An outlier changes the mean that the learner without penalty fits, and hardly the mean with penalty.

    >>> X, y = np.ones((10, 1)), np.array([0.9, 1.1, 1.0, 0.8, 1.2, 1.0, 0.9, 1.1, 1.0, 9.0])
    >>> for weight in (0.0, 0.5):
    ...     learner, rows, labels = LeakagePenalised(Ridge(1e-6, intercept=False), weight).prepare(X, y)
    ...     print(learner.fit(rows, labels, np.random.default_rng()).round(2))
    [1.8]
    [1.02]
    """

    plain: Ridge | Logistic
    weight: float = 0.3

    chunk: ClassVar[int] = 256

    def __post_init__(self) -> None:
        if not isinstance(self.plain, Ridge | Logistic) or self.plain.l2 <= 0:
            raise InputError(f"the leakage penalty needs Ridge or Logistic with l2 above 0, not {self.plain!r}")
        if check_number("weight", self.weight, 0, 1) == 1:
            raise InputError(f"weight must be below 1, not {self.weight!r}")

    @property
    def name(self) -> str:
        """Name of the learner in reports."""
        return f"{self.plain.name} with leakage penalty {self.weight:g}"

    @property
    def task(self) -> Task:
        """Task of the learner without penalty."""
        return self.plain.task

    @property
    def l2(self) -> float:
        """Weight λ of the quadratic penalty."""
        return self.plain.l2

    def prepare(self, X: Any, y: Any) -> tuple[LeakagePenalised, Floats, NDArray[Any]]:
        """Convert records and labels as the learner without penalty does."""
        plain, rows, labels = self.plain.prepare(X, y)
        return replace(self, plain=plain), rows, labels

    def check(self, X: Floats, y: NDArray[Any], size: int) -> None:
        """Check as the learner without penalty does."""
        self.plain.check(X, y, size)

    def fit(self, X: Floats, y: NDArray[Any], rng: np.random.Generator) -> Floats:
        """Train on one set; ``rng`` is not used."""
        return self.fit_many(X, y, [np.arange(len(y))], [rng])[0]

    def fit_many(
        self, X: Floats, y: NDArray[Any], indices: Sequence[Indices], rngs: Sequence[np.random.Generator]
    ) -> list[Floats]:
        """Train on many sets, given as positions of records."""
        models = self.plain.fit_many(X, y, indices, rngs)
        if self.weight == 0:
            return models
        for places in same_sizes(indices, X.shape[1]):
            sets, start = np.stack([indices[place] for place in places]), [models[place] for place in places]
            found = self.balance(X, y, sets, start)
            self._check_found(found.change)
            for place, theta in zip(places, found.theta, strict=True):
                models[place] = theta
        return models

    def balance(self, X: Floats, y: NDArray[Any], sets: NDArray[Any], start: Sequence[Floats]) -> Balance:
        """Return parameters, weights and leakages of training sets (k, n) of one size, from initial parameters.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> learner, X, y = LeakagePenalised(Ridge(1e-3), 0.5).prepare(rng.normal(size=(50, 2)), rng.normal(size=50))
        >>> found = learner.balance(X, y, np.arange(50)[None], [np.zeros(3)])
        >>> bool(found.leakages.max() < 3 / 0.5), found.leakages.mean().round(4), (found.weights**2).mean().round(4)
        (True, np.float64(3.0), np.float64(0.5))
        """
        with one_thread():
            rows, labels = X.take(sets, axis=0), np.asarray(y, dtype=np.float64).take(sets)
            return _balance(rows, labels, np.array(start), self.l2, float(self.weight), self.task == "classification")

    def _check_found(self, change: Floats) -> None:
        if bad := int((change > NEAR).sum()):
            raise InputError(
                f"{bad} of {len(change)} training sets do not converge with leakage penalty {self.weight:g}: lower it, "
                f"raise l2, which is {self.l2:g}, or use more records"
            )

    def parameters(self, model: Floats) -> Floats:
        """Return the coefficients in the order of the columns, then the intercept."""
        return model

    def from_parameters(self, theta: Any) -> Floats:
        """Return the model with these parameters."""
        return self.plain.from_parameters(theta)

    def outputs(self, model: Floats, X: Floats) -> Floats:
        """Return predicted values or log-odds, (rows, 1)."""
        return self.plain.outputs(model, X)

    def losses(self, model: Floats, X: Floats, y: NDArray[Any]) -> Floats:
        """Return the unweighted squared error or log-loss of each record."""
        return self.plain.losses(model, X, y)


def leakages(scores: Floats) -> Floats:
    r"""Return the first-order leakages times n: :math:`s_i^\top(\frac1n\sum_j s_js_j^\top)^{-1}s_i` of the scores (n, p).

    Their mean is the rank of the scores: Proposition 1.

    Examples
    --------
    >>> leakages(np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 1.0]])).mean().round(6)
    np.float64(2.0)
    """
    left, values, _ = np.linalg.svd(scores, full_matrices=False)
    kept = left[:, values > np.sqrt(DEPENDENT) * values.max(initial=0.0)]
    return np.asarray(len(scores) * (kept**2).sum(axis=1))


# --- equilibrium of parameters, weights and scatter -------------------------------------------------------------------


def _balance(rows: Floats, labels: Floats, theta: Floats, l2: float, weight: float, classes: bool) -> Balance:
    """Iterate the scatter of the weighted gradients, the weights, and a Newton step of the weighted loss."""
    stack, size = rows.shape[:2]
    found = Balance(theta.copy(), np.ones((stack, size)), np.zeros((stack, size)), np.full(stack, np.inf))
    to_basis, inside, rank = _basis(rows)
    turned, weights, left = np.matmul(rows, to_basis), np.ones((stack, size)), np.arange(stack)
    for _ in range(STEPS):
        outputs = products(rows, theta)
        slope, curvature = _derivatives(outputs, labels, classes)
        gradients = slope[:, :, None] * turned + 2 * l2 * np.matmul(theta[:, None, :], to_basis)
        scatter = _scatter(gradients * weights[:, :, None], weights, weight, inside, rank)
        distances = _squared_lengths(gradients, scatter)
        new = 1 / np.sqrt(1 + weight * distances / rank[:, None])
        step = _newton_step(rows, new, slope, curvature, theta, l2)
        moved = np.abs(products(rows, step)).max(axis=1)
        # Newton steps that change no output by more than 1 always lower the log-loss (Bach 2010)
        length = 1 / np.maximum(1.0, moved) if classes else np.ones(len(moved))
        change = np.maximum(moved / np.maximum(1.0, np.abs(outputs).max(axis=1)), np.abs(new / weights - 1).max(axis=1))
        theta, weights = theta - length[:, None] * step, new
        for whole, part in zip(found, (theta, weights, weights**2 * distances, change), strict=True):
            whole[left] = part
        keep = change > CLOSE
        if not keep.all():
            state = (left, rows, labels, to_basis, inside, rank, turned, theta, weights)
            left, rows, labels, to_basis, inside, rank, turned, theta, weights = (part[keep] for part in state)
        if not len(left):
            break
    return found


def _basis(rows: Floats) -> tuple[Floats, NDArray[np.bool_], Floats]:
    """Return a map of each stack's records to coordinates of variance 1, which coordinates exist, and their number.

    Leakage does not depend on the coordinates; these are stable for columns of any scale, constant or dependent.
    """
    gram = np.matmul(rows.transpose(0, 2, 1), rows) / rows.shape[1]
    squares = np.einsum("kii->ki", gram)
    scale = 1 / np.sqrt(np.where(squares > 0, squares, 1.0))
    values, vectors = np.linalg.eigh(gram * scale[:, :, None] * scale[:, None, :])
    inside = values > DEPENDENT * values[:, -1:]
    spread = np.where(inside, 1 / np.sqrt(np.where(inside, values, 1.0)), 0.0)
    rank = np.clip(inside.sum(axis=1), 1, max(1, rows.shape[1] - 1)).astype(np.float64)
    return scale[:, :, None] * vectors * spread[:, None, :], inside, rank


def _scatter(weighted: Floats, weights: Floats, weight: float, inside: NDArray[np.bool_], rank: Floats) -> Floats:
    """Return B of the weighted gradients, with 1 on the diagonal for coordinates that do not exist.

    At the equilibrium the mean squared weight is 1 - κ, so dividing by the sum of squared weights gives the same B, and
    the iteration converges much faster (Kent, Tyler and Vardi 1994).
    """
    total = (weights**2).sum(axis=1) / (1 - weight)
    scatter = np.matmul(weighted.transpose(0, 2, 1), weighted) / total[:, None, None]
    least = LEAST * np.einsum("kii->k", scatter) / rank + np.finfo(float).tiny
    diagonal = np.where(inside, least[:, None], 1.0)
    return np.asarray(scatter + diagonal[:, :, None] * np.eye(diagonal.shape[1]))


def _squared_lengths(vectors: Floats, scatter: Floats) -> Floats:
    """Return vᵀ B⁻¹ v of each of the stacked vectors (k, n, p)."""
    root = np.linalg.inv(np.linalg.cholesky(scatter))
    return np.asarray((np.matmul(vectors, root.transpose(0, 2, 1)) ** 2).sum(axis=2))


def _newton_step(rows: Floats, weights: Floats, slope: Floats, curvature: Floats, theta: Floats, l2: float) -> Floats:
    """Return the Newton step of the weighted mean loss plus λ θᵀθ, to be subtracted."""
    shares = weights / weights.sum(axis=1, keepdims=True)
    columns = rows.transpose(0, 2, 1)
    hessian = np.matmul(columns * (shares * curvature)[:, None, :], rows) + 2 * l2 * np.eye(rows.shape[2])
    gradient = products(columns, shares * slope) + 2 * l2 * theta
    return np.asarray(np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0])


def _derivatives(outputs: Floats, labels: Floats, classes: bool) -> tuple[Floats, Floats]:
    """Return the first and second derivative of the log-loss or squared error by the output."""
    if not classes:
        return -2 * (labels - outputs), np.full_like(outputs, 2.0)
    chance = expit(outputs)
    return chance - labels, chance * (1 - chance)
