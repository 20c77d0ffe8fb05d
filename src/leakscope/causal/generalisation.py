r"""Generalisation errors in and out of distribution, discrepancy, and the transfer bound [tople2020, section 2.2].

With :math:`L_P(h, y)` the expected loss under P and :math:`L_S` its mean over the training set S, which is known exactly,

.. math::

   \mathrm{IDE} = L_P(h, y) - L_S(h, y), \quad \mathrm{ODE} = L_{P^*}(h, y) - L_S(h, y), \quad
   \mathrm{disc}_H(P, P^*) = \max_{h, h' \in H} |L_P(h, h') - L_{P^*}(h, h')|

[Defs. 1–3], where :math:`P^*` is any distribution with the same :math:`P(Y \mid X_C)`, and f is the best predictor from
:math:`X_C`. With a loss that is symmetric and satisfies the triangle inequality [Thm 1, Eqs. 4 and 5],

.. math:: \mathrm{ODE} \le \mathrm{disc}_H(P, P^*) + \mathrm{IDE} + L_{P^*}(f, y) + L_P(f, y),

and the last two terms are 0 if Y is a function of :math:`X_C`. Conditions of the paper's statements, and where they fail:

**Theorem 1.** The proof does not use that f is causal: the inequality holds for *every* f and every set H that contains f and h,
for example {h, f}. Squared error, the paper's example, violates the triangle inequality. It still holds for a causal h, by
:math:`E(h - y)^2 = E(h - f)^2 + E(f - y)^2`. It fails for others: h = 0, f = 1, and y = 0 under P but 2 under P* give an ODE of
4 and a bound of 2.

**Lemma 1.** If S and S' may be *any* data sets, they include those where all features but :math:`X_C` are 0. On these, penalised
linear models coincide, so that the associational sensitivity is at least the causal one at every n. This is true for any
subset of the features, causal or not. If records are drawn from P, the lemma fails at every n: let a child of Y be a copy of
it. Least squares then finds y = copy on every training set, with sensitivity 0, and the causal regression has a larger one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from leakscope.core.arrays import Floats
from leakscope.core.checks import check_count, check_number, check_seed, check_share
from leakscope.core.errors import InputError
from leakscope.core.estimate import Estimate
from leakscope.core.intervals import difference, mean, normal_quantile

#: Records to predictions, one for each.
Predict = Callable[[Any], Any]
#: Two arrays of predictions or labels to the loss of each record; symmetric.
Loss = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Generalisation:
    """In- and out-of-distribution error [tople2020, Defs. 1 and 2], and their difference, which does not depend on S."""

    in_distribution: Estimate
    out_of_distribution: Estimate
    shift: Estimate


def generalisation_errors(
    training: Any, test_p: Any, test_pstar: Any, *, bound: float | None = None, confidence: float = 0.95
) -> Generalisation:
    """Estimate IDE and ODE from the losses of one model.

    Parameters
    ----------
    training
        Losses of all training records, so that their mean has no sampling error.
    test_p, test_pstar
        Losses of held-out records of P and of P*.
    bound
        The largest possible loss. If all losses are equal, an interval from their standard deviation would be a point;
        with the bound, it allows for rare losses that the sample may have missed.

    Examples
    --------
    >>> found = generalisation_errors([0.1, 0.3], np.tile([0.2, 0.4], 50), np.tile([0.5, 0.7], 50))
    >>> found.in_distribution, found.out_of_distribution
    (0.10 [0.08, 0.12], 0.40 [0.38, 0.42])
    >>> generalisation_errors([0.0], np.zeros(100), np.zeros(100), bound=1.0).in_distribution
    0.00 [−0.04, 0.04]
    """
    check_share("confidence", confidence)
    own, p, pstar = (
        read_losses(losses, name)
        for losses, name in ((training, "the training set"), (test_p, "P"), (test_pstar, "P*"))
    )
    in_p, in_pstar = (_mean(losses, bound, confidence) for losses in (p, pstar))
    seen = float(own.mean())
    ide, ode = (found.mapped(lambda loss: loss - seen) for found in (in_p, in_pstar))
    return Generalisation(ide, ode, difference(in_pstar, in_p, confidence))


def discrepancy(
    models: Sequence[Predict], test_p: Any, test_pstar: Any, loss: Loss, *, confidence: float = 0.95
) -> Estimate:
    r"""Estimate the discrepancy distance of P and P* over a finite set of models [tople2020, Def. 3].

    :math:`\max |L_P(h, h') - L_{P^*}(h, h')|` over all pairs of the given models. For a larger class it is a lower bound;
    `linear_discrepancy` covers the class of bounded linear models. The intervals of all pairs are simultaneous (Bonferroni).

    Parameters
    ----------
    models
        Functions from records to predictions, two or more.
    test_p, test_pstar
        Records of P and of P*; labels are not used.
    loss
        Two arrays of predictions to the loss of each record.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> narrow, wide = rng.normal(size=(4000, 1)), 2 * rng.normal(size=(4000, 1))
    >>> models = [lambda X: X[:, 0], lambda X: -X[:, 0], lambda X: 0 * X[:, 0]]
    >>> discrepancy(models, narrow, wide, lambda a, b: (a - b) ** 2)  # 4·4 - 4·1
    12.2 [11.3, 13.2]
    """
    check_share("confidence", confidence)
    if len(models) < 2:
        raise InputError("models must hold two models or more")
    said = [(_predictions(model, test_p), _predictions(model, test_pstar)) for model in models]
    pairs = list(combinations(said, 2))
    gaps, errors = np.empty(len(pairs)), np.empty(len(pairs))
    for number, ((first, first_star), (second, second_star)) in enumerate(pairs):
        p, pstar = read_losses(loss(first, second), "P"), read_losses(loss(first_star, second_star), "P*")
        gaps[number] = abs(p.mean() - pstar.mean())
        errors[number] = math.hypot(_error(p), _error(pstar))
    halves = normal_quantile(1 - (1 - confidence) / len(pairs)) * errors
    value, low = float(gaps.max()), max(0.0, float((gaps - halves).max()))
    method = (
        f"the largest over {len(pairs)} pairs of {len(models)} models, Bonferroni; a lower bound for a larger class"
    )
    return Estimate(
        value, min(low, value), float((gaps + halves).max()), confidence, n=len(p) + len(pstar), method=method
    )


def linear_discrepancy(
    X_p: Any, X_pstar: Any, radius: float, *, confidence: float = 0.95, resamples: int = 200, seed: int = 0
) -> Estimate:
    r"""Estimate the discrepancy over all linear models θᵀx with :math:`\lVert\theta\rVert \le r`, for the squared error.

    :math:`\max |E_P(\delta^\top x)^2 - E_{P^*}(\delta^\top x)^2|` over :math:`\lVert\delta\rVert \le 2r` is
    :math:`4r^2` times the largest absolute eigenvalue of :math:`E_P[xx^\top] - E_{P^*}[xx^\top]`. By Weyl's inequality the
    error of this eigenvalue is at most the largest eigenvalue of the error matrix, whose quantile a Gaussian multiplier
    bootstrap estimates. The interval is conservative if there is no shift.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> linear_discrepancy(rng.normal(size=(4000, 1)), 2 * rng.normal(size=(4000, 1)), radius=1.0)
    12.2 [11.5, 13.0]
    """
    tables = [_table(X_p, "P"), _table(X_pstar, "P*")]
    if tables[0].shape[1] != tables[1].shape[1]:
        raise InputError(
            f"records of P have {tables[0].shape[1]} columns and those of P* {tables[1].shape[1]}: pass the same columns"
        )
    check_number("radius", radius, least=0, open_ends=True)
    check_count("resamples", resamples, least=20)
    check_share("confidence", confidence)
    moments = [table.T @ table / len(table) for table in tables]
    rng = np.random.default_rng(check_seed(seed))
    largest = np.empty(resamples)
    for number in range(resamples):
        largest[number] = _spectral(
            sum(_perturbed(table, moment, rng) for table, moment in zip(tables, moments, strict=True))
        )
    scale = 4 * radius**2
    value, half = scale * _spectral(moments[0] - moments[1]), scale * float(np.quantile(largest, confidence))
    records = sum(map(len, tables))
    return Estimate(
        value, max(0.0, value - half), value + half, confidence, n=records, method="Weyl, multiplier bootstrap"
    )


@dataclass(frozen=True)
class TransferBound:
    """The out-of-distribution error of a model, its bound [tople2020, Eq. 5], and the terms of the bound."""

    measured: Estimate
    bound: Estimate
    discrepancy: Estimate
    in_distribution: Estimate
    reference_p: Estimate
    reference_pstar: Estimate


def transfer_bound(
    model: Predict,
    reference: Predict,
    training: tuple[Any, Any],
    test_p: tuple[Any, Any],
    test_pstar: tuple[Any, Any],
    loss: Loss,
    *,
    others: Sequence[Predict] = (),
    confidence: float = 0.95,
) -> TransferBound:
    """Estimate the out-of-distribution error and its bound [tople2020, Thm 1, Eq. 5; Eq. 4 if Y is a function of its causes].

    Parameters
    ----------
    model, reference
        h and f. The bound holds for every f; it is small if f predicts well under both distributions.
    training, test_p, test_pstar
        Pairs (X, y): the training set of the model, and held-out records of P and P*.
    loss
        A symmetric loss that satisfies the triangle inequality, such as the absolute or the 0-1 loss; see the module for
        squared error.
    others
        More models of the class H: the discrepancy is over these, h and f. Without others the bound is tightest.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> def world(n, shift):
    ...     X = rng.normal(shift, 1, size=(n, 1))
    ...     return X, X[:, 0] + rng.choice([-0.1, 0.1], n)
    >>> found = transfer_bound(lambda X: 1.1 * X[:, 0], lambda X: X[:, 0], world(50, 0), world(2000, 0), world(2000, 3),
    ...                        lambda a, b: abs(a - b))
    >>> bool(found.measured.high < found.bound.low)
    True
    """
    (X, y), (X_p, y_p), (X_star, y_star) = training, test_p, test_pstar
    said = [(_predictions(of, X_p), _predictions(of, X_star)) for of in (model, reference)]
    own = read_losses(loss(_predictions(model, X), y), "the training set")
    (h_p, f_p), (h_star, f_star) = (
        [read_losses(loss(answers[side], labels), name) for answers in said]
        for side, labels, name in ((0, y_p, "P"), (1, y_star, "P*"))
    )
    apart = 1 - (1 - confidence) / 3  # Bonferroni over three terms
    gap = discrepancy([model, reference, *others], X_p, X_star, loss, confidence=apart)
    parts = [gap, mean(h_p + f_p, apart).mapped(lambda loss: loss - float(own.mean())), mean(f_star, apart)]
    value, low, high = (sum(getattr(part, end) for part in parts) for end in ("value", "low", "high"))
    errors = generalisation_errors(own, h_p, h_star, confidence=confidence)
    return TransferBound(
        measured=errors.out_of_distribution,
        bound=Estimate(
            value, low, high, confidence, n=len(h_p) + len(h_star), method="sum of three intervals, Bonferroni"
        ),
        discrepancy=discrepancy([model, reference, *others], X_p, X_star, loss, confidence=confidence),
        in_distribution=errors.in_distribution,
        reference_p=mean(f_p, confidence),
        reference_pstar=mean(f_star, confidence),
    )


# --- parts ------------------------------------------------------------------------------------------------------------


def read_losses(values: Any, where: str) -> Floats:
    """Return losses as float64, one per record, or raise an error."""
    losses = np.asarray(values, dtype=np.float64)
    if losses.ndim != 1 or not losses.size or not np.isfinite(losses).all():
        raise InputError(f"losses of {where} must be finite numbers, one per record, for at least one record")
    return losses


def _predictions(model: Predict, X: Any) -> Any:
    said = np.asarray(model(X))
    if len(said) != len(X):
        raise InputError(f"a model returns {len(said)} predictions for {len(X)} records: return one per record")
    return said


def _table(X: Any, where: str) -> Floats:
    table = np.asarray(X, dtype=np.float64)
    if table.ndim != 2 or not table.size or not np.isfinite(table).all():
        raise InputError(f"records of {where} must be a table of finite numbers")
    return table


def _error(losses: Floats) -> float:
    """Return the standard error of the mean."""
    return float(losses.std(ddof=1)) / math.sqrt(len(losses)) if len(losses) > 1 else math.inf


def _mean(losses: Floats, bound: float | None, confidence: float) -> Estimate:
    """Estimate the mean with Student's interval, at least as wide as rare unseen losses require."""
    found = mean(losses, confidence)
    if bound is None:
        return found
    unseen = -bound * math.log((1 - confidence) / 2) / len(losses)
    return replace(found, low=min(found.low, found.value - unseen), high=max(found.high, found.value + unseen))


def _perturbed(table: Floats, moment: Floats, rng: np.random.Generator) -> Floats:
    """Draw a matrix with the distribution of the error of a second-moment matrix, to first order."""
    weights = rng.normal(size=len(table))
    drawn: Floats = (table.T @ (weights[:, None] * table) - weights.sum() * moment) / len(table)
    return drawn


def _spectral(matrix: Any) -> float:
    return float(np.abs(np.linalg.eigvalsh(matrix)).max())
