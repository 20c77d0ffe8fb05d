r"""Sensitivity of the parameters to the swap of one training record: exact, bounded or sampled.

The sensitivity of a learner on N records at training sets of size n is

.. math:: \Delta\theta = \max_{S, S'} \lVert\theta(S) - \theta(S')\rVert_2, \qquad |S| = |S'| = n,\ |S \cap S'| = n - 1:

one record is swapped for another [farokhi2020, Prop. 1]. Gaussian noise has to cover this distance; Laplace noise covers
:math:`\max\lVert\theta(S) - \theta(S')\rVert_1` [tople2020, Def. 5]. Definition 3 of farokhi2020 asks that the two sets
differ in "at most one index" although both have n records. Two different sets of n records differ in at least two.

With objective :math:`F_S(\theta) = \lambda\theta^\top\theta + \tfrac1n\sum_{z\in S}\ell_z(\theta)`, let S = T + z and
S' = T + z'. Both bounds below are the sum of the two largest values over records, since z ≠ z', and neither is more than
twice the radius r that holds every θ(S).

**Convex losses.** :math:`F_S` is 2λ-strongly convex and :math:`\nabla F_{S'}` vanishes at θ(S'), hence

.. math:: \lVert\theta(S) - \theta(S')\rVert \le \frac{\lVert\nabla F_S(\theta(S'))\rVert}{2\lambda}
   = \frac{\lVert\nabla\ell_z(\theta(S')) - \nabla\ell_{z'}(\theta(S'))\rVert}{2\lambda n}.

The logistic loss has :math:`\lVert\nabla\ell_z(\theta)\rVert \le \lVert x\rVert\,\mathrm{expit}(\lVert x\rVert r)
\le \lVert x\rVert`. The gradient vanishes at θ(S), so that
:math:`r \le \tfrac1n\sum_S\lVert x\rVert/2\lambda`, and :math:`\lambda r^2 \le F_S(0) = \ln 2`.

**Squared error.** With :math:`A = X_T^\top X_T + n\lambda I` and :math:`\theta_T = A^{-1}X_T^\top y_T` the formula of
Sherman and Morrison gives
:math:`\theta(T + z) - \theta_T = A^{-1}x\,(y - x^\top\theta_T)/(1 + x^\top A^{-1}x)`. Let :math:`u = A^{-1/2}x` and
:math:`q = \lVert x\rVert/\sqrt{n\lambda}`. As :math:`A \succeq n\lambda I`, we have
:math:`\lVert A^{-1}x\rVert \le \lVert u\rVert/\sqrt{n\lambda}` and :math:`\lVert u\rVert \le q`, and t/(1 + t²) rises up to
t = 1, where it is ½:

.. math:: \lVert\theta(T + z) - \theta_T\rVert \le \frac{|y| + \lVert x\rVert r}{\sqrt{n\lambda}}\,\frac{q}{1 + q^2}
   \quad (q < 1), \qquad \frac{|y| + \lVert x\rVert r}{2\sqrt{n\lambda}} \quad (q \ge 1).

This is never more than strong convexity gives, :math:`(|y| + \lVert x\rVert r)\lVert x\rVert/n\lambda`. The singular values
of :math:`(X^\top X + n\lambda I)^{-1}X^\top` are :math:`s/(s^2 + n\lambda) \le 1/(2\sqrt{n\lambda})`, hence
:math:`r \le \lVert y_S\rVert/(2\sqrt{n\lambda}) \le \max|y|/(2\sqrt\lambda)`, and the same holds for :math:`\theta_T`.

**Absolute distance.** :math:`\lVert v\rVert_1 \le \sqrt k\,\lVert v\rVert_2` where k of the entries of v may differ from 0.
The coefficient of a column that is 0 in all records is 0 in every model, since only the penalty acts on it; k is the number
of the other columns. More columns raise the bound even if they do not help prediction.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy import special

from leakscope.core.arrays import Floats, Indices
from leakscope.core.checks import check_count
from leakscope.core.errors import InputError
from leakscope.core.estimate import Estimate
from leakscope.learners import Logistic, Ridge, as_learner
from leakscope.worlds.training import Progress, TrainingSets, design_generator, random_sets, retrain

SETS = 20_000  # largest number of training sets that `exact` enumerates
ROWS = 512  # rows of a table of distances that are in memory at a time


def sensitivity(
    learner: Any,
    X: Any,
    y: Any,
    size: int,
    method: Literal["auto", "exact", "bound", "sampled"] = "auto",
    *,
    norm: Literal[1, 2] = 2,
    swaps: int = 1000,
    seed: int = 0,
    workers: int | None = None,
    cluster: str | None = None,
    cache: str | Path | None = None,
    progress: Progress | None = None,
) -> Estimate:
    """Measure the largest distance by which swapping one training record can change the parameters.

    Parameters
    ----------
    learner
        A learner, the name of one, or a scikit-learn estimator: see `leakscope.learners`.
    X, y
        All records that a training set may be drawn from.
    size
        Number of training records n, from 1 to the number of records minus 1.
    method
        ``exact``: train on every set of ``size`` records, at most 20,000 of them. ``bound``: an upper bound by proof, for
        `Ridge` and `Logistic` with ``l2`` above 0. ``sampled``: the largest over random swaps, which is a lower bound without
        a guarantee. ``auto``: exact if there are at most 20,000 sets, otherwise the bound.
    norm
        Distance between the parameters of two models: 2 for the Euclidean distance, which Gaussian noise has to cover,
        1 for the sum of absolute differences, which Laplace noise has to cover [tople2020, Def. 5].
    swaps
        Number of random swaps for ``sampled``.
    seed, workers, cluster, cache, progress
        See `leakscope.worlds.training.retrain`.

    Returns
    -------
    Estimate
        Of kind ``exact``, ``upper bound`` or ``lower bound``. Noise for differential privacy needs one of the first two
        (see `leakscope.bounds.any_attack.gaussian_noise` and `laplace_noise`). Even these hold for the given records only: a record
        that is not among them can change the parameters more.

    Examples
    --------
    The mean of three of the values 0, 0, 3, 9, halved by a penalty λ = 1, changes by at most 9/6:

    >>> from leakscope.learners import Ridge
    >>> ones, values = np.ones((4, 1)), np.array([0.0, 0.0, 3.0, 9.0])
    >>> sensitivity(Ridge(l2=1.0, intercept=False), ones, values, size=3)
    1.50
    >>> sensitivity(Ridge(l2=1.0, intercept=False), ones, values, size=3, method="bound").kind
    'upper bound'

    Two groups with a column each and all labels 1: the coefficients go from (2/3, 0) to (1/2, 1/2) by one swap.

    >>> groups, labels = np.repeat(np.eye(2), 2, axis=0), np.ones(4)
    >>> sensitivity(Ridge(l2=0.5, intercept=False), groups, labels, size=2, norm=1)
    0.67
    """
    learner, X, y = as_learner(learner).prepare(X, y)
    _check(len(X), size, method, swaps, norm)
    learner.check(X, y, size)
    train = partial(retrain, learner, X, y, seed=seed, workers=workers, cluster=cluster, cache=cache, progress=progress)
    few = math.comb(len(X), size) <= SETS
    if method == "exact" and not few:
        raise InputError(
            f"method 'exact' would train on more than {SETS:,} sets of {size} out of {len(X)} records:"
            " use method='bound' or 'sampled'"
        )
    if method == "exact" or (method == "auto" and few):
        return _exact(learner, len(X), size, norm, seed, train)
    if method == "sampled":
        # Both models of a pair train with one generator, so that nothing but the swap tells them apart.
        design = TrainingSets(len(X), 2 * swaps, partial(_swapped, len(X), size, seed), stream=_pair)
        return _sampled(learner, design, norm, train)
    return _bound(learner, X, y, size, norm)


def _check(records: int, size: int, method: str, swaps: int, norm: int) -> None:
    if method not in ("auto", "exact", "bound", "sampled"):
        raise InputError(f"unknown method {method!r}: use 'auto', 'exact', 'bound' or 'sampled'")
    if records < 2:
        raise InputError(f"X must hold 2 records or more for a swap, not {records}")
    check_count("size", size, 1, records - 1)
    check_count("swaps", swaps)
    if isinstance(norm, bool) or norm not in (1, 2):
        raise InputError(f"norm must be 2 (Euclidean distance) or 1 (absolute distance), not {norm!r}")


def _observe_parameters(learner: Any, model: Any, number: int, indices: Indices) -> dict[str, Any]:  # noqa: ARG001
    return {"parameters": learner.parameters(model)}


# --- every training set -----------------------------------------------------------------------------------------------


def _exact(learner: Any, records: int, size: int, norm: int, seed: int, train: Any) -> Estimate:
    observe = partial(_observe_parameters, learner)
    _check_settled(train, observe, records, size, seed)
    # Store each set or its complement, whichever is smaller: 200 sets of 199 records are 200 numbers.
    sets = list(combinations(range(records), min(size, records - size)))
    design = TrainingSets(records, len(sets), partial(_enumerated, records, size, sets), stream=_same_stream)
    parameters = np.stack([seen["parameters"] for seen in train(design, observe)])
    value = max(_largest_distance(parameters[group], norm) for group in _swap_groups(sets))
    method = f"all {len(sets):,} training sets of {size} out of {records} records"
    return Estimate(value, value, value, 1.0, "exact", n=records, method=method)


def _check_settled(train: Any, observe: Any, records: int, size: int, seed: int) -> None:
    """Refuse a learner that gives two different models on one and the same training set."""
    twice = TrainingSets(records, 2, partial(_given, random_sets(records, size, 1, seed).indices(0)))
    first, second = (seen["parameters"] for seen in train(twice, observe, progress=None))
    if np.linalg.norm(first - second) > 1e-9 * np.linalg.norm(first):
        raise InputError(
            "method 'exact' needs deterministic training, and this learner's is random:"
            " use method='sampled' for a lower bound"
        )


def _given(drawn: Indices, number: int) -> Indices:  # noqa: ARG001
    return drawn


def _enumerated(records: int, size: int, sets: Sequence[tuple[int, ...]], number: int) -> Indices:
    chosen = np.array(sets[number], dtype=np.intp)
    return chosen if len(chosen) == size else np.delete(np.arange(records, dtype=np.intp), chosen)


def _same_stream(number: int) -> int:  # noqa: ARG001
    return 0


def _swap_groups(sets: Sequence[tuple[int, ...]]) -> list[list[int]]:
    """Group the sets that share all but one element, one list of their numbers per common part.

    Two sets that share all but one element differ by one swap, and so do their complements. Any two such
    sets have one common part, so that each pair is in one list.
    """
    groups: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for number, members in enumerate(sets):
        for place in range(len(members)):
            groups[members[:place] + members[place + 1 :]].append(number)
    return list(groups.values())


def _largest_distance(points: Floats, norm: int) -> float:
    from scipy.spatial.distance import cdist

    metric: Literal["cityblock", "euclidean"] = "cityblock" if norm == 1 else "euclidean"
    starts = range(0, len(points), ROWS)
    return max(float(cdist(points[start : start + ROWS], points, metric).max()) for start in starts)


# --- random swaps -----------------------------------------------------------------------------------------------------


def _sampled(learner: Any, design: TrainingSets, norm: int, train: Any) -> Estimate:
    seen = train(design, partial(_observe_parameters, learner))
    parameters = np.stack([observed["parameters"] for observed in seen])
    value = float(np.linalg.norm(parameters[0::2] - parameters[1::2], ord=norm, axis=1).max())
    method = f"largest of {len(design) // 2:,} random swaps, without a guarantee"
    return Estimate(value, value, math.inf, 1.0, "lower bound", n=design.records, method=method)


def _swapped(records: int, size: int, seed: int, number: int) -> Indices:
    pair, side = divmod(number, 2)
    chosen = design_generator(seed, pair).choice(records, size + 1, replace=False)
    return np.sort(np.delete(chosen, size - side)).astype(np.intp, copy=False)


def _pair(number: int) -> int:
    return number // 2


# --- proven bounds ----------------------------------------------------------------------------------------------------


def _bound(learner: Any, X: Floats, y: Floats, size: int, norm: int) -> Estimate:
    if not isinstance(learner, Ridge | Logistic):
        raise InputError(
            f"no bound on the sensitivity of learner {learner.name!r} is known: use method='sampled' for a lower bound"
        )
    if learner.l2 == 0:
        raise InputError(
            "method 'bound' needs l2 above 0: raise l2, use few enough records for method='exact',"
            " or use method='sampled' for a lower bound"
        )
    if isinstance(learner, Ridge):
        value, method = _ridge_bound(X, y, size, learner.l2), "rank-one change of regularised least squares"
    else:
        value, method = _logistic_bound(X, size, learner.l2), "strong convexity of the regularised logistic loss"
    if norm == 1:
        used = int(X.any(axis=0).sum())
        value, method = math.sqrt(used) * value, f"{method}, with {used} coefficients that can change"
    return Estimate(value, 0.0, value, 1.0, "upper bound", n=len(X), method=method)


def _ridge_bound(X: Floats, y: Floats, n: int, l2: float) -> float:
    norms, root = np.linalg.norm(X, axis=1), math.sqrt(n * l2)
    radius = math.sqrt(_mean_of_largest(y**2, n) / l2) / 2
    q = np.minimum(norms / root, 1.0)
    moves = (np.abs(y) + norms * radius) / root * q / (1 + q**2)
    return min(2 * radius, _two_largest(moves))


def _logistic_bound(X: Floats, n: int, l2: float) -> float:
    norms = np.linalg.norm(X, axis=1)
    radius = min(_mean_of_largest(norms, n) / (2 * l2), math.sqrt(math.log(2) / l2))
    gradients = norms * special.expit(norms * radius)
    return min(2 * radius, _two_largest(gradients) / (2 * l2 * n))


def _mean_of_largest(values: Floats, n: int) -> float:
    return float(np.sort(values)[-n:].mean())


def _two_largest(values: Floats) -> float:
    return float(np.sort(values)[-2:].sum())
